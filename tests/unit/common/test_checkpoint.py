"""What a checkpoint holds is what is declared, and no declaration changes without the version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.pipeline_double import NOW, WINDOW, Pipeline, look, records

from warren.cluster.source import HeadsSettings, LookPlanner
from warren.common import checkpoint, frames
from warren.consumer.plan import Position
from warren.consumer.polling import PolledPosition
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.storage.heads import LOOKS
from warren.storage.owners import GroupOwners, Member

# state variable: bucket: what is in it
States = Mapping[str, Mapping[int, Any]]

# Version: fingerprint of its layout. When this fails, raise `checkpoint.VERSION`, add a line here, and keep a
# checkpoint of the new format with the tests: .venv/bin/python -m tests.integration.pipeline.stored
FINGERPRINTS = {3: "96ece0b254b4", 4: "a209a6aefb70"}


def test_no_layout_changes_without_its_version() -> None:
    assert FINGERPRINTS[checkpoint.VERSION] == checkpoint.FINGERPRINT
    assert max(FINGERPRINTS) == checkpoint.VERSION
    assert len(set(FINGERPRINTS.values())) == len(FINGERPRINTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WINDOW_BUCKETS", 16),
        ("OWNER_BUCKETS", 8),
        ("BUCKET_MULTIPLIER", 1),
        ("HEADER", "version int"),
        ("BASE", "windows binary"),
        ("ENTRIES", "windows binary"),
        ("TOPIC_PARTITIONS", {"topic": "string"}),
        ("WINDOWS", {"group": "string"}),
        ("CHANGED_WINDOWS", {"row": "int64"}),
        ("GROUP_OWNERS", {name: checkpoint.GROUP_OWNERS[name] for name in ("newest", "members", "seen_ms")}),
        ("METADATA", {}),
        ("MEMBER", {"client_id": "int"}),
        ("OFFSET", ("look",)),
        ("LOOK", ("at",)),
        ("POSITION", {"next": "number"}),
        ("POLLED_POSITION", {"next": "number"}),
    ],
)
def test_whatever_is_changed_changes_the_fingerprint(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, name, value)
    assert checkpoint.fingerprint() != checkpoint.FINGERPRINT


class TestWhatIsWritten:
    """Every part against its declaration, in both directions: names, types and order."""

    @pytest.fixture
    def states(self) -> States:
        """After a trigger that wrote bases and one that wrote entries."""
        pipeline = Pipeline()
        for number in range(2):
            pipeline.trigger(look({("orders", 0): 10}, full=number == 0), records([commit(number)], number))
        return {name: state.held for name, state in pipeline.states.named.items()}

    def test_the_states_have_the_declared_columns(self, states: States) -> None:
        declared = {
            "header": checkpoint.HEADER,
            "base": checkpoint.BASE,
            "entries": checkpoint.ENTRIES,
        }
        assert states.keys() == declared.keys()
        for name, schema in declared.items():
            rows = [row for held in states[name].values() for row in (held if name == "entries" else [held])]
            assert {len(row) for row in rows} == {len(schema.split(","))}, name

    def test_a_base(self, states: States) -> None:
        ((topic_partitions, windows, _),) = states["base"].values()
        assert written(topic_partitions) == declared("topic partitions", checkpoint.TOPIC_PARTITIONS)
        assert written(windows) == declared("windows", checkpoint.WINDOWS)

    def test_an_entry(self, states: States) -> None:
        (((topic_partitions, changed),),) = states["entries"].values()
        assert written(topic_partitions) == declared("topic partitions", checkpoint.TOPIC_PARTITIONS)
        assert written(changed) == declared("changed windows", checkpoint.CHANGED_WINDOWS)

    def test_owners(self) -> None:
        assert [*GroupOwners.__annotations__.items()] == [*checkpoint.GROUP_OWNERS.items()]
        assert [*Member.__annotations__.items()] == [*checkpoint.MEMBER.items()]

    def test_offsets(self, tmp_path: Path) -> None:
        planner = LookPlanner(HeadsSettings({}, 1, tmp_path))
        assert tuple(planner.first()) == checkpoint.LOOK
        assert tuple(planner.advanced(planner.first())) == checkpoint.LOOK
        position = Position(
            next=(1, 2), shift=(3, 4), back=((0, 5), (0, 6)), begin=(1, 2), goal=(7, 8), uncommitted=(0, 1)
        )
        offset = position.to_offset()
        assert offset.keys() == checkpoint.POSITION.keys()
        for name, value in offset.items():
            assert _is[checkpoint.POSITION[name]](value), name
        polled = PolledPosition(1, 2, 3, "wrong", silent=True).to_offset()
        assert polled.keys() == checkpoint.POLLED_POSITION.keys()
        for name, value in polled.items():
            assert _is[checkpoint.POLLED_POSITION[name]](value), name


# kind of a member of an offset: whether a value is of it
_is: Mapping[str, Callable[[Any], Any]] = {
    "numbers": re.compile(r"\d+,\d+").fullmatch,
    "spans": re.compile(r"\d+-\d+,\d+-\d+").fullmatch,
    "number": lambda value: type(value) is int,
    "boolean": lambda value: type(value) is bool,
    "text": lambda value: type(value) is str,
}


def commit(offset: int) -> tuple[bytes, bytes]:
    key = encode(messages.COMMIT_KEY, 1, {"group": "billing", "topic": "orders", "partition": 0})
    value = {"offset": offset, "leader_epoch": -1, "metadata": "", "timestamp": NOW}
    return key, encode(messages.COMMIT_VALUE, 3, value)


def written(payload: bytes) -> tuple[dict[str, str], set[str]]:
    """Name and type of each column, and what goes with them."""
    schema = frames.unpack(payload).schema
    return {field.name: _type(field.type) for field in schema}, {
        name.decode() for name in schema.metadata or ()
    }


def declared(name: str, columns: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    return dict(columns), set(checkpoint.METADATA[name])


def _type(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_list(kind):
        sizes = {LOOKS: str(LOOKS), WINDOW.intervals: "intervals"}
        return f"{kind.value_type}[{sizes[kind.list_size]}]"
    if pa.types.is_dictionary(kind):
        return f"dictionary<values={kind.value_type}, indices={kind.index_type}>"
    return str(kind)
