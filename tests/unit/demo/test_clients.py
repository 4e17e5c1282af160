"""Which errors of Kafka pass by themselves."""

from __future__ import annotations

import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from warren.demo import clients
from warren.demo.clients import heads_of, passes


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param(KafkaError.NOT_LEADER_FOR_PARTITION, True, id="the leader moved"),
        pytest.param(
            KafkaError.UNKNOWN_LEADER_EPOCH,
            True,
            id="a new topic that the client knows and the broker does not",
        ),
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, False, id="no right to ask"),
    ],
)
def test_passes(code: int, expected: bool) -> None:
    assert passes(KafkaException(KafkaError(code))) is expected


class LateLeader:
    """An admin client as it is with a topic that has no leader: it asks once and waits for as long as it may."""

    def __init__(self) -> None:
        self.asked = 0
        self.looked_again = False

    def list_topics(self, topic: str, timeout: float) -> None:
        self.looked_again = True

    def list_offsets(self, wanted: dict[Any, Any], request_timeout: float) -> dict[Any, Future[Any]]:
        self.asked += 1
        answer: Future[Any] = Future()
        if self.asked == 1:
            time.sleep(request_timeout)
            answer.set_exception(KafkaException(KafkaError(KafkaError._NOENT)))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(wanted, answer)


def test_a_topic_made_a_moment_ago_without_a_leader_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "LEADER_S", 0.6)
    monkeypatch.setattr(clients, "_ATTEMPT_S", 0.2)
    admin = LateLeader()
    assert heads_of(admin, {"t": 1}) == {("t", 0): 7}  # type: ignore[arg-type]
    assert admin.looked_again
