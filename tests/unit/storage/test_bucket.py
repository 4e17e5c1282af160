"""One bucket through its triggers: what comes, what goes, what is reported, what is saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from warren.common import frames
from warren.common.request import Request
from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage import bucket as core
from warren.storage.bucket import Bucket, CommitsSeen, GroupTombstones, HeadsSeen, WindowSettings

SETTINGS = WindowSettings(intervals=4, min_distance_ms=0, expire_ms=100_000, refresh_ms=1_000)
NOW = 1_000_000
CONSUMER = "burrow"


def heads(
    places: dict[tuple[str, int], int],
    at_ms: int = NOW,
    *,
    complete: bool = True,
    ids: dict[str, str] | None = None,
    gone: tuple[tuple[str, int], ...] = (),
) -> HeadsSeen:
    return HeadsSeen(
        pa.array([topic for topic, _ in places], pa.string()),
        np.array([partition for _, partition in places], dtype=np.int32),
        pa.array([(ids or {}).get(topic, f"id-{topic}") for topic, _ in places], pa.string()),
        np.array(list(places.values()), dtype=np.int64),
        np.zeros(len(places), dtype=np.int64),
        at_ms,
        at_ms,
        at_ms,
        complete,
        ([name for name, _ in gone], [number for _, number in gone]),
    )


@dataclass(frozen=True)
class Commit:
    group: str
    topic: str
    partition: int
    offset: int
    order: int
    timestamp: int = NOW
    deleted: bool = False


def commits(*given: Commit, after_ms: int = 0, before_ms: int = NOW) -> CommitsSeen:
    def column(name: str, dtype: Any = np.int64) -> Any:
        return np.array([getattr(each, name) for each in given], dtype=dtype)

    return CommitsSeen(
        pa.array([each.group for each in given], pa.string()),
        pa.array([each.topic for each in given], pa.string()),
        column("partition", np.int32),
        column("offset"),
        column("timestamp"),
        column("timestamp"),
        column("timestamp"),
        column("order"),
        column("deleted", np.bool_),
        CONSUMER,
        after_ms,
        before_ms,
    )


def shown(bucket: Bucket) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
    """Window: its (offset, lag) entries."""
    return {
        (
            bucket.groups[int(group)].as_py(),
            bucket.topic[int(place)].as_py(),
            int(bucket.partition[place]),
        ): [
            (int(offset), int(lag))
            for offset, lag, order in zip(
                bucket.windows.offset[row], bucket.windows.lag[row], bucket.windows.order[row], strict=True
            )
            if order != EMPTY
        ]
        for row, (group, place) in enumerate(zip(bucket.group_of, bucket.tp_of, strict=True))
    }


def again(bucket: Bucket, settings: WindowSettings = SETTINGS) -> Bucket:
    """The bucket, saved and loaded."""
    places, rows = core.save(bucket)
    return core.load(settings, places, frames.pack_batch(rows))


@pytest.fixture
def bucket() -> Bucket:
    """Heads of two topics and one commit of one group on each."""
    made = Bucket.empty(SETTINGS)
    made.apply_heads(heads({("orders", 0): 100, ("orders", 3): 50, ("clicks", 1): 10}))
    made.apply_commits(commits(Commit("a", "orders", 0, 90, 1), Commit("a", "clicks", 1, 10, 2)), NOW, True)
    return made


def test_commits_find_their_windows_and_get_the_lag_of_their_head(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("a", "orders", 0, 95, 3), Commit("b", "orders", 0, 20, 4)), NOW, True)
    assert shown(bucket) == {
        ("a", "orders", 0): [(90, 10), (95, 5)],
        ("a", "clicks", 1): [(10, 0)],
        ("b", "orders", 0): [(20, 80)],
    }


def test_a_commit_of_a_topic_that_the_brokers_do_not_have_is_dropped(bucket: Bucket) -> None:
    before = shown(bucket)
    bucket.apply_commits(commits(Commit("a", "nowhere", 0, 1, 9), Commit("a", "orders", 7, 1, 10)), NOW, True)
    assert shown(bucket) == before


def test_a_commit_waits_for_its_first_head_while_the_topics_are_not_all_known(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("a", "later", 0, 7, 9), Commit("b", "later", 0, 8, 10)), NOW, False)
    assert shown(bucket)["a", "later", 0] == [(7, UNKNOWN)]
    bucket.apply_heads(heads({("later", 0): 10}, NOW + 1, complete=False))
    assert shown(bucket)["a", "later", 0] == [(7, 3)]
    assert shown(bucket)["b", "later", 0] == [(8, 2)]
    assert core.changes(bucket, full=False) is not None


def test_the_head_is_the_one_at_the_time_of_the_commit(bucket: Bucket) -> None:
    bucket.apply_heads(heads({("orders", 0): 200, ("orders", 3): 50, ("clicks", 1): 10}, NOW + 10_000))
    halfway = Commit("a", "orders", 0, 100, 5, timestamp=NOW + 5_000)
    bucket.apply_commits(commits(halfway, before_ms=NOW + 10_000), NOW + 10_000, True)
    assert shown(bucket)["a", "orders", 0][-1] == (100, 50)


def test_a_clock_that_is_wrong_moves_the_head_by_one_trigger_at_most(bucket: Bucket) -> None:
    bucket.apply_heads(heads({("orders", 0): 200, ("orders", 3): 50, ("clicks", 1): 10}, NOW + 10_000))
    # the broker's clock is an hour slow, but we know that this came after the first head
    slow = Commit("a", "orders", 0, 150, 5, timestamp=NOW - 50_000)
    bucket.apply_commits(commits(slow, after_ms=NOW + 8_000, before_ms=NOW + 10_000), NOW + 10_000, True)
    assert shown(bucket)["a", "orders", 0][-1] == (150, 30)


def test_what_the_brokers_say_does_not_exist_takes_its_windows_along(bucket: Bucket) -> None:
    bucket.apply_heads(heads({("clicks", 1): 12}, NOW + 1))
    assert ("a", "orders", 0) in shown(bucket)
    assert bucket.missing_from_lists() == [("orders", 0), ("orders", 3)]
    bucket.apply_heads(heads({("clicks", 1): 12}, NOW + 2, gone=(("orders", 0), ("orders", 3))))
    assert set(shown(bucket)) == {("a", "clicks", 1)}
    assert bucket.topic.to_pylist() == ["clicks"]


def test_what_is_on_the_last_list_is_not_gone_whatever_was_answered_meanwhile(bucket: Bucket) -> None:
    before = shown(bucket)
    bucket.apply_heads(heads({("clicks", 1): 10}, NOW, gone=(("clicks", 1), ("nowhere", 7))))
    assert shown(bucket) == before


def test_lists_without_a_topic_deleted_its_windows_for_good(bucket: Bucket) -> None:
    before = shown(bucket)
    everything = {("orders", 0): 100, ("orders", 3): 50, ("clicks", 1): 10}
    for step in range(1, 100):
        bucket.apply_heads(heads({("clicks", 1): 10}, NOW + step))
    assert shown(bucket) == before
    bucket.apply_heads(heads(everything, NOW + 100))
    assert shown(bucket) == before
    assert bucket.missing_from_lists() == []


def test_a_deleted_topic_whose_rights_went_with_it_stayed_for_ever(bucket: Bucket) -> None:
    before = shown(bucket)
    here = {("orders", 0): 100, ("orders", 3): 50}
    # nobody reads these, and the brokers answer that we may not see them
    bucket.apply_heads(heads(here | {("secret", 0): 5, ("orders", 8): 0}, NOW))
    bucket.apply_commits(commits(Commit("a", "hidden", 0, 1, 10, deleted=True)), NOW, False)
    for step in range(1, 50):
        bucket.apply_heads(heads(here, NOW + step))
    assert bucket.missing_from_lists() == [("clicks", 1), ("secret", 0), ("orders", 8)], "for minutes"
    for step in range(50, 110):
        bucket.apply_heads(heads(here, NOW + step))
    # what a group reads stays
    assert bucket.missing_from_lists() == [("clicks", 1)]
    assert set(bucket.topic.to_pylist()) == {"orders", "clicks"}
    assert shown(bucket) == before


def test_a_partition_that_no_list_ever_had_is_asked_for_and_goes(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("a", "orders", 7, 1, 10)), NOW, False)
    assert bucket.missing_from_lists() == [("orders", 7)]
    bucket.apply_heads(heads({("orders", 0): 100}, NOW + 1, complete=False, gone=(("orders", 7),)))
    assert ("a", "orders", 7) not in shown(bucket)


def test_a_broker_whose_clock_was_ahead_held_the_window_until_that_time_came(bucket: Bucket) -> None:
    hour = 3_600_000
    window = ("a", "orders", 0)
    for step in range(6):
        now = NOW + step * 1_000
        wrong = 3 * hour if 2 <= step < 4 else 0
        seen = commits(
            Commit("a", "orders", 0, 91 + step, 10 + step, timestamp=now + wrong),
            after_ms=now - 1_000,
            before_ms=now,
        )
        bucket.apply_commits(seen, now, True)
    # what was made at the wrong time is gone, what came before and after stands
    assert [offset for offset, _ in shown(bucket)[window]] == [91, 92, 95, 96]
    assert bucket.windows.timestamp[0].tolist() == [NOW, NOW + 1_000, NOW + 4_000, NOW + 5_000]


@pytest.mark.parametrize("hours", [3, -3])
def test_a_clock_of_ours_that_is_wrong_takes_no_entry_away(bucket: Bucket, hours: int) -> None:
    wrong = hours * 3_600_000
    for step in range(4):
        now = NOW + 1_000 + step * 1_000
        seen = commits(
            Commit("a", "orders", 0, 91 + step, 10 + step, timestamp=now),
            after_ms=now - 1_000 + wrong,
            before_ms=now + wrong,
        )
        bucket.apply_commits(seen, NOW, True)
    assert [offset for offset, _ in shown(bucket)["a", "orders", 0]] == [91, 92, 93, 94]


def test_floor_and_lag_are_the_bounds_that_the_looks_give(bucket: Bucket) -> None:
    for at_ms, head in ((NOW + 1_000, 120), (NOW + 2_000, 140)):
        places = {("orders", 0): head, ("orders", 3): 50, ("clicks", 1): 10}
        bucket.apply_heads(heads(places, at_ms))
    seen = commits(
        Commit("a", "orders", 0, 110, 5, timestamp=NOW + 1_500),
        Commit("b", "orders", 0, 110, 6, timestamp=NOW + 500),
        after_ms=NOW + 100,
        before_ms=NOW + 2_000,
    )
    bucket.apply_commits(seen, NOW, True)
    assert bucket.windows.lag[:, -1].tolist() == [20, 0, 0]
    assert bucket.windows.floor[:, -1].tolist() == [10, 0, 0]


def test_nothing_goes_when_the_brokers_could_not_be_asked(bucket: Bucket) -> None:
    before = shown(bucket)
    bucket.apply_heads(heads({}, NOW + 1, complete=False))
    assert shown(bucket) == before


def test_a_partition_without_a_leader_keeps_what_is_known(bucket: Bucket) -> None:
    bucket.apply_heads(heads({("orders", 0): UNKNOWN, ("orders", 3): 51, ("clicks", 1): 10}, NOW + 1))
    bucket.apply_commits(commits(Commit("a", "orders", 0, 95, 3)), NOW, True)
    assert shown(bucket)["a", "orders", 0] == [(90, 10), (95, 5)]


def test_a_topic_that_was_made_again_starts_afresh(bucket: Bucket) -> None:
    places = {("orders", 0): 3, ("orders", 3): 2, ("clicks", 1): 10}
    bucket.apply_heads(heads(places, NOW + 1, ids={"orders": "id-another"}))
    bucket.apply_commits(commits(Commit("b", "orders", 0, 1, 9)), NOW + 1, True)
    assert shown(bucket) == {("a", "clicks", 1): [(10, 0)], ("b", "orders", 0): [(1, 2)]}
    # and only once
    bucket.apply_heads(heads(places, NOW + 2, ids={"orders": "id-another"}))
    assert ("b", "orders", 0) in shown(bucket)


def test_an_id_that_cannot_be_had_is_not_another_topic(bucket: Bucket) -> None:
    before = shown(bucket)
    places = {("orders", 0): 100, ("orders", 3): 50, ("clicks", 1): 10}
    bucket.apply_heads(heads(places, NOW + 1, ids={"orders": "", "clicks": ""}))
    bucket.apply_heads(heads(places, NOW + 2))
    assert shown(bucket) == before


def test_a_deleted_commit_ends_its_window_and_a_later_one_opens_it_again(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("a", "orders", 0, 0, 5, deleted=True)), NOW, True)
    bucket.expire(NOW)
    assert ("a", "orders", 0) not in shown(bucket)
    bucket.apply_commits(
        commits(Commit("a", "orders", 0, 0, 6, deleted=True), Commit("a", "orders", 0, 97, 7)), NOW, True
    )
    assert shown(bucket)["a", "orders", 0] == [(97, 3)]


def test_a_deleted_group_loses_the_commits_before_that(bucket: Bucket) -> None:
    bucket.apply_commits(
        commits(Commit("a", "orders", 0, 95, 20), Commit("b", "orders", 0, 1, 21)), NOW, True
    )
    bucket.apply_tombstones(GroupTombstones(pa.array(["a", "unknown", "a"]), np.array([10, 11, 3]), CONSUMER))
    bucket.expire(NOW)
    assert shown(bucket) == {("a", "orders", 0): [(95, 5)], ("b", "orders", 0): [(1, 99)]}


def test_a_commit_outlives_the_deletions_before_it() -> None:
    seen = commits(Commit("a", "t", 0, 1, 5), Commit("a", "t", 0, 2, 20), Commit("b", "t", 0, 3, 1))
    assert seen.newer_than(
        GroupTombstones(pa.array(["a", "c"]), np.array([10, 99]), CONSUMER)
    ).offset.tolist() == [
        2,
        3,
    ]


def test_a_wish_to_forget_a_group_or_one_topic_of_it(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("b", "orders", 0, 1, 21), Commit("b", "clicks", 1, 1, 22)), NOW, True)
    bucket.apply_requests([Request("a"), Request("b", "clicks"), Request("nobody"), Request("b", "nothing")])
    assert set(shown(bucket)) == {("b", "orders", 0)}
    assert bucket.groups.to_pylist() == ["b"]


def test_windows_expire(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("old", "orders", 0, 5, 21, timestamp=NOW - 99_000)), NOW, True)
    bucket.expire(NOW)
    assert ("old", "orders", 0) in shown(bucket)
    bucket.expire(NOW + 2_000)
    assert ("old", "orders", 0) not in shown(bucket)
    assert ("a", "orders", 0) in shown(bucket)


def test_a_commit_that_is_too_old_opens_no_window(bucket: Bucket) -> None:
    bucket.apply_commits(commits(Commit("old", "orders", 0, 5, 21, timestamp=NOW - 100_001)), NOW, True)
    assert ("old", "orders", 0) not in shown(bucket)


def test_what_is_saved_is_what_is_loaded(bucket: Bucket) -> None:
    loaded = again(bucket)
    assert shown(loaded) == shown(bucket)
    loaded.apply_commits(
        commits(Commit("a", "orders", 0, 99, 30), Commit("c", "clicks", 1, 1, 31)), NOW, True
    )
    bucket.apply_commits(
        commits(Commit("a", "orders", 0, 99, 30), Commit("c", "clicks", 1, 1, 31)), NOW, True
    )
    assert shown(loaded) == shown(bucket)
    assert core.save(loaded) == core.save(bucket)


@pytest.mark.parametrize(
    ("intervals", "expected"), [(2, [(3, 97), (4, 96)]), (6, [(1, 99), (2, 98), (3, 97), (4, 96)])]
)
def test_windows_of_another_length_are_fitted(intervals: int, expected: list[tuple[int, int]]) -> None:
    bucket = Bucket.empty(SETTINGS)
    bucket.apply_heads(heads({("orders", 0): 100}))
    bucket.apply_commits(commits(*(Commit("a", "orders", 0, each, each) for each in range(1, 5))), NOW, True)
    loaded = again(bucket, replace(SETTINGS, intervals=intervals))
    assert shown(loaded)["a", "orders", 0] == expected
    assert loaded.windows.intervals == loaded.heads.intervals == intervals


class TestReport:
    def reported(
        self, bucket: Bucket, *, full: bool = False
    ) -> dict[int, tuple[str | None, str | None, list[int]]]:
        payload = core.changes(bucket, full=full)
        assert payload is not None
        batch = frames.unpack(payload)
        rows = zip(
            batch.column("row").to_pylist(),
            batch.column("group").to_pylist(),
            batch.column("topic").to_pylist(),
            batch.column("offset").to_pylist(),
            strict=True,
        )
        return {row: (group, topic, offsets) for row, group, topic, offsets in rows}

    def loaded(self, bucket: Bucket) -> Bucket:
        return again(bucket)

    def test_nothing_changed(self, bucket: Bucket) -> None:
        assert core.changes(self.loaded(bucket), full=False) is None

    def test_a_known_window_goes_without_names_and_a_new_one_with_them(self, bucket: Bucket) -> None:
        loaded = self.loaded(bucket)
        loaded.apply_commits(
            commits(Commit("a", "orders", 0, 99, 30), Commit("c", "clicks", 1, 1, 31)), NOW, True
        )
        changed = self.reported(loaded)
        row = next(iter(np.flatnonzero(loaded.windows.offset[:, -1] == 99)))
        assert changed == {
            int(row): (None, None, [EMPTY, EMPTY, 90, 99]),
            2: ("c", "clicks", [EMPTY, EMPTY, EMPTY, 1]),
        }

    def test_everything_when_asked_and_when_windows_were_removed(self, bucket: Bucket) -> None:
        everything = {("a", "orders"), ("a", "clicks")}
        assert {each[:2] for each in self.reported(self.loaded(bucket), full=True).values()} == everything
        loaded = self.loaded(bucket)
        loaded.apply_requests([Request("a", "orders")])
        assert {each[:2] for each in self.reported(loaded).values()} == {("a", "clicks")}

    def test_an_emptied_bucket_is_reported_too(self, bucket: Bucket) -> None:
        loaded = self.loaded(bucket)
        loaded.apply_requests([Request("a")])
        assert self.reported(loaded) == {}
