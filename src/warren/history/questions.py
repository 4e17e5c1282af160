"""The questions that have a command: which views, which query, and the answer that its rows become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from warren.common.status import Status
from warren.history import queries
from warren.history.answers import Answer, Column, Kind, Strip
from warren.history.period import Grid, Period, described, grid
from warren.history.spans import moments_table, spans_table
from warren.history.store import History, HistoryError
from warren.sinks.codes import STATUS_CODES
from warren.spelling import did_you_mean

_KNOWN: Final = "The share is of the known time: nothing is known while Warren or the cluster was down."
_CLUSTER: Final = Column("cluster", Kind.TEXT)
_GROUP: Final = Column("group", Kind.TEXT)
# number in the history: status
_BY_CODE: Final = {code: status.name for status, code in STATUS_CODES.items()}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What all questions have in common."""

    period: Period
    cluster: str | None = None
    # rows at most
    limit: int = 20
    # steps of a chart at most, and their length where the reader gave one
    steps: int = 40
    step_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Opened:
    """The history with its views, and the part of the period that it knows."""

    history: History
    period: Period
    grid: Grid
    # whether a row has to say of which cluster it is
    several: bool

    def columns(self, *columns: Column) -> list[Column]:
        return [_CLUSTER if self.several else Column("cluster", Kind.TEXT, spare=True), *columns]


def worst(history: History, wanted: Wanted) -> Answer:
    """Which groups were not OK, for how long, and how bad it was."""
    opened = _opened(history, wanted)
    rows = _ask(history, queries.WORST, limit=wanted.limit)
    return Answer(
        "Groups by the time that they were not OK",
        opened.columns(
            _GROUP,
            Column("status", Kind.STATUS, "now"),
            Column("not_ok_seconds", Kind.SECONDS, "not OK"),
            Column("not_ok_share", Kind.SHARE, "share", bar=True),
            Column("warn_seconds", Kind.SECONDS, spare=True),
            Column("err_seconds", Kind.SECONDS, "in ERR"),
            Column("known_seconds", Kind.SECONDS, spare=True),
            Column("max_lag", Kind.COUNT, "greatest lag"),
            Column("mean_lag", Kind.COUNT, spare=True),
            Column("lag", Kind.COUNT, "lag now"),
        ),
        [
            (
                row["cluster"],
                row["name"],
                row["last_status"],
                _seconds(row["warn_s"] + row["err_s"]),
                _share(row["warn_s"] + row["err_s"], row["known_s"]),
                _seconds(row["warn_s"]),
                _seconds(row["err_s"]),
                _seconds(row["known_s"]),
                row["max_lag"],
                round(row["mean_lag"]),
                row["last_lag"],
            )
            for row in rows
        ],
        opened.period,
        opened.grid,
        [_strip(_label(row, opened), row["steps"], opened.grid) for row in rows],
        "lag",
    )


def availability(history: History, wanted: Wanted) -> Answer:
    """Which share of the time each group was OK; of the time that is known."""
    opened = _opened(history, wanted)
    rows = _ask(history, queries.AVAILABILITY, limit=wanted.limit)
    whole_s = wanted.period.seconds
    return Answer(
        "Share of the time that groups were OK",
        opened.columns(
            _GROUP,
            Column("ok_share", Kind.SHARE, "OK", bar=True),
            Column("ok_seconds", Kind.SECONDS, spare=True),
            Column("warn_seconds", Kind.SECONDS, "in WARN"),
            Column("err_seconds", Kind.SECONDS, "in ERR"),
            Column("known_seconds", Kind.SECONDS, "known"),
            Column("unknown_seconds", Kind.SECONDS, "not known"),
        ),
        [
            (
                row["cluster"],
                row["name"],
                _share(row["ok_s"], row["known_s"]),
                _seconds(row["ok_s"]),
                _seconds(row["warn_s"]),
                _seconds(row["err_s"]),
                _seconds(row["known_s"]),
                _seconds(max(whole_s - row["known_s"], 0)),
            )
            for row in rows
        ],
        wanted.period,
        opened.grid,
        [_strip(_label(row, opened), row["steps"], opened.grid) for row in rows],
        "lag",
        [_KNOWN],
    )


def group(history: History, wanted: Wanted, name: str) -> Answer:
    """Lag and status of one group over time."""
    opened = _opened(history, wanted)
    rows = _ask(history, queries.GROUP, group=name)
    if not rows:
        raise _no_such("group", name, queries.GROUP_NAMES, history, opened.period)
    label = _one_cluster(rows, "group", name)
    return Answer(
        f"Group {name}",
        opened.columns(
            Column("time", Kind.TIME),
            Column("status", Kind.STATUS),
            Column("max_lag", Kind.COUNT, "greatest lag", bar=True),
            Column("mean_lag", Kind.COUNT, "mean"),
            Column("lag", Kind.COUNT, "at the end"),
            Column("complete", Kind.SHARE),
            Column("warn_seconds", Kind.SECONDS, "in WARN"),
            Column("err_seconds", Kind.SECONDS, "in ERR"),
            Column("known_seconds", Kind.SECONDS, spare=True),
        ),
        [
            (
                row["cluster"],
                opened.grid.begin_ms(row["step"]),
                row["status"],
                row["max_lag"],
                round(row["mean_lag"]),
                row["last_lag"],
                round(row["complete"], 6),
                _seconds(row["warn_s"]),
                _seconds(row["err_s"]),
                _seconds(row["known_s"]),
            )
            for row in rows[-wanted.limit :]
        ],
        opened.period,
        opened.grid,
        [_strip(label, rows, opened.grid)],
        notes=_left_out(len(rows), wanted.limit),
    )


def topic(history: History, wanted: Wanted, name: str) -> tuple[Answer, Answer]:
    """How much is written to a topic over time, and who reads it."""
    if not history.has("topics"):
        raise HistoryError(
            f'The history at {history.path} has no topics: its sink has level = "group"; '
            'topics are written with level = "topic" or "partition".'
        )
    opened = _opened(history, wanted, ("groups", "topics", "partitions"))
    flows = _ask(history, queries.INFLOW, topic=name)
    readers = _ask(history, queries.READERS, topic=name, limit=wanted.limit)
    if not flows and not readers:
        raise _no_such("topic", name, queries.TOPIC_NAMES, history, opened.period)
    return _inflow(opened, wanted, name, flows), _readers(opened, name, readers)


def _inflow(opened: _Opened, wanted: Wanted, name: str, rows: Sequence[Mapping[str, Any]]) -> Answer:
    by_cluster: dict[str, dict[int, float]] = {}
    for row in rows:
        by_cluster.setdefault(row["cluster"], {})[row["step"]] = row["rate"]
    return Answer(
        f"Inflow of topic {name}",
        opened.columns(
            Column("time", Kind.TIME),
            Column("messages_per_second", Kind.RATE, "messages/s", bar=True),
            Column("messages", Kind.COUNT),
            Column("partitions", Kind.COUNT),
        ),
        [
            (
                row["cluster"],
                opened.grid.begin_ms(row["step"]),
                round(row["rate"], 3),
                round(row["messages"]),
                row["partitions"],
            )
            for row in rows[-wanted.limit :]
        ],
        opened.period,
        opened.grid,
        [
            Strip(f"inflow, {cluster}" if len(by_cluster) > 1 else "inflow", _filled(steps, opened.grid))
            for cluster, steps in by_cluster.items()
        ],
        notes=_left_out(len(rows), wanted.limit),
    )


def _readers(opened: _Opened, name: str, rows: Sequence[Mapping[str, Any]]) -> Answer:
    return Answer(
        f"Groups that read topic {name}",
        opened.columns(
            _GROUP,
            Column("worst_status", Kind.STATUS, "worst"),
            Column("messages_per_second", Kind.RATE, "messages/s"),
            Column("partitions", Kind.COUNT),
            Column("owners", Kind.COUNT, "members"),
            Column("lag", Kind.COUNT, "lag now"),
            Column("max_lag", Kind.COUNT, "greatest lag"),
            Column("mean_lag", Kind.COUNT, spare=True),
        ),
        [
            (
                row["cluster"],
                row["name"],
                _BY_CODE.get(row["code"], Status.NOTFOUND.name),
                None if row["rate"] is None else round(row["rate"], 3),
                row["partitions"],
                row["owners"],
                row["last_lag"],
                row["max_lag"],
                round(row["mean_lag"]),
            )
            for row in rows
        ],
        opened.period,
        opened.grid,
        [
            Strip(
                _label(row, opened),
                _filled({step["step"]: step["rate"] for step in row["steps"]}, opened.grid),
            )
            for row in rows
        ],
        "messages/s",
    )


def sql(history: History, text: str, period: Period | None, cluster: str | None, most: int) -> Answer:
    """The rows of a query of the user's."""
    history.open(period, cluster)
    found = history.sql(text, most + 1)
    columns = [_column(each) for each in found.schema]
    rows = _plain(found, columns)
    return Answer(
        "",
        columns,
        rows[:most],
        period,
        notes=(f"There are more than {most:,} rows: --limit shows more.",) if len(rows) > most else (),
    )


def _opened(history: History, wanted: Wanted, tables: Sequence[str] = ("groups",)) -> _Opened:
    known = history.clusters()
    if wanted.cluster is not None and wanted.cluster not in known:
        raise HistoryError(
            f"There is no cluster {wanted.cluster} in the history at {history.path}: "
            + did_you_mean(wanted.cluster, known, f"there are: {', '.join(known)}.")
        )
    history.open(wanted.period, wanted.cluster, tables)
    moments = history.ask(queries.MOMENTS)
    if not moments.num_rows:
        raise HistoryError(
            f"There is nothing from {described(wanted.period)} in the history at {history.path}: try another --since."
        )
    times = moments.column("time").cast(pa.timestamp("ms", tz="UTC")).cast(pa.int64()).to_numpy()
    seen = wanted.period.from_first(int(times.min()))
    steps = grid(seen, wanted.steps, wanted.step_ms)
    stamped = moments.set_column(1, "time", pa.array(times).cast(pa.timestamp("ms", tz="UTC")))
    history.view("moments", moments_table(stamped, wanted.period))
    history.view("spans", spans_table(stamped, wanted.period, steps))
    several = len(set(moments.column("cluster").to_pylist())) > 1
    return _Opened(history, seen, steps, several)


def _ask(history: History, query: str, **values: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = history.ask(query, **values).to_pylist()
    return found


def _no_such(noun: str, name: str, query: str, history: History, period: Period) -> HistoryError:
    names = sorted({row["name"] for row in _ask(history, query)})
    return HistoryError(
        f"There is no {noun} {name} in the history from {described(period)}: "
        + did_you_mean(name, names, f"it has {len(names):,} {noun}s.")
    )


def _one_cluster(rows: Sequence[Mapping[str, Any]], noun: str, name: str) -> str:
    clusters = sorted({row["cluster"] for row in rows})
    if len(clusters) > 1:
        raise HistoryError(
            f"Several clusters have a {noun} {name} ({', '.join(clusters)}): name one with --cluster."
        )
    return name


def _label(row: Mapping[str, Any], opened: _Opened) -> str:
    return f"{row['name']} ({row['cluster']})" if opened.several else str(row["name"])


def _strip(label: str, steps: Iterable[Mapping[str, Any]], of: Grid) -> Strip:
    values: list[float | None] = [None] * of.steps
    statuses: list[str | None] = [None] * of.steps
    for each in steps:
        if 0 <= each["step"] < of.steps:
            values[each["step"]], statuses[each["step"]] = each["max_lag"], each["status"]
    return Strip(label, values, statuses)


def _filled(steps: Mapping[int, float | None], of: Grid) -> list[float | None]:
    return [steps.get(number) for number in range(of.steps)]


def _left_out(rows: int, limit: int) -> tuple[str, ...]:
    return (f"The last {limit:,} of {rows:,} steps: --limit shows more.",) if rows > limit else ()


def _share(part_s: float, whole_s: float) -> float:
    return round(part_s / whole_s, 6) if whole_s else 0.0


def _seconds(seconds: float) -> float:
    return round(seconds, 3)


def _column(found: pa.Field) -> Column:
    if pa.types.is_timestamp(found.type):
        return Column(found.name, Kind.TIME)
    return Column(found.name, Kind.ANY)


def _plain(found: pa.Table, columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    cells = [
        table_column.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist()
        if column.kind is Kind.TIME
        else table_column.to_pylist()
        for column, table_column in zip(columns, found.columns, strict=True)
    ]
    return list(zip(*cells, strict=True))
