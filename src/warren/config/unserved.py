"""What a configuration asks for and this version of Warren does not do: said at start and by `warren check`."""

from __future__ import annotations

from warren.config.sections import KafkaConsumer
from warren.config.settings import Settings


def unserved(settings: Settings) -> tuple[str, ...]:
    """A sentence for each module that is understood, but not served yet."""
    consumers = [
        f"consumer.{name}: commits of class {module.class_name} are not read yet; its groups will not show"
        for name, module in settings.consumer.items()
        if not isinstance(module, KafkaConsumer)
    ]
    sinks = [f"sink.{name}: nothing is written to sinks yet" for name in settings.sink]
    return (*consumers, *sinks)
