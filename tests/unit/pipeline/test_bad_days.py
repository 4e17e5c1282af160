"""Bad days of the whole pipeline without Spark: clocks that jump, lists that lie, names that come and go, forgeries."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.unit.pipeline_double import CONSUMER, NOW, Pipeline, look, records
from tests.unit.snapshot.test_read_model import commit

from warren.clock import LookClock, Moment
from warren.common.checkpoint import WINDOW_BUCKETS
from warren.common.group_filter import GroupFilter
from warren.common.status import Status
from warren.config.patterns import compiled
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.snapshot.view import ClusterView
from warren.storage.bucket import WindowSettings

SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000
STEP = 10 * SECOND
# the trigger from which on a group of the day commits nothing more
STOPS = 26
WINDOW = WindowSettings(
    intervals=10,
    min_distance_ms=0,
    expire_ms=7 * DAY,
    refresh_ms=10 * SECOND,
)


@dataclass
class Day:
    """A topic, a consumer that keeps up, one that does not and one that stops; looks every ten seconds."""

    pipeline: Pipeline = field(default_factory=lambda: Pipeline(WINDOW))
    clock: LookClock = field(default_factory=lambda: LookClock(None))
    step: int = 0
    order: int = 0
    asked_ms: int = 0
    last: Moment | None = None
    # the readers know nothing yet
    fresh: bool = True

    def trigger(self, *, ours_ms: int = 0, brokers_ms: int = 0) -> dict[str, Status]:
        """The statuses after a trigger in which the clocks are wrong by so much."""
        self.step += 1
        passed = self.step * STEP
        right = NOW + passed
        self.last = self.clock.look(right + ours_ms, passed)
        head = 1_000 + self.step * 100
        committed = {"healthy": head, "slow": 1_000 + self.step * 80}
        if self.step < STOPS:
            committed["stopping"] = head
        news = [
            commit(group, "orders", 0, offset, right + brokers_ms - SECOND)
            for group, offset in committed.items()
        ]
        now = right + ours_ms
        view = self.pipeline.trigger(
            look(
                {("orders", 0): head + 5},
                now,
                full=self.fresh,
                steady_ms=self.last.steady_ms,
                expiry_ms=self.last.expiry_ms,
            ),
            records(news, self.order, observed_at=now, after_ms=self.asked_ms, before_ms=now),
            now_ms=now,
        )
        self.order += len(news)
        self.asked_ms, self.fresh = now, False
        return {group: view.group(group).status for group in view.groups()}  # type: ignore[union-attr]

    def restart(self) -> None:
        """A new process on the same state."""
        self.pipeline.restart()
        self.clock, self.fresh = LookClock(self.last), True


@dataclass(frozen=True)
class Jump:
    name: str
    ours_ms: int = 0
    brokers_ms: int = 0
    restarted: bool = False


JUMPS = [
    Jump("our clock is three hours ahead", ours_ms=3 * HOUR),
    Jump("our clock is three hours behind", ours_ms=-3 * HOUR),
    Jump("our clock is eight days ahead", ours_ms=8 * DAY),
    Jump("our clock is three hours ahead at boot", ours_ms=3 * HOUR, restarted=True),
    Jump("our clock is eight days ahead at boot", ours_ms=8 * DAY, restarted=True),
    Jump("our clock is three hours behind at boot", ours_ms=-3 * HOUR, restarted=True),
    Jump("the broker's clock is three hours ahead", brokers_ms=3 * HOUR),
    Jump("the broker's clock is three hours behind", brokers_ms=-3 * HOUR),
]
# triggers in which the clock is wrong
WRONG = range(13, 16)


def played(case: Jump) -> list[dict[str, Status]]:
    """The statuses after each trigger of a day on which the clocks are wrong for a while."""
    day, found = Day(), []
    for step in range(1, STOPS + 25):
        if case.restarted and step == WRONG.start:
            day.restart()
        wrong = step in WRONG
        found.append(day.trigger(ours_ms=case.ours_ms * wrong, brokers_ms=case.brokers_ms * wrong))
    return found


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Status]]:
    """Those of a day on which all clocks are right."""
    found = played(Jump("none"))
    assert found[-1] == {"healthy": Status.OK, "slow": Status.WARN, "stopping": Status.ERR}
    return found


@pytest.mark.parametrize("case", JUMPS, ids=lambda case: case.name)
def test_a_clock_that_was_wrong_for_a_while_silenced_verdicts_for_hours(
    case: Jump, expected: list[dict[str, Status]]
) -> None:
    found = played(case)
    assert [day.keys() for day in found] == [day.keys() for day in expected], "nothing expires"
    for step, (statuses, right) in enumerate(zip(found, expected, strict=True), start=1):
        if step < WRONG.start or step >= WRONG.stop + 2:
            assert statuses == right, f"trigger {step}"


def test_a_clock_that_was_ahead_at_the_first_start_silenced_the_cluster_for_ever(
    expected: list[dict[str, Status]],
) -> None:
    day = Day()
    assert day.trigger(ours_ms=8 * DAY) == {}, "older than a week by that clock"
    for _ in range(len(expected) - 1):
        statuses = day.trigger()
    assert statuses == expected[-1]


def noisy(pipeline: Pipeline, steps: range, watched: GroupFilter | None = None) -> Iterator[ClusterView]:
    """Two groups that commit behind the head, and whose commits are read as far as they are watched."""
    for step in steps:
        now = NOW + step * STEP
        members = [
            commit(group, "orders", 0, step * 100, now)
            for group in ("noisy", "calm")
            if watched is None or watched.accepts(group)
        ]
        yield pipeline.trigger(
            look({("orders", 0): step * 100 + 20}, now, full=step == steps.start),
            records([*members, member("noisy"), member("calm")], step * 10, before_ms=now),
            now_ms=now,
        )


def member(group: str) -> tuple[bytes, bytes]:
    """A record of a group of the newer protocol with one member."""
    key = {"group": group, "member_id": "m"}
    fields = {
        "instance_id": None,
        "rack_id": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": ["orders"],
        "subscribed_topic_regex": None,
        "rebalance_timeout_ms": 1,
        "server_assignor": None,
    }
    return encode(messages.CONSUMER_MEMBER_KEY, 5, key), encode(messages.CONSUMER_MEMBER_VALUE, 0, fields)


def test_a_group_that_was_denied_kept_its_windows_and_alarmed_for_a_week() -> None:
    pipeline = Pipeline(WINDOW)
    *_, view = noisy(pipeline, range(30))
    assert view.groups() == ["calm", "noisy"]
    denied = GroupFilter(deny=(compiled("^noisy$").regex,))
    pipeline.restart({CONSUMER: denied})
    for view in noisy(pipeline, range(30, 33), denied):
        assert view.groups() == ["calm"]
    pipeline.restart({CONSUMER: GroupFilter(allow=(compiled("nobody").regex,))})
    (view,) = noisy(pipeline, range(33, 34), GroupFilter(allow=(compiled("nobody").regex,)))
    assert view.groups() == []


def test_groups_of_a_consumer_that_was_removed_go_with_it() -> None:
    pipeline = Pipeline(WINDOW)
    *_, view = noisy(pipeline, range(5))
    assert view.groups() == ["calm", "noisy"]
    pipeline.restart({"another": GroupFilter()})
    (view,) = noisy(pipeline, range(5, 6), GroupFilter(allow=(compiled("nobody").regex,)))
    assert view.groups() == []


def test_topics_that_were_deleted_while_everything_was_down_stayed_listed() -> None:
    pipeline = Pipeline(WINDOW)
    heads = {("a", 0): 10, ("b", 0): 10, ("b", 1): 10}
    pipeline.trigger(look(heads, full=True), records([commit("g", "b", 0, 5)]))
    pipeline.restart()
    view = pipeline.trigger(look({}, NOW + SECOND, full=True, complete=False), now_ms=NOW + SECOND)
    assert (view.topics(), view.groups()) == (["a", "b"], ["g"]), "silent brokers say nothing"
    now = NOW + 2 * STEP
    for _ in range(2):
        # the planner hands on what the readers miss, and the brokers answer
        read = tuple(pipeline.model.missing)
        view = pipeline.trigger(look({("a", 0): 20}, now, gone=read), now_ms=now)
    assert (view.topics(), view.topic("b"), view.groups()) == (["a"], None, [])
    # made again with fewer partitions
    view = pipeline.trigger(look({("a", 0): 20, ("b", 0): 1}, now + STEP), now_ms=now + STEP)
    found = view.topic("b")
    assert found is not None
    assert [each.head for each in found] == [1]


def test_commits_on_topics_that_we_may_not_see_were_dropped_without_a_word() -> None:
    pipeline = Pipeline(WINDOW)
    pipeline.trigger(look({("offsets", 0): 10}, full=True))
    news = [commit("g", "hidden", 0, 5), commit("g", "deleted", 3, 5)]
    view = pipeline.trigger(look({("offsets", 0): 11}, NOW + SECOND), records(news, 5))
    assert view.groups() == []
    # the next polls ask the brokers for them by name: only they know whether a topic is deleted or hidden
    for step in range(2, 61):
        assert pipeline.model.missing == [("deleted", 0), ("hidden", 0)]
        pipeline.trigger(look({("offsets", 0): 11}, NOW + step * SECOND))
    # and not for ever
    pipeline.trigger(look({("offsets", 0): 11}, NOW + 62 * SECOND))
    assert pipeline.model.missing == []


@pytest.mark.parametrize("number", [100_000, 2**31 - 1])
def test_a_forged_partition_number_was_counted_through(number: int) -> None:
    pipeline = Pipeline(WINDOW)
    pipeline.trigger(look({("t", 0): 10}, full=True))
    news = [commit("g", "t", number, 5), commit("g", "t", 0, 5)]
    began = time.monotonic()
    view = pipeline.trigger(look({("t", 0): 11}, NOW + SECOND, complete=False), records(news, 5))
    group, detail = view.group("g"), view.detail("g")
    assert group is not None
    assert detail is not None
    assert [part.partition for part in group.partitions] == [0, number]
    assert group.partition_count == 2 == view.group_table().partition_count[0]
    assert len(detail["t"]) == 2
    assert time.monotonic() - began < 5
    # the brokers do not have it
    assert pipeline.model.missing == [("t", number)]
    view = pipeline.trigger(look({("t", 0): 11}, NOW + 2 * SECOND, gone=(("t", number),)))
    group = view.group("g")
    assert group is not None
    assert [part.partition for part in group.partitions] == [0]


def test_the_window_of_a_partition_stood_at_the_position_of_another_until_the_topic_was_listed() -> None:
    pipeline = Pipeline(WINDOW)
    pipeline.trigger(look({("t", 0): 10}, full=True))
    view = pipeline.trigger(
        look({("t", 0): 11}, NOW + SECOND, complete=False), records([commit("g", "new", 2, 5)], 5)
    )
    detail = view.detail("g")
    assert detail is not None
    assert [[entry.offset for entry in each.offsets if entry] for each in detail["new"]] == [[], [], [5]]


def test_names_that_come_and_go_left_traces_for_ever() -> None:
    settings = WindowSettings(10, 0, 60 * SECOND, 10 * SECOND)
    pipeline = Pipeline(settings)
    order = 0
    for hour in range(15):
        # the groups of a round expire before the next, and so does its topic
        now = NOW + hour * HOUR
        heads = {("t", 0): 100, (f"tmp-{hour}", 0): 5}
        news = [commit(f"console-{hour}-{number}", "t", 0, 50, now) for number in range(500)]
        for again in range(3):
            gone = tuple(pipeline.model.missing)
            view = pipeline.trigger(
                look(heads, now + again, full=order == 0, gone=gone),
                records(news if not again else [], order, before_ms=now),
                now_ms=now,
            )
        order += 500
    assert len(view.groups()) == 500
    model = pipeline.model
    assert len(model._groups) <= 3_000
    assert len(model._topic) <= 3_000
    assert len(model._topic_names) <= 3_000
    buckets = []
    for pipeline.states.bucket in range(WINDOW_BUCKETS):
        buckets.append(pipeline.operator._journal.load(pipeline.states.bucket, settings))
    assert sum(len(bucket.groups) for bucket in buckets) == 500
    assert sum(len(bucket.topic) for bucket in buckets) <= 4


def test_groups_without_members_are_forgotten_after_a_day() -> None:
    pipeline = Pipeline(WINDOW)
    gone = [(encode(messages.GROUP_KEY, 2, {"group": f"console-{number}"}), None) for number in range(500)]
    pipeline.trigger(look({("t", 0): 1}, full=True), records(gone))
    base = pipeline.states.named["base"].held
    size = sum(len(owners) for _, _, owners in base.values())
    later = NOW + 2 * DAY
    last = [(encode(messages.GROUP_KEY, 2, {"group": f"g-{number}"}), None) for number in range(40)]
    pipeline.trigger(look({("t", 0): 1}, later), records(last, 1_000), now_ms=later)
    left = sum(len(owners) for _, _, owners in base.values())
    assert left < size / 5


def test_a_trigger_that_failed_leaves_no_more_files_than_one_that_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    pipeline = Pipeline(WINDOW)
    heads = {("t", number): 100 for number in range(200)}
    news = [commit("g", "t", number, 50) for number in range(200)]
    pipeline.trigger(look(heads, full=True), records(news))
    files = {path.name for path in (tmp_path / "warren").iterdir()}
    for number in range(5):
        # the driver or another task fails: Spark goes back to the state from before
        before = copy.deepcopy({name: state.held for name, state in pipeline.states.named.items()})
        pipeline.trigger(look(heads, NOW + number + 1, full=True))
        for name, held in before.items():
            pipeline.states.named[name].held = held
    assert {path.name for path in (tmp_path / "warren").iterdir()} == files
    view = pipeline.trigger(look(heads, NOW + 9))
    assert view.groups() == ["g"]
    assert np.count_nonzero(view.entries) == 200
