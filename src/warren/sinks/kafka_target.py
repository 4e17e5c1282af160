"""Where the kafka sink writes."""

from __future__ import annotations

from dataclasses import dataclass

from warren.kafka.login import Property


@dataclass(frozen=True)
class Target:
    """Where to write, and how; secrets are in the properties."""

    properties: dict[str, Property]
    topic: str
    timeout_s: int
    compression: str
    batch_bytes: int
    transactions: bool
    create_topic: bool
    # a changelog: the topic, where it has to be created, is compacted
    compacted: bool

    def __repr__(self) -> str:
        return f"Target({self.servers}, {self.topic})"

    @property
    def servers(self) -> str:
        return str(self.properties["bootstrap.servers"])
