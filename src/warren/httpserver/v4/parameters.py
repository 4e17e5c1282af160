"""The query parameters of `/v4`: parsing and description in one table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from warren.common.status import Status

MAX_WAIT_S: Final = 60
MAX_LIMIT: Final = 100_000
# windows on a page: each has sentences and some kilobytes of JSON
MAX_WINDOWS: Final = 1000
_MAX_OFFSET: Final = 1_000_000_000
_UNITS_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000}
REVISIONS: Final = 1_000_000

GROUP_STATUSES: Final = (Status.OK, Status.WARN, Status.ERR)
PARTITION_STATUSES: Final = (Status.OK, Status.WARN, Status.STOP, Status.STALL, Status.REWIND)
SORTS: Final = ("group", "status", "complete", "partition_count", "totallag", "maxlag", "last_commit")


class ParameterError(ValueError):
    """A parameter is not what it should be; the message is for the client."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter."""

    name: str
    description: str
    # as JSON Schema
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    default: Any = None
    # OpenAPI's style of the parameter
    style: Mapping[str, Any] = field(default_factory=dict)


def values(query: bytes, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Parameter: its value; raises ParameterError."""
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = {}
    for name, text in _pairs(query):
        if name not in known:
            there = ", ".join(known) or "none"
            raise ParameterError(f"unknown parameter {name}; there are: {there}")
        if name in found:
            raise ParameterError(f"{name} is given twice")
        try:
            found[name] = known[name].read(text)
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from error
    return {name: found.get(name, parameter.default) for name, parameter in known.items()}


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("latin-1"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=20,
        )
    except UnicodeDecodeError as error:
        raise ParameterError("the query is not UTF-8") from error
    except ValueError as error:
        raise ParameterError("the query has too many parameters") from error


def _statuses(allowed: Sequence[Status]) -> Callable[[str], frozenset[Status]]:
    by_name = {status.name: status for status in allowed}

    def read(text: str) -> frozenset[Status]:
        names = text.split(",")
        if unknown := [name for name in names if name not in by_name]:
            raise ParameterError(f"no status {unknown[0]}; there are: {', '.join(by_name)}")
        return frozenset(by_name[name] for name in names)

    return read


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if re.fullmatch(r"-?[0-9]{1,12}", text) is None or not least <= int(text) <= most:
            raise ParameterError(f"must be a number from {least} to {most}")
        return int(text)

    return read


def _one_of(names: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ParameterError(f"must be one of {', '.join(names)}")
        return text

    return read


def _text(most: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not 0 < len(text) <= most:
            raise ParameterError(f"must have 1 to {most} characters")
        return text

    return read


def _names(most: int) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        names = tuple(unquote(each, errors="replace") for each in text.split(","))
        if not 0 < len(names) <= most:
            raise ParameterError(f"must be at most {most} names")
        return names

    return read


def _positions(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in text.split(","):
        name, colon, position = each.rpartition(":")
        if not colon or not name:
            raise ParameterError("must be CLUSTER:CURSOR, separated by commas")
        found[unquote(name, errors="replace")] = read_version(position)
    return found


def _duration(pattern: str, bounds: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if re.fullmatch(pattern, text, re.ASCII) is None:
            raise ParameterError(f"must be a duration like 90s, 15m or 1h, {bounds}")
        return int(text[:-1]) * _UNITS_MS[text[-1]]

    return read


def read_version(text: str) -> int:
    """The version that a cursor stands for, as one number."""
    match = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?", text)
    if match is None:
        raise ParameterError("must be the number of a snapshot or a cursor")
    return version(int(match[1]), int(match[2] or 0))


def version(number: int, revision: int = 0) -> int:
    return number * REVISIONS + revision


def cursor(position: int) -> str:
    number, revision = divmod(position, REVISIONS)
    return f"{number}.{revision}" if revision else str(number)


def _status_parameter(allowed: Sequence[Status], of: str) -> Parameter:
    names = [status.name for status in allowed]
    return Parameter(
        "status",
        f"Only {of} with one of these statuses, separated by commas",
        {"type": "array", "items": {"type": "string", "enum": names}, "minItems": 1, "uniqueItems": True},
        _statuses(allowed),
        style={"style": "form", "explode": False},
    )


def _text_parameter(name: str, description: str, most: int) -> Parameter:
    return Parameter(name, description, {"type": "string", "minLength": 1, "maxLength": most}, _text(most))


def _duration_parameter(name: str, description: str, pattern: str, bounds: str, default: str) -> Parameter:
    read = _duration(pattern, bounds)
    schema: dict[str, Any] = {"type": "string", "pattern": f"^({pattern})$"}
    if default:
        schema["default"] = default
    return Parameter(name, f"{description}; {bounds}", schema, read, read(default) if default else None)


GROUP_STATUS: Final = _status_parameter(GROUP_STATUSES, "groups")
PARTITION_STATUS: Final = _status_parameter(PARTITION_STATUSES, "partitions")
NAME: Final = _text_parameter(
    "name",
    "Only groups whose name matches: `*` any characters, `?` one character, `[ab]` one of those",
    256,
)
TOPIC: Final = _text_parameter(
    "topic",
    "Only groups that have committed on this topic",
    249,
)
SORT: Final = Parameter(
    "sort",
    "Field to sort by, with `-` before it the greatest first; of equal statuses the greatest lag comes first",
    {"type": "string", "enum": [sign + name for name in SORTS for sign in ("", "-")], "default": "-status"},
    _one_of([sign + name for name in SORTS for sign in ("", "-")]),
    "-status",
)
OFFSET: Final = Parameter(
    "offset",
    "How many to skip",
    {"type": "integer", "minimum": 0, "maximum": _MAX_OFFSET, "default": 0},
    _number(0, _MAX_OFFSET),
    0,
)
LIMIT: Final = Parameter(
    "limit",
    "Maximum number on a page",
    {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 1000},
    _number(1, MAX_LIMIT),
    1000,
)
WINDOWS_LIMIT: Final = Parameter(
    "limit",
    "Maximum number on a page",
    {"type": "integer", "minimum": 1, "maximum": MAX_WINDOWS, "default": 100},
    _number(1, MAX_WINDOWS),
    100,
)
HISTORY_SINCE: Final = _duration_parameter(
    "since",
    "How far back: seconds, minutes or hours, `90s`, `15m`, `24h`",
    "[1-9][0-9]{1,3}s|[1-9][0-9]{0,2}m|([1-9]|1[0-9]|2[0-4])h",
    "from 10s to 24h",
    "1h",
)
HISTORY_STEP: Final = _duration_parameter(
    "step",
    "Length of a step, which has the greatest lag and the worst status in it. Without it: samples of one group as they "
    "are, of all groups a minute",
    "[1-9][0-9]{1,2}s|([1-9]|[1-5][0-9]|60)m|1h",
    "from 10s to 1h",
    "",
)
INCIDENT_CLUSTER: Final = _text_parameter(
    "cluster",
    "Only incidents of this cluster",
    256,
)
INCIDENT_GROUP: Final = _text_parameter(
    "group",
    "Only incidents of groups whose name matches: `*` any characters, `?` one character, `[ab]` one of those",
    256,
)
INCIDENT_MODULE: Final = _text_parameter(
    "module",
    "Only incidents with messages of this notifier",
    256,
)
INCIDENT_STATE: Final = Parameter(
    "state",
    "`open`: only open incidents; `past`: only closed ones",
    {"type": "string", "enum": ["open", "past"]},
    _one_of(["open", "past"]),
)
SINCE: Final = Parameter(
    "since",
    "The number of a snapshot, or the cursor of an earlier answer; without it all groups are returned",
    {"type": "string", "pattern": r"^[0-9]{1,12}(\.[0-9]{1,6})?$"},
    read_version,
)
SINCE_BY_CLUSTER: Final = Parameter(
    "since",
    "Cursors of an earlier answer as `CLUSTER:CURSOR`, separated by commas, the names percent-escaped; clusters that "
    "are not named send all their groups",
    {
        "type": "string",
        "pattern": r"^[^,:]+:[0-9]{1,12}(\.[0-9]{1,6})?(,[^,:]+:[0-9]{1,12}(\.[0-9]{1,6})?)*$",
    },
    _positions,
)
HISTORY_GROUPS: Final = Parameter(
    "groups",
    "Only these groups: at most 200 names, separated by commas and percent-escaped",
    {"type": "string", "minLength": 1},
    _names(200),
)
WAIT: Final = Parameter(
    "wait",
    "Seconds to wait for a change where there is none yet",
    {"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S, "default": 0},
    _number(0, MAX_WAIT_S),
    0,
)
ONLY: Final = Parameter(
    "only",
    "`status`: only groups that were added, removed or changed their status; without it lag and completeness count too",
    {"type": "string", "enum": ["status"]},
    _one_of(["status"]),
)
