"""Traffic without a broker: its parts fail alone, and the command says what is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
import structlog
from confluent_kafka import KafkaError, KafkaException

from warren.cli.main import main
from warren.demo import clients, traffic
from warren.demo.clients import Connection, passes, reach
from warren.demo.groups import CAST
from warren.demo.members import Group
from warren.demo.producers import KnownHeads, Producers
from warren.demo.traffic import Traffic
from warren.errors import ConfigError, WarrenError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka.admin import AdminClient

# a port that nothing can listen on
NOWHERE = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def _process_as_before() -> Iterator[None]:
    """The command sets logging and signals for its whole process, which here is the tests'."""
    logging_before = structlog.get_config()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    structlog.configure(**logging_before)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def no_broker_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "reach", lambda _connection: None)
    monkeypatch.setattr(Producers, "prepare", lambda _self, _admin: None)
    monkeypatch.setattr(Producers, "run", lambda _self, stop: stop.wait())
    monkeypatch.setattr(traffic, "_RETRY_S", 0.01)


@pytest.mark.usefixtures("no_broker_needed")
def test_an_actor_that_fails_starts_over_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []
    all_are_there, mended = threading.Barrier(len(CAST) + 1), threading.Event()

    def run(group: Group, _admin: AdminClient, stop: threading.Event) -> None:
        if group.actor.name == "mailer":
            tries.append("mailer")
            if len(tries) < 3:
                raise ValueError("lost its way")
            mended.set()
        all_are_there.wait(20)
        stop.wait()

    monkeypatch.setattr(Group, "run", run)
    lines = structlog.testing.CapturingLogger()
    monkeypatch.setattr(traffic, "log", lines)
    with Traffic(NOWHERE) as running:
        all_are_there.wait(20)
        assert mended.is_set()
        trouble = {done.group: done.trouble for done in running.progress()}
    assert trouble.pop("mailer") == "lost its way"
    assert set(trouble.values()) == {""}
    assert [call.kwargs["actor"] for call in lines.calls] == ["mailer", "mailer"]


@pytest.mark.usefixtures("no_broker_needed")
def test_stop_ends_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "run", lambda _self, _admin, stop: stop.wait())
    running = Traffic(NOWHERE)
    running.start()
    assert sum(thread.name.startswith("traffic-") for thread in threading.enumerate()) == len(CAST) + 1
    running.stop()
    assert not any(thread.name.startswith("traffic-") for thread in threading.enumerate())


def test_stop_before_start_is_nothing() -> None:
    Traffic(NOWHERE).stop()


def test_the_cast_is_there_before_the_start() -> None:
    assert Traffic(NOWHERE).cast == CAST


def test_heads_never_go_back() -> None:
    heads = KnownHeads()
    heads.update({("orders", 0): 10})
    heads.written("orders", 0, 14)
    heads.written("orders", 0, 12)
    assert heads["orders", 0] == 15
    assert heads["orders", 1] == 0


def test_no_broker_is_a_sentence_with_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "REACH_S", 0.2)
    with pytest.raises(WarrenError, match=r"no Kafka broker responds at 127\.0\.0\.1:1 .*warren broker"):
        reach(Connection(NOWHERE))


def test_an_unknown_client_property_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no\.such\.property"):
        reach(Connection(NOWHERE, {"no.such.property": "1"}))


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)), True),
        (KafkaException(KafkaError(KafkaError._NOENT, "No leaders found")), True),
        (KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), False),
        (ValueError("no"), False),
    ],
    ids=["moving coordinator", "topic without leaders yet", "not allowed", "not Kafka's"],
)
def test_what_passes_by_itself(error: Exception, passing: bool) -> None:
    assert passes(error) is passing


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--client-properties", "novalue"], "--client-properties novalue: has to be KEY=VALUE"),
        (["--advance-heads"], "--advance-heads: needs --rate"),
        (["--commits", "5", "--duration", "3"], "need --rate"),
        (["--commits", "5", "--offsets-topic", "__consumer_offsets"], "belongs to the broker"),
    ],
    ids=["property without a value", "heads without a rate", "duration without a rate", "the broker's topic"],
)
def test_wrong_usage_is_one_message_and_exit_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["traffic", "--bootstrap-servers", NOWHERE, *arguments])
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_no_broker_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clients, "REACH_S", 0.2)
    with pytest.raises(SystemExit) as caught:
        main(["traffic", "--bootstrap-servers", NOWHERE])
    assert caught.value.code == 1
    assert capsys.readouterr().err.startswith("Error: no Kafka broker responds at 127.0.0.1:1")


@pytest.mark.usefixtures("no_broker_needed")
def test_json_begins_with_the_cast(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Group, "run", lambda _self, _admin, stop: stop.wait())
    with pytest.raises(SystemExit) as caught:
        main(["traffic", "--bootstrap-servers", NOWHERE, "--json", "--duration", "0.1"])
    assert caught.value.code == 0
    cast, *progress = map(json.loads, capsys.readouterr().out.splitlines())
    assert {line["group"]: line["status"] for line in cast["cast"]} == {
        actor.name: actor.status.name for actor in CAST
    }
    assert [set(line["groups"]) for line in progress] == [{actor.name for actor in CAST}]


@pytest.mark.usefixtures("no_broker_needed")
def test_the_table_says_what_each_group_should_end_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(Group, "run", lambda _self, _admin, stop: stop.wait())
    with pytest.raises(SystemExit):
        main(["traffic", "--bootstrap-servers", NOWHERE, "--duration", "0.1"])
    shown = capsys.readouterr().out
    for actor in CAST:
        line = next(line for line in shown.splitlines() if f" {actor.name} " in line)
        assert actor.description in line
        assert actor.partition_status.name in line


def test_help_has_examples() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "warren.cli.main", "traffic", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "warren traffic --bootstrap-servers localhost:9092" in shown
