"""Commits by the broker itself, of a group without members."""

from __future__ import annotations

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.processes import eventually

PATIENCE_S = 60


def set_offset(admin: AdminClient, group: str, topic: str, offset: int, partition: int = 0) -> None:
    """There when this returns; the coordinator of a new broker is not there at once."""

    def done() -> bool:
        places = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition, offset)])
        (answer,) = admin.alter_consumer_group_offsets([places], request_timeout=5).values()
        try:
            return not any(place.error for place in answer.result(10).topic_partitions)
        except (KafkaException, TimeoutError):
            return False

    assert eventually(done, PATIENCE_S)
