"""What a query does after each trigger."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from structlog.testing import capture_logs

from warren.cluster.requests import Requests
from warren.cluster.source import HeadsSettings
from warren.common.checkpoint import FINGERPRINT, VERSION
from warren.common.frames import Frame
from warren.common.look import LookTaken
from warren.common.request import Request
from warren.config import Settings
from warren.pipeline.engine import Engine
from warren.pipeline.query import (
    HANGING_S,
    HANGS,
    MOST_TRIGGERS,
    ClusterQuery,
    Progress,
    QuerySettings,
)
from warren.pipeline.source import SourceSettings
from warren.pipeline.unfinished import OFFSETS
from warren.snapshot.read_model import Counts
from warren.storage.bucket import WindowSettings


class CutOff:
    """A trigger's frames whose job was cancelled."""

    def toArrow(self) -> Any:
        raise PySparkException("Job was cancelled")


class Taken:
    """A trigger's frames."""

    def toArrow(self) -> pa.Table:
        return pa.table({"bucket": [1], "kind": ["windows"], "payload": [b""]})


class Model:
    """A read model after a trigger that read three records, the last there were."""

    counts = Counts(records=3)
    look = LookTaken(5, "", caught_up=True)
    missing = ()

    def take(self, frames: list[Frame]) -> None:
        assert frames == [(1, "windows", b"")]

    def view(self, number: int, _now_ms: int) -> Any:
        return SimpleNamespace(number=number)


def query_of_nothing(on_batch: Any = None, directory: Path = Path()) -> ClusterQuery:
    settings = QuerySettings(
        "c",
        SourceSettings(HeadsSettings({"bootstrap.servers": "nowhere"}, 1, directory / "requests"), ()),
        WindowSettings(1, 0, 1, 1),
        directory / "query",
        1.0,
    )
    return ClusterQuery(cast("Any", None), settings, on_batch)


@pytest.mark.parametrize("stopping", [False, True])
def test_a_trigger_that_is_cut_off_is_never_called_done(stopping: bool) -> None:
    query = query_of_nothing()
    if stopping:
        query._stopping.set()
    # a return would let Spark write it down as done, and its windows would be missing for ever
    with pytest.raises(PySparkException):
        query._take(cast("Any", CutOff()), 7)


def test_a_trigger_is_counted_then_shown_then_called_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Settings())
    engine._models["c"] = cast("Any", Model())
    engine._locks["c"] = threading.Lock()
    engine._missing["c"] = cast("Any", SimpleNamespace(write=lambda _: None))
    query = query_of_nothing(partial(engine._take, "c"))
    shown = []

    def show(cluster: str, view: Any) -> None:
        assert cluster == "c"
        shown.append((view.number, query.progress.records, query.progress.caught_up))

    monkeypatch.setattr(engine, "_publish", show)
    query._take(cast("Any", Taken()), 7)
    assert shown == [(7, 3, False)]
    assert query.progress.caught_up


def test_a_deletion_was_forgotten_before_the_trigger_that_applied_it_was_on_the_disk(tmp_path: Path) -> None:
    query = query_of_nothing(directory=tmp_path)
    requests = Requests(tmp_path / "requests")
    for group in ("first", "second"):
        requests.add(Request(group))
    (tmp_path / "query" / OFFSETS).mkdir(parents=True)
    for trigger, request in ((7, 1), (8, 2)):
        offset = {
            "version": VERSION,
            "fingerprint": FINGERPRINT,
            "look": {"request": request},
            "consumers": {},
        }
        (tmp_path / "query" / OFFSETS / str(trigger)).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    query._synced(7)
    # trigger 8 may have to be repeated
    assert json.loads(requests.between(0, 2) or b"") == [{"group": "second", "topic": None}]
    query._synced(8)
    assert requests.between(0, 2) is None


def test_an_error_is_in_the_log_before_others_see_that_it_began_or_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = query_of_nothing()
    noted = []
    monkeypatch.setattr(query._errors, "note", lambda error, _: noted.append((error, query.progress.error)))
    for error in ("down", ""):
        query._tell(LookTaken(5, error, caught_up=False))
    assert noted == [("down", ""), ("", "down")]


def test_a_cluster_of_which_one_partition_could_not_be_read_was_not_called_blind() -> None:
    query = query_of_nothing()
    for taken in (LookTaken(5, "no leader", partly_blind=True), LookTaken(6, "", caught_up=True)):
        query._tell(taken)
        assert (query.progress.blind, query.progress.seen_ms) == (taken.partly_blind, taken.as_of_ms)


def test_a_trigger_that_never_ended_left_the_cluster_ready_and_without_an_error() -> None:
    query = query_of_nothing(lambda *_: LookTaken(5, "", caught_up=True))
    ended = query._took
    query._note_hanging(ended + 3_600)
    # it is catching up, which takes as long as it takes
    assert query.progress == Progress()
    query._take(cast("Any", Taken()), 7)
    query._note_hanging(ended + HANGING_S - 1)
    assert (query.progress.caught_up, query.progress.blind, query.progress.error) == (True, False, "")
    with capture_logs() as lines:
        for seconds in (1, 2, 3):
            query._note_hanging(ended + HANGING_S + seconds)
    assert (query.progress.caught_up, query.progress.blind, query.progress.error) == (False, True, HANGS)
    assert [line["error"] for line in lines] == [HANGS]
    query._take(cast("Any", Taken()), 8)
    assert (query.progress.caught_up, query.progress.blind, query.progress.error) == (True, False, "")


def test_a_trigger_that_hangs_is_noticed_though_the_thread_of_its_query_hangs_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Engine(Settings())
    query = engine._queries["c"] = query_of_nothing(lambda *_: LookTaken(5, "", caught_up=True))
    query._take(cast("Any", Taken()), 7)
    assert engine.progress("c").caught_up
    monkeypatch.setattr(query, "_took", query._took - HANGING_S - 1)
    assert (engine.progress("c").caught_up, engine.progress("c").error) == (False, HANGS)


def test_the_times_of_the_last_triggers_are_kept_and_bounded() -> None:
    query = query_of_nothing()
    for number in range(MOST_TRIGGERS + 5):
        at = f"2026-11-16T04:{number // 60 % 60:02}:{number % 60:02}.250Z"
        seen = SimpleNamespace(batchId=number, durationMs={"triggerExecution": number}, timestamp=at)
        # looked at once a second, whether or not there was a new one
        for _ in range(2):
            query._note(cast("Any", SimpleNamespace(lastProgress=seen)))
    recent = query.progress.recent_triggers
    assert len(recent) == MOST_TRIGGERS
    assert [took for _, took in recent] == [*range(5, MOST_TRIGGERS + 5)]
    assert recent[0][0] == 1_794_801_605_250
