"""Every sink and the API say the same lag at the same moment, though servers stop and Warren is killed meanwhile."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.e2e.instance import Instance
from tests.influxdb import InfluxServer
from tests.integration.pipeline.hands import Hands, commit
from tests.integration.sinks.test_kafka import committed
from tests.processes import eventually
from tests.search_server import SearchServer

from warren.demo.broker import Broker

pytestmark = [pytest.mark.xdist_group("elasticsearch"), pytest.mark.timeout(600)]

PATIENCE_S = 180.0
GROUP = "billing"
# samples that are waited for, again and again
SOME = 3

CONFIGURATION = """
[logging]
level = "info"
[cluster.live]
class-name = "kafka"
servers = ["{servers}"]
[consumer.live]
class-name = "kafka"
cluster = "live"
servers = ["{servers}"]
offsets-topic = "{offsets}"
[sink.history]
class-name = "parquet"
path = "history"
interval = 1
[sink.search]
class-name = "elasticsearch"
urls = ["{search}"]
index = "{name}-%Y.%m.%d"
interval = 1
[sink.series]
class-name = "influxdb"
url = "{influx}"
database = "{name}"
interval = 1
[sink.stream]
class-name = "kafka"
servers = ["{servers}"]
topic = "{stream}"
interval = 1
"""

# the moment of a sample and the group's lag at that moment, in any order, each as often as it was written
Points = list[tuple[int, int]]


class Stage:
    """A group whose lag grows all the time, and everything that writes it down."""

    def __init__(self, directory: Path, broker: Broker, search: SearchServer, influx: InfluxServer) -> None:
        self._broker, self._search, self._influx = broker, search, influx
        self._hands = Hands(broker)
        self._name = f"e2e-{uuid.uuid4().hex[:8]}"
        self._topic = self._hands.make(f"{self._name}-orders")
        self._stream = self._hands.make(f"{self._name}-lag", partitions=2)
        offsets = self._hands.make(f"{self._name}-offsets")
        self._hands.fill(self._topic, 100)
        self._hands.write(offsets, [commit(GROUP, self._topic, 50)])
        self.warren = Instance(
            directory / "warren",
            CONFIGURATION.format(
                servers=broker.bootstrap_servers,
                offsets=offsets,
                search=search.url,
                influx=influx.url,
                name=self._name,
                stream=self._stream,
            ),
        )
        # what the API has said: moment: lag
        self.said: dict[int, int] = {}

    def follow(self, ended: threading.Event) -> None:
        while not ended.wait(0.2):
            self._hands.fill(self._topic, 1)
            page = self.warren.page(f"/v4/clusters/live/groups/{GROUP}")
            if page and "summary" in page:
                self.said[page["snapshot"]["as_of"]] = page["summary"]["totallag"]

    def points(self) -> dict[str, Points]:
        """By sink."""
        return {
            "history": self._history(),
            "search": self._documents(),
            "series": self._series(),
            "stream": self._records(),
        }

    def more(self, sinks: list[str], count: int = SOME) -> bool:
        """Do so many samples more come to each of these sinks?"""
        asked: dict[str, Callable[[], Points]] = {
            "history": self._history,
            "search": self._documents,
            "series": self._series,
            "stream": self._records,
        }
        before = {sink: len(asked[sink]()) for sink in sinks}
        return eventually(
            lambda: all(len(asked[sink]()) >= before[sink] + count for sink in sinks), PATIENCE_S, 0.5
        )

    def behind(self) -> dict[str, int]:
        page = self.warren.page("/v4/health")
        return {each["sink"]: each["behind_samples"] for each in (page or {}).get("sinks") or []}

    def _history(self) -> Points:
        found: Points = []
        for path in (self.warren.directory / "history" / "groups").rglob("*.parquet"):
            frame = pd.read_parquet(path, partitioning=None)
            mine = frame[frame["group"] == GROUP]
            found += [
                (int(at.timestamp() * 1000), int(lag))
                for at, lag in zip(mine["time"], mine["total_lag"], strict=True)
            ]
        return found

    def _documents(self) -> Points:
        if not self._search.request("GET", f"_cat/indices/{self._name}-*?format=json"):
            return []
        documents = self._search.documents(
            f"{self._name}-*", query={"term": {"measurement_name": "burrow_group"}}
        )
        return [
            (
                round(dt.datetime.fromisoformat(each["@timestamp"]).timestamp() * 1000),
                each["burrow_group"]["total_lag"],
            )
            for each in documents
            if each["tag"]["group"] == GROUP
        ]

    def _series(self) -> Points:
        databases = self._influx.query("SHOW DATABASES")
        if [self._name] not in [name for series in databases for name in series.get("values", ())]:
            return []
        rows = self._influx.rows(
            f"SELECT total_lag FROM burrow_group WHERE \"group\" = '{GROUP}'", self._name
        )
        return [(row["time"], row["total_lag"]) for row in rows]

    def _records(self) -> Points:
        return [
            (value["time"], value["total_lag"])
            for _, value, _ in committed(self._broker, self._stream)
            if (value["kind"], value.get("group")) == ("group", GROUP)
        ]


@pytest.fixture
def influx(tmp_path: Path) -> Iterator[InfluxServer]:
    """One to stop; it starts in an instant."""
    directory = tmp_path / "influxdb"
    directory.mkdir()
    with InfluxServer(directory) as running:
        yield running


@pytest.fixture
def stage(
    tmp_path: Path, broker: Broker, elasticsearch: SearchServer, influx: InfluxServer
) -> Iterator[Stage]:
    made = Stage(tmp_path, broker, elasticsearch, influx)
    with made.warren, _following(made):
        yield made


@contextmanager
def _following(stage: Stage) -> Iterator[None]:
    ended = threading.Event()
    thread = threading.Thread(target=stage.follow, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_every_sink_says_the_same_lag_as_the_api(
    stage: Stage, elasticsearch: SearchServer, influx: InfluxServer
) -> None:
    everywhere = ["history", "search", "series", "stream"]
    assert stage.more(everywhere), stage.warren.output

    # two servers are down: the others notice nothing, and nothing is lost
    influx.stop()
    elasticsearch.stop()
    try:
        assert stage.more(["history", "stream"]), stage.warren.output
        assert eventually(
            lambda: all(stage.behind().get(sink, 0) >= SOME for sink in ("search", "series")), PATIENCE_S, 0.5
        )
    finally:
        elasticsearch.start()
    influx.start()
    assert eventually(lambda: max(stage.behind().values(), default=9) <= 1, PATIENCE_S, 0.5), stage.behind()

    # as a power cut would end it, in the middle of whatever it does
    stage.warren.kill()
    stage.warren.start()
    assert stage.more(everywhere), stage.warren.output
    assert stage.warren.terminate() == 0

    points = stage.points()
    _same_everywhere(points, stage.said)


def _same_everywhere(points: dict[str, Points], said: dict[int, int]) -> None:
    for sink, found in points.items():
        moments = [at for at, _ in found]
        assert len(moments) == len(set(moments)), f"twice in {sink}: {found}"
    # the last samples may not have reached everybody when Warren was stopped
    common = min(max(at for at, _ in found) for found in points.values())
    whole: dict[str, Any] = {
        sink: {at: lag for at, lag in found if at <= common} for sink, found in points.items()
    }
    for sink, found in whole.items():
        assert found == whole["history"], sink
    told = {at: lag for at, lag in said.items() if at in whole["history"]}
    assert len(told) >= SOME
    assert told == {at: whole["history"][at] for at in told}
    # a lag that never changes would show nothing
    assert len(set(told.values())) >= SOME
