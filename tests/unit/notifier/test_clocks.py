"""A clock that is wrong for a while, of this host or of another instance, silences nobody for hours."""

from __future__ import annotations

import pytest
from tests.unit.notifier.scenes import NOW, Story, module, told

from warren.common.status import Status
from warren.notifier.incidents import nothing_to_do
from warren.notifier.retries import BACKOFF_S, wait_ms
from warren.notifier.rules import Moment, Told, in_quiet_start, too_soon

OK, ERR = Status.OK, Status.ERR
HOUR_S = 3600
HOUR_MS = HOUR_S * 1000


@pytest.mark.parametrize(
    ("ago_s", "soon"),
    [
        (0, True),
        (59, True),
        (60, False),
        (3 * HOUR_S, False),
        # another instance's clock may be a little ahead of ours
        (-5, True),
        (-59, True),
        (-2 * 60, False),
        (-3 * HOUR_S, False),
    ],
)
def test_what_was_told_by_a_clock_that_was_ahead_silenced_for_hours(ago_s: int, soon: bool) -> None:
    said = Told(NOW - ago_s * 1000, ERR, "i")
    assert too_soon(module(interval=60), said, NOW) is soon


@pytest.mark.parametrize("jump_s", [3 * HOUR_S, -3 * HOUR_S], ids=["ahead", "behind"])
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_jump_costs_one_message_more_at_most_and_none_is_missing(jump_s: int, restarted: bool) -> None:
    story = Story([module(interval=60)])
    assert told(story.look(0, ERR)) == ["hook open ERR"]
    # for two looks the clock is wrong
    wrong = [told(story.look(60 + jump_s, ERR)), told(story.look(120 + jump_s, ERR))]
    if restarted:
        story = Story([module(interval=60)], case=story.case)
    right = [told(story.look(after_s, ERR)) for after_s in (180, 240, 300)]
    assert wrong == [["hook open ERR"]] * 2
    assert right == [["hook open ERR"]] * 3
    outcome = story.look(360, OK)
    assert outcome.ended is not None
    assert outcome.ended.end_ms is not None
    assert outcome.ended.end_ms >= outcome.ended.start_ms


def test_an_incident_that_began_in_the_future_does_not_end_before_it() -> None:
    story = Story([module()])
    story.look(3 * HOUR_S, ERR)
    outcome = story.look(60, OK)
    assert outcome.ended is not None
    assert outcome.ended.end_ms == outcome.ended.start_ms == NOW + 3 * HOUR_MS


def test_a_look_is_not_spared_because_of_what_was_told_in_the_future() -> None:
    story = Story([module(interval=60)])
    story.look(3 * HOUR_S, ERR)
    assert not nothing_to_do(story.case, ERR, story.modules, NOW + 60_000)


@pytest.mark.parametrize("jump_ms", [-3 * HOUR_MS, 0, 3 * HOUR_MS])
def test_the_quiet_time_after_a_start_is_not_measured_by_the_clock(jump_ms: int) -> None:
    patient = module(**{"quiet-start": 60})
    assert in_quiet_start(patient, Moment(NOW + jump_ms, 59_000))
    assert not in_quiet_start(patient, Moment(NOW + jump_ms, 61_000))


@pytest.mark.parametrize(
    ("failed_ago_ms", "left_ms"),
    [
        (0, BACKOFF_S[3] * 1000),
        (5_000, BACKOFF_S[3] * 1000 - 5_000),
        (3 * HOUR_MS, 0),
        # it failed hours ahead of now, by a clock that was wrong
        (-3 * HOUR_MS, BACKOFF_S[3] * 1000),
    ],
)
def test_a_retry_waited_for_hours_after_a_restart(failed_ago_ms: int, left_ms: int) -> None:
    assert wait_ms(4, NOW - failed_ago_ms, NOW) == left_ms
