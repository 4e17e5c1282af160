"""Log lines about a cluster's errors: one when it begins, one when it is over."""

from __future__ import annotations

from structlog.testing import capture_logs

from warren.pipeline.error_log import AGAIN_S, CHANGED_S, ErrorLog


def lines(*noted: tuple[str, float]) -> list[str]:
    with capture_logs() as found:
        log = ErrorLog("c")
        for error, at_s in noted:
            log.note(error, at_s)
    assert all(each["cluster"] == "c" for each in found)
    return [each.get("error", each["event"]) for each in found]


def test_an_error_is_one_line_and_its_end_another() -> None:
    assert lines(("", 100), ("down", 101), ("down", 102), ("", 103), ("", 104)) == [
        "down",
        "cluster is fine again",
    ]


def test_an_error_that_comes_back_is_a_line_again() -> None:
    assert lines(("down", 1), ("", 2), ("down", 3)) == ["down", "cluster is fine again", "down"]


def test_another_text_waits_so_that_two_that_take_turns_do_not_fill_the_log() -> None:
    turns = [(("refused", "timed out")[number % 2], float(number)) for number in range(int(CHANGED_S))]
    assert lines(*turns) == ["refused"]
    assert lines(("refused", 1), ("denied", 1 + CHANGED_S)) == ["refused", "denied"]


def test_one_that_lasts_is_said_again_now_and_then() -> None:
    assert lines(*(("down", float(second)) for second in range(0, 2 * int(AGAIN_S) + 1, 5))) == ["down"] * 3
