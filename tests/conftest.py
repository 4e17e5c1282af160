"""Real servers for the tests that want them: made when the first asks, gone when the last has ended."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from tests.influxdb import InfluxServer
from tests.search_server import SearchServer, search_server

from warren.demo.broker import Broker

# few, so that the offsets topic is made in an instant
OFFSETS_PARTITIONS = 4

# how long an example takes is the machine's business, not the test's
hypothesis.settings.register_profile("warren", deadline=None)
hypothesis.settings.load_profile("warren")

# a run in the background ignores SIGINT, and so would the processes that tests start and stop with it
signal.signal(signal.SIGINT, signal.default_int_handler)

BrokerFactory = Callable[..., Broker]


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """One broker for the whole run: share it, use topics and groups of your own, never stop it."""
    with Broker(offsets_partitions=OFFSETS_PARTITIONS) as running:
        yield running


@pytest.fixture
def broker_factory() -> Iterator[BrokerFactory]:
    """Brokers of a test's own, to stop, kill and start again: takes what Broker takes, started."""
    with contextlib.ExitStack() as brokers:

        def make(**arguments: Any) -> Broker:
            arguments.setdefault("offsets_partitions", OFFSETS_PARTITIONS)
            return brokers.enter_context(Broker(**arguments))

        yield make


@pytest.fixture(scope="session")
def influxdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxServer]:
    """One InfluxDB 1.x for the whole run: share it, use a database of your own, never stop it."""
    with InfluxServer(tmp_path_factory.mktemp("influxdb")) as running:
        yield running


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[SearchServer]:
    """One Elasticsearch for the whole run: use indices of your own; whoever stops it starts it again.

    It takes long to start: mark what uses it with `pytest.mark.xdist_group("elasticsearch")`.
    """
    with search_server("elasticsearch") as running:
        yield running


@pytest.fixture(scope="session")
def opensearch() -> Iterator[SearchServer]:
    """The same with OpenSearch; `pytest.mark.xdist_group("opensearch")`."""
    with search_server("opensearch") as running:
        yield running
