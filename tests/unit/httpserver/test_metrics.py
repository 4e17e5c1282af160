"""`/metrics`: Burrow's series with Burrow's values, none that is gone, written once per snapshot."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.httpserver.asgi import Answered, ask
from tests.unit.httpserver.captures import captures, usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemorySnapshot, group_status

from warren.common.status import Status
from warren.config import Settings
from warren.httpserver import metrics
from warren.httpserver.app import App
from warren.httpserver.columns import windows_of
from warren.httpserver.metrics import WindowLabels, accepts_gzip, render
from warren.snapshot.model import Entry, PartitionStatus, TopicPartitionHead
from warren.snapshot.tables import WindowTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warren.snapshot.model import ClusterSnapshot

# (name, labels): value
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series_of(text: str) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("burrow_")
    }


def rendered(*snapshots: ClusterSnapshot) -> str:
    return b"".join(render(snapshots, defaultdict(WindowLabels))).decode()


def partition(
    topic: str, number: int, *, lag: int = 0, offset: int | None = 7, full: bool = True
) -> PartitionStatus:
    end = None if offset is None else Entry(offset, 1_000, 1_000, lag)
    complete = 0.0 if offset is None else 1.0 if full else 0.3
    return PartitionStatus(topic, number, "", "", Status.OK, end, end, lag, complete, None, None)


def burrows() -> Series:
    return series_of(captures()["metrics"].body)


def burrows_snapshot() -> MemorySnapshot:
    """The state that Burrow's own series describe; what they leave out comes from the groups' pages."""
    usual = usual_snapshot()
    theirs = burrows()

    def value(name: str, **labels: str) -> int | None:
        found = theirs.get((name, frozenset({"cluster": "local", **labels}.items())))
        return None if found is None else int(found)

    statuses = {}
    heads: dict[str, dict[int, TopicPartitionHead]] = {}
    for name, labels in theirs:
        label = dict(labels)
        if name == "burrow_kafka_topic_partition_offset":
            head = TopicPartitionHead(int(theirs[name, labels]), 0)
            heads.setdefault(label["topic"], {})[int(label["partition"])] = head
    for name, labels in theirs:
        if name != "burrow_kafka_consumer_status":
            continue
        group = dict(labels)["consumer_group"]
        # in the order of their pages, where they have one
        known = (
            {(p.topic, p.partition): p for p in usual.statuses[group].partitions}
            if group in usual.statuses
            else {}
        )
        windows = sorted(
            (dict(other)["topic"], int(dict(other)["partition"]))
            for family, other in theirs
            if family == "burrow_kafka_consumer_partition_lag" and dict(other)["consumer_group"] == group
        )
        parts = []
        for topic, number in windows:
            where = {"consumer_group": group, "topic": topic, "partition": str(number)}
            lag = value("burrow_kafka_consumer_partition_lag", **where)
            offset = value("burrow_kafka_consumer_current_offset", **where)
            status = value("burrow_kafka_topic_partition_status", **where)
            page = known.get((topic, number))
            end = None
            if offset is not None:
                end = Entry(offset, 0, 0, 0)
            elif page is not None:
                end = page.end
            assert lag is not None
            parts.append(
                PartitionStatus(
                    topic,
                    number,
                    "",
                    "",
                    Status(status) if status is not None else page.status if page else Status.OK,
                    end,
                    end,
                    lag,
                    1.0 if offset is not None else page.complete if page else 0.0,
                    None,
                    None,
                )
            )
        statuses[group] = group_status("local", group, *parts)
    return MemorySnapshot(
        statuses=statuses,
        heads={topic: tuple(parts[n] for n in range(len(parts))) for topic, parts in heads.items()},
    )


def test_every_series_of_burrow_is_there_with_its_value() -> None:
    ours = series_of(rendered(burrows_snapshot()))
    theirs = burrows()
    assert {key: ours.get(key) for key in theirs} == theirs


def test_what_burrow_does_not_have_are_the_incomplete_windows() -> None:
    """Burrow leaves offset and status of a partition out until its window is full."""
    snapshot = burrows_snapshot()
    added = series_of(rendered(snapshot)).keys() - burrows().keys()
    incomplete = {
        (group, part.topic, str(part.partition))
        for group, status in snapshot.statuses.items()
        for part in status.partitions
        if part.complete < 1
    }
    assert {name for name, _ in added} == {
        "burrow_kafka_consumer_current_offset",
        "burrow_kafka_topic_partition_status",
    }
    for _, labels in added:
        label = dict(labels)
        assert (label["consumer_group"], label["topic"], label["partition"]) in incomplete
    statuses = [labels for name, labels in added if name == "burrow_kafka_topic_partition_status"]
    assert len(statuses) == len(incomplete)


def test_labels_stand_in_burrows_order() -> None:
    pattern = re.compile(r"^(burrow_\w+)\{(.*)\} ", re.MULTILINE)

    def orders(text: str) -> set[tuple[str, tuple[str, ...]]]:
        return {(name, tuple(re.findall(r'(\w+)="', labels))) for name, labels in pattern.findall(text)}

    assert orders(rendered(burrows_snapshot())) == orders(captures()["metrics"].body)


def test_types_are_burrows_but_for_the_total() -> None:
    def types(text: str) -> dict[str, str]:
        return dict(re.findall(r"^# TYPE (burrow_\w+) (\w+)$", text, re.MULTILINE))

    # the linter of Prometheus allows no gauge whose name ends in _total
    expected = {**types(captures()["metrics"].body), "burrow_kafka_consumer_lag_total": "untyped"}
    assert types(rendered(burrows_snapshot())) == expected


def test_every_family_has_its_help_and_stands_in_one_piece() -> None:
    text = rendered(burrows_snapshot())
    names = [line.split("{")[0] for line in text.splitlines() if not line.startswith("#")]
    blocks = [name for name, before in zip(names, ["", *names], strict=False) if name != before]
    assert blocks == sorted(set(names))
    assert re.findall(r"^# HELP (\w+) \S", text, re.MULTILINE) == blocks
    assert text.endswith("\n")
    assert "\n\n" not in text


@dataclass(frozen=True)
class Awkward:
    """A name that must survive the way through the text format."""

    name: str
    group: str


AWKWARD = [
    Awkward("quotes", 'say "hi"'),
    Awkward("backslash", "c:\\temp\\new"),
    Awkward("newline", "two\nlines"),
    Awkward("non-ASCII", "pay.ments-grøup"),
    Awkward("braces", "a{b}=c,d"),
    Awkward("slash and blank", "a/b c"),
]


@pytest.mark.parametrize("case", AWKWARD, ids=lambda case: case.name)
def test_names_come_through(case: Awkward) -> None:
    snapshot = MemorySnapshot(
        statuses={case.group: group_status("local", case.group, partition("t", 0, lag=5))}
    )
    labels = {"cluster": "local", "consumer_group": case.group}
    ours = series_of(rendered(snapshot))
    assert ours["burrow_kafka_consumer_lag_total", frozenset(labels.items())] == 5
    there = frozenset({**labels, "topic": "t", "partition": "0"}.items())
    assert ours["burrow_kafka_consumer_partition_lag", there] == 5


def test_a_partition_without_commit_has_a_lag_and_a_status_and_no_offset() -> None:
    snapshot = MemorySnapshot(
        statuses={"g": group_status("local", "g", partition("t", 0), partition("t", 1, offset=None))}
    )
    numbers = {
        name: sorted(
            dict(labels)["partition"] for other, labels in series_of(rendered(snapshot)) if other == name
        )
        for name in (
            "burrow_kafka_consumer_current_offset",
            "burrow_kafka_consumer_partition_lag",
            "burrow_kafka_topic_partition_status",
        )
    }
    assert numbers == {
        "burrow_kafka_consumer_current_offset": ["0"],
        "burrow_kafka_consumer_partition_lag": ["0", "1"],
        "burrow_kafka_topic_partition_status": ["0", "1"],
    }


def test_a_head_that_is_not_known_has_no_series() -> None:
    heads = (TopicPartitionHead(5, 0), TopicPartitionHead(None, None), TopicPartitionHead(0, 0))
    ours = series_of(rendered(MemorySnapshot(heads={"t": heads})))
    assert sorted(dict(labels)["partition"] for _, labels in ours) == ["0", "2"]


def test_all_clusters_are_in_one_family() -> None:
    both = [
        MemorySnapshot(name=name, statuses={"g": group_status(name, "g", partition("t", 0, lag=lag))})
        for name, lag in (("east", 1), ("west", 2))
    ]
    text = rendered(*both)
    assert text.count("# TYPE burrow_kafka_consumer_partition_lag ") == 1
    lags = {
        dict(labels)["cluster"]: value
        for (name, labels), value in series_of(text).items()
        if name == "burrow_kafka_consumer_partition_lag"
    }
    assert lags == {"east": 1, "west": 2}


def test_large_numbers_are_exact() -> None:
    offset = 2**62 + 1
    snapshot = MemorySnapshot(statuses={"g": group_status("local", "g", partition("t", 0, offset=offset))})
    assert f" {offset}\n" in rendered(snapshot)


@dataclass(frozen=True)
class ColumnSnapshot(MemorySnapshot):
    """A snapshot that has its windows as columns."""

    own: WindowTable | None = None

    def window_table(self) -> WindowTable:
        assert self.own is not None
        return self.own


def test_a_snapshots_own_columns_are_used() -> None:
    whole = np.array([0, 1])
    own = WindowTable(
        groups=["a", "b"],
        topics=["t"],
        group=whole,
        topic=np.zeros(2, np.int32),
        partition=np.array([3, 4]),
        status=np.array([1, 4], np.int8),
        current_lag=np.array([10, 20]),
        offset=np.array([-1, 9]),
    )
    ours = series_of(rendered(ColumnSnapshot(own=own)))
    there = frozenset({"cluster": "local", "consumer_group": "b", "topic": "t", "partition": "4"}.items())
    assert ours["burrow_kafka_consumer_partition_lag", there] == 20
    assert ours["burrow_kafka_topic_partition_status", there] == 4
    assert [labels for name, labels in ours if name == "burrow_kafka_consumer_current_offset"] == [there]


@pytest.mark.parametrize(
    "changes",
    [
        {"current_lag": np.array([11, 21])},
        {"groups": ["a", "c"]},
        {"topics": ["u"]},
        {"partition": np.array([3, 5])},
        {"group": np.array([0, 0]), "partition": np.array([3, 4])},
    ],
    ids=["values", "group", "topic", "partition", "groups"],
)
def test_labels_kept_from_an_earlier_snapshot_are_those_of_the_later_one(changes: dict[str, Any]) -> None:
    own = WindowTable(
        groups=["a", "b"],
        topics=["t"],
        group=np.array([0, 1]),
        topic=np.zeros(2, np.int32),
        partition=np.array([3, 4]),
        status=np.array([1, 4], np.int8),
        current_lag=np.array([10, 20]),
        offset=np.array([8, 9]),
    )
    later = ColumnSnapshot(own=replace(own, **changes))
    kept: dict[str, WindowLabels] = defaultdict(WindowLabels)
    first = b"".join(render([ColumnSnapshot(own=own)], kept))
    after = b"".join(render([later], kept))
    assert after.decode() == rendered(later)
    assert after != first


def test_partitions_that_columns_leave_out_are_filled_in() -> None:
    """As Burrow has them: a lag of 0 for each partition of a topic that the group reads."""
    own = WindowTable(
        groups=["a", "b"],
        topics=["t", "u"],
        group=np.array([0, 0, 1]),
        topic=np.array([0, 1, 1], np.int32),
        partition=np.array([1, 0, 7]),
        status=np.array([4, 1, 1], np.int8),
        current_lag=np.array([10, 20, 30]),
        offset=np.array([5, 6, 7]),
    )
    heads = {"t": (TopicPartitionHead(9, 0),) * 3, "u": (TopicPartitionHead(9, 0),), "other": ()}
    lags = {
        (label["consumer_group"], label["topic"], label["partition"]): value
        for (name, labels), value in series_of(rendered(ColumnSnapshot(own=own, heads=heads))).items()
        if name == "burrow_kafka_consumer_partition_lag" and (label := dict(labels))
    }
    assert lags == {
        ("a", "t", "0"): 0,
        ("a", "t", "1"): 10,
        ("a", "t", "2"): 0,
        ("a", "u", "0"): 20,
        ("b", "u", "7"): 30,
        ("b", "u", "0"): 0,
    }


def test_no_partition_of_a_group_is_left_out() -> None:
    columns = windows_of(usual_snapshot())
    rows = [
        (columns.groups[group], columns.topics[topic], number)
        for group, topic, number in zip(columns.group, columns.topic, columns.partition, strict=True)
    ]
    expected = [
        (name, part.topic, part.partition)
        for name, group in sorted(usual_snapshot().statuses.items())
        for part in group.partitions
    ]
    assert rows == expected


@pytest.fixture
def answers() -> MemoryAnswers:
    return MemoryAnswers(snapshots={"local": usual_snapshot()})


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("warren_triggers", "Triggers that have ended", registry=registry).inc(3)
    return registry


@pytest.fixture
def app(answers: MemoryAnswers, registry: CollectorRegistry) -> App:
    return App(Settings(), answers, MemoryLogLevel(), registry, host="here")


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item per time that the text was written."""
    written: list[int] = []

    def counting(snapshots: Sequence[ClusterSnapshot], labels: Mapping[str, WindowLabels]) -> Iterator[bytes]:
        written.append(len(snapshots))
        yield from render(snapshots, labels)

    monkeypatch.setattr(metrics, "render", counting)
    return written


def scrape(app: App, *, zipped: bool = False) -> Answered:
    return ask(app, "/metrics", headers={"Accept-Encoding": "gzip"} if zipped else {})


def test_warrens_own_metrics_follow(app: App) -> None:
    answered = scrape(app)
    assert answered.headers["content-type"] == captures()["metrics"].headers["content-type"]
    assert answered.body.startswith(b"# HELP burrow_")
    assert b"\nwarren_triggers_total 3.0\n" in answered.body


def timeless(body: bytes) -> list[bytes]:
    """Without the lines that tell the time."""
    return [line for line in body.splitlines() if b"snapshot_age" not in line]


@pytest.mark.parametrize("order", [(False, True), (True, False), (True, True), (False, False)])
def test_a_snapshot_is_written_once_whatever_form_is_asked(
    app: App, renderings: list[int], order: tuple[bool, bool]
) -> None:
    bodies = []
    for zipped in order:
        answered = scrape(app, zipped=zipped)
        assert answered.headers.get("content-encoding") == ("gzip" if zipped else None)
        bodies.append(gzip.decompress(answered.body) if zipped else answered.body)
    assert renderings == [1]
    assert timeless(bodies[0]) == timeless(bodies[1])
    assert series_of(bodies[0].decode()) == series_of(rendered(usual_snapshot()))


def test_own_metrics_are_fresh_though_the_snapshot_is_the_same(app: App, registry: CollectorRegistry) -> None:
    scrape(app, zipped=True)
    Counter("warren_late", "Comes late", registry=registry).inc()
    assert b"warren_late_total 1.0" in gzip.decompress(scrape(app, zipped=True).body)


def test_a_new_snapshot_is_written_anew_without_what_is_gone(
    app: App, answers: MemoryAnswers, renderings: list[int]
) -> None:
    assert b'consumer_group="healthy"' in scrape(app).body
    answers.snapshots["local"] = usual_snapshot().without("healthy")
    assert b'consumer_group="healthy"' not in scrape(app).body
    assert len(renderings) == 2


def test_without_any_snapshot_there_are_only_our_own(app: App, answers: MemoryAnswers) -> None:
    answers.snapshots.clear()
    assert b"burrow_" not in scrape(app).body
    assert b"warren_triggers_total" in gzip.decompress(scrape(app, zipped=True).body)


@dataclass(frozen=True)
class Asked:
    """A value of Accept-Encoding."""

    header: str
    gzip: bool


ASKED = [
    Asked("gzip", True),
    Asked("deflate, GZIP;q=0.5", True),
    Asked("*", True),
    Asked("gzip;q=0", False),
    Asked("gzip; q=0.0, *", False),
    Asked("identity", False),
    Asked("x-gzipped", False),
    Asked("", False),
]


@pytest.mark.parametrize("case", ASKED, ids=lambda case: case.header or "nothing")
def test_gzip_when_asked(case: Asked) -> None:
    assert accepts_gzip(((b"accept-encoding", case.header.encode()),)) is case.gzip
