"""Which errors of Kafka pass by themselves."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from warren.demo.clients import passes


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
