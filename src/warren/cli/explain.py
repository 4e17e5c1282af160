"""`warren explain`: why a partition has its status, from recorded windows or an answer of the API."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer

from warren.common.status import Status
from warren.errors import WarrenError
from warren.evaluator.captures import CaptureError, Defaults, cases
from warren.evaluator.cases import Case, Explanation
from warren.evaluator.cases import explain as explained

# a mapping of status: its colour
COLOURS: Final = {Status.OK: typer.colors.GREEN, Status.WARN: typer.colors.YELLOW}
WIDTH: Final = 100
# a byte order mark may lead
ENCODING: Final = "utf-8-sig"


class RuleClass(StrEnum):
    """The evaluator's class-name."""

    CACHING = "caching"
    TREND = "trend"


class InputError(WarrenError):
    """Nothing can be read where the input should be."""

    exit_code = 2


class _UnfinishedError(CaptureError):
    """Incomplete JSON: more lines could complete it."""


def explain(
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="What to read; - or nothing: standard input.")
    ] = "-",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per partition and line.")] = False,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Evaluate as of this time: milliseconds since 1970, or 2026-11-15T08:03:19Z.",
            show_default="when the answer was recorded, else the clock",
        ),
    ] = None,
    allowed_lag: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="A lag up to this counts as 0; for input that does not contain it.",
            show_default="1 with trend, 0 with caching",
        ),
    ] = None,
    minimum_complete: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Evaluate windows this full; for input that does not contain it.",
        ),
    ] = 0.0,
    rules: Annotated[
        RuleClass | None,
        typer.Option(
            help="Evaluate by these rules: the evaluator's class-name.",
            show_default="trend for answers, caching for recorded windows",
        ),
    ] = None,
) -> None:
    """Explain why each partition has its status: the rule that decided, and its numbers.

    Reads answers of /v3/kafka/CLUSTER/consumer/GROUP, Burrow's or Warren's,
    and JSON lines of recorded windows: id, window, broker_ring, evaluated_at_ms.

    What cannot be read is reported with its line; the rest is still explained,
    and the exit code is 2.

    Examples:

      curl -s localhost:8000/v3/kafka/local/consumer/billing | warren explain

      warren explain answer.json --now 2026-11-15T08:03:19Z

      warren explain windows.jsonl --json | jq 'select(.status == "STOP")'

      warren explain answer-of-burrow.json --rules caching
    """
    defaults = Defaults(
        now_ms=_clock_ms() if now is None else _moment_ms(now),
        now_is_given=now is not None,
        allowed_lag=allowed_lag,
        minimum_complete=minimum_complete,
        class_name=rules and rules.value,
    )
    counts: Counter[Status] = Counter()
    problems = 0
    try:
        with _opened(file) as lines:
            for number, found in _explanations(lines, defaults):
                if isinstance(found, CaptureError):
                    problems += 1
                    typer.echo(f"{_called(file)}, line {number}: {found}", err=True)
                    continue
                counts[found.status] += 1
                typer.echo(_as_json(found) if as_json else _as_text(found))
        if not as_json and counts.total() > 1:
            typer.echo(_summary(counts))
    except BrokenPipeError:
        # the reader has closed the pipe; the interpreter would fail when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not problems and not counts:
        raise InputError(f"{_called(file)} has nothing to explain")
    if problems:
        raise typer.Exit(2)


def documents(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """JSON values, each with the number of its line; invalid JSON comes as a CaptureError.

    A value has a line of its own, or begins on one and goes on over lines that are indented, up to one that
    begins with a closing bracket: as `jq` and others write it.
    """
    start, text = 0, [""]
    for number, line in enumerate(lines, start=1):
        goes_on = bool(text[0]) and line[:1] in " \t\r\n}]"
        if text[0] and not goes_on:
            yield _parsed("".join(text), start)
        if goes_on:
            text.append(line)
        elif line.strip():
            start, text = number, [line]
        else:
            text = [""]
        # a long value is parsed where it can end, not at each of its lines
        if text[0] and (not goes_on or line[0] in "}]"):
            at, value = _parsed("".join(text), start)
            if not isinstance(value, _UnfinishedError):
                yield at, value
                text = [""]
    if text[0]:
        yield _parsed("".join(text), start)


def _explanations(
    lines: Iterable[str], defaults: Defaults
) -> Iterator[tuple[int, Explanation | CaptureError]]:
    """Every partition in the input explained, and every problem, by line."""
    for number, document in documents(lines):
        for item in document if isinstance(document, list) else [document]:
            try:
                if isinstance(item, CaptureError):
                    raise item
                for case in cases(item, defaults):
                    yield number, explained(case)
            except CaptureError as error:
                yield number, error


def _parsed(text: str, start: int) -> tuple[int, Any]:
    """The value of a text that begins at this line, or the line and kind of its fault."""
    text = text.rstrip()
    try:
        return start, json.loads(text)
    except json.JSONDecodeError as error:
        unfinished = error.pos >= len(text) or error.msg.startswith("Unterminated string")
        fault = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}"
        return start + error.lineno - 1, _UnfinishedError(fault) if unfinished else CaptureError(fault)
    except (ValueError, RecursionError) as error:
        return start, CaptureError(f"not JSON: {error}")


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    """The lines of a file, or of standard input."""
    if file == "-":
        if sys.stdin.isatty():
            typer.echo("Reading standard input; end it with Ctrl-D.", err=True)
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding=ENCODING, errors="replace")
        yield sys.stdin
        return
    try:
        stream = Path(file).open(encoding=ENCODING, errors="replace")  # noqa: SIM115 - only this may fail
    except OSError as error:
        raise InputError(
            f"cannot read {file}: {error.strerror}; give a file, or - for standard input"
        ) from error
    with stream:
        yield stream


def _as_json(found: Explanation) -> str:
    fields = {
        **found.case.name,
        "status": found.status.name,
        "current_lag": found.current_lag,
        "complete": found.complete,
        "rule": found.rule.name.lower(),
        "because": found.because,
        "decided_by": found.decided_by,
        "would_change": found.would_change,
    }
    return json.dumps(fields, ensure_ascii=False)


def _as_text(found: Explanation) -> str:
    """Two lines or more: the verdict, and indented below it the reason."""
    status = typer.style(f"{found.status.name:<6}", fg=COLOURS.get(found.status, typer.colors.RED), bold=True)
    case = found.case
    commits = f"{len(case.entries)} of {case.intervals} commits"
    facts = f"lag {found.current_lag}, {commits}, rule {found.rule.name.lower()}"
    would_change = f"What would change it: {found.would_change}"
    return f"{status} {_title(case)}: {facts}\n{_indented(found.because)}\n{_indented(would_change)}"


def _indented(sentences: str) -> str:
    return textwrap.fill(sentences, WIDTH, initial_indent=" " * 7, subsequent_indent=" " * 7)


def _title(case: Case) -> str:
    """The name of the partition."""
    name = case.name
    if "id" in name:
        return str(name["id"])
    group = f"{name['group']} on " if "group" in name else ""
    return f"{group}{name['topic']}/{name['partition']}"


def _summary(counts: Counter[Status]) -> str:
    """How many partitions have which status, worst first."""
    parts = ", ".join(f"{counts[status]} {status.name}" for status in sorted(counts, reverse=True))
    return f"{counts.total()} partitions: {parts}"


def _called(file: str) -> str:
    return "standard input" if file == "-" else file


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000


def _moment_ms(text: str) -> int:
    """A time on the command line: milliseconds since 1970 or ISO 8601, UTC unless it says otherwise."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text} is not a time: give milliseconds since 1970 or 2026-11-15T08:03:19Z", param_hint="--now"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
