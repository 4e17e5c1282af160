"""The upkeep of the history: many small files of a day become one, and days that are too old go."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from warren import durable
from warren.memory import release_memory
from warren.sinks.hadoop import UNFINISHED, FileInfo, Files
from warren.sinks.tables import SCHEMAS
from warren.sinks.work import row_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = structlog.get_logger("warren.sinks")

_HOUR_MS: Final = 3_600_000
# a day is over when no sample of it can be on its way any more, or so we take it: later ones make small files again
_GRACE_MS: Final = 600_000
# a note of which files another one replaces, beside them while that is being done
NOTE: Final = "_replaces.json"
# what files become at most: larger ones take longer to write than they save
_LARGE_BYTES: Final = 256 * 1024 * 1024
# how much of a file is held in memory before it is written, by Java and by Python
_ROW_GROUP_BYTES: Final = 32 * 1024 * 1024
_ROW_GROUP_ROWS: Final = 250_000


class Note(msgspec.Struct, frozen=True):
    """Files that one file takes the place of."""

    file: str
    replaces: tuple[str, ...]


class Upkeep:
    """Called between the batches of one sink: what is there is complete, and nobody else writes it."""

    def __init__(
        self,
        path: str,
        compression: str,
        compact_after: int,
        retention_days: int,
        *,
        disk: Path | None = None,
    ) -> None:
        """`disk`: the path, where tasks find it on a disk of their own machine."""
        self._path = path
        self._disk = disk
        self._compression = compression
        self._compact_after = compact_after
        self._retention_days = retention_days
        # directory of a day: small files in it
        self._small: Counter[str] = Counter()
        self._looked_ms: int | None = None

    def wrote(self, path: str) -> None:
        """A file was put down."""
        self._small[path.rpartition("/")[0]] += 1

    def run(self, session: SparkSession, now_ms: int) -> None:
        """What is due."""
        first = self._looked_ms is None
        hourly = first or now_ms - (self._looked_ms or 0) >= _HOUR_MS or now_ms < (self._looked_ms or 0)
        full = [directory for directory, count in self._small.items() if count >= self._compact_after]
        if not hourly and not full:
            return
        files = Files(session, self._path)
        if hourly:
            self._looked_ms = now_ms
            self._look(session, files, now_ms, everything=first)
        for directory in full:
            self.compact(session, files, directory)

    def _look(self, session: SparkSession, files: Files, now_ms: int, *, everything: bool) -> None:
        """Old days go, days that are over become one file; at the start, what was left half done is put right."""
        today = _day(now_ms - _GRACE_MS)
        if everything:
            files.remove(UNFINISHED)
        directories = _days(files)
        oldest = _oldest_kept(map(_day_of, directories), _day(now_ms), self._retention_days)
        for directory in directories:
            day = _day_of(directory)
            if day < oldest:
                files.remove(directory)
                self._small.pop(directory, None)
                log.info(
                    "a day of the history has gone", directory=directory, retention_days=self._retention_days
                )
                continue
            names = [each.name for each in files.list(directory)]
            if NOTE in names:
                put_right(files, directory)
            small = sum(_is_small(name) for name in names)
            self._small[directory] = small
            if day < today and len([name for name in names if name.endswith(".parquet")]) > 1:
                self.compact(session, files, directory, whole=True)

    def compact(self, session: SparkSession, files: Files, directory: str, *, whole: bool = False) -> None:
        """Make one file of the small ones, or of all that are not large already.

        Readers may see rows twice for a moment: the new file is there before the old ones go.
        """
        found = [
            each
            for each in files.list(directory)
            if each.name.endswith(".parquet") and (whole or _is_small(each.name))
        ]
        self._small.pop(directory, None)
        for names in _grouped(found):
            self._merge(session, files, directory, names)

    def _merge(self, session: SparkSession, files: Files, directory: str, names: tuple[str, ...]) -> None:
        merged = _merged_name(names)
        draft = f"{UNFINISHED}/{directory.replace('/', '_')}"
        files.remove(draft)
        if self._disk is not None:
            sources = tuple(self._disk / directory / name for name in names)
            merge = _Merge(sources, self._disk / draft / "part-0.parquet", self._compression)
            session.range(1).coalesce(1).mapInArrow(merge, "nothing long").toArrow()
        else:
            _merge(
                session,
                [f"{files.base}/{directory}/{name}" for name in names],
                f"{files.base}/{draft}",
                self._compression,
            )
        (part,) = [each.name for each in files.list(draft) if each.name.startswith("part-")]
        files.remove(f"{directory}/{NOTE}")
        files.put(f"{directory}/{NOTE}", msgspec.json.encode(Note(merged, names)))
        files.move(f"{draft}/{part}", f"{directory}/{merged}")
        put_right(files, directory)
        files.remove(draft)
        log.info("files of the history made into one", directory=directory, files=len(names))


def put_right(files: Files, directory: str) -> None:
    """Finish what a note says: the files that were replaced go, if the one in their directory is there."""
    note = msgspec.json.decode(files.read(f"{directory}/{NOTE}"), type=Note)
    if files.exists(f"{directory}/{note.file}"):
        for name in note.replaces:
            if name != note.file:
                files.remove(f"{directory}/{name}")
    files.remove(f"{directory}/{NOTE}")


@dataclass(frozen=True)
class _Merge:
    """For Spark's `mapInArrow`: makes one file of many, without Spark's rows. 6,000,000 rows take 2 s instead of 30."""

    sources: tuple[Path, ...]
    target: Path
    compression: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if row_count(batches):
            self._write()
            release_memory()
        yield from ()

    def _write(self) -> None:
        # those of an earlier version may lack a column
        schemas = [pq.read_schema(source) for source in self.sources]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(
            self.target, schema, compression=self.compression, store_schema=False
        ) as writer:
            for batches in self._row_groups():
                tables = [schema.empty_table(), *(pa.Table.from_batches([each]) for each in batches)]
                table = pa.concat_tables(tables, promote_options="permissive").cast(schema)
                writer.write_table(table, row_group_size=table.num_rows)
        # before the small ones go
        durable.sync(self.target)

    def _row_groups(self) -> Iterator[list[pa.RecordBatch]]:
        batches: list[pa.RecordBatch] = []
        for source in self.sources:
            # in pieces: a file that was merged before has millions of rows
            with pq.ParquetFile(source) as file:
                for batch in file.iter_batches(_ROW_GROUP_ROWS):
                    batches.append(batch)
                    if sum(each.num_rows for each in batches) >= _ROW_GROUP_ROWS:
                        yield batches
                        batches = []
        if batches:
            yield batches


def _merge(session: SparkSession, sources: list[str], target: str, compression: str) -> None:
    own = session.newSession()
    for key, value in {
        # as the small files have it
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
        # here rows are many and small, unlike in the queries of clusters
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        own.conf.set(key, value)
    rows = own.read.parquet(*sources).coalesce(1)
    writer = rows.write.option("compression", compression)
    writer.option("parquet.block.size", _ROW_GROUP_BYTES).mode("overwrite").parquet(target)


def _days(files: Files) -> list[str]:
    """The directories of days."""
    return [
        f"{table}/{cluster.name}/{day.name}"
        for table in SCHEMAS
        for cluster in files.list(table)
        if cluster.is_directory and cluster.name.startswith("cluster=")
        for day in files.list(f"{table}/{cluster.name}")
        if day.is_directory and day.name.startswith("day=")
    ]


def _day_of(directory: str) -> str:
    return directory.rpartition("=")[2]


def _oldest_kept(days: Iterable[str], today: str, retention_days: int) -> str:
    """The day before which all go: today and so many before it stay.

    Days that are there are counted: a clock that is months ahead would take what nobody can bring back. What it has
    left in the future does not count.
    """
    there = sorted({day for day in days if day <= today})
    return there[-retention_days - 1] if 0 < retention_days < len(there) else ""


def _grouped(found: Sequence[FileInfo]) -> Iterator[tuple[str, ...]]:
    """Files that become one each: in order, and not too large together; one alone stays as it is."""
    group: list[FileInfo] = []
    for each in (*found, None):
        if each is not None and sum(one.bytes for one in group) + each.bytes <= _LARGE_BYTES:
            group.append(each)
            continue
        if len(group) > 1:
            yield tuple(one.name for one in group)
        group = [each] if each is not None else []


def _merged_name(names: tuple[str, ...]) -> str:
    """A name that belongs to these files and no others."""
    first = names[0].removesuffix(".parquet").partition("_")[0]
    return f"{first}_{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}.parquet"


def _is_small(name: str) -> bool:
    """Whether the file holds one sample."""
    return name.endswith(".parquet") and "_" not in name


def _day(time_ms: int) -> str:
    return dt.datetime.fromtimestamp(time_ms / 1000, dt.UTC).date().isoformat()
