"""Configured modules that this version of Warren does not support yet: logged at start and by `warren check`."""

from __future__ import annotations

from warren.config.sections import KafkaConsumer
from warren.config.settings import Settings


def limitations(settings: Settings) -> tuple[str, ...]:
    """A sentence for each module that is valid, but not supported yet."""
    consumers = [
        f"consumer.{name}: commits of class {module.class_name} are not read yet; its groups are not monitored"
        for name, module in settings.consumer.items()
        if not isinstance(module, KafkaConsumer)
    ]
    sinks = [f"sink.{name}: nothing is written to sinks yet" for name in settings.sink]
    return (*consumers, *sinks)
