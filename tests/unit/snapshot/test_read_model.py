"""The read model: from the operator's frames to a view that answers, and to one that stays as it was."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.pipeline_double import NOW, Pipeline, look, records, topic_id

from warren.common.checkpoint import CheckpointFormatError
from warren.common.request import Request
from warren.common.status import Status
from warren.kafka import messages
from warren.kafka.codec import encode
from warren.snapshot.model import Entry, TopicReader
from warren.snapshot.view import ClusterView

HEADS = {("orders", 0): 100, ("orders", 1): 50, ("orders", 2): 7, ("clicks", 0): 10}


def commit(group: str, topic: str, partition: int, offset: int, at_ms: int = NOW) -> tuple[bytes, bytes]:
    key = encode(messages.COMMIT_KEY, 1, {"group": group, "topic": topic, "partition": partition})
    fields = {"offset": offset, "leader_epoch": -1, "metadata": "", "timestamp": at_ms}
    return key, encode(messages.COMMIT_VALUE, 3, fields)


def gone(group: str, topic: str, partition: int) -> tuple[bytes, None]:
    return commit(group, topic, partition, 0)[0], None


def group_gone(group: str) -> tuple[bytes, None]:
    return encode(messages.GROUP_KEY, 2, {"group": group}), None


@pytest.fixture
def pipeline() -> Pipeline:
    """Two groups on two topics; the first trigger is behind it."""
    made = Pipeline()
    first = [commit("slow", "orders", 0, 90), commit("slow", "orders", 2, 7), commit("fast", "clicks", 0, 10)]
    made.trigger(look(HEADS, full=True), records(first))
    return made


def lags(view: ClusterView) -> dict[str, int]:
    table = view.group_table()
    return dict(zip(table.names, table.totallag.tolist(), strict=True))


def test_a_view_answers_everything_from_one_trigger(pipeline: Pipeline) -> None:
    view = pipeline.trigger(look(HEADS), records([commit("slow", "orders", 0, 95)], 10))
    assert view.groups() == ["fast", "slow"]
    assert view.topics() == ["clicks", "orders"]
    assert view.consumers_of("orders") == ["slow"]
    assert view.consumers_of("nothing") == []
    heads = view.topic("orders")
    assert heads is not None
    assert [(each.head, each.tail) for each in heads] == [(100, 0), (50, 0), (7, 0)]
    assert view.topic("nothing") is None
    slow = view.group("slow")
    assert slow is not None
    assert (slow.status, slow.totallag, slow.partition_count) == (Status.OK, 5, 3)
    assert [(each.partition, each.current_lag, each.complete) for each in slow.partitions] == [
        (0, 5, 0.5),
        (1, 0, 0.0),
        (2, 0, 0.25),
    ]
    assert slow.maxlag == slow.partitions[0]
    assert slow.partitions[1].start is None
    assert slow.partitions[0].end == Entry(95, NOW, NOW, 5)
    assert view.group("nobody") is None


def test_the_detail_has_the_whole_window(pipeline: Pipeline) -> None:
    view = pipeline.trigger(look(HEADS), records([commit("slow", "orders", 0, 95)], 10))
    detail = view.detail("slow")
    assert detail is not None
    assert list(detail) == ["orders"]
    assert detail["orders"][0].offsets == (None, None, Entry(90, NOW, NOW, 10), Entry(95, NOW, NOW, 5))
    assert detail["orders"][1].offsets == ()
    assert view.detail("nobody") is None


def test_lag_follows_the_head_without_a_commit(pipeline: Pipeline) -> None:
    view = pipeline.trigger(look(HEADS | {("orders", 0): 1_000}, NOW + 1_000), now_ms=NOW + 1_000)
    assert lags(view) == {"slow": 910, "fast": 0}


def test_a_group_that_falls_silent_stops_as_time_passes(pipeline: Pipeline) -> None:
    quiet = pipeline.trigger(look(HEADS, NOW + 60_000), now_ms=NOW + 60_000)
    slow = quiet.group("slow")
    assert slow is not None
    assert (slow.status, slow.partitions[0].status) == (Status.ERR, Status.STOP)
    assert quiet.group_table().status.tolist() == [Status.OK, Status.ERR]


def test_a_partition_that_is_not_ok_says_which_rule_decided_and_why(pipeline: Pipeline) -> None:
    quiet = pipeline.trigger(look(HEADS, NOW + 60_000), now_ms=NOW + 60_000)
    slow = quiet.group("slow")
    assert slow is not None
    told = quiet.explained(slow)
    assert [(each.status, each.rule) for each in told.partitions] == [
        (Status.STOP, "stopped"),
        (Status.OK, None),
        (Status.OK, None),
    ]
    assert told.partitions[0].because == (
        "The only commit is 60 s old, and the lag is 10; the lowest stored head 100 is above the last committed "
        "offset 90, so the consumer was not at the head a moment ago either."
    )
    assert told.maxlag == told.partitions[0]
    # pages of /v3 do not pay for sentences
    assert {each.because for each in slow.partitions} == {None}
    assert msgspec.structs.replace(told, partitions=slow.partitions, maxlag=slow.maxlag) == slow


def test_windows_are_explained_with_what_decided_and_what_would_change_it(pipeline: Pipeline) -> None:
    quiet = pipeline.trigger(look(HEADS, NOW + 60_000), now_ms=NOW + 60_000)
    slow = quiet.group("slow")
    assert slow is not None
    backwards = msgspec.structs.replace(slow, partitions=slow.partitions[::-1])
    *others, first = quiet.windows(backwards)
    assert first.partition == quiet.explained(slow).partitions[0]
    assert (first.partition.decided_by, first.partition.would_change) == (
        (0,),
        "One commit. With offset 100 or above the partition is OK at once; below that its window is judged again.",
    )
    assert first.partition.end is not None
    (entry,) = first.window
    assert (entry.offset, entry.timestamp, entry.lag) == (90, first.partition.end.timestamp, 10)
    assert [(each.partition.rule, len(each.window)) for each in others] == [
        ("no_lag_now", 1),
        ("no_commit", 0),
    ]


def test_who_reads_a_topic_and_how_far_behind(pipeline: Pipeline) -> None:
    news = [commit("fast", "orders", 1, 50, NOW + 9000), commit("fast", "orders", 2, 6, NOW + 8000)]
    view = pipeline.trigger(look(HEADS, NOW + 60_000), records(news, 10), now_ms=NOW + 60_000)
    assert view.readers("orders") == (
        TopicReader("fast", Status.STOP, 1, 1, 2, 1, NOW + 9000),
        TopicReader("slow", Status.STOP, 10, 10, 2, 1, NOW),
    )
    assert [each.group for each in view.readers("clicks")] == ["fast"]
    assert view.readers("nothing") == ()
    table = view.head_table()
    assert table.of_topic("orders").tolist() == [100, 50, 7]
    assert table.of_topic("nothing").tolist() == []


def test_the_reason_of_a_view_stays_that_of_its_moment(pipeline: Pipeline) -> None:
    quiet = pipeline.trigger(look(HEADS, NOW + 60_000), now_ms=NOW + 60_000)
    slow = quiet.group("slow")
    assert slow is not None
    then = quiet.explained(slow)
    # until no stored sample of the head is what it was
    for number in range(1, 12):
        now_ms = NOW + 60_000 + number * 10_000
        news = records([commit("slow", "orders", 0, 95 + number, now_ms)], 10 + number)
        pipeline.trigger(look(HEADS | {("orders", 0): 5_000}, now_ms), news, now_ms=now_ms)
    assert quiet.explained(slow) == then


def test_a_view_that_was_given_away_never_changes(pipeline: Pipeline) -> None:
    before = pipeline.trigger(look(HEADS))
    then = (before.group("slow"), before.detail("slow"), before.topic("orders"), lags(before))
    pipeline.trigger(
        look(HEADS | {("orders", 0): 500, ("new", 0): 1}, NOW + 1_000),
        records(
            [commit("slow", "orders", 0, 99), commit("other", "orders", 0, 1), commit("slow", "new", 0, 1)],
            10,
        ),
        now_ms=NOW + 1_000,
    )
    pipeline.trigger(look({("clicks", 0): 10}, NOW + 2_000), now_ms=NOW + 2_000)
    assert (before.group("slow"), before.detail("slow"), before.topic("orders"), lags(before)) == then


def test_a_restart_has_the_whole_snapshot_before_the_first_new_commit(pipeline: Pipeline) -> None:
    before = pipeline.trigger(look(HEADS))
    pipeline.restart()
    after = pipeline.trigger(look(HEADS, full=True))
    assert [after.group(name) for name in after.groups()] == [before.group(name) for name in before.groups()]


def test_a_restart_without_any_broker_has_it_too(pipeline: Pipeline) -> None:
    pipeline.restart()
    after = pipeline.trigger(look({}, full=True, complete=False))
    assert after.groups() == ["fast", "slow"]
    assert pipeline.model.look.error == "no answer"


def test_while_the_brokers_do_not_answer_nobody_is_judged_for_the_time_since(pipeline: Pipeline) -> None:
    before = pipeline.trigger(look(HEADS))
    # of heads alone the planner knows nothing: the moment of the commits goes on
    blind = pipeline.trigger(look({}, NOW + 600_000, complete=False), now_ms=NOW + 600_000)
    assert (blind.as_of_ms, blind.taken_at_ms) == (before.as_of_ms, NOW + 600_000)
    assert [blind.group(name) for name in blind.groups()] == [before.group(name) for name in before.groups()]
    assert pipeline.model.look.blind
    seen = pipeline.trigger(look(HEADS, NOW + 600_000), now_ms=NOW + 600_000)
    assert seen.as_of_ms == NOW + 600_000
    assert {
        status.name for group in seen.groups() if (found := seen.group(group)) for status in [found.status]
    } == {"OK", "ERR"}


def test_a_group_that_was_idle_at_the_head_stopped_while_a_leader_was_missing(pipeline: Pipeline) -> None:
    seen_ms = NOW + 5_000
    pipeline.trigger(look(HEADS, seen_ms))
    for second in range(6, 20):
        now = NOW + second * 1_000
        heads = HEADS | {("clicks", 0): 10 + second}
        view = pipeline.trigger(look(heads, now, as_of_ms=seen_ms, partly_blind=True))
        fast = view.group("fast")
        assert fast is not None
        assert (fast.status, fast.totallag, view.as_of_ms) == (Status.OK, second, seen_ms)
    # the leader is back, and the group has committed nothing meanwhile
    fast = pipeline.trigger(look(heads, now)).group("fast")
    assert fast is not None
    assert fast.partitions[0].status == Status.STOP


def test_deleted_things_go(pipeline: Pipeline) -> None:
    view = pipeline.trigger(look(HEADS), records([gone("slow", "orders", 2)], 10))
    slow = view.group("slow")
    assert slow is not None
    assert [each.complete for each in slow.partitions] == [0.25, 0.0, 0.0]
    view = pipeline.trigger(look(HEADS), records([group_gone("slow")], 20))
    assert view.groups() == ["fast"]
    view = pipeline.trigger(look({("orders", 0): 100}, NOW + 1))
    assert (view.groups(), view.topics()) == (["fast"], ["clicks", "orders"])
    assert pipeline.model.missing == [("clicks", 0), ("orders", 1), ("orders", 2)]
    view = pipeline.trigger(look({("orders", 0): 100}, NOW + 2, gone=(("clicks", 0),)))
    assert (view.groups(), view.topics()) == ([], ["orders"])


def test_groups_whose_heads_the_last_look_did_not_bring_are_named(pipeline: Pipeline) -> None:
    assert pipeline.trigger(look(HEADS, NOW + 1)).unseen() == frozenset()
    assert pipeline.trigger(look(HEADS | {("clicks", 0): -1}, NOW + 2)).unseen() == {"fast"}
    without = {tp: head for tp, head in HEADS.items() if tp[0] != "orders"}
    assert pipeline.trigger(look(without, NOW + 3)).unseen() == {"slow"}


def test_a_commit_before_and_after_its_group_was_deleted_in_one_trigger(pipeline: Pipeline) -> None:
    news = [commit("slow", "orders", 1, 1), group_gone("slow"), commit("slow", "orders", 0, 99)]
    view = pipeline.trigger(look(HEADS), records(news, 10))
    slow = view.group("slow")
    assert slow is not None
    assert [each.end.offset if each.end else None for each in slow.partitions] == [99, None, None]


def test_a_wish_hides_at_once_and_the_pipeline_carries_it_out(pipeline: Pipeline) -> None:
    pipeline.model.hide(Request("slow"))
    assert pipeline.model.view(1, NOW).groups() == ["fast"]
    wish = msgspec.json.encode([Request("slow")])
    view = pipeline.trigger(look(HEADS, requests=wish), records([commit("fast", "clicks", 0, 10)], 10))
    assert view.groups() == ["fast"]
    back = pipeline.trigger(look(HEADS), records([commit("slow", "orders", 0, 99)], 20))
    assert back.groups() == ["fast", "slow"]
    slow = back.group("slow")
    assert slow is not None
    assert slow.partitions[2].start is None


def test_a_wish_to_forget_one_topic(pipeline: Pipeline) -> None:
    pipeline.trigger(look(HEADS), records([commit("slow", "clicks", 0, 3)], 10))
    pipeline.model.hide(Request("slow", "orders"))
    assert list(pipeline.model.view(1, NOW).detail("slow") or {}) == ["clicks"]
    wish = msgspec.json.encode([Request("slow", "orders")])
    assert list(pipeline.trigger(look(HEADS, requests=wish)).detail("slow") or {}) == ["clicks"]


def test_owners_of_the_newer_protocol_whose_topics_are_ids(pipeline: Pipeline) -> None:
    named = {"group": "slow", "member_id": "m"}
    member: dict[str, Any] = {"client_id": "c", "client_host": "/10.0.0.1", "rebalance_timeout": 1}
    member |= dict.fromkeys(
        ("instance_id", "rack_id", "subscribed_topic_regex", "server_assignor", "classic_member_metadata")
    ) | {"subscribed_topic_names": []}
    held = [{"topic_id": uuid.UUID(topic_id("orders")).bytes, "partitions": [2]}]
    holds = {"member_epoch": 1, "previous_member_epoch": 0, "state": 0, "assigned": held, "revoking": []}
    news = [
        (encode(messages.CONSUMER_MEMBER_KEY, 5, named), encode(messages.CONSUMER_MEMBER_VALUE, 0, member)),
        (
            encode(messages.CURRENT_ASSIGNMENT_KEY, 8, named),
            encode(messages.CURRENT_ASSIGNMENT_VALUE, 0, holds),
        ),
    ]
    slow = pipeline.trigger(look(HEADS), records(news, 10)).group("slow")
    assert slow is not None
    assert [(each.owner, each.client_id) for each in slow.partitions] == [
        ("", ""),
        ("", ""),
        ("/10.0.0.1", "c"),
    ]


def test_columns_are_sorted_as_the_names_are(pipeline: Pipeline) -> None:
    view = pipeline.trigger(
        look(HEADS), records([commit("fast", "orders", 1, 1), commit("a", "orders", 0, 1)], 10)
    )
    columns = view.window_table()
    rows = zip(columns.group, columns.topic, columns.partition, columns.offset, strict=True)
    assert [(columns.groups[g], columns.topics[t], int(p), int(o)) for g, t, p, o in rows] == [
        ("a", "orders", 0, 1),
        ("fast", "clicks", 0, 10),
        ("fast", "orders", 1, 1),
        ("slow", "orders", 0, 90),
        ("slow", "orders", 2, 7),
    ]


def test_what_was_read_is_counted(pipeline: Pipeline) -> None:
    pipeline.trigger(
        look(HEADS), records([commit("fast", "clicks", 0, 1), (b"\x00\x63", b""), (None, b"")], 10)
    )
    assert pipeline.model.counts.records == 3
    assert sum(pipeline.model.counts.skipped.values()) == 2


def test_state_of_another_version_is_refused_with_words(pipeline: Pipeline) -> None:
    header = pipeline.states.named["header"]
    header.held = {bucket: (99, *rest) for bucket, (_, *rest) in header.held.items()}
    with pytest.raises(CheckpointFormatError, match=r"format 99.*remove the checkpoint"):
        pipeline.trigger(look(HEADS))


def test_state_of_another_layout_is_refused_though_its_version_is_the_same(pipeline: Pipeline) -> None:
    header = pipeline.states.named["header"]
    header.held = {
        bucket: (version, "0123456789ab", *rest) for bucket, (version, _, *rest) in header.held.items()
    }
    with pytest.raises(CheckpointFormatError, match=r"layout 0123456789ab.*remove the checkpoint"):
        pipeline.trigger(look(HEADS))


def test_the_journal_holds_what_many_triggers_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes and goes: a bucket read from the state alone is the bucket that was kept beside it."""
    rng = random.Random(7)
    kept, tested = Pipeline(), Pipeline()
    order = 0
    for step in range(60):
        now = NOW + step * 1_000
        topics = {("orders", number): 100 + step for number in range(3)}
        topics |= {(f"t{number}", 0): 5 for number in range(6) if rng.random() < 0.95}
        news: list[tuple[bytes | None, bytes | None]] = []
        for _ in range(rng.randrange(6)):
            group, (topic, number) = f"g{rng.randrange(5)}", rng.choice(sorted(topics))
            news.append(commit(group, topic, number, rng.randrange(100), now))
            if rng.random() < 0.1:
                news.append(rng.choice([gone(group, topic, number), group_gone(group)]))
        again = rng.random() < 0.1
        batches = [look(topics, now, full=again)]
        # several hands: rows of one trigger come in several frames
        while news:
            share = news[: rng.randrange(1, 4)]
            batches.append(records(share, order))
            order, news = order + len(share), news[len(share) :]
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "kept"))
        expected = kept.trigger(*batches, now_ms=now)
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / str(step)))
        if again:
            tested.restart()
        found = tested.trigger(*batches, now_ms=now)
        assert found.groups() == expected.groups()
        assert [found.detail(name) for name in found.groups()] == [
            expected.detail(name) for name in found.groups()
        ]
    counts = [count for *_, count in tested.states.named["header"].held.values()]
    assert max(counts) > 5


def test_start_and_end_of_a_partition_are_those_of_its_window(pipeline: Pipeline) -> None:
    """Through new entries, new groups that stand between the others, deleted ones, and a restart."""
    dice = random.Random(7)
    names = [f"g{number}" for number in range(12)]
    seen = []
    for trigger in range(1, 30):
        changed: list[tuple[bytes, bytes | None]] = [
            commit(
                dice.choice(names[: trigger // 2 + 1]), "orders", dice.randrange(3), trigger, NOW + trigger
            )
            for _ in range(dice.randrange(6))
        ]
        changed += [gone(dice.choice(names), "orders", 0)] if trigger % 7 == 0 else []
        if trigger == 20:
            pipeline.restart()
        view = pipeline.trigger(look(HEADS, full=trigger == 20), records(changed, 100 * trigger))
        for group in view.groups():
            verdict, detail = view.group(group), view.detail(group)
            assert verdict is not None
            assert detail is not None
            for each in verdict.partitions:
                entries = [entry for entry in detail[each.topic][each.partition].offsets if entry is not None]
                assert [each.start, each.end] == ([entries[0], entries[-1]] if entries else [None, None])
                seen.append(each.end)
    assert len({each.offset for each in seen if each is not None}) > 15
