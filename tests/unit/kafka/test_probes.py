"""Single records: what Warren makes of them, against a real Burrow's answers."""

from __future__ import annotations

from collections import defaultdict

import pytest
from tests.unit.kafka.probes import (
    DIFFERENCES,
    EXPIRE_MS,
    NOW_MS,
    PARTITIONS,
    TOPIC,
    Owners,
    Probe,
    Windows,
    probes,
)
from tests.unit.kafka.strategies import everyone, raw

from warren.common.group_records import (
    ClassicGroup,
    ClassicMember,
    ConsumerGroup,
    GroupDeleted,
    GroupRecord,
)
from warren.kafka.batch import Decoded, decode

PROBES = {probe.name: probe for probe in probes()}


def exists(topic: str, partition: int) -> bool:
    """Whether the brokers of the probes had this partition."""
    return topic == TOPIC and 0 <= partition < PARTITIONS


def windows_of(decoded: Decoded) -> Windows:
    """The least of a storage: commits by key, deletions, and what the brokers do not have or is too old."""
    windows: Windows = defaultdict(list)
    commits, keys = decoded.commits, decoded.keys
    gone = {each.group: each.order for each in decoded.groups if isinstance(each, GroupDeleted)}
    for row in range(len(commits)):
        place = commits.key[row]
        key = keys.group[place].as_py(), keys.topic[place].as_py(), int(keys.partition[place])
        if commits.deleted[row]:
            windows.pop(key, None)
        elif (
            exists(key[1], key[2])
            and commits.order[row] > gone.get(key[0], -1)
            and NOW_MS - commits.timestamp[row] <= EXPIRE_MS
        ):
            windows[key].append((int(commits.offset[row]), int(commits.timestamp[row])))
    return dict(windows)


def owners_of(decoded: Decoded) -> Owners:
    """The owners that the last record of each classic group names."""
    owners: dict[str, Owners] = {}
    for each in decoded.groups:
        if isinstance(each, ClassicGroup):
            owners[each.group] = {
                (each.group, topic, partition): (member.client_host, member.client_id)
                for member in each.members
                for topic, partitions in member.assignment.items()
                for partition in partitions
                if exists(topic, partition)
            }
        elif isinstance(each, GroupDeleted):
            owners.pop(each.group, None)
    return {key: owner for one in owners.values() for key, owner in one.items()}


@pytest.mark.parametrize("name", PROBES)
def test_windows_and_owners_are_burrows_or_the_difference_is_named(name: str) -> None:
    probe = PROBES[name]
    decoded = decode(raw(probe.records), everyone)
    difference = DIFFERENCES.get(name)
    expected_windows, expected_owners = probe.windows(), probe.owners()
    if difference is not None:
        assert difference.reason
        expected_windows = expected_windows if difference.windows is None else difference.windows
        expected_owners = expected_owners if difference.owners is None else difference.owners
    assert windows_of(decoded) == expected_windows
    assert owners_of(decoded) == expected_owners


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_is_one(name: str) -> None:
    probe, difference = PROBES[name], DIFFERENCES[name]
    assert difference.windows not in (None, probe.windows()) or difference.owners not in (
        None,
        probe.owners(),
    )


# probe: what is counted; the probes that are not here count nothing
COUNTED = {
    "key-v3-kip848": {"group record read in part": 1},
    "key-v9": {"share group": 1},
    "key-empty": {"truncated key": 1},
    "key-1-byte": {"truncated key": 1},
    "key-truncated": {"truncated key": 1},
    "key-null": {"no key": 1},
    "value-v5": {"value version 5": 1},
    "value-truncated": {"truncated value": 1},
    "value-1-byte": {"truncated value": 1},
    "value-version-only": {"truncated value": 1},
    # Kafka writes null to delete; an empty value is one that breaks off before its version
    "tombstone-empty-first": {"truncated value": 1},
    "partition-negative": {"negative partition": 1},
    "topic-empty": {"empty topic": 1},
    # version 4 is flexible; this one was written as if it were not
    "meta-v4": {"truncated value": 1},
    "meta-empty-clears": {"superseded group record": 1},
    "meta-shrinks": {"superseded group record": 1},
    "meta-assign-version-negative": {"unreadable assignment": 1},
    "meta-truncated": {"group record read in part": 1},
}


@pytest.mark.parametrize("name", PROBES)
def test_what_is_counted(name: str) -> None:
    assert decode(raw(PROBES[name].records), everyone).skipped == COUNTED.get(name, {})


CLIENT = ClassicMember("m-1", "client-1", "/10.0.0.1", {TOPIC: (0, 2)})

# probe: the group records in it
GROUPS: dict[str, list[GroupRecord]] = {
    "key-v3-kip848": [ConsumerGroup("r-key-v3-kip848", 0, 5)],
    "meta-v0": [ClassicGroup("r-meta-v0", 1, "consumer", (CLIENT,))],
    "meta-v3-instance": [ClassicGroup("r-meta-v3-instance", 1, "consumer", (CLIENT,))],
    "meta-connect": [ClassicGroup("r-meta-connect", 1, "connect", ())],
    "meta-empty-clears": [ClassicGroup("r-meta-empty-clears", 2, "consumer", ())],
    "meta-tombstone": [GroupDeleted("r-meta-tombstone", 1, "classic")],
    "meta-tombstone-then-commit": [GroupDeleted("r-meta-tombstone-then-commit", 1, "classic")],
}


@pytest.mark.parametrize("name", GROUPS)
def test_group_records(name: str) -> None:
    assert decode(raw(PROBES[name].records), everyone).groups == GROUPS[name]


def test_all_probes_in_one_batch_say_what_each_says_alone() -> None:
    together: list[Probe] = list(PROBES.values())
    decoded = decode(raw([record for probe in together for record in probe.records]), everyone)
    alone = [decode(raw(probe.records), everyone) for probe in together]
    assert decoded.commits.offset.tolist() == [x for each in alone for x in each.commits.offset.tolist()]
    assert len(decoded.groups) == sum(len(each.groups) for each in alone)
    assert sum(decoded.skipped.values()) == sum(sum(each.skipped.values()) for each in alone)
