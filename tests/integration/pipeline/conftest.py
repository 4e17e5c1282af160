"""One engine for the tests that only need a pipeline: Spark starts once, each test has groups and topics of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.pipeline.hands import Hands, pipeline_settings, reading, running

from warren.demo.broker import Broker
from warren.pipeline.engine import Engine

# a plain topic that the pipeline takes for an offsets topic: tests write records of every kind into it
RAW = "pipeline-raw-offsets"


@pytest.fixture(scope="module")
def hands(broker: Broker) -> Hands:
    return Hands(broker)


@pytest.fixture(scope="module")
def engine(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Cluster `live` on the shared broker: its own offsets topic, and RAW."""
    hands = Hands(broker)
    if RAW not in hands.admin.list_topics(timeout=10).topics:
        hands.make(RAW, 2)
    consumers = {
        "own": reading("live", broker),
        "raw": reading("live", broker, offsets_topic=RAW),
    }
    directory = tmp_path_factory.mktemp("live")
    with running(pipeline_settings(directory, {"live": broker}, consumers)) as engine:
        yield engine
