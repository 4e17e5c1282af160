"""What a kind of sink is made of: the contract between the frame and the kinds (parquet, elasticsearch, ...).

A kind has a settings class in `warren.config.modules`, and a module `warren.sinks.<class-name>` with a class that
implements `Kind`. `warren.sinks.kinds` knows them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from warren.errors import WarrenError
from warren.sinks.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TryAgainError(WarrenError):
    """The other side cannot take it now: it is down, slow, or refuses everybody. The sample is kept and tried again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a writer is given: one sample, of which it sees what the sink wants."""

    # grows by one from sample to sample; a sink with another interval than the others does not see every number
    number: int
    # when the sample was taken; a row's `time` is when its cluster was seen, which is a little before
    time_ms: int
    tables: Tables
    # the sample that this sink had before this one, None: there is none any more. A file for `sample.read`
    previous: Path | None = None


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of the sink. The driver is to put it down: only Java can reach every file system that Spark can."""

    # below the sink's path
    path: str
    # None: the writer has put it down itself
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Written:
    """How it went."""

    rows: int
    # rows that the other side will never take: they are counted and left out
    rejected: int = 0
    # why, in a sentence, of one of them
    reason: str = ""
    files: Sequence[PlacedFile] = ()


class Writer(Protocol):
    """Lives in one of Spark's Python processes and is kept there from sample to sample, until it fails; called by one
    thread. There may be one in each of several processes, which take turns."""

    def write(self, batch: Batch) -> Written:
        """Write a sample. TryAgainError: the whole sample comes again later.

        The same sample may come twice, also after a part of it was written: what is written a second time must
        change nothing. Any other exception is a fault in the program; the sample comes again then, too.
        """


class Kind(Protocol):
    """One class of sink, made from its settings; pickled to Spark's Python processes, secrets included."""

    def prepared(self, session: SparkSession) -> Kind:
        """In the driver, at each start of the sink's query: the kind as it is with this Spark."""

    def writer(self) -> Writer:
        """Called once in each process; may connect. TryAgainError as in `write`."""

    def tables(self) -> Sequence[str]:
        """Which of the tables it writes, of those that its level lets through."""

    def finish(self, session: SparkSession, files: Sequence[PlacedFile]) -> None:
        """In the driver, after a batch was written and before it counts as done. TryAgainError: all of it again."""

    def keep(self, session: SparkSession, now_ms: int) -> None:
        """In the driver, between batches: what has to be done now and then. What fails here is logged, no more."""


class PlainKind:
    """A kind that has nothing to do in the driver."""

    def prepared(self, session: SparkSession) -> Self:
        return self

    def tables(self) -> Sequence[str]:
        return ("groups", "topics", "partitions")

    def finish(self, session: SparkSession, files: Sequence[PlacedFile]) -> None:
        """Nothing."""

    def keep(self, session: SparkSession, now_ms: int) -> None:
        """Nothing."""
