"""Znodes with commits: where they are, what is in them, which are to be read."""

from __future__ import annotations

import json

import pytest

from warren.consumer.znodes import (
    NO_PARTITION,
    NOT_A_NUMBER,
    NOT_STORMS,
    Commit,
    KafkaLayout,
    Kind,
    Layout,
    Owner,
    Path,
    StormLayout,
    Tree,
    UnusableError,
)

KAFKA, STORM = KafkaLayout(), StormLayout()


@pytest.mark.parametrize(
    ("layout", "path", "kind"),
    [
        (KAFKA, (), Kind.LIST),
        (KAFKA, ("g",), Kind.LIST),
        (KAFKA, ("g", "ids"), None),
        (KAFKA, ("g", "offsets"), Kind.LIST),
        (KAFKA, ("g", "offsets", "t"), Kind.LIST),
        (KAFKA, ("g", "offsets", "t", "0"), Kind.VALUE),
        (KAFKA, ("g", "owners", "t", "12"), Kind.VALUE),
        (KAFKA, ("g", "offsets", "t", "0", "x"), None),
        (STORM, ("spout",), Kind.LIST),
        (STORM, ("spout", "partition_3"), Kind.VALUE),
        (STORM, ("spout", "topic"), Kind.LIST),
        (STORM, ("spout", "topic", "partition_3"), Kind.VALUE),
        (STORM, ("spout", "topic", "other"), None),
    ],
)
def test_kinds(layout: Layout, path: Path, kind: Kind | None) -> None:
    assert layout.kind(path) is kind


@pytest.mark.parametrize("name", ["x", "-1", "1.0", "²", "2147483648", ""])
def test_a_partition_that_is_not_a_number_makes_no_sense(name: str) -> None:
    with pytest.raises(UnusableError, match=NO_PARTITION):
        KAFKA.kind(("g", "offsets", "t", name))


def test_offsets_and_owners_of_old_consumers() -> None:
    assert KAFKA.parsed(("g", "offsets", "t", "3"), b"42") == Commit(("g", "t", 3), 42)
    assert KAFKA.parsed(("g", "offsets", "t", "3"), b" 42\n") == Commit(("g", "t", 3), 42)
    assert KAFKA.parsed(("g", "owners", "t", "3"), b"g_host-1-a-0") == Owner(("g", "t", 3), "g_host-1-a-0")


@pytest.mark.parametrize("value", [b"", b"x", b"-1", b"1e3", b"\xff", b"9223372036854775808", b"1" * 5000])
def test_a_value_that_is_no_offset(value: bytes) -> None:
    with pytest.raises(UnusableError, match=NOT_A_NUMBER):
        KAFKA.parsed(("g", "offsets", "t", "3"), value)


def test_a_spouts_node() -> None:
    node = {
        "topology": {"id": "3c83c1a8", "name": "fraud"},
        "offset": 4285,
        "partition": 1,
        "broker": {"host": "kafka1", "port": 9092},
        "topic": "orders",
    }
    assert STORM.parsed(("spout", "partition_1"), json.dumps(node).encode()) == Commit(
        ("spout", "orders", 1), 4285
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"null",
        b'{"offset": 1, "partition": 0}',
        b'{"offset": "1", "partition": 0, "topic": "t"}',
        b'{"offset": true, "partition": 0, "topic": "t"}',
        b'{"offset": 1, "partition": -1, "topic": "t"}',
        b'{"offset": 1e99, "partition": 0, "topic": "t"}',
        b'{"offset": 1, "partition": 0, "topic": null}',
        b'{"offset": 1, "partition": 0, "topic": "\\ud800"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_spouts_node_that_cannot_be_parsed(value: bytes) -> None:
    with pytest.raises(UnusableError, match=NOT_STORMS):
        STORM.parsed(("spout", "partition_1"), value)


class TestTree:
    @pytest.fixture
    def tree(self) -> Tree:
        return Tree(KAFKA, lambda group: not group.startswith("console-"))

    def grown(self, tree: Tree) -> None:
        tree.list((), ["g"])
        tree.list(("g",), ["offsets", "owners", "ids"])
        tree.list(("g", "offsets"), ["t"])
        tree.list(("g", "offsets", "t"), ["0", "1"])

    def test_it_is_read_from_the_base_down(self, tree: Tree) -> None:
        assert tree.everything() == [((), Kind.LIST)]
        assert tree.list((), ["g"]).added == [(("g",), Kind.LIST)]
        assert tree.list(("g",), ["offsets", "ids"]).added == [(("g", "offsets"), Kind.LIST)]
        assert tree.list(("g", "offsets"), ["t"]).added == [(("g", "offsets", "t"), Kind.LIST)]
        path = ("g", "offsets", "t", "0")
        assert tree.list(("g", "offsets", "t"), ["0"]).added == [(path, Kind.VALUE)]
        assert (path, Kind.VALUE) in tree.everything()
        # nothing is new
        assert tree.list(("g", "offsets", "t"), ["0"]).added == []

    def test_groups_that_the_lists_exclude_are_not_read_and_counted_once(self, tree: Tree) -> None:
        listing = tree.list((), ["console-1", "g"])
        assert (listing.added, listing.denied) == ([(("g",), Kind.LIST)], 1)
        assert tree.list((), ["console-1", "g"]).denied == 0

    def test_names_that_make_no_sense_are_told_once(self, tree: Tree) -> None:
        self.grown(tree)
        assert tree.list(("g", "offsets", "t"), ["0", "1", "x"]).unusable == [NO_PARTITION]
        assert tree.list(("g", "offsets", "t"), ["0", "1", "x"]).unusable == []

    @pytest.mark.parametrize(
        ("path", "names", "gone"),
        [
            (("g", "offsets", "t"), ["1"], ["0"]),
            (("g", "offsets", "t"), [], ["0", "1"]),
            (("g", "offsets"), [], ["0", "1"]),
            (("g",), ["owners"], ["0", "1"]),
            ((), [], ["0", "1"]),
        ],
    )
    def test_what_is_below_a_node_goes_with_it(
        self, tree: Tree, path: Path, names: list[str], gone: list[str]
    ) -> None:
        self.grown(tree)
        listing = tree.list(path, names)
        assert sorted(each[-1] for each in listing.gone) == gone
        left = [each for each, kind in tree.everything() if kind is Kind.VALUE]
        assert len(left) == 2 - len(gone)

    @pytest.mark.parametrize("path", [("g", "offsets", "t", "0"), ("g", "offsets", "t"), ("g", "offsets")])
    def test_what_is_deleted_and_created_between_two_requests_is_read_again(
        self, tree: Tree, path: Path
    ) -> None:
        self.grown(tree)
        assert ("g", "offsets", "t", "0") in tree.forget(path).gone
        # its parent is listed when it is there again
        names = {"t": ["0", "1"], "offsets": ["t"], "g": ["offsets", "owners", "ids"]}[path[-2]]
        assert [each for each, _ in tree.list(path[:-1], names).added] == [path]

    def test_what_comes_again_is_read_again(self, tree: Tree) -> None:
        self.grown(tree)
        tree.list(("g", "offsets", "t"), ["1"])
        assert tree.list(("g", "offsets", "t"), ["0", "1"]).added == [
            (("g", "offsets", "t", "0"), Kind.VALUE)
        ]

    def test_events_of_nodes_that_are_gone_are_ignored_and_lists_come_first(self, tree: Tree) -> None:
        self.grown(tree)
        tree.list(("g", "offsets", "t"), ["1"])
        events = [("g", "offsets", "t", "0"), ("g", "offsets", "t", "1"), ("g", "offsets", "t")]
        assert tree.known(events) == [
            (("g", "offsets", "t"), Kind.LIST),
            (("g", "offsets", "t", "1"), Kind.VALUE),
        ]
        # the answer to a request from before it went
        assert tree.list(("nobody",), ["offsets"]).added == []
