"""A process that runs the engine until it is killed: python child.py DIRECTORY SERVERS OFFSETS-TOPIC."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tests.integration.pipeline.hands import pipeline_settings, watched

from warren.config.sections import KafkaConsumer
from warren.pipeline.engine import Engine

CLUSTER = "crash"


def main(directory: str, servers: str, offsets_topic: str) -> None:
    """Returns never."""
    consumer = KafkaConsumer(cluster=CLUSTER, servers=(servers,), offsets_topic=offsets_topic)
    # positions belong to a consumer by its name: whoever goes on from here has to use the same
    settings = pipeline_settings(Path(directory), {CLUSTER: watched(servers)}, {CLUSTER: consumer})
    Engine(settings).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
