"""Trying servers: what counts as reached, and that one that hangs costs no more than its limit."""

import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.receivers.http import Received, Reply
from tests.receivers.search import SearchReceiver, refused

from warren.cli.attempts import Outcome, Probe, UnreachableError, run_probes
from warren.cli.probes import probes
from warren.config import AnySink, Settings
from warren.config.modules import ElasticsearchSink, InfluxdbSink, KafkaSink, ParquetSink
from warren.config.sections import Cluster, KafkaConsumer, KafkaZkConsumer, StormConsumer, ZooKeeper


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as its path says: /503/… with 503; /login/… only with a login; everything else with 200."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        first = self.path.split("/")[1]
        status = int(first) if first.isdigit() else 401 if first == "login" and not login else 200
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Keeps quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    """A web server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def sink_outcome(sink: AnySink) -> Outcome:
    (outcome,) = run_probes(list(probes(Settings(sink={"s": sink}))), 5)
    return outcome


def test_every_server_is_tried() -> None:
    kafka, zookeeper = ("k:9092",), ("z:2181",)
    settings = Settings(
        zookeeper=ZooKeeper(servers=zookeeper),
        cluster={"c": Cluster(servers=kafka)},
        consumer={
            "k": KafkaConsumer(cluster="c", servers=kafka),
            "z": KafkaZkConsumer(cluster="c", servers=zookeeper),
            "s": StormConsumer(cluster="c", servers=zookeeper, zookeeper_path="/storm"),
        },
        sink={
            "e": ElasticsearchSink(urls=("http://e1:9200", "http://e2:9200")),
            "i": InfluxdbSink(url="http://i:8086", database="burrow"),
            "k": KafkaSink(servers=kafka, topic="lag"),
            "p": ParquetSink(path="/data"),
        },
    )
    assert [(probe.key, probe.kind, probe.address) for probe in probes(settings)] == [
        ("cluster.c", "Kafka", "k:9092"),
        ("consumer.k", "Kafka", "k:9092"),
        ("consumer.z", "ZooKeeper", "z:2181"),
        ("consumer.s", "ZooKeeper", "z:2181"),
        ("zookeeper", "ZooKeeper", "z:2181"),
        ("sink.e", "Elasticsearch", "http://e1:9200"),
        ("sink.e", "Elasticsearch", "http://e2:9200"),
        ("sink.i", "InfluxDB", "http://i:8086"),
        ("sink.k", "Kafka", "k:9092"),
        ("sink.p", "Parquet", "/data"),
    ]


def test_elasticsearch_answers() -> None:
    with SearchReceiver() as receiver:
        outcome = sink_outcome(ElasticsearchSink(urls=(receiver.url,)))
    assert (outcome.reached, outcome.detail) == (
        True,
        "Elasticsearch 8.99.0, index template burrow is put with the first sample",
    )


def test_opensearch_answers() -> None:
    with SearchReceiver() as receiver:
        sink = ElasticsearchSink(server="opensearch", urls=(receiver.url,), manage_template=False)
        outcome = sink_outcome(sink)
    assert (outcome.probe.kind, outcome.reached, outcome.detail) == ("OpenSearch", True, "OpenSearch 8.99.0")


@pytest.mark.parametrize("login", ["user", "key", "none"])
def test_elasticsearch_wants_a_login(login: str) -> None:
    def guard(request: Received) -> Reply:
        if request.header("Authorization"):
            return receiver.take(request)
        return refused(401, "security_exception", "missing authentication credentials")

    with SearchReceiver() as receiver:
        receiver.answer(guard)
        sinks = {
            "user": ElasticsearchSink(urls=(receiver.url,), username="u", password=SecretStr("s")),
            "key": ElasticsearchSink(urls=(receiver.url,), api_key=SecretStr("s")),
            "none": ElasticsearchSink(urls=(receiver.url,)),
        }
        outcome = sink_outcome(sinks[login])
    assert outcome.reached == (login != "none")
    assert ("answered 401: missing authentication credentials" in outcome.detail) == (login == "none")


def test_influxdb_is_out_of_service(url: str) -> None:
    outcome = sink_outcome(InfluxdbSink(url=f"{url}/503", database="burrow"))
    assert (outcome.reached, outcome.detail) == (
        False,
        f"InfluxDB at {url.removeprefix('http://')} answered HTTP 503; see its log",
    )


def test_nobody_listens() -> None:
    outcome = sink_outcome(InfluxdbSink(url="http://127.0.0.1:1", database="burrow"))
    assert (outcome.reached, outcome.detail) == (
        False,
        "No answer from InfluxDB at 127.0.0.1:1: Connection refused; check url and that it runs",
    )


def test_parquet_writes_where_it_may(tmp_path: Path) -> None:
    outcome = sink_outcome(ParquetSink(path=str(tmp_path)))
    assert (outcome.reached, outcome.detail) == (True, "is writable")
    outcome = sink_outcome(ParquetSink(path=str(tmp_path / "new" / "deep")))
    assert (outcome.reached, outcome.detail) == (True, f"can be created in {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_parquet_cannot_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = sink_outcome(ParquetSink(path=str(tmp_path / "file")))
    assert (outcome.reached, outcome.detail) == (
        False,
        f"cannot write in {tmp_path / 'file'}: Not a directory",
    )


@pytest.mark.parametrize("prefix", ["file:", "file://"])
def test_an_address_of_the_local_disk_needs_no_spark(tmp_path: Path, prefix: str) -> None:
    outcome = sink_outcome(ParquetSink(path=f"{prefix}{tmp_path}/new"))
    assert (outcome.reached, outcome.detail) == (True, f"can be created in {tmp_path}")


def test_a_probe_that_has_to_start_something_first_gets_more_time() -> None:
    def slow(limit_s: float) -> str:
        time.sleep(limit_s + 1.5)
        return "there"

    (waited,) = run_probes([Probe("a", "", "", slow, start_s=10)], 0.1)
    assert waited.reached


def test_one_that_hangs_is_given_up_and_the_others_stand() -> None:
    never = threading.Event()

    def hangs(_limit_s: float) -> str:
        never.wait()
        return "too late"

    def fails(_limit_s: float) -> str:
        raise UnreachableError("no route")

    probes_ = [
        Probe("a", "Kafka", "a:1", hangs),
        Probe("b", "Kafka", "b:1", lambda _limit_s: "fine"),
        Probe("c", "Kafka", "c:1", fails),
    ]
    outcomes = run_probes(probes_, 0.1)
    never.set()
    assert [(outcome.probe.key, outcome.reached, outcome.detail) for outcome in outcomes] == [
        ("a", False, "no answer within 0.1 s"),
        ("b", True, "fine"),
        ("c", False, "no route"),
    ]
