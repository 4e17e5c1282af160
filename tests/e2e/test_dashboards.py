"""Every panel of every dashboard, asked of the real data source that a run of the demo has filled."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.grafana import Point, Shown, View
from tests.influxdb import InfluxServer
from tests.panel_queries import Asked, AskedElasticsearch, AskedInflux, AskedPrometheus
from tests.processes import eventually
from tests.prometheus import SCRAPE_S, PrometheusServer
from tests.search_server import SearchServer
from tools.dashboards.__main__ import DASHBOARDS, ROOT
from tools.dashboards.answer import Source
from tools.dashboards.elasticsearch import Elasticsearch
from tools.dashboards.influxdb import Influxdb
from tools.dashboards.prometheus import Prometheus

from warren.config.modules import ElasticsearchSink, InfluxdbSink, NullNotifier
from warren.demo.broker import Broker
from warren.demo.stage import CLUSTER, demo_settings
from warren.demo.topics import AUDIT, CLICKS, ORDERS
from warren.demo.traffic import Traffic
from warren.service import Service

# the first test waits for four servers, the demo, and two quiet moments
pytestmark = [pytest.mark.xdist_group("elasticsearch"), pytest.mark.timeout(600)]

SOURCES: dict[str, Source] = {source.name: source for source in (Prometheus(), Influxdb(), Elasticsearch())}
BOARDS = {
    source: {
        path.stem.split("-")[1]: json.loads(path.read_text())
        for path in sorted((ROOT / DASHBOARDS / source).glob("*.json"))
    }
    for source in SOURCES
}
PANELS = {
    f"{source}: {board}: {panel['title']}": (source, board, panel)
    for source, boards in BOARDS.items()
    for board, content in boards.items()
    for panel in content["panels"]
    if panel["type"] != "row"
}
DATABASE = "dashboards"
INDEX = "dashboards"
PATIENCE_S = 120.0
# how long nothing may change before rates are looked at, and before answers are compared
PAUSE_S, QUIET_S = 13.0, 13.0
# in each of these rounds so many records are written to each partition, and read by the group below
ROUNDS = 16
WRITTEN = {"clicks": 12, "orders": 20}
READ = 15
# names that mean something in a regular expression or in Lucene; the second matches the first's unescaped one
ODD, DECOY = "odd.group (1)/a+b", "oddxgroup (1)/a+b"
GROUPS = (ODD, "recommender", "mailer", "warehouse")
TOPICS = ("clicks", "orders")


@dataclass
class Truth:
    """What the API says, all at one moment."""

    at_s: float
    # group: its line
    groups: dict[str, dict[str, Any]]
    # group, topic, partition: its fields
    partitions: dict[tuple[str, str, int], dict[str, Any]]
    # topic, partition: head
    heads: dict[tuple[str, int], int]
    open_incidents: int

    @property
    def not_ok(self) -> set[str]:
        return {name for name, line in self.groups.items() if line["status"] != "OK"}

    def lag(self, group: str, topic: str) -> int:
        return sum(self._lags(group, topic))

    def worst_lag(self, group: str, topic: str) -> int:
        return max(self._lags(group, topic))

    def _lags(self, group: str, topic: str) -> list[int]:
        return [part["current_lag"] for key, part in self.partitions.items() if key[:2] == (group, topic)]


@dataclass
class Filled:
    """The filled data sources, and the truth when traffic was first watched and when all was quiet."""

    asked: dict[str, Asked]
    before: Truth
    after: Truth

    def from_s(self, source: str) -> float:
        """A quiet moment: nothing had changed for a while when the first truth was taken.

        Prometheus looks back from there; Elasticsearch has to have its first bucket before anything is written.
        """
        return self.before.at_s - (PAUSE_S / 2 if source == "prometheus" else PAUSE_S)

    def inflow(self, topic: str, partition: int | None = None) -> int:
        return sum(
            head - self.before.heads[key]
            for key, head in self.after.heads.items()
            if key[0] == topic and partition in (None, key[1])
        )

    def consumption(self, group: str, topic: str) -> int:
        return sum(
            part["end"]["offset"] - self.before.partitions[key]["end"]["offset"]
            for key, part in self.after.partitions.items()
            if key[:2] == (group, topic)
        )


@pytest.fixture(scope="module")
def filled(
    influxdb: InfluxServer,
    elasticsearch: SearchServer,
    opensearch: SearchServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Filled]:
    influxdb.query(f"CREATE DATABASE {DATABASE}")
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warren-dashboards-")))
        broker = stack.enter_context(Broker(0, directory / "kafka", 4))
        traffic = stack.enter_context(Traffic(broker.bootstrap_servers, seed=5))
        settings = demo_settings(broker.bootstrap_servers, 0, directory).model_copy(
            update={
                "sink": {
                    "influxdb": InfluxdbSink(url=influxdb.url, database=DATABASE, interval=1),
                    "elasticsearch": ElasticsearchSink(
                        urls=(elasticsearch.url,), index=f"{INDEX}-%Y.%m.%d", interval=1
                    ),
                },
                "notifier": {"nobody": NullNotifier(interval=1)},
            }
        )
        service = stack.enter_context(Service(settings))
        (url,) = service.urls.values()
        client = stack.enter_context(httpx.Client(base_url=url, timeout=30))
        prometheus = stack.enter_context(PrometheusServer(tmp_path_factory.mktemp("prometheus"), url))
        everyone = {actor.name for actor in traffic.cast}
        assert eventually(
            lambda: _written(client) and everyone <= set(_truth(client).groups), PATIENCE_S, 0.5
        )
        traffic.stop()
        # rates are compared from one quiet moment to another: what is written and read between them is known
        with _member(broker, DECOY) as decoy, _member(broker, ODD) as odd:
            _commit(decoy, (AUDIT.name, 0, 60))
            _commit(
                odd, (AUDIT.name, 0, 50), *((ORDERS.name, number, 100) for number in range(ORDERS.partitions))
            )
            before = _quiet(client, PAUSE_S, {ODD, DECOY})
            with contextlib.closing(_Writing(broker)) as writing:
                for number in range(ROUNDS):
                    writing.write()
                    read = 100 + READ * (number + 1)
                    _commit(odd, *((ORDERS.name, partition, read) for partition in range(ORDERS.partitions)))
                    time.sleep(0.5)
        after = _quiet(client, QUIET_S)
        for newest_s in (lambda: _newest_point_s(influxdb), lambda: _newest_document_s(elasticsearch)):
            assert eventually(lambda newest_s=newest_s: newest_s() > after.at_s, PATIENCE_S, 0.5)  # type: ignore[misc]
        _copy(elasticsearch, opensearch)
        yield Filled(
            {
                "prometheus": AskedPrometheus(prometheus),
                "influxdb": AskedInflux(influxdb, DATABASE),
                "elasticsearch": AskedElasticsearch(elasticsearch, opensearch, f"{INDEX}-*"),
            },
            before,
            after,
        )


@contextlib.contextmanager
def _member(broker: Broker, group: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    try:
        yield consumer
    finally:
        consumer.close()


def _commit(consumer: Consumer, *places: tuple[str, int, int]) -> None:
    """Places: topic, partition, offset."""
    consumer.commit(offsets=[TopicPartition(*place) for place in places], asynchronous=False)


class _Writing:
    """Writes a known number of records to each partition."""

    def __init__(self, broker: Broker) -> None:
        self._producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def write(self) -> None:
        for topic in (CLICKS, ORDERS):
            for partition in range(topic.partitions):
                for _ in range(WRITTEN[topic.name]):
                    self._producer.produce(topic.name, b"x", partition=partition)
        self._producer.flush(30)

    def close(self) -> None:
        self._producer.flush(30)


def _newest_point_s(influxdb: InfluxServer) -> float:
    ((point,),) = (
        each["values"] for each in influxdb.query('SELECT last("lag") FROM "burrow_group"', DATABASE)
    )
    return float(point[0]) / 1000


def _newest_document_s(elasticsearch: SearchServer) -> float:
    """Those of a sample are there together, once they can be found."""
    elasticsearch.request("POST", f"{INDEX}-*/_refresh")
    asked = {"size": 0, "aggs": {"newest": {"max": {"field": "@timestamp"}}}}
    found = elasticsearch.request("POST", f"{INDEX}-*/_search", asked)
    return float(found["aggregations"]["newest"]["value"]) / 1000


def _copy(elasticsearch: SearchServer, opensearch: SearchServer) -> None:
    """The documents of partitions, as they are, into an OpenSearch: the Elasticsearch of the tests has no rates."""
    for index, found in elasticsearch.request("GET", f"{INDEX}-*/_mapping").items():
        opensearch.request("PUT", index, {"mappings": found["mappings"]})
        documents = elasticsearch.documents(index, query={"exists": {"field": "tag.partition"}})
        assert 0 < len(documents) < 10_000
        lines = [f'{{"index": {{}}}}\n{json.dumps(document)}' for document in documents]
        answer = httpx.post(
            f"{opensearch.url}/{index}/_bulk?refresh=true",
            content="\n".join([*lines, ""]),
            headers={"content-type": "application/x-ndjson"},
            timeout=60,
        )
        assert not answer.raise_for_status().json()["errors"]


def _written(client: httpx.Client) -> bool:
    """Whether every sink has written."""
    return all(sink["samples"] > 0 for sink in client.get("/v4/health").json()["sinks"])


def _truth(client: httpx.Client) -> Truth:
    base = f"/v4/clusters/{CLUSTER}/groups"
    groups = {line["group"]: line for line in client.get(base).json()["groups"]}
    partitions = {}
    for name in groups:
        page = client.get(f"{base}/{quote(name, safe='')}").json()
        for part in page["partitions"]:
            if part["end"] is not None:
                partitions[name, part["topic"], part["partition"]] = part
    heads = {
        (topic, number): head
        for topic in client.get(f"/v3/kafka/{CLUSTER}/topic").json()["topics"]
        for number, head in enumerate(client.get(f"/v3/kafka/{CLUSTER}/topic/{topic}").json()["offsets"])
        if not topic.startswith("__")
    }
    incidents = client.get("/v4/incidents", params={"state": "open"}).json()["total"]
    return Truth(time.time(), groups, partitions, heads, incidents)


def _quiet(client: httpx.Client, quiet_s: float, groups: Collection[str] = ()) -> Truth:
    """The truth when it has not changed for so long and the groups are known: every data source has it by then."""

    def said(truth: Truth) -> Any:
        lines = {name: (line["status"], line["totallag"]) for name, line in truth.groups.items()}
        return lines, truth.heads, truth.open_incidents

    deadline = time.monotonic() + PATIENCE_S
    first = _truth(client)
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = _truth(client)
        if said(now) != said(first):
            first = now
        elif now.at_s - first.at_s > quiet_s and set(groups) <= set(now.groups):
            return now
    raise AssertionError("the demo does not come to rest")


@dataclass(frozen=True)
class Look:
    """One panel, as it is shown; what it should show is the truth in the source's numbers."""

    filled: Filled
    source: str
    view: View
    interval_s: int
    shown: Shown

    @property
    def truth(self) -> Truth:
        return self.filled.after

    def group_code(self, group: str) -> int:
        return _code(SOURCES[self.source].group_statuses, self.truth.groups[group]["status"])

    def partition_code(self, key: tuple[str, str, int]) -> int:
        return _code(SOURCES[self.source].partition_statuses, self.truth.partitions[key]["status"])

    def of_groups(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        """The partitions of the chosen groups."""
        return {key: part for key, part in self.truth.partitions.items() if key[0] in GROUPS}

    def written(self, name: str) -> float:
        """What a series of rates sums up to."""
        points = self.shown.series[name]
        if self.source == "influxdb":
            # a point for each sample: the rate since the one before. The others have one for every step
            return sum(now[1] * (now[0] - before[0]) for before, now in pairwise(points))
        return sum(value for _, value in points) * self.interval_s


def _code(statuses: Any, status: str) -> int:
    (code,) = (number for number, name in statuses.items() if name == status)
    return int(code)


def near(found: float, expected: float) -> bool:
    """As good as a rate over some seconds can be; a partition that is missing, or counted twice, is more."""
    return abs(found - expected) <= 0.25 * abs(expected) + 25


def shows_groups_by_status(look: Look) -> None:
    counts = Counter(line["status"] for line in look.truth.groups.values())
    found = {name: points[-1][1] for name, points in _whole(look).items() if points[-1][1]}
    assert found == {f"{CLUSTER} {status}": number for status, number in counts.items()}


def shows_groups_over_time(look: Look) -> None:
    """A status that no group has any more has older points only."""
    series = _whole(look)
    newest = max(points[-1][0] for points in series.values())
    ended = Look(
        look.filled,
        look.source,
        look.view,
        look.interval_s,
        Shown({name: points for name, points in series.items() if points[-1][0] == newest}),
    )
    shows_groups_by_status(ended)


def _whole(look: Look) -> dict[str, list[Point]]:
    """Without the last moments: a sample of which a part can be found already counts too few groups."""
    until = look.view.to_s - 2
    kept = {
        name: [point for point in points if point[0] <= until] for name, points in look.shown.series.items()
    }
    return {name: points for name, points in kept.items() if points}


def shows_groups_in_trouble(look: Look) -> None:
    found = {row["Group"]: (row["Cluster"], row["Status"], row["Lag"]) for row in look.shown.rows}
    assert found == {
        name: (CLUSTER, look.group_code(name), look.truth.groups[name]["totallag"])
        for name in look.truth.not_ok
    }


def shows_worst_groups(look: Look) -> None:
    found = look.shown.last
    assert {f"{CLUSTER} {name}" for name in look.truth.not_ok} <= set(found)
    for name in look.truth.not_ok:
        assert found[f"{CLUSTER} {name}"] == look.truth.groups[name]["totallag"]
    assert len(found) <= 20


def shows_lag_by_cluster(look: Look) -> None:
    assert look.shown.last == {CLUSTER: sum(line["totallag"] for line in look.truth.groups.values())}


def shows_inflow_by_cluster(look: Look) -> None:
    everything = sum(look.filled.inflow(topic) for topic in {topic for topic, _ in look.truth.heads})
    assert near(look.written(CLUSTER), everything), (look.written(CLUSTER), everything)


def shows_group_status(look: Look) -> None:
    assert look.shown.last == {name: look.group_code(name) for name in GROUPS}


def shows_group_lag(look: Look) -> None:
    assert look.shown.last == {name: look.truth.groups[name]["totallag"] for name in GROUPS}


def shows_group_partitions(look: Look) -> None:
    expected: Counter[str] = Counter()
    for group, topic, _ in (key for key, part in look.of_groups().items() if part["status"] != "OK"):
        expected[f"{group} {topic} not OK" if look.source == "elasticsearch" else f"{group} not OK"] += 1
    expected.update({name: look.truth.groups[name]["partition_count"] for name in GROUPS})
    # a count that is 0 has no series everywhere; one that was above 0 earlier keeps its last point
    found = {name: value for name, value in look.shown.last.items() if name in expected}
    assert found == dict(expected)


def shows_partitions_not_ok(look: Look) -> None:
    expected = {
        f"{group} {topic}/{partition}": look.partition_code((group, topic, partition))
        for (group, topic, partition), part in look.of_groups().items()
        if part["status"] != "OK"
    }
    assert expected
    assert expected.items() <= look.shown.last.items()
    assert len(look.shown.series) <= 30


def shows_lag_by_topic(look: Look) -> None:
    found = look.shown.last
    if look.source == "elasticsearch":
        added: Counter[str] = Counter()
        for name, value in found.items():
            added[name.rpartition("/")[0]] += int(value)
        found = dict(added)
    topics = {key[:2] for key in look.of_groups()}
    assert found == {f"{group} {topic}": look.truth.lag(group, topic) for group, topic in topics}


def shows_lag_by_partition(look: Look) -> None:
    expected = {
        f"{group} {topic}/{partition}": part["current_lag"]
        for (group, topic, partition), part in look.of_groups().items()
        if part["current_lag"]
    }
    assert expected.items() <= look.shown.last.items()
    assert set(look.shown.series) <= {f"{g} {t}/{p}" for g, t, p in look.of_groups()}


def shows_lagging_partitions(look: Look) -> None:
    found = {
        (row["Group"], row["Topic"], int(row["Partition"])): (
            row["Lag"],
            row["Status"],
            row["Committed offset"],
        )
        for row in look.shown.rows
    }
    assert found == {
        key: (part["current_lag"], look.partition_code(key), part["end"]["offset"])
        for key, part in look.of_groups().items()
    }
    if look.source == "prometheus":
        for row in look.shown.rows:
            assert row["Head"] == look.truth.heads[row["Topic"], int(row["Partition"])]


def shows_inflow_of_group(look: Look) -> None:
    topics = {topic for _, topic, _ in look.of_groups()}
    _shows_rates(look, {topic: look.filled.inflow(topic) for topic in topics})


def shows_consumption(look: Look) -> None:
    topics = {key[:2] for key in look.of_groups()}
    expected = {f"{group} {topic}": look.filled.consumption(group, topic) for group, topic in topics}
    if look.source == "elasticsearch":
        # three groups at most
        chosen = sorted(GROUPS)[:3]
        expected = {f"{g} {t}": look.filled.consumption(g, t) for g, t in topics if g in chosen}
    _shows_rates(look, expected)


def shows_inflow_by_topic(look: Look) -> None:
    _shows_rates(look, {topic: look.filled.inflow(topic) for topic in TOPICS})


def shows_inflow_by_partition(look: Look) -> None:
    for topic, partition in (key for key in look.truth.heads if key[0] in TOPICS):
        found, expected = look.written(f"{topic}/{partition}"), look.filled.inflow(topic, partition)
        assert near(found, expected), (topic, partition, found, expected)


def shows_readers(look: Look) -> None:
    found = {(row["Group"], row["Topic"]): row["Lag"] for row in look.shown.rows}
    assert found == _lags_of_topics(look)


def shows_lag_by_group(look: Look) -> None:
    expected = {f"{group} {topic}": lag for (group, topic), lag in _lags_of_topics(look).items() if lag}
    assert expected.items() <= look.shown.last.items()


def _lags_of_topics(look: Look) -> dict[tuple[str, str], int]:
    lag = look.truth.worst_lag if look.source == "elasticsearch" else look.truth.lag
    readers = {key[:2] for key in look.truth.partitions if key[1] in TOPICS}
    return {(group, topic): lag(group, topic) for group, topic in readers}


def _shows_rates(look: Look, expected: dict[str, int]) -> None:
    assert max(expected.values()) > 100
    if look.source == "elasticsearch":
        assert near(look.written("Total"), sum(expected.values()))
        return
    found = {name: look.written(name) for name in look.shown.series}
    assert set(found) == set(expected)
    assert all(near(found[name], expected[name]) for name in expected), (found, expected)


def shows_one(*names: str) -> Callable[[Look], None]:
    """Series of these names, whose newest value is 1."""

    def check(look: Look) -> None:
        assert set(look.shown.last) == set(names)
        assert set(look.shown.last.values()) == {1}

    return check


def shows_instance(look: Look) -> None:
    assert list(look.shown.last.values()) == [1]


def shows_bytes(look: Look) -> None:
    (used,) = look.shown.last.values()
    assert used > 10_000_000


def shows_open_incidents(look: Look) -> None:
    assert look.truth.open_incidents > 0
    assert look.shown.last == {CLUSTER: look.truth.open_incidents}


def shows_series(*beginnings: str, most: float, ever: bool = True) -> Callable[[Look], None]:
    """Series whose names begin so, with a newest value of at most so much; `ever`: and above 0 at some time."""

    def check(look: Look) -> None:
        assert {name.split()[0] for name in look.shown.series} == set(beginnings), look.shown.series.keys()
        assert all(0 <= value <= most for value in look.shown.last.values()), look.shown.last
        if ever:
            assert any(value > 0 for points in look.shown.series.values() for _, value in points)

    return check


SINKS = ("elasticsearch", "influxdb")
CHECKS: dict[tuple[str, str], Callable[[Look], None]] = {
    ("clusters", "Groups by status"): shows_groups_by_status,
    ("clusters", "Groups in trouble"): shows_groups_in_trouble,
    ("clusters", "Groups by status over time"): shows_groups_over_time,
    ("clusters", "Lag of the worst groups"): shows_worst_groups,
    ("clusters", "Lag by cluster"): shows_lag_by_cluster,
    ("clusters", "Inflow by cluster"): shows_inflow_by_cluster,
    ("group", "Status"): shows_group_status,
    ("group", "Total lag"): shows_group_lag,
    ("group", "Partitions"): shows_group_partitions,
    ("group", "Status over time"): shows_group_status,
    ("group", "Partitions that were not OK"): shows_partitions_not_ok,
    ("group", "Lag by topic"): shows_lag_by_topic,
    ("group", "Lag by partition"): shows_lag_by_partition,
    ("group", "Top lagging partitions"): shows_lagging_partitions,
    ("group", "Inflow"): shows_inflow_of_group,
    ("group", "Consumption"): shows_consumption,
    ("topic", "Inflow"): shows_inflow_by_topic,
    ("topic", "Inflow by partition"): shows_inflow_by_partition,
    ("topic", "Groups that read it"): shows_readers,
    ("topic", "Lag by group"): shows_lag_by_group,
    ("itself", "Ready"): shows_instance,
    ("itself", "Clusters"): shows_one(CLUSTER),
    ("itself", "Sinks"): shows_one(*SINKS),
    ("itself", "Notifying instances"): shows_one("instances"),
    ("itself", "Behind the brokers"): shows_series(CLUSTER, most=60),
    ("itself", "Duration of a trigger"): shows_series(CLUSTER, most=60),
    ("itself", "Records read"): shows_series(CLUSTER, most=1000),
    ("itself", "Records left"): shows_series(CLUSTER, most=0, ever=False),
    ("itself", "Restarts of queries"): shows_series(CLUSTER, most=0, ever=False),
    ("itself", "Memory"): shows_bytes,
    ("itself", "Sinks behind"): shows_series(*SINKS, most=60, ever=False),
    ("itself", "Rows written"): shows_series(*SINKS, most=10_000),
    ("itself", "Samples dropped, rows rejected, attempts failed"): shows_series(*SINKS, most=0, ever=False),
    ("itself", "Open incidents"): shows_open_incidents,
    ("itself", "Messages"): shows_series("nobody", most=1000, ever=False),
    ("itself", "Connections and refused requests"): shows_series("default", most=100),
}


def test_every_panel_has_a_check() -> None:
    assert {(board, panel["title"]) for _, board, panel in PANELS.values()} == set(CHECKS)


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_shows_what_the_api_says(filled: Filled, name: str) -> None:
    source, board, panel = PANELS[name]
    view = _view(filled, source, board)
    shown = filled.asked[source].show(panel, view)
    assert shown.series or shown.rows
    CHECKS[board, panel["title"]](Look(filled, source, view, view.interval_s(panel), shown))


def _view(filled: Filled, source: str, board: str) -> View:
    """All clusters, some groups, and of the topics all of those groups or some."""
    everything = SOURCES[source].everything
    variables: dict[str, Any] = {"cluster": everything}
    view = View(filled.from_s(source), filled.after.at_s, variables, SCRAPE_S, QUIET_S)
    if board == "group":
        variables["group"] = GROUPS
        # without a value of its own "All" is every choice
        variables["topic"] = _choices(filled, source, board, "topic", view)
    elif board == "topic":
        variables["topic"] = TOPICS
    return view


def _choices(filled: Filled, source: str, board: str, variable: str, view: View) -> list[str]:
    (query,) = (
        each["query"] for each in BOARDS[source][board]["templating"]["list"] if each["name"] == variable
    )
    return filled.asked[source].choices(query, view)


@pytest.mark.parametrize("source", SOURCES)
def test_variables_offer_what_there_is(filled: Filled, source: str) -> None:
    variables = {"cluster": (CLUSTER,), "group": (ODD, "mailer")}
    view = View(filled.from_s(source), filled.after.at_s, variables, SCRAPE_S, QUIET_S)
    assert _choices(filled, source, "clusters", "cluster", view) == [CLUSTER]
    assert set(_choices(filled, source, "group", "group", view)) == set(filled.after.groups)
    assert set(_choices(filled, source, "group", "topic", view)) == {"audit", "orders", "payments"}
    assert {"audit", "clicks", "orders", "payments"} <= set(_choices(filled, source, "topic", "topic", view))


@pytest.mark.parametrize("source", SOURCES)
def test_a_name_with_signs_in_it_stands_for_itself_only(filled: Filled, source: str) -> None:
    (panel,) = (each for each in BOARDS[source]["group"]["panels"] if each["title"] == "Total lag")
    for group in (ODD, DECOY):
        variables = {"cluster": (CLUSTER,), "group": (group,)}
        view = View(filled.from_s(source), filled.after.at_s, variables, SCRAPE_S, QUIET_S)
        shown = filled.asked[source].show(panel, view)
        assert shown.last == {group: filled.after.groups[group]["totallag"]}
