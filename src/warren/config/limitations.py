"""Configured modules that this version of Warren does not support yet: logged at start and by `warren check`."""

from __future__ import annotations

from typing import Final

from warren.config.sections import KafkaConsumer
from warren.config.settings import Settings

# class-names of sinks
SUPPORTED_SINKS: Final = frozenset({"elasticsearch", "influxdb", "kafka", "parquet", "prometheus"})


def limitations(settings: Settings) -> tuple[str, ...]:
    """A sentence for each module that is valid, but not supported yet."""
    consumers = [
        f"consumer.{name}: commits of class {module.class_name} are not read yet; its groups are not monitored"
        for name, module in settings.consumer.items()
        if not isinstance(module, KafkaConsumer)
    ]
    sinks = [
        f"sink.{name}: nothing is written to sinks of class {module.class_name} yet"
        for name, module in settings.sink.items()
        if module.class_name not in SUPPORTED_SINKS
    ]
    return (*consumers, *sinks)
