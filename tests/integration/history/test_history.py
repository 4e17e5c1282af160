"""The history's questions, asked of real Spark over files with known numbers; one Spark for all tests."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession
from tests.history_files import Sample, write_history
from typer.testing import CliRunner, Result

from warren.cli import main
from warren.cli.attempts import run_probes
from warren.cli.probes import probes
from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import ParquetSink
from warren.errors import WarrenError
from warren.history import questions
from warren.history import session as sessions
from warren.history.answers import Answer
from warren.history.period import Period
from warren.history.questions import Wanted
from warren.history.session import history_session
from warren.history.store import History, HistoryError, MovedError
from warren.sinks.compaction import NOTE, Note

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
# noon of a day in UTC
NOON = int(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC).timestamp() * 1000)
HOSTILE = "it's `x`; drop view groups -- [red] $1"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory behind viewfs://history/data, a file system of Hadoop's that is not the local one.

    Hadoop keeps file systems by their name as long as Java runs: no other test may have one of this name.
    """
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def session(elsewhere: Path) -> Iterator[SparkSession]:
    mount = "spark.hadoop.fs.viewfs.mounttable.history.link./data"
    with history_session({mount: f"file://{elsewhere}"}) as made:
        yield made


def hour() -> Iterator[Sample]:
    """An hour in two clusters, a sample every 10 s, with a hole of 10 minutes in the east."""
    for number in range(360):
        at = NOON + number * 10_000
        minute = number // 6
        heads = {("orders", 0): number * 100, ("orders", 1): number * 10}
        if number >= 300:
            # made again
            heads["orders", 1] = (number - 300) * 10
        offsets = {("payments", "orders", 0): number * 100 - 50, ("audit", "orders", 0): number * 20}
        if not 20 <= minute < 30:
            yield Sample(
                at,
                {
                    "payments": ("ERR", 1000 + number) if 30 <= minute < 45 else ("OK", 5),
                    "audit": ("WARN", 77) if minute < 10 else ("OK", 1),
                    HOSTILE: ("OK", 0),
                    # deleted after five minutes
                    **({"short-lived": ("WARN", 9)} if minute < 5 else {}),
                },
                heads,
                offsets,
            )
        yield Sample(at, {"payments": ("OK", 3)}, {("orders", 0): number}, cluster="west/1")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_history(tmp_path_factory.mktemp("history"), hour(), compacted=True)


@pytest.fixture
def history(session: SparkSession, path: Path) -> History:
    return History(session, str(path))


def wanted(cluster: str | None = "east", **more: Any) -> Wanted:
    return Wanted(Period(NOON, NOON + HOUR), cluster, **more)


def rows(answer: Answer) -> list[dict[str, Any]]:
    return [
        {column.name: cell for column, cell in zip(answer.columns, row, strict=True)} for row in answer.rows
    ]


def by_group(answer: Answer) -> dict[str, dict[str, Any]]:
    return {row["group"]: row for row in rows(answer)}


def test_the_worst_are_those_that_were_not_ok_for_longest(history: History) -> None:
    answer = questions.worst(history, wanted())
    assert answer.column("group") == ["payments", "audit", "short-lived", HOSTILE]
    found = by_group(answer)
    # the sample before the hole counts for three intervals
    known = 50 * 60 + 20
    assert found["payments"] == {
        "cluster": "east",
        "group": "payments",
        "status": "OK",
        "not_ok_seconds": 900,
        "not_ok_share": round(900 / known, 6),
        "warn_seconds": 0,
        "err_seconds": 900,
        "known_seconds": known,
        "max_lag": 1000 + 269,
        "mean_lag": round((sum(1000 + n for n in range(180, 270)) * 10 + 5 * (known - 900)) / known),
        "lag": 5,
    }
    assert found["audit"]["warn_seconds"] == 600
    # gone, so it does not count until the end
    assert found["short-lived"]["known_seconds"] == 300
    assert found[HOSTILE]["not_ok_seconds"] == 0


def test_the_worst_status_of_a_step_is_its_status_and_a_hole_has_none(history: History) -> None:
    answer = questions.worst(history, wanted(step_ms=5 * MINUTE, limit=1))
    (strip,) = answer.strips
    assert strip.statuses == ["OK"] * 5 + [None] + ["ERR"] * 3 + ["OK"] * 3
    assert strip.values == [5] * 5 + [None, 1209, 1239, 1269] + [5] * 3


def test_availability_is_a_share_of_the_known_time(history: History) -> None:
    answer = questions.availability(history, wanted())
    assert answer.column("group")[0] == "short-lived"
    found = by_group(answer)["payments"]
    assert found["ok_share"] == round((3020 - 900) / 3020, 6)
    assert (found["ok_seconds"], found["err_seconds"], found["known_seconds"]) == (2120, 900, 3020)
    assert found["unknown_seconds"] == 3600 - 3020
    # in the west there is no hole
    west = by_group(questions.availability(history, wanted("west/1")))["payments"]
    assert (west["ok_share"], west["unknown_seconds"]) == (1, 0)


def test_a_group_over_time(history: History) -> None:
    answer = questions.group(history, wanted(step_ms=10 * MINUTE, limit=100), "payments")
    assert [
        (row["time"], row["status"], row["max_lag"], row["err_seconds"], row["known_seconds"])
        for row in rows(answer)
    ] == [
        (NOON, "OK", 5, 0, 600),
        (NOON + 10 * MINUTE, "OK", 5, 0, 600),
        (NOON + 20 * MINUTE, "OK", 5, 0, 20),
        (NOON + 30 * MINUTE, "ERR", 1239, 600, 600),
        (NOON + 40 * MINUTE, "ERR", 1269, 300, 600),
        (NOON + 50 * MINUTE, "OK", 5, 0, 600),
    ]
    assert questions.group(history, wanted(limit=100), HOSTILE).strips[0].label == HOSTILE


def test_inflow_is_a_rate_per_partition_summed_and_a_topic_made_again_does_not_count(
    history: History,
) -> None:
    inflow, readers = questions.topic(history, wanted(step_ms=10 * MINUTE, limit=100), "orders")
    found = {(row["time"] - NOON) // MINUTE: row for row in rows(inflow)}
    # ten messages a second into one partition, one into the other; nothing is known of the hole
    assert {minute: row["messages_per_second"] for minute, row in found.items()} == {
        0: 11,
        10: 11,
        30: 11,
        40: 11,
        50: 11,
    }
    assert found[0]["messages"] == 6600
    read = by_group(readers)
    assert read["payments"]["messages_per_second"] == 10
    assert read["audit"]["messages_per_second"] == 2
    assert (read["audit"]["lag"], read["audit"]["partitions"], read["audit"]["owners"]) == (359 * 80, 1, 1)


def test_clusters_are_told_apart(history: History) -> None:
    answer = questions.worst(history, wanted(None))
    assert {(row["cluster"], row["group"]) for row in rows(answer)} >= {
        ("east", "payments"),
        ("west/1", "payments"),
    }
    assert not answer.columns[0].spare
    assert "payments (west/1)" in [strip.label for strip in answer.strips]
    with pytest.raises(HistoryError, match=r"Several clusters have a group payments \(east, west/1\)"):
        questions.group(history, wanted(None), "payments")


def test_only_the_days_and_clusters_of_the_question_are_read(session: SparkSession, tmp_path: Path) -> None:
    days = (
        Sample(NOON + day * DAY, {"payments": ("OK", day)}, cluster=name) for day in range(5) for name in "ab"
    )
    history = History(session, str(write_history(tmp_path, days)))
    history.open(Period(NOON + DAY, NOON + 2 * DAY + 1), "b")
    plan = history.plan("SELECT * FROM groups")
    files = re.search(r"Location: InMemoryFileIndex\((\d+) paths?\)", plan)
    assert files is not None
    assert files[1] == "2"
    assert history.ask("SELECT total_lag FROM groups ORDER BY time").column(0).to_pylist() == [1, 2]
    # a query of the user's that names the day: Spark leaves the others out
    history.open(None, None)
    plan = history.plan("SELECT * FROM groups WHERE day = '2026-03-02' AND cluster = 'a'")
    filters = re.search(r"PartitionFilters: \[(.*?)\], PushedFilters", plan)
    assert filters is not None
    assert "day" in filters[1]
    assert "cluster" in filters[1]


def test_a_cluster_named_like_a_number_keeps_its_name(session: SparkSession, tmp_path: Path) -> None:
    write_history(
        tmp_path, [Sample(NOON, {"payments": ("OK", 1)}, cluster=name) for name in ("007", "a*{b}?")]
    )
    history = History(session, str(tmp_path))
    assert history.clusters() == ["007", "a*{b}?"]
    assert {row["cluster"] for row in rows(questions.worst(history, wanted(None)))} == {"007", "a*{b}?"}


def test_rows_are_not_counted_twice_while_files_are_made_into_one(
    session: SparkSession, tmp_path: Path
) -> None:
    """The new file is there before the old ones go: rows of both were summed."""
    path = write_history(tmp_path, [Sample(NOON + n * 10_000, {"payments": ("OK", 1)}) for n in range(3)])
    (day,) = (path / "groups").glob("*/*")
    small = sorted(each.name for each in day.iterdir())
    session.read.parquet(str(day)).coalesce(1).write.parquet(str(tmp_path / "merged"))
    next((tmp_path / "merged").glob("part-*.parquet")).rename(day / "1_abc.parquet")
    (day / NOTE).write_bytes(msgspec.json.encode(Note("1_abc.parquet", tuple(small))))
    history = History(session, str(path))
    history.open(None, None)
    assert history.ask("SELECT count(*) FROM groups").column(0).to_pylist() == [3]
    # the note is there, the new file is not yet
    (day / "1_abc.parquet").unlink()
    history.open(None, None)
    assert history.ask("SELECT count(*) FROM groups").column(0).to_pylist() == [3]


def test_files_that_go_while_they_are_read_are_looked_for_again(
    session: SparkSession, tmp_path: Path
) -> None:
    path = write_history(tmp_path, [Sample(NOON + n * 10_000, {"payments": ("OK", 1)}) for n in range(3)])
    history = History(session, str(path))
    asked = 0

    def question() -> int:
        nonlocal asked
        asked += 1
        history.open(None, None)
        if asked == 1:
            next((path / "groups").rglob("*.parquet")).unlink()
        return len(history.ask("SELECT time FROM groups").column(0))

    assert (history.retried(question), asked) == (2, 2)

    def never() -> None:
        raise MovedError("gone")

    with pytest.raises(MovedError):
        history.retried(never)


def test_the_session_is_small_and_reckons_in_utc(session: SparkSession, history: History) -> None:
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    history.open(None, None)
    answer = questions.sql(
        history, "SELECT min(time) AS first, date(min(time)) AS day FROM groups;", None, None, 10
    )
    assert answer.rows == [(NOON, dt.date(2026, 3, 1))]


def said(question: Any) -> str:
    with pytest.raises(WarrenError) as caught:
        question()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_errors_are_one_sentence(session: SparkSession, history: History, tmp_path: Path) -> None:
    assert "There is no history at" in said(lambda: History(session, str(tmp_path)))
    assert "There is no history at" in said(lambda: History(session, f"{tmp_path}/nowhere"))
    assert "cannot be read" in said(lambda: History(session, "nosuch://x/y"))
    early = Wanted(Period(NOON - 9 * DAY, NOON - 8 * DAY))
    assert "it has the days 2026-03-01." in said(lambda: questions.worst(history, early))
    before = Wanted(Period(NOON - HOUR, NOON))
    assert "There is nothing from" in said(lambda: questions.worst(history, before))
    assert "did you mean payments?" in said(lambda: questions.group(history, wanted(), "paymnets"))
    assert "it has 4 groups." in said(lambda: questions.group(history, wanted(), "zzzzzzzzzzzz"))
    assert "did you mean orders?" in said(lambda: questions.topic(history, wanted(), "order"))
    assert "did you mean east?" in said(lambda: questions.worst(history, wanted("eats")))


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELCT 1", "The query cannot be read: Syntax error at or near 'SELCT'."),
        ("SELECT x FROM groups", "The query cannot be answered: A column, variable, or function parameter"),
        ("SELECT * FROM grups", "The query cannot be answered: The table or view `grups` cannot be found."),
        ("DROP VIEW groups", "The history is only read"),
        ("CREATE TABLE t AS SELECT 1", "The history is only read"),
        ("INSERT INTO groups SELECT * FROM groups", "The history is only read"),
        ("SELECT 1 / 0 FROM groups", "Spark could not answer: Division by zero."),
    ],
)
def test_a_wrong_query_is_refused_with_a_sentence(history: History, query: str, sentence: str) -> None:
    text = said(lambda: questions.sql(history, query, None, None, 10))
    assert text.startswith(sentence)
    assert "SQLSTATE" not in text


def test_without_topics_the_error_says_which_level_has_them(session: SparkSession, tmp_path: Path) -> None:
    write_history(tmp_path, [Sample(NOON, {"payments": ("OK", 1)})])
    history = History(session, str(tmp_path))
    assert 'level = "topic"' in said(lambda: questions.topic(history, wanted(), "orders"))


@pytest.fixture
def run(session: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, with the Spark that is there."""
    monkeypatch.setattr(sessions, "history_session", lambda _: nullcontext(session))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(
            main.app, ["history", *arguments, "--path", str(path), "--since", "2026-03-01T12:00Z"]
        )

    return invoke


def test_the_output_is_the_answer_and_nothing_else(run: Any, tmp_path: Path) -> None:
    table = run(
        "worst", "--until", "2026-03-01T13:00Z", "--cluster", "east", "--plot", str(tmp_path / "a.svg")
    )
    assert table.exit_code == 0, table.output
    assert table.stdout.splitlines()[1].split()[0] == "group"
    assert (tmp_path / "a.svg").stat().st_size > 1000
    assert f"Drawn: {tmp_path / 'a.svg'}" in table.stderr
    as_json = run("availability", "--format", "json")
    assert {row["group"] for row in json.loads(as_json.stdout)["groups"]} >= {"payments", HOSTILE}
    as_csv = run("group", "payments", "--cluster", "east", "--step", "10m", "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    assert lines[0]["time"] == "2026-03-01T12:00:00Z"
    both = json.loads(run("topic", "orders", "--cluster", "east", "--format", "json").stdout)
    assert set(both) == {"inflow", "readers"}
    assert run("topic", "orders", "--format", "csv").stdout.startswith("cluster,time,messages_per_second")
    assert run("topic", "orders", "--readers", "--format", "csv").stdout.startswith(
        "cluster,group,worst_status"
    )
    picture = tmp_path / "b.png"
    counted = run("sql", "SELECT `group`, max(total_lag) lag FROM groups GROUP BY 1", "--plot", str(picture))
    assert counted.exit_code == 0, counted.output
    assert picture.exists()


def test_a_wrong_option_is_found_before_spark_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(_: object) -> Any:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(sessions, "history_session", fail)
    for arguments in (["--since", "often"], ["--plot", "x.gif"], ["--config-dir", str(tmp_path)]):
        where = [] if "--config-dir" in arguments else ["--path", str(tmp_path)]
        ended = CliRunner().invoke(main.app, ["history", "worst", *where, *arguments])
        assert isinstance(ended.exception, WarrenError), ended.output
        assert ended.exception.exit_code == 2


def test_the_place_comes_from_the_configuration(
    session: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def made(conf: Any) -> Any:
        given.append(dict(conf))
        return nullcontext(session)

    monkeypatch.setattr(sessions, "history_session", made)
    (tmp_path / "burrow.toml").write_text(
        f'[sink.history]\nclass-name = "parquet"\npath = "{path}"\n[spark.conf]\n"spark.jars" = "x.jar"\n'
        '[cluster.east]\nservers = ["localhost:9092"]\n'
        '[consumer.east]\ncluster = "east"\nservers = ["localhost:9092"]\nclass-name = "kafka"\n'
    )
    arguments = ["history", "worst", "--config-dir", str(tmp_path), "--since", "2026-03-01T12:00Z"]
    ended = CliRunner().invoke(main.app, arguments)
    assert ended.exit_code == 0, ended.output
    assert "short-lived" in ended.stdout
    assert given == [{"spark.jars": "x.jar"}]


def test_now_is_a_moment_that_the_history_need_not_reach(history: History) -> None:
    long_ago = Wanted(Period(NOON - HOUR, now_ms()), "east")
    found = by_group(questions.availability(history, long_ago))["payments"]
    # the last sample counts for three intervals, no longer
    assert found["known_seconds"] == 3020 + 20


DOCUMENT = Path(__file__).parents[3] / "docs" / "history.md"


def documented() -> list[str]:
    """The example queries of the page."""
    page = DOCUMENT.read_text().partition("### Five queries")[2].partition("\n## ")[0]
    blocks = re.findall(r"(?:^    .+\n)+", page, re.MULTILINE)
    return [" ".join(line.strip() for line in block.splitlines()) for block in blocks]


def test_there_are_five_example_queries() -> None:
    assert len(documented()) == 5


def answered(history: History, number: int) -> list[tuple[Any, ...]]:
    return list(questions.sql(history, documented()[number], None, None, 100).rows)  # type: ignore[arg-type]


def test_the_example_queries_answer(session: SparkSession, tmp_path: Path) -> None:
    """The queries of docs/history.md over ten samples of today."""
    begin = now_ms() // DAY * DAY
    samples = [
        Sample(
            begin + number * 10_000,
            {"payments": ("OK", 10 - number), "audit": ("ERR", 100 * number)},
            {("orders", 0): number, ("orders", 1): number * 20, ("unread", 0): number * 7},
            {
                ("payments", "orders", 0): number,
                ("payments", "orders", 1): 0,
            },
            host="old" if number < 5 else "new",
        )
        for number in range(11)
    ]
    path = write_history(tmp_path, samples, compacted=True)
    history = History(session, str(path))
    assert answered(history, 0) == [("audit", 1000, begin + 100_000), ("payments", 10, begin)]
    assert answered(history, 1) == [("payments", "orders", 1, 200, 0.0)]
    moved = begin + 50_000
    assert answered(history, 2) == [
        (moved, "orders", 0, "/old-0", "/new-0"),
        (moved, "orders", 1, "/old-1", "/new-1"),
    ]
    ((hour_of_day, warn, err),) = answered(history, 3)
    assert (hour_of_day, warn, err) == (0, 0.0, 0.5)
    assert answered(history, 4) == [("east", "unread", 70)]


def probed(session: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    monkeypatch.setattr(sessions, "history_session", lambda _: nullcontext(session))
    (probe,) = probes(Settings(sink={"history": ParquetSink(path=path)}))
    (outcome,) = run_probes([probe], 10)
    return outcome.reached, outcome.detail


def test_a_path_that_only_spark_reaches_is_tried_and_left_as_it_was(
    session: SparkSession, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probed(session, "viewfs://history/data", monkeypatch) == (True, "is writable")
    assert probed(session, "viewfs://history/data/new/deep", monkeypatch) == (True, "can be created")
    assert not [each for each in elsewhere.rglob("*") if each.is_file() or each.name == "deep"]
    (elsewhere / "file").touch()
    reached, detail = probed(session, "viewfs://history/data/file", monkeypatch)
    assert not reached
    assert detail.startswith("a file cannot be written there: viewfs://history/data/file: ")
    # without the jars that [spark.conf] would name
    reached, detail = probed(session, "s3a://bucket/lag", monkeypatch)
    assert (reached, "S3AFileSystem not found" in detail, "\n" in detail) == (False, True, False)
