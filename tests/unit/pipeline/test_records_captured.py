"""Single records all the way: Warren's windows, owners and verdicts against those of a real Burrow."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.kafka.probes import NOW_MS, PARTITIONS, TOPIC, Probe, probes
from tests.unit.pipeline_double import Pipeline, look, records

from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings

PROBES = {probe.name: probe for probe in probes()}
INTERVALS = 3
HEAD = 100
# Burrow was asked some seconds after the records were written
ASKED_MS = NOW_MS + 3_000
WINDOW = WindowSettings(INTERVALS, 0, 604_800_000, 10_000)

# Burrow's answer after one good commit of 40 on partition 0, and to a group that it does not know
ONE_COMMIT: dict[str, Any] = PROBES["key-v1"].burrow["lag"]
NOTFOUND: dict[str, Any] = PROBES["tombstone-first"].burrow["lag"]

LONG_METADATA = (
    "a compact length takes two bytes from 127 on; Burrow reads one, and a timestamp of the far future"
)
OWNED = "Burrow calls a partition that somebody owns and nobody has committed to complete by one slot; it is empty"

# probe: why Warren says another thing than Burrow, and what; None: the same with empty windows complete by 0
DIFFERENCES: dict[str, tuple[str, dict[str, Any] | None]] = {
    "value-v2": ("Kafka defines value version 2; Burrow refuses it", ONE_COMMIT),
    "value-v4-metadata-127": (LONG_METADATA, ONE_COMMIT),
    "value-v4-metadata-128": (LONG_METADATA, ONE_COMMIT),
    "value-v4-metadata-254": (LONG_METADATA, ONE_COMMIT),
    "value-v4-metadata-255": (LONG_METADATA, ONE_COMMIT),
    "value-v4-metadata-300": (LONG_METADATA, ONE_COMMIT),
    "tombstone-after-commit": ("a null value deletes the commit; Burrow ignores it", NOTFOUND),
    "group-slash": ("Burrow has the commit, but its API cannot find a name with a slash", ONE_COMMIT),
    "meta-v0": (OWNED, None),
    "meta-v1": (OWNED, None),
    "meta-v2": (OWNED, None),
    "meta-v3": (OWNED, None),
    "meta-v3-instance": (OWNED, None),
    "meta-two-members": (OWNED, None),
    "meta-empty-clears": (OWNED, None),
    "meta-shrinks": (OWNED, None),
    "meta-userdata-null": (OWNED, None),
    "meta-userdata": (OWNED, None),
}

# (probe, partition): owner and client id that Warren gives instead of Burrow's
OWNERS: dict[tuple[str, int], tuple[str, str]] = {
    # who was given fewer partitions does not own the others any more; Burrow leaves the old owners
    ("meta-shrinks", 1): ("", ""),
    ("meta-shrinks", 2): ("", ""),
}


@pytest.fixture(scope="module")
def view() -> ClusterView:
    """All probes in one topic, as Burrow read them."""
    given = [record for probe in PROBES.values() for record in probe.records]
    heads = {(TOPIC, partition): HEAD for partition in range(PARTITIONS)}
    pipeline = Pipeline(WINDOW)
    pipeline.trigger(look(heads, NOW_MS), now_ms=NOW_MS)
    batch = records(given, intervals=INTERVALS, observed_at=NOW_MS, before_ms=NOW_MS)
    return pipeline.trigger(look(heads, NOW_MS, as_of_ms=ASKED_MS), batch, now_ms=ASKED_MS)


def verdict(view: ClusterView, group: str) -> dict[str, Any]:
    """As `lag` in the file."""
    status = view.group(group)
    if status is None:
        return NOTFOUND
    return {
        "status": status.status.name,
        "complete": pytest.approx(status.complete),
        "partition_count": status.partition_count,
        "totallag": status.totallag,
        "maxlag_partition": None if status.maxlag is None else status.maxlag.partition,
        "partitions": [
            [
                each.partition,
                each.status.name,
                pytest.approx(each.complete),
                None if each.start is None else each.start.offset,
                None if each.end is None else each.end.offset,
                each.current_lag,
            ]
            for each in status.partitions
        ],
    }


def expected(probe: Probe) -> dict[str, Any]:
    answer: dict[str, Any] = copy.deepcopy(probe.burrow.get("lag", {}))
    if probe.name in DIFFERENCES:
        _, instead = DIFFERENCES[probe.name]
        if instead is not None:
            return instead
        for partition in answer["partitions"]:
            partition[2] = partition[2] if partition[3] is not None else 0
    return answer


@pytest.mark.parametrize("name", PROBES)
def test_the_verdict_is_burrows_or_the_difference_is_named(view: ClusterView, name: str) -> None:
    assert verdict(view, PROBES[name].group) == expected(PROBES[name])


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_is_one(name: str) -> None:
    reason, _ = DIFFERENCES[name]
    assert reason
    assert expected(PROBES[name]) != PROBES[name].burrow.get("lag")


@pytest.mark.parametrize(
    "name", [name for name, probe in PROBES.items() if probe.burrow.get("topics") and name not in DIFFERENCES]
)
def test_the_windows_are_burrows(view: ClusterView, name: str) -> None:
    probe = PROBES[name]
    found = {
        topic: [
            [
                None if entry is None else (entry.offset, entry.timestamp, entry.lag)
                for entry in partition.offsets
            ]
            for partition in partitions
        ]
        for topic, partitions in (view.detail(probe.group) or {}).items()
    }
    assert found == {
        topic: [
            [entry and (entry["offset"], entry["timestamp"], entry["lag"]) for entry in partition["offsets"]]
            for partition in partitions
        ]
        for topic, partitions in probe.burrow["topics"].items()
    }


@pytest.mark.parametrize("name", [name for name, probe in PROBES.items() if probe.burrow.get("topics")])
def test_owners_and_current_lags_are_burrows_or_the_difference_is_named(view: ClusterView, name: str) -> None:
    probe = PROBES[name]
    if expected(probe) == NOTFOUND:
        assert view.detail(probe.group) is None
        return
    found = [
        (each.owner, each.client_id, each.current_lag) for each in (view.detail(probe.group) or {})[TOPIC]
    ]
    assert found == [
        (*OWNERS.get((name, number), (each["owner"], each["client_id"])), each["current-lag"])
        for number, each in enumerate(probe.burrow["topics"][TOPIC])
    ]


def test_the_groups_that_are_listed_are_burrows_or_the_difference_is_named(view: ClusterView) -> None:
    listed = {probe.group for probe in PROBES.values() if probe.burrow["listed_after_detail"]}
    listed |= {PROBES["value-v2"].group}
    listed -= {PROBES["tombstone-after-commit"].group}
    assert set(view.groups()) == listed
