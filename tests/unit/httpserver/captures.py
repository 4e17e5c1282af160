"""A real Burrow's answers: what was asked, what came, and the snapshot that they were given from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from tests import burrow_json
from tests.burrow_json import entry_of
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemorySnapshot

from warren.common.status import Status
from warren.config import Settings, load
from warren.snapshot.model import GroupStatus, PartitionDetail, PartitionStatus, TopicPartitionHead

DATA: Final = Path(__file__).parents[2] / "data" / "burrow_api"
# the machine that Burrow ran on
HOST: Final = "burrow01"
# the instances of Burrow that answered, by the beginning of the capture's name
INSTANCES: Final = ("nocors", "starting")


@dataclass(frozen=True)
class Capture:
    """One exchange with a real Burrow."""

    name: str
    method: str
    path: str
    request_headers: Mapping[str, str]
    request_body: bytes
    status: int
    # by lower-case name
    headers: Mapping[str, str]
    # parsed, where it is JSON
    body: Any

    @property
    def instance(self) -> str:
        return next((name for name in INSTANCES if self.name.startswith(f"{name}_")), "main")

    @property
    def names(self) -> list[str]:
        """The segments of the path, unescaped."""
        return [unquote(segment) for segment in self.path.partition("?")[0].split("/")[1:]]


@cache
def captures() -> dict[str, Capture]:
    """All of them, by name."""
    return {path.stem: _capture(path) for path in sorted((DATA / "captures").glob("*.json"))}


def _capture(path: Path) -> Capture:
    exchange = json.loads(path.read_text())
    request = exchange["request"]
    return Capture(
        name=path.stem,
        method=request["method"],
        path=request["path"],
        request_headers=request.get("headers", {}),
        request_body=request.get("body", "").encode(),
        status=exchange["status"],
        headers={name.lower(): value for name, value in exchange["headers"].items()},
        body=exchange["body"],
    )


def settings_of(instance: str, directory: Path) -> Settings:
    """The configuration of an instance, with the files that it names."""
    (directory / "tmpl").mkdir(exist_ok=True)
    for name in ("open", "close", "mail", "small"):
        (directory / "tmpl" / f"{name}.tmpl").touch()
    for name in ("cert", "key"):
        (directory / f"{name}.pem").touch()
    text = (DATA / "config" / f"{instance}.toml").read_text()
    (directory / "burrow.toml").write_text(text)
    return load(directory, {})


def answers_for(capture: Capture, settings: Settings) -> MemoryAnswers:
    """What the instance knew at that moment: the usual state of things, and what the capture itself tells."""
    answers = MemoryAnswers(names=list(settings.cluster))
    if capture.instance == "main":
        answers.snapshots = {"local": _snapshot_for(capture)}
    elif capture.instance == "nocors":
        answers.snapshots = {name: MemorySnapshot(name=name) for name in answers.names}
    answers.is_ready = not (capture.instance == "starting" or capture.name == "admin_ready_at_start")
    return answers


def log_level_for(capture: Capture) -> MemoryLogLevel:
    shown = capture.body["level"] if capture.name.startswith("loglevel_get") else "info"
    return MemoryLogLevel(shown)


@cache
def usual_snapshot() -> MemorySnapshot:
    """All groups and topics of the main instance, put together from its pages."""
    statuses: dict[str, GroupStatus] = {}
    details: dict[str, dict[str, tuple[PartitionDetail, ...]]] = {}
    heads: dict[str, tuple[TopicPartitionHead, ...]] = {}
    for capture in captures().values():
        if capture.status != 200 or capture.instance != "main" or not isinstance(capture.body, dict):
            continue
        usual = capture.name.removeprefix("consumer_").removesuffix("_lag")
        if capture.name.startswith("topic_") and "offsets" in capture.body and "doomed" not in capture.name:
            heads[capture.names[4]] = _heads(capture.body["offsets"])
        elif capture.name == f"consumer_{usual}_lag" and not usual.endswith("_after"):
            statuses[capture.names[4]] = group_of(capture.body["status"])
        elif capture.name.startswith("consumer_") and len(capture.names) == 5 and "topics" in capture.body:
            details.setdefault(capture.names[4], _details(capture.body["topics"]))
    return MemorySnapshot(statuses=statuses, details=details, heads=heads)


def _snapshot_for(capture: Capture) -> MemorySnapshot:
    """The usual one, with what the capture shows put in and what it misses taken out."""
    found = usual_snapshot()
    shown = capture.body if isinstance(capture.body, dict) else {}
    match capture.names[3:]:
        case ["consumer", group, *_] if capture.status == 404:
            found = found.without(group)
        case ["consumer", group] if "topics" in shown:
            found = replace(found, details={**found.details, group: _details(shown["topics"])})
        case ["consumer", group, "lag"]:
            found = replace(found, statuses={**found.statuses, group: group_of(shown["status"])})
        case ["consumer", group, "status"]:
            # partitions that are OK do not show: take them from the other page
            others = [part for part in found.statuses[group].partitions if part.status == Status.OK]
            found = replace(found, statuses={**found.statuses, group: group_of(shown["status"], others)})
        case ["topic", topic] if capture.status == 200:
            found = replace(found, heads={**found.heads, topic: _heads(shown["offsets"])})
        case ["topic", topic, "consumers"]:
            found = MemorySnapshot(details={group: {topic: ()} for group in shown.get("consumers", ())})
        case ["consumer"]:
            found = MemorySnapshot(details={group: {} for group in shown.get("consumers", ())})
    return found


def group_of(shown: dict[str, Any], hidden: list[PartitionStatus] | None = None) -> GroupStatus:
    """A verdict from Burrow's JSON, its shares at double precision again."""
    group, count = burrow_json.group_of(shown), shown["partition_count"]
    return msgspec.structs.replace(
        group,
        complete=round(group.complete * count) / count,
        partitions=(*map(_in_tenths, group.partitions), *(hidden or ())),
        maxlag=None if group.maxlag is None else _in_tenths(group.maxlag),
    )


def _in_tenths(part: PartitionStatus) -> PartitionStatus:
    return msgspec.structs.replace(part, complete=round(part.complete * 10) / 10)


def _details(topics: dict[str, Any]) -> dict[str, tuple[PartitionDetail, ...]]:
    return {
        topic: tuple(
            PartitionDetail(
                offsets=tuple(map(entry_of, window["offsets"])),
                owner=window["owner"],
                client_id=window["client_id"],
                current_lag=window["current-lag"],
                # Burrow has none
                floors=(None,) * len(window["offsets"]),
            )
            for window in windows
        )
        for topic, windows in topics.items()
    }


def _heads(offsets: list[int]) -> tuple[TopicPartitionHead, ...]:
    return tuple(TopicPartitionHead(head=offset, tail=0) for offset in offsets)
