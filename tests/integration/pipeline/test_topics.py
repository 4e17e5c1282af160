"""Topics that come, go, are made again and grow, and what becomes of the windows on them."""

from __future__ import annotations

from functools import partial

from tests.integration.pipeline.conftest import RAW
from tests.integration.pipeline.hands import Hands, await_view, commit, later, now_ms, offsets, windows

from warren.pipeline.engine import Engine
from warren.pipeline.warm_up import job
from warren.snapshot.view import ClusterView


def has(group: str, topic: str, wanted: list[int], view: ClusterView) -> bool:
    """Whether the group's window on partition 0 holds these offsets."""
    return offsets(view, group, topic) == wanted


def test_a_topic_that_appears_has_heads_and_windows(engine: Engine, hands: Hands) -> None:
    hands.make("topics-new", 2)
    hands.fill("topics-new", 7, partition=1)
    hands.write(RAW, [commit("topics-new-group", "topics-new", 3, partition=1)])
    # the brokers list a new topic a trigger later than its first commit, on some days
    view = await_view(
        engine, "live", lambda view: view.topic("topics-new") and windows(view, "topics-new-group")
    )
    ((offset, _, lag),) = windows(view, "topics-new-group")["topics-new", 1]
    # a look between the messages and the commit makes the estimate exact, one before them does not
    assert offset == 3
    assert lag in range(5)
    group = view.group("topics-new-group")
    assert group is not None
    assert group.totallag == 4
    heads = view.topic("topics-new")
    assert heads is not None
    assert [each.head for each in heads] == [0, 7]
    assert view.consumers_of("topics-new") == ["topics-new-group"]


def test_a_topic_that_is_there_never_vanishes_from_a_view(engine: Engine, hands: Hands) -> None:
    # tasks move between worker processes: each must know as much as the others
    hands.make("topics-steady")
    hands.write(RAW, [commit("topics-steady-group", "topics-steady", 0)])
    await_view(engine, "live", lambda view: windows(view, "topics-steady-group"))
    for _ in range(6):
        view = later(engine, "live", 1)
        assert "topics-steady" in view.topics()
        assert offsets(view, "topics-steady-group", "topics-steady") == [0]


def test_a_commit_of_a_topic_that_does_not_exist_is_dropped(engine: Engine, hands: Hands) -> None:
    hands.make("topics-there")
    hands.write(
        RAW,
        [
            commit("topics-stray-group", "topics-nowhere", 5),
            commit("topics-stray-group", "topics-there", 5, partition=9),
            commit("topics-other-group", "topics-there", 0),
        ],
    )
    view = await_view(engine, "live", lambda view: windows(view, "topics-other-group"))
    assert "topics-stray-group" not in later(engine, "live").groups()
    assert view.topic("topics-nowhere") is None


def test_the_head_is_never_older_than_the_commit(engine: Engine, hands: Hands) -> None:
    # Burrow issue 375: a head from before the commit shows lag 0 for ever
    hands.make("topics-fast")
    for step in range(1, 5):
        hands.fill("topics-fast", 50)
        done = [fifty * 50 - 10 for fifty in range(1, step + 1)]
        hands.write(RAW, [commit("topics-fast-group", "topics-fast", done[-1])])
        view = await_view(engine, "live", partial(has, "topics-fast-group", "topics-fast", done))
        status = view.group("topics-fast-group")
        assert status is not None
        # whatever trigger saw the commit, it saw the head that was there before the commit
        assert status.partitions[0].current_lag == 10
        assert status.partitions[0].head == step * 50


def test_a_deleted_topic_takes_its_windows_along(engine: Engine, hands: Hands) -> None:
    hands.make("topics-doomed")
    hands.make("topics-kept")
    for topic in ("topics-doomed", "topics-kept"):
        hands.write(RAW, [commit("topics-doomed-group", topic, 0), commit(f"only-{topic}", topic, 0)])
    await_view(engine, "live", lambda view: len(windows(view, "topics-doomed-group")) == 2)
    hands.drop("topics-doomed")
    view = await_view(engine, "live", lambda view: "topics-doomed" not in view.topics())
    view = await_view(engine, "live", lambda view: "only-topics-doomed" not in view.groups())
    assert list(windows(view, "topics-doomed-group")) == [("topics-kept", 0)]
    assert view.consumers_of("topics-doomed") == []
    # a commit that somebody still writes for it does not bring it back
    hands.write(
        RAW, [commit("only-topics-doomed", "topics-doomed", 1), commit("only-topics-kept", "topics-kept", 1)]
    )
    await_view(engine, "live", lambda view: offsets(view, "only-topics-kept", "topics-kept") == [0, 1])
    assert "only-topics-doomed" not in later(engine, "live").groups()


def test_a_topic_made_again_starts_afresh(engine: Engine, hands: Hands) -> None:
    hands.make("topics-again")
    hands.fill("topics-again", 90)
    hands.write(RAW, [commit("topics-again-group", "topics-again", offset) for offset in (70, 80)])
    await_view(engine, "live", lambda view: offsets(view, "topics-again-group", "topics-again") == [70, 80])
    hands.drop("topics-again")
    hands.make("topics-again")
    hands.fill("topics-again", 5)
    hands.write(RAW, [commit("topics-again-group", "topics-again", 2)])
    view = await_view(engine, "live", lambda view: 2 in offsets(view, "topics-again-group", "topics-again"))
    ((offset, _, lag),) = windows(view, "topics-again-group")["topics-again", 0]
    assert offset == 2
    assert lag in range(4)
    heads = view.topic("topics-again")
    assert heads is not None
    assert heads[0].head == 5


def test_a_topic_made_again_that_outgrew_the_old_one_starts_afresh(engine: Engine, hands: Hands) -> None:
    # its head alone does not tell
    hands.make("topics-outgrown")
    hands.fill("topics-outgrown", 3)
    hands.write(RAW, [commit("topics-outgrown-group", "topics-outgrown", 2)])
    await_view(engine, "live", lambda view: windows(view, "topics-outgrown-group"))
    hands.drop("topics-outgrown")
    hands.make("topics-outgrown")
    hands.fill("topics-outgrown", 30)
    await_view(engine, "live", lambda view: "topics-outgrown-group" not in view.groups())


def test_partitions_that_are_added_later(engine: Engine, hands: Hands) -> None:
    hands.make("topics-wider", 1)
    hands.write(RAW, [commit("topics-wider-group", "topics-wider", 0)])
    await_view(engine, "live", lambda view: windows(view, "topics-wider-group"))
    hands.grow("topics-wider", 3)
    hands.fill("topics-wider", 4, partition=2)
    hands.write(RAW, [commit("topics-wider-group", "topics-wider", 1, partition=2)])
    view = await_view(engine, "live", lambda view: len(windows(view, "topics-wider-group")) == 2)
    status = view.group("topics-wider-group")
    assert status is not None
    # the one in between never had a commit
    assert [(each.partition, each.end and each.end.offset) for each in status.partitions] == [
        (0, 0),
        (1, None),
        (2, 1),
    ]
    assert (status.partition_count, status.totallag) == (3, 3)


def test_old_commits_are_not_taken(engine: Engine, hands: Hands) -> None:
    hands.make("topics-old")
    eight_days = 8 * 86_400_000
    hands.write(
        RAW,
        [
            commit("topics-old-group", "topics-old", 1, now_ms() - eight_days),
            commit("topics-young-group", "topics-old", 0),
        ],
    )
    view = await_view(engine, "live", lambda view: windows(view, "topics-young-group"))
    assert "topics-old-group" not in view.groups()


def test_the_warm_up_is_a_job_that_works(engine: Engine) -> None:
    # its errors are nobody's trouble, so nobody would see that it does nothing any more
    assert engine.session is not None
    assert job(engine.session).toArrow().to_pylist() == [{"bucket": 0, "kind": "", "payload": b""}]
