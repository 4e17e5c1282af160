"""Commit records of any number of groups as bytes, a hundred thousand at a time: pure, determined by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from warren.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

# Kafka's schemas with an empty metadata string; numpy packs the fields without gaps, so a row is a record
_VALUES: Final[dict[int, list[tuple[str, str]]]] = {
    0: [("version", ">i2"), ("offset", ">i8"), ("metadata", ">i2"), ("timestamp", ">i8")],
    1: [("version", ">i2"), ("offset", ">i8"), ("metadata", ">i2"), ("timestamp", ">i8"), ("expires", ">i8")],
    2: [("version", ">i2"), ("offset", ">i8"), ("metadata", ">i2"), ("timestamp", ">i8")],
    3: [("version", ">i2"), ("offset", ">i8"), ("epoch", ">i4"), ("metadata", ">i2"), ("timestamp", ">i8")],
    # flexible: the string's length is a varint of length + 1, and tagged fields end the record: none
    4: [
        ("version", ">i2"),
        ("offset", ">i8"),
        ("epoch", ">i4"),
        ("metadata", "u1"),
        ("timestamp", ">i8"),
        ("tags", "u1"),
    ],
}
VALUE_VERSIONS: Final = tuple(_VALUES)
_KEY_VERSION: Final = 1
_DAY_MS: Final = 24 * 3600 * 1000

# rounds of a rewinding group between two rewinds, and its steps
_CYCLE: Final = 4
_STRIDE: Final = 3


class Behaviour(IntEnum):
    """What the offsets of a group do."""

    KEEPS_UP = 0
    CREEPS = 1
    STICKS = 2
    REWINDS = 3


# how many groups of a hundred have each behaviour
_SHARES: Final = {Behaviour.KEEPS_UP: 70, Behaviour.CREEPS: 15, Behaviour.STICKS: 10, Behaviour.REWINDS: 5}


@dataclass(frozen=True)
class Batch:
    """Records for one partition of the offsets topic, keys and values side by side."""

    partition: int
    keys: list[bytes]
    values: list[bytes]


@dataclass(frozen=True)
class Shape:
    """How many groups commit for which partitions, and where to."""

    groups: int = 100
    partitions: int = 50
    data_topic: str = "bench-data"
    offsets_topic: str = "bench-offsets"
    offsets_partitions: int = 50
    value_version: int = 3
    group_prefix: str = "bench-group-"

    def __post_init__(self) -> None:
        problems = [
            f"{name}: must be at least 1, not {value}"
            for name, value in (
                ("groups", self.groups),
                ("partitions", self.partitions),
                ("offsets-partitions", self.offsets_partitions),
            )
            if value < 1
        ]
        if self.value_version not in _VALUES:
            known = ", ".join(map(str, VALUE_VERSIONS))
            problems.append(f"value-version: {self.value_version} is not one of {known}")
        if self.offsets_topic.startswith("__"):
            problems.append(
                f"offsets-topic: {self.offsets_topic} belongs to the broker, which would read the records "
                "as commits of real groups; use another name"
            )
        if problems:
            raise ConfigError(problems)

    @property
    def windows(self) -> int:
        """Pairs of a group and a partition."""
        return self.groups * self.partitions


def java_hash(text: str) -> int:
    """Java's String.hashCode of the text."""
    units = np.frombuffer(text.encode("utf-16-be"), dtype=">u2").tolist()
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def offsets_partition(group: str, partitions: int) -> int:
    """The partition of the offsets topic that Kafka uses for a group."""
    value = java_hash(group)
    return (0 if value == -(1 << 31) else abs(value)) % partitions


class Workload:
    """The endless sequence of commits of a shape: each round every group commits all of its partitions."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape = shape
        rng = np.random.default_rng(seed)
        digits = len(str(shape.groups - 1))
        names = [f"{shape.group_prefix}{number:0{digits}d}" for number in range(shape.groups)]
        self.groups: Final = tuple(names)
        # the groups commit in a random order; all arrays below are in that order
        turns = rng.permutation(shape.groups)
        self._names = np.array([names[turn].encode() for turn in turns])
        self._homes = np.array([offsets_partition(names[turn], shape.offsets_partitions) for turn in turns])
        shares = np.array(list(_SHARES.values())) / 100
        self._behaviour = rng.choice(np.array(list(_SHARES)), shape.groups, p=shares)
        # per window: its start as thousandths of the topic, and its distance from the head
        self._start = rng.integers(250, 500, shape.windows)
        self._gap = rng.integers(0, 50, shape.windows)

    def batches(self, first: int, head: int, times_ms: Integers) -> list[Batch]:
        """The commits from number `first` on, one for each time; no offset is above the head."""
        numbers = np.arange(first, first + len(times_ms))
        homes = self._homes[numbers % self.shape.windows // self.shape.partitions]
        # by partition: a producer takes a batch for one partition at half the cost
        order = np.argsort(homes, kind="stable")
        numbers, homes, times_ms = numbers[order], homes[order], times_ms[order]
        rounds, windows = np.divmod(numbers, self.shape.windows)
        groups, partitions = np.divmod(windows, self.shape.partitions)
        keys = _rows(self._keys(groups, partitions))
        values = _rows(self._values(self._offsets(windows, groups, rounds, head), times_ms))
        starts = np.flatnonzero(np.diff(homes, prepend=-1)).tolist()
        return [
            Batch(int(homes[start]), keys[start:end], values[start:end])
            for start, end in zip(starts, [*starts[1:], len(keys)], strict=True)
        ]

    def spread_times(self, first: int, count: int, total: int, end_ms: int, interval_ms: int) -> Integers:
        """Commit times that lead up to `end_ms` after `total` commits: a group commits once per interval."""
        turns = np.arange(first, first + count) // self.shape.partitions
        turns_in_all = -(-total // self.shape.partitions)
        times: Integers = end_ms - (turns_in_all - 1 - turns) * interval_ms // self.shape.groups
        return times

    def _offsets(self, windows: Integers, groups: Integers, rounds: Integers, head: int) -> Integers:
        start = head * self._start[windows] // 1000
        saw = start - rounds // _CYCLE + rounds % _CYCLE * _STRIDE
        choices = {
            Behaviour.KEEPS_UP: head - self._gap[windows] // (rounds + 1),
            Behaviour.CREEPS: np.minimum(start + rounds, head - 1),
            Behaviour.STICKS: start,
            Behaviour.REWINDS: saw,
        }
        offsets: Integers = np.choose(self._behaviour[groups], [choices[kind] for kind in Behaviour])
        return np.clip(offsets, 0, head)

    def _keys(self, groups: Integers, partitions: Integers) -> NDArray[Any]:
        topic = self.shape.data_topic.encode()
        keys = np.empty(
            len(groups),
            dtype=[
                ("version", ">i2"),
                ("group_length", ">i2"),
                ("group", self._names.dtype),
                ("topic_length", ">i2"),
                ("topic", f"S{len(topic)}"),
                ("partition", ">i4"),
            ],
        )
        keys["version"] = _KEY_VERSION
        keys["group_length"] = self._names.dtype.itemsize
        keys["group"] = self._names[groups]
        keys["topic_length"] = len(topic)
        keys["topic"] = topic
        keys["partition"] = partitions
        return keys

    def _values(self, offsets: Integers, times_ms: Integers) -> NDArray[Any]:
        version = self.shape.value_version
        values = np.zeros(len(offsets), dtype=_VALUES[version])
        values["version"] = version
        values["offset"] = offsets
        values["timestamp"] = times_ms
        if version == 1:
            values["expires"] = times_ms + _DAY_MS
        if version == 4:
            values["metadata"] = 1
        return values


def _rows(table: NDArray[Any]) -> list[bytes]:
    """Each row as bytes, trailing zeros included."""
    rows: list[bytes] = table.view(f"V{table.dtype.itemsize}").tolist()
    return rows
