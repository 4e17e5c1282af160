"""Every answer of a real Burrow, given again byte for byte, but for the listed differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.httpserver.asgi import Answered, ask
from tests.unit.httpserver.captures import HOST, Capture, answers_for, captures, log_level_for, settings_of
from tests.unit.httpserver.comparison import COMPARED_ELSEWHERE, DIFFERENCES, Difference, differs

from warren.httpserver.app import App

if TYPE_CHECKING:
    from pathlib import Path

    from warren.config import Settings

COMPARED = sorted(captures().keys() - COMPARED_ELSEWHERE)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Settings]:
    """Instance: its configuration."""

    def directory(instance: str) -> Path:
        return tmp_path_factory.mktemp(instance)

    return {
        instance: settings_of(instance, directory(instance)) for instance in ("main", "nocors", "starting")
    }


def answer_of(capture: Capture, settings: Settings) -> Answered:
    answers, log_level = answers_for(capture, settings), log_level_for(capture)
    app = App(settings, answers, log_level, CollectorRegistry(), host=HOST)
    return ask(
        app,
        capture.path,
        method=capture.method,
        headers=capture.request_headers,
        body=capture.request_body,
    )


@pytest.mark.parametrize("name", COMPARED)
def test_the_answer_is_burrows(name: str, settings: dict[str, Settings]) -> None:
    capture = captures()[name]
    own = settings[capture.instance]
    answered = answer_of(capture, own)
    assert not differs(capture, answered, origin=own.general.access_control_allow_origin)


def test_there_are_as_many_captures_as_were_taken() -> None:
    assert len(captures()) == 197


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_a_listed_difference_is_one(
    name: str, settings: dict[str, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference that has gone, or that names no capture, has no place in the list."""
    capture = captures()[name]
    own = settings[capture.instance]
    answered = answer_of(capture, own)
    monkeypatch.setattr("tests.unit.httpserver.comparison.DIFFERENCES", {name: Difference("")})
    assert DIFFERENCES[name].reason
    assert differs(capture, answered, origin=own.general.access_control_allow_origin)


LEVELS_SET = {
    "loglevel_post_good": "error",
    "loglevel_post_warning": "warn",
    "loglevel_post_trace": "debug",
    "loglevel_post_case_and_extra": "info",
    "loglevel_post_bad_level": None,
    "loglevel_post_bad_json": None,
    "loglevel_post_empty": None,
    "loglevel_post_no_level": None,
    "loglevel_post_panic": None,
    "loglevel_post_wrong_type": None,
}


@pytest.mark.parametrize("name", sorted(name for name in captures() if name.startswith("loglevel_post_")))
def test_the_log_level_is_set(name: str, settings: dict[str, Settings]) -> None:
    capture = captures()[name]
    log_level = log_level_for(capture)
    log_level.level = "before"
    answers = answers_for(capture, settings["main"])
    app = App(settings["main"], answers, log_level, CollectorRegistry(), host=HOST)
    ask(app, capture.path, method="POST", body=capture.request_body)
    assert log_level.level == (LEVELS_SET[name] or "before")


DELETED = {
    "delete_consumer": [("local", "del-me")],
    "delete_consumer_active": [("local", "stuck")],
    "delete_consumer_topic": [("local", "del-topic", "orders")],
    "delete_consumer_topic_last": [("local", "del-topic", "audit_log")],
    "delete_consumer_topic_unknown": [("local", "del-topic", "nosuch")],
    "delete_consumer_unknown": [("local", "nosuch")],
    "delete_consumer_unknown_cluster": [],
    "err_method_delete": [],
    "err_method_delete_loglevel": [],
}


@pytest.mark.parametrize("name", sorted(name for name in captures() if captures()[name].method == "DELETE"))
def test_the_right_group_is_deleted(name: str, settings: dict[str, Settings]) -> None:
    capture = captures()[name]
    answers = answers_for(capture, settings["main"])
    app = App(settings["main"], answers, log_level_for(capture), CollectorRegistry(), host=HOST)
    ask(app, capture.path, method="DELETE")
    assert answers.deleted == DELETED[name]


@pytest.mark.parametrize("instance", ["main", "nocors", "starting"])
def test_no_secret_is_shown(instance: str, settings: dict[str, Settings]) -> None:
    """Every page of every instance, and every module's page, whether it was captured or not."""
    own = settings[instance]
    capture = next(capture for capture in captures().values() if capture.instance == instance)
    paths = {capture.path for capture in captures().values() if capture.method == "GET"}
    for section in ("storage", "evaluator", "cluster", "consumer", "notifier"):
        paths |= {f"/v3/config/{section}/{name}" for name in getattr(own, section)}
    app = App(own, answers_for(capture, own), log_level_for(capture), CollectorRegistry(), host=HOST)
    shown = b"".join(ask(app, path).body for path in sorted(paths))
    assert b"S3CRET" not in shown
    # the pages that could have shown one were there
    assert b"class-name" in shown
