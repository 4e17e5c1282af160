"""The demo's faults under names of a test's own, begun and ended when the test wants it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition
from tests.processes import eventually

from warren.common.status import Status
from warren.demo.broker import Broker
from warren.demo.groups import CAST, Actor
from warren.demo.traffic import Traffic

SEED = 11
# members leave their groups, and a broker takes commits from outside once nobody is left
PATIENCE_S = 30.0


class Faults:
    """Traffic in which every group is in trouble, until `end`."""

    def __init__(self, broker: Broker, prefix: str, *names: str) -> None:
        """The actors of these names, or all that are in trouble."""
        self._broker = broker
        self.actors: tuple[Actor, ...] = tuple(
            replace(actor, name=prefix + actor.name)
            for actor in CAST
            if (actor.name in names if names else actor.status is not Status.OK)
        )
        self._traffic = Traffic(broker.bootstrap_servers, seed=SEED, cast=self.actors)

    @property
    def groups(self) -> list[str]:
        return [actor.name for actor in self.actors]

    def end(self) -> None:
        """Nothing is written any more, and every group commits all that there is."""
        self._traffic.stop()
        for actor in self.actors:
            assert eventually(partial(self._caught_up, actor), PATIENCE_S), actor.name

    def _caught_up(self, actor: Actor) -> bool:
        settings = self._broker.client_settings | {"group.id": actor.name, "enable.auto.commit": False}
        consumer = Consumer(settings)
        try:
            ends = [
                TopicPartition(
                    topic.name, number, consumer.get_watermark_offsets(TopicPartition(topic.name, number))[1]
                )
                for topic in actor.topics
                for number in range(topic.partitions)
            ]
            done = consumer.commit(offsets=ends, asynchronous=False)
        except KafkaException:
            # a member is still there
            return False
        finally:
            consumer.close()
        return all(each.error is None for each in done)

    def __enter__(self) -> Self:
        self._traffic.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._traffic.stop()
