"""What of a sample a sink writes: its level of detail, and the clusters, groups and topics that it wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from warren.sinks.tables import SCHEMAS, Tables

if TYPE_CHECKING:
    from warren.config.modules import Sink

# level: the tables it has
LEVELS: Final = {
    "group": ("groups",),
    "topic": ("groups", "topics"),
    "partition": ("groups", "topics", "partitions"),
    # topics show that a cluster was seen, though it may have no group any more
    "changes": ("groups", "topics", "partitions", "reasons"),
}


class Matcher(Protocol):
    """A pattern of either kind."""

    def matches(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one kind that are wanted."""

    allow: Matcher | None = None
    deny: Matcher | None = None
    include: Sequence[Matcher] = ()
    exclude: Sequence[Matcher] = ()

    def __call__(self, name: str) -> bool:
        return (
            (self.allow is None or self.allow.matches(name))
            and (self.deny is None or not self.deny.matches(name))
            and (not self.include or any(each.matches(name) for each in self.include))
            and not any(each.matches(name) for each in self.exclude)
        )

    @property
    def everything(self) -> bool:
        return self.allow is None and self.deny is None and not self.include and not self.exclude


@dataclass(frozen=True, slots=True)
class Selection:
    """The level and the filters of a sink."""

    # of the tables' names
    tables: tuple[str, ...]
    # column: the names in it that are wanted
    names: dict[str, Names]

    @classmethod
    def of(cls, sink: Sink) -> Selection:
        return cls(
            LEVELS[sink.level],
            {
                "cluster": Names(
                    sink.cluster_allowlist,
                    sink.cluster_denylist,
                    sink.clusters_include,
                    sink.clusters_exclude,
                ),
                "group": Names(
                    sink.group_allowlist, sink.group_denylist, sink.groups_include, sink.groups_exclude
                ),
                "topic": Names(
                    sink.topic_allowlist, sink.topic_denylist, sink.topics_include, sink.topics_exclude
                ),
            },
        )

    def applied(self, tables: Tables) -> Tables:
        """What is wanted of these tables."""
        return Tables(
            **{
                name: self._filtered(table) if name in self.tables else SCHEMAS[name].empty_table()
                for name, table in tables.named().items()
            }
        )

    def _filtered(self, table: pa.Table) -> pa.Table:
        for column, wanted in self.names.items():
            if column in table.column_names and not wanted.everything:
                table = table.filter(_mask(table.column(column), wanted))
        return table


def _mask(column: pa.ChunkedArray, wanted: Callable[[str], bool]) -> Any:
    """Per row whether its name is wanted; each name is looked at once."""
    chunks = [
        pc.take(pa.array([wanted(name) for name in chunk.dictionary.to_pylist()], pa.bool_()), chunk.indices)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, pa.bool_())
