"""The history's tables as Spark reads them: only the days and clusters that a question is about."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DateType, MapType, StringType, StructField, StructType

from warren.errors import WarrenError
from warren.history.period import Period, described, spread
from warren.sinks.compaction import NOTE, Note
from warren.sinks.hadoop import Files, absolute
from warren.sinks.tables import SCHEMAS
from warren.sinks.writer import TryAgainError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Found = TypeVar("_Found")
# how often a question is asked again when files were made into others meanwhile
_ATTEMPTS: Final = 3
_PLANS: Final = "org.apache.spark.sql.catalyst.plans.logical"
# the codes that Spark puts around its sentences
_NOISE: Final = re.compile(r"^\[[A-Z0-9_.]+\] | SQLSTATE: \w+.*$")


class HistoryError(WarrenError):
    """The history cannot answer."""


@dataclass(frozen=True, slots=True)
class Day:
    """One directory of a table."""

    cluster: str
    day: dt.date
    # below the table's directory
    path: str


class History:
    """The history at one place. Questions are asked of views: `groups`, `partitions` and `topics`."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self.path = absolute(path)
        self._session = session
        try:
            self._files = Files(session, self.path)
            self._tables = {name: self._days(name) for name in SCHEMAS}
        except TryAgainError as error:
            raise HistoryError(f"The history cannot be read: {_first_line(str(error))}") from None
        if not self._tables["groups"]:
            raise HistoryError(
                f"There is no history at {self.path}: a sink of class parquet writes one (docs/history.md)."
            )

    def clusters(self) -> list[str]:
        return sorted({each.cluster for each in self._tables["groups"]})

    def has(self, table: str) -> bool:
        return bool(self._tables[table])

    def open(self, period: Period | None, cluster: str | None, tables: Sequence[str] = ()) -> None:
        """Make the views, of the period and cluster only."""
        chosen = {
            name: [each for each in self._tables[name] if _wanted(each, period, cluster)]
            for name in tables or SCHEMAS
        }
        if "groups" in chosen and not chosen["groups"]:
            kept = [each.day for each in self._tables["groups"] if cluster in {None, each.cluster}]
            raise HistoryError(
                f"There is nothing from {described(period) if period else 'any day'} in the history at {self.path}; "
                f"it has the days {spread(kept)}."
            )
        for name, days in chosen.items():
            self._frame(name, days, period).createOrReplaceTempView(name)

    def view(self, name: str, table: pa.Table) -> None:
        """A small table of our own, for queries to join."""
        self._session.createDataFrame(table).createOrReplaceTempView(name)

    def ask(self, query: str, **values: Any) -> pa.Table:
        """The rows of a question of ours."""
        return self._tried(lambda: self._session.sql(query, args=values or None).toArrow())

    def sql(self, text: str, most: int) -> pa.Table:
        """The rows of a query of the user's, at most so many. Statements that would change something are refused."""
        query = text.strip().rstrip(";")

        def asked() -> pa.Table:
            self._only_asks(query)
            return self._session.sql(query).limit(most).toArrow()

        return self._tried(asked)

    def retried(self, question: Callable[[], _Found]) -> _Found:
        """A question that opens the history and asks it; again when files went away in between."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return question()
            except MovedError:
                self._tables = {name: self._days(name) for name in SCHEMAS}
        return question()

    def plan(self, query: str, **values: Any) -> str:
        """Spark's plan of a question."""
        frame: Any = self._session.sql(query, args=values or None)
        return str(frame._jdf.queryExecution().executedPlan().toString())

    def _only_asks(self, query: str) -> None:
        jvm: Any = self._session.sparkContext._jvm
        session: Any = self._session
        parsed = session._jsparkSession.sessionState().sqlParser().parsePlan(query)
        changing = [
            jvm.java.lang.Class.forName(f"{_PLANS}.{name}") for name in ("Command", "ParsedStatement")
        ]
        if any(each.isInstance(parsed) for each in changing):
            raise HistoryError("The history is only read: give a query (SELECT … FROM groups …).")

    def _days(self, table: str) -> list[Day]:
        return [
            Day(
                unquote(cluster.name.partition("=")[2]),
                dt.date.fromisoformat(day.name.partition("=")[2]),
                f"{cluster.name}/{day.name}",
            )
            for cluster in self._files.list(table)
            if cluster.is_directory and cluster.name.startswith("cluster=")
            for day in self._files.list(f"{table}/{cluster.name}")
            if day.is_directory and day.name.startswith("day=")
        ]

    def _frame(self, table: str, days: Iterable[Day], period: Period | None) -> DataFrame:
        schema = _schema(table)
        paths = [path for day in days for path in self._paths(table, day)]
        if not paths:
            return self._session.createDataFrame([], schema)
        reader = self._session.read.schema(schema).option("basePath", f"{self.path}/{table}")
        frame = self._tried(lambda: reader.parquet(*paths))
        if period is None:
            return frame
        first, last = period.days()
        return frame.where(
            f"day BETWEEN DATE '{first}' AND DATE '{last}' "
            f"AND time >= timestamp_millis({period.since_ms}) AND time < timestamp_millis({period.until_ms})"
        )

    def _paths(self, table: str, day: Day) -> list[str]:
        """The directory; while files in it are being made into one, those files that are to be read."""
        directory = f"{table}/{day.path}"
        try:
            if not self._files.exists(f"{directory}/{NOTE}"):
                return [self._escaped(directory)]
            note = msgspec.json.decode(self._files.read(f"{directory}/{NOTE}"), type=Note)
            names = [each.name for each in self._files.list(directory) if each.name.endswith(".parquet")]
        except TryAgainError as error:
            raise MovedError(_first_line(str(error))) from None
        replaced = set(note.replaces) - {note.file} if note.file in names else set()
        return [self._escaped(f"{directory}/{name}") for name in names if name not in replaced]

    def _escaped(self, name: str) -> str:
        """Spark reads a path as a pattern."""
        return "".join(f"\\{char}" if char in "[]{}*?\\" else char for char in f"{self.path}/{name}")

    def _tried(self, step: Callable[[], _Found]) -> _Found:
        try:
            return step()
        except ParseException as error:
            raise HistoryError(f"The query cannot be read: {_sentence(error)}") from None
        except AnalysisException as error:
            raise HistoryError(f"The query cannot be answered: {_sentence(error)}") from None
        except (PySparkException, Py4JJavaError, Py4JError) as error:
            text = str(error)
            if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text or "does not exist" in text:
                raise MovedError(
                    f"Files of the history went away while they were read: {_sentence(error)}"
                ) from None
            raise HistoryError(f"Spark could not answer: {_sentence(error)}") from None


class MovedError(HistoryError):
    """Files went away: they were made into one, or their day is over."""


def _wanted(day: Day, period: Period | None, cluster: str | None) -> bool:
    if cluster is not None and day.cluster != cluster:
        return False
    first, last = period.days() if period else (dt.date.min, dt.date.max)
    return first <= day.day <= last


def _schema(table: str) -> StructType:
    """As the sink writes it, whatever the files say: columns that old files lack are null."""
    plain = pa.schema(
        [
            pa.field(each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
            for each in SCHEMAS[table]
            if each.name != "cluster"
        ]
    )
    own = from_arrow_schema(plain)
    tags = StructField("tags", MapType(StringType(), StringType()))
    return StructType(
        [*own.fields, tags, StructField("cluster", StringType()), StructField("day", DateType())]
    )


def _sentence(error: Exception) -> str:
    """What Spark says, without the query and its stack."""
    text = error.getMessage() if isinstance(error, PySparkException) else ""
    return _NOISE.sub("", _first_line(text or str(error))).strip()


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason was given"
