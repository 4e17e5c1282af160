"""Consumers that are polled, in the cluster's one source and in its windows, beside one that reads an offsets topic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from tests.unit.consumer.test_polling import KEY, Settings
from tests.unit.pipeline.test_source import Topics, reader, tasks, topics
from tests.unit.pipeline_double import CONSUMER, EVERYTHING, NOW, Pipeline, look, records

from warren.common import frames
from warren.common.group_filter import GroupFilter
from warren.common.group_records import ClassicGroup, ClassicMember
from warren.common.look import LookTaken, PolledMoment
from warren.common.owner import Holder
from warren.common.status import Status
from warren.consumer import polled_frames
from warren.consumer.polling import Findings, Owners, Poll, PolledCommit, PollTask, label
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.pipeline.source import ClusterReader, SourceSettings
from warren.snapshot.view import ClusterView

__all__ = ["topics"]

SETTINGS = Settings(Findings())
ZK = label(SETTINGS)
WATCHED = {**EVERYTHING, ZK: GroupFilter()}
OWNED = {group: {("orders", 0): Holder(f"{group}_host-1")} for group in ("billing", "other")}


def polled(
    *commits: tuple[int | None, int],
    key: tuple[str, str, int] = KEY,
    order: int = 10**12,
    complete: bool = False,
    first: bool = False,
    owners: Mapping[str, Owners] | None = None,
    owners_unseen: frozenset[str] = frozenset(),
    timed: bool = True,
    after_ms: int = 0,
) -> pa.RecordBatch:
    """What a poll gives: offset and time of each commit."""
    settings = Settings(Findings())
    settings.timed = timed
    found = tuple(PolledCommit(*key, offset, at_ms, at_ms) for offset, at_ms in commits)
    poll = Poll(found, owners or {}, first, complete, owners_unseen=owners_unseen)
    return polled_frames.read(settings, PollTask("zk", poll, order, after_ms, NOW + 60_000))


def committed(offset: int, at_ms: int, order: int, group: str = "billing") -> pa.RecordBatch:
    """A commit in Kafka."""
    key = encode(messages.COMMIT_KEY, 1, {"group": group, "topic": "orders", "partition": 0})
    value = {"offset": offset, "leader_epoch": -1, "metadata": "", "timestamp": at_ms}
    return records([(key, encode(messages.COMMIT_VALUE, 3, value))], order)


def pipeline() -> Pipeline:
    made = Pipeline()
    made.restart(WATCHED)
    made.trigger(look({("orders", 0): 100}, full=True))
    return made


def entries(view: ClusterView, group: str = "billing") -> list[tuple[int, int]]:
    """Offset and time of each entry of the window."""
    detail = view.detail(group)
    return [(each.offset, each.timestamp) for each in detail["orders"][0].offsets if each] if detail else []


def test_polled_commits_are_in_windows() -> None:
    view = pipeline().trigger(look({("orders", 0): 100}), polled((5, NOW - 2), (6, NOW - 1)))
    assert entries(view) == [(5, NOW - 2), (6, NOW - 1)]
    assert view.groups_of([ZK]) == ["billing"]
    assert view.groups_of([CONSUMER]) == []


def test_the_first_poll_after_a_restart_repeats_no_commit() -> None:
    mine = pipeline()
    mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 9), complete=True))
    again = polled((5, NOW - 9), order=2 * 10**12, complete=True)
    assert entries(mine.trigger(look({("orders", 0): 100}), again)) == [(5, NOW - 9)]
    # the same offset at a later time is another commit, unless there are no times
    later = polled((5, NOW - 5), order=3 * 10**12, timed=False)
    assert entries(mine.trigger(look({("orders", 0): 100}), later)) == [(5, NOW - 9)]
    later = polled((5, NOW - 5), order=3 * 10**12)
    assert entries(mine.trigger(look({("orders", 0): 100}), later)) == [(5, NOW - 9), (5, NOW - 5)]


def test_what_a_complete_poll_lacks_is_gone_and_other_consumers_windows_stay() -> None:
    mine = pipeline()
    other = ("gone", "orders", 0)
    mine.trigger(
        look({("orders", 0): 100}),
        polled((5, NOW - 9)),
        polled((5, NOW - 9), key=other),
        committed(7, NOW - 8, 1, "in kafka"),
    )
    view = mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 9), order=2 * 10**12, complete=True))
    assert view.groups() == ["billing", "in kafka"]


def test_a_deleted_offset_takes_its_window_with_it() -> None:
    mine = pipeline()
    mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 9)))
    assert mine.trigger(look({("orders", 0): 100}), polled((None, 0), order=2 * 10**12)).groups() == []


class TestAGroupInBothPlaces:
    def test_later_commits_win_by_their_time_and_the_window_keeps_both(self) -> None:
        mine = pipeline()
        mine.trigger(look({("orders", 0): 100}), committed(5, NOW - 90, order=7))
        mine.trigger(look({("orders", 0): 100}), polled((6, NOW - 80)))
        view = mine.trigger(look({("orders", 0): 100}), committed(7, NOW - 70, order=8))
        assert entries(view) == [(5, NOW - 90), (6, NOW - 80), (7, NOW - 70)]
        # and what was committed earlier does not come back
        view = mine.trigger(look({("orders", 0): 100}), polled((4, NOW - 75), order=2 * 10**12))
        assert entries(view)[-1] == (7, NOW - 70)
        view = mine.trigger(look({("orders", 0): 100}), polled((8, NOW - 60), order=3 * 10**12))
        view = mine.trigger(look({("orders", 0): 100}), committed(9, NOW - 50, order=9))
        assert entries(view) == [(6, NOW - 80), (7, NOW - 70), (8, NOW - 60), (9, NOW - 50)]

    def test_a_deletion_in_one_place_leaves_what_the_other_has_committed_since(self) -> None:
        mine = pipeline()
        mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 90)))
        mine.trigger(look({("orders", 0): 100}), committed(6, NOW - 80, order=8))
        view = mine.trigger(look({("orders", 0): 100}), polled((None, 0), order=2 * 10**12))
        assert entries(view)[-1] == (6, NOW - 80)
        mine.trigger(look({("orders", 0): 100}), polled((7, NOW - 70), order=3 * 10**12))
        tombstone = encode(messages.GROUP_KEY, 2, {"group": "billing"}), None
        view = mine.trigger(look({("orders", 0): 100}), records([tombstone], 5 * 10**12))
        assert entries(view)[-1] == (7, NOW - 70)
        # also when both come in one trigger
        view = mine.trigger(
            look({("orders", 0): 100}),
            records([tombstone], 6 * 10**12),
            polled((8, NOW - 60), order=4 * 10**12),
        )
        assert entries(view)[-1] == (8, NOW - 60)

    def test_owners_of_both_are_kept(self) -> None:
        mine = pipeline()
        owned = {"billing": {("orders", 0): Holder("billing_host-1")}}
        view = mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 9), owners=owned))
        assert owner(view) == "billing_host-1"
        group_gone = records([(encode(messages.GROUP_KEY, 2, {"group": "billing"}), None)], 5)
        assert owner(mine.trigger(look({("orders", 0): 100}), group_gone)) == "billing_host-1"
        none = polled(owners={"billing": {}}, order=2 * 10**12)
        assert owner(mine.trigger(look({("orders", 0): 100}), none)) == ""

    def test_owners_that_a_removed_consumer_found_are_gone(self) -> None:
        mine = pipeline()
        owned = {"billing": {("orders", 0): Holder("billing_host-1")}}
        mine.trigger(look({("orders", 0): 100}), polled((5, NOW - 9), owners=owned))
        mine.restart(EVERYTHING)
        view = mine.trigger(look({("orders", 0): 100}, full=True), committed(9, NOW - 5, order=1))
        assert owner(view) == ""


class TestOwnersAfterARestart:
    def restarted(self) -> Pipeline:
        mine = pipeline()
        mine.trigger(
            look({("orders", 0): 100}),
            polled((5, NOW - 9), owners=OWNED),
            polled((5, NOW - 9), key=("other", "orders", 0)),
        )
        mine.restart(WATCHED)
        view = mine.trigger(look({("orders", 0): 100}, full=True))
        assert (owner(view), owner(view, "other")) == ("billing_host-1", "other_host-1")
        return mine

    def first(self, **more: Any) -> pa.RecordBatch:
        """The first poll of another process."""
        return polled((5, NOW - 9), order=2 * 10**12, first=True, **more)

    @pytest.mark.parametrize("complete", [True, False])
    def test_an_owner_that_went_while_warren_was_down_was_shown_for_ever(self, *, complete: bool) -> None:
        mine = self.restarted()
        assert owner(mine.trigger(look({("orders", 0): 100}), self.first(complete=complete))) == ""
        # and the next one shows
        moved = polled(owners={"billing": {("orders", 0): Holder("billing_host-2")}}, order=3 * 10**12)
        assert owner(mine.trigger(look({("orders", 0): 100}), moved)) == "billing_host-2"

    def test_what_two_polls_bring_to_one_trigger_is_kept(self) -> None:
        mine = self.restarted()
        more = polled(owners={"other": OWNED["other"]}, order=3 * 10**12)
        mine.trigger(look({("orders", 0): 100}), more, self.first(owners={"billing": OWNED["billing"]}))
        assert mine.model._owners.keys() == {"billing", "other"}

    def test_groups_that_went_while_warren_was_down_stayed_in_the_state(self) -> None:
        mine = self.restarted()
        mine.trigger(look({("orders", 0): 100}), self.first(owners={"billing": OWNED["billing"]}))
        mine.restart(WATCHED)
        mine.trigger(look({("orders", 0): 100}, full=True))
        assert mine.model._owners.keys() == {"billing"}

    def test_owners_that_cannot_be_seen_and_those_of_kafka_stay(self) -> None:
        mine = self.restarted()
        member = ClassicMember("m-1", "app", "/10.0.0.1", {"orders": (1,)})
        in_kafka = msgspec.msgpack.encode([ClassicGroup("billing", 1, "consumer", (member,))])
        mine.trigger(
            look({("orders", 0): 100}),
            frames.rows([(frames.owner_bucket_of("billing"), frames.GROUPS, in_kafka)]),
        )
        mine.trigger(look({("orders", 0): 100}), self.first(owners_unseen=frozenset({"other"})))
        held = {group: {each.owner for each in owners} for group, owners in mine.model._owners.items()}
        assert held == {"billing": {"/10.0.0.1"}, "other": {"other_host-1"}}


def owner(view: ClusterView, group: str = "billing") -> str:
    detail = view.detail(group)
    assert detail is not None
    return detail["orders"][0].owner


def judged_with(
    mine: Pipeline, at_ms: int, head: int, moment: PolledMoment, *batches: pa.RecordBatch
) -> ClusterView:
    """A trigger whose look also says up to when the polled consumer is known."""
    looked = look({("orders", 0): head}, at_ms)
    rows = looked.to_pylist()
    for row in rows:
        if row["kind"] == "look":
            row["payload"] = _with_moment(row["payload"], moment)
    return mine.trigger(pa.RecordBatch.from_pylist(rows, looked.schema), *batches, now_ms=at_ms)


def _with_moment(payload: bytes, moment: PolledMoment) -> bytes:
    taken = msgspec.json.decode(payload, type=LookTaken)
    return msgspec.json.encode(msgspec.structs.replace(taken, polled={ZK: moment}))


def test_while_zookeeper_is_away_its_groups_stay_as_they_were_and_kafkas_groups_are_judged() -> None:
    mine = pipeline()
    # both are at the head, and have not committed for long
    news = (
        polled((99, NOW - 9_000), (100, NOW - 5_000)),
        *(
            committed(offset, NOW - ago, order, "in kafka")
            for order, (offset, ago) in enumerate([(99, 9_000), (100, 5_000)])
        ),
    )
    view = judged_with(mine, NOW, 100, PolledMoment(NOW, blind=False), *news)
    assert statuses(view) == {"billing": Status.OK, "in kafka": Status.OK}
    # traffic comes: nobody knows whether the group in ZooKeeper commits, while that in Kafka does not
    for second in range(1, 30):
        view = judged_with(mine, NOW + second * 1_000, 100 + second, PolledMoment(NOW, blind=True))
    assert statuses(view) == {"billing": Status.OK, "in kafka": Status.STOP}
    assert view.unseen() == frozenset({"billing"})
    group = view.group("billing")
    assert group is not None
    assert group.totallag == 0
    # it is back: and had stopped
    now = NOW + 30_000
    view = judged_with(mine, now, 130, PolledMoment(now, blind=False))
    assert statuses(view) == {"billing": Status.STOP, "in kafka": Status.STOP}
    assert view.unseen() == frozenset()


def test_a_group_that_was_behind_when_zookeeper_went_away_does_not_look_stopped() -> None:
    mine = pipeline()
    commits = polled(*((50 + step, NOW - 4_000 + step * 1_000) for step in range(4)))
    before = statuses(judged_with(mine, NOW, 100, PolledMoment(NOW, blind=False), commits))
    assert before["billing"] < Status.STOP
    for second in range(1, 30):
        view = judged_with(mine, NOW + second * 1_000, 100 + second, PolledMoment(NOW, blind=True))
    assert statuses(view) == before


def test_after_a_restart_while_zookeeper_is_away_its_groups_show_what_is_known() -> None:
    mine = pipeline()
    view = judged_with(
        mine, NOW, 500, PolledMoment(NOW, blind=False), polled((5, NOW - 9_000), (6, NOW - 8_500))
    )
    assert statuses(view) == {"billing": Status.STOP}
    mine.restart(WATCHED)
    rows = look({("orders", 0): 510}, NOW + 1_000, full=True).to_pylist()
    for row in rows:
        if row["kind"] == "look":
            row["payload"] = _with_moment(row["payload"], PolledMoment(NOW, blind=True))
    view = mine.trigger(pa.RecordBatch.from_pylist(rows, look({}).schema), now_ms=NOW + 1_000)
    assert statuses(view) == {"billing": Status.STOP}
    assert view.unseen() == frozenset({"billing"})


def statuses(view: ClusterView) -> dict[str, Status]:
    found: dict[str, Status] = {}
    for name in view.groups():
        group = view.group(name)
        assert group is not None
        found[name] = max(each.status for each in group.partitions)
    return found


class TestTheSource:
    """One offset for both kinds."""

    def reader(self, directory: Path, findings: Findings, *consumers: str) -> ClusterReader:
        kafka = reader(directory, *consumers)._settings
        return ClusterReader(SourceSettings(kafka.heads, kafka.offsets, (Settings(findings),)))

    def test_a_silent_ensemble_leaves_the_cluster_caught_up_and_its_moment_on(
        self, topics: Topics, tmp_path: Path
    ) -> None:
        findings = Findings()
        mine = self.reader(tmp_path, findings, "a")
        start = mine.initialOffset()
        findings.fail("no answer")
        end = mine.latestOffset(start, None)
        (task,) = tasks(mine, start, end)
        assert task.look is not None
        assert (task.look.caught_up, task.look.blind, task.look.unanswered) == (True, False, False)
        assert task.look.as_of_ms == end["consumers"]["a"]["as_of"]
        assert task.look.polled == {ZK: PolledMoment(0, blind=True)}
        assert task.look.error == "consumer zk: no answer"

    def test_what_was_found_goes_with_the_look(self, topics: Topics, tmp_path: Path) -> None:
        findings = Findings()
        mine = self.reader(tmp_path, findings, "a")
        start = mine.initialOffset()
        end = mine.latestOffset(start, None)
        (task,) = tasks(mine, start, end)
        assert task.look is not None
        # it has not been polled yet
        assert not task.look.caught_up
        findings.commit(KEY, 5, 100)
        findings.done(900)
        (task,) = tasks(mine, end, mine.latestOffset(end, None))
        assert task.look is not None
        assert (task.look.caught_up, task.look.polled) == (True, {ZK: PolledMoment(900, blind=False)})
        (poll_task,) = task.poll_tasks
        assert [commit.offset for commit in poll_task.poll.commits] == [5]

    def test_polled_consumers_alone_make_a_cluster_too(self, tmp_path: Path) -> None:
        findings = Findings()
        mine = self.reader(tmp_path, findings)
        start = mine.initialOffset()
        end = mine.latestOffset(start, None)
        (task,) = tasks(mine, start, end)
        assert task.look is not None
        assert (task.look.as_of_ms, task.look.caught_up, task.look.unanswered) == (0, False, True)
        findings.done(900)
        (task,) = tasks(mine, end, mine.latestOffset(end, None))
        assert task.look is not None
        assert (task.look.as_of_ms, task.look.caught_up, task.look.unanswered) == (900, True, False)

    def test_a_consumer_that_changes_its_class_begins_afresh(self, topics: Topics, tmp_path: Path) -> None:
        topics.ends["zk"] = [5]
        before = reader(tmp_path, "zk")
        start = before.latestOffset(before.initialOffset(), None)
        mine = self.reader(tmp_path, Findings())
        end: dict[str, Any] = mine.latestOffset(start, None)
        assert end["consumers"].keys() == {"zk"}
        assert "order" in end["consumers"]["zk"]
        (task,) = tasks(mine, start, end)
        assert task.read_tasks == ()
        back = before.latestOffset(end, None)
        assert "next" in back["consumers"]["zk"]


def test_a_group_without_an_answer_was_judged_for_a_time_that_nobody_saw() -> None:
    mine = pipeline()
    keys = [("billing", "orders", 0), ("other", "orders", 0)]
    mine.trigger(
        look({("orders", 0): 100}), *(polled((5, NOW - 9_000), (6, NOW - 8_000), key=key) for key in keys)
    )
    moment = PolledMoment(NOW, blind=False, unanswered={"billing": NOW - 7_500})
    taken = LookTaken(NOW, "", polled={ZK: moment})
    mine.model.take([(0, frames.LOOK, msgspec.json.encode(taken))])
    view = mine.model.view(9, NOW)
    statuses = {group: found.status for group in view.groups() if (found := view.group(group))}
    assert statuses == {"billing": Status.OK, "other": Status.ERR}, "the other one has stopped"
    assert view.unseen() == {"billing"}
    (consumer,) = view.consumers_reading("billing")
    assert (consumer.seen_at, consumer.blind) == (NOW - 7_500, True)


def test_an_offset_without_a_time_is_as_old_as_the_poll_before() -> None:
    mine = pipeline()
    heads = {("orders", 0): 120}
    mine.trigger(look(heads, NOW + 10_000))
    news = polled((100, NOW + 20_000), timed=False, after_ms=NOW)
    view = mine.trigger(look({("orders", 0): 140}, NOW + 20_000), news)
    detail = view.detail("billing")
    assert detail is not None
    # the head at the poll before was 100: it may have read everything then
    assert detail["orders"][0].floors[-1] == 0
    assert [each.lag for each in detail["orders"][0].offsets if each] == [40]
