"""Probes of every server in a configuration."""

import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from warren.cli.attempts import Probe, UnreachableError
from warren.cli.kafka_admin_probe import kafka_admin
from warren.cli.kafka_sink_probe import kafka_sink
from warren.cli.notifier_probes import notifier_probes
from warren.config import Settings
from warren.config.modules import ElasticsearchSink, InfluxdbSink, KafkaSink, ParquetSink, PrometheusSink
from warren.config.sections import KafkaAdminConsumer, KafkaConsumer
from warren.errors import WarrenError
from warren.kafka.brokers import Brokers, Limit
from warren.kafka.client import client_properties
from warren.pipeline.lists import group_filter
from warren.sinks.elasticsearch import ElasticsearchKind
from warren.sinks.influxdb import InfluxdbKind
from warren.sinks.prometheus import PrometheusKind
from warren.zookeeper import LoginWatch, login_options, reason

# the clients' own log lines would mix with our output
_SILENT: Final = logging.Logger("warren.probes", level=logging.CRITICAL + 1)

_PRODUCTS: Final = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}


# until Spark runs on a busy machine
_SPARK_S: Final = 60.0
# there is one in a process
_ONE_SPARK: Final = threading.Lock()


def probes(settings: Settings) -> Iterator[Probe]:
    """A probe for every Kafka, ZooKeeper, notifier and sink."""
    for name, cluster in settings.cluster.items():
        where = ",".join(cluster.servers)
        properties = client_properties(settings, cluster.client_profile, cluster.servers)
        attempt = partial(_kafka, properties, "", groups=cluster.groups_reaper_refresh > 0)
        yield Probe(f"cluster.{name}", "Kafka", where, attempt)
    for name, consumer in settings.consumer.items():
        where = ",".join(consumer.servers)
        if isinstance(consumer, KafkaConsumer):
            properties = client_properties(settings, consumer.client_profile, consumer.servers)
            attempt = partial(_kafka, properties, consumer.offsets_topic)
            yield Probe(f"consumer.{name}", "Kafka", where, attempt)
        elif isinstance(consumer, KafkaAdminConsumer):
            properties = client_properties(settings, consumer.client_profile, consumer.servers)
            accepts = group_filter(consumer, settings.window).accepts
            yield Probe(f"consumer.{name}", "Kafka", where, partial(kafka_admin, properties, accepts))
        else:
            path = consumer.zookeeper_path + ("/consumers" if consumer.class_name == "kafka_zk" else "")
            attempt = partial(_zookeeper, where, path, **login_options(consumer))
            yield Probe(f"consumer.{name}", "ZooKeeper", where, attempt)
    if settings.zookeeper is not None:
        where = ",".join(settings.zookeeper.servers)
        yield Probe(
            "zookeeper",
            "ZooKeeper",
            where,
            partial(_zookeeper, where, "", **login_options(settings.zookeeper)),
        )
    yield from notifier_probes(settings)
    for name, sink in settings.sink.items():
        yield from _sink(settings, f"sink.{name}", sink)


def _sink(settings: Settings, key: str, sink: object) -> Iterator[Probe]:
    if isinstance(sink, ElasticsearchSink):
        kind = ElasticsearchKind.of(sink, settings)
        for url in sink.urls:
            yield Probe(key, _PRODUCTS[sink.server], url, partial(_search_sink, replace(kind, urls=(url,))))
    elif isinstance(sink, InfluxdbSink):
        yield Probe(key, "InfluxDB", sink.url, partial(_http_sink, InfluxdbKind.of(sink, settings)))
    elif isinstance(sink, PrometheusSink):
        attempt = partial(_http_sink, PrometheusKind.of(sink, settings))
        yield Probe(key, "Prometheus", sink.url, attempt)
    elif isinstance(sink, KafkaSink):
        yield Probe(key, "Kafka", ",".join(sink.servers), partial(kafka_sink, settings, sink))
    elif isinstance(sink, ParquetSink):
        if _is_local(sink.path):
            yield Probe(key, "Parquet", sink.path, partial(_directory, sink.path))
        else:
            attempt = partial(_file_system, sink.path, settings.spark.conf)
            yield Probe(key, "Parquet", sink.path, attempt, _SPARK_S)


def _kafka(properties: dict[str, Any], topic: str, limit_s: float, *, groups: bool = False) -> str:
    """Brokers and topics, and the partitions of the topic, if given; whether Warren may see and read them."""
    try:
        client = Brokers(properties)
    except KafkaException as error:
        raise UnreachableError(error.args[0].str()) from None
    limit = Limit(limit_s)
    found = client.listing(limit)
    brokers = _count(found.brokers, "broker")
    if topic:
        described = client.topic(topic, limit)
        partitions = len(described.partitions) if described else 0
        there = (
            f"{topic} has {_count(partitions, 'partition')}" if partitions else f"{topic} does not exist yet"
        )
        return f"{brokers}, {there}"
    if not found.partitions:
        # a new cluster has none, and one whose topics are hidden from us looks the same
        return f"{brokers}, 0 topics. {client.failures.no_topics()}"
    listed = f", {_count(len(client.groups(limit)), 'group')}" if groups else ""
    return f"{brokers}, {_count(len(found.partitions), 'topic')}{listed}"


def _zookeeper(hosts: str, path: str, limit_s: float, **login: Any) -> str:
    client = KazooClient(hosts=hosts, timeout=limit_s, logger=_SILENT, **login)
    watch = LoginWatch(client)
    try:
        client.start(timeout=limit_s)
        # a session is opened before the login: an answer tells that it was accepted
        client.exists("/")
        # a path that may be listed, not only one that is there
        there = bool(path) and client.get_children(path) is not None
    except NoNodeError:
        there = False
    except (KazooException, KazooTimeoutError) as error:
        raise UnreachableError(reason(watch.cause(error))) from None
    finally:
        client.stop()
        client.close()
    if not path:
        return "session opened"
    return f"{path} exists" if there else f"{path} does not exist yet"


def _search_sink(kind: ElasticsearchKind, limit_s: float) -> str:
    return _tried_out(replace(kind, timeout_s=limit_s))


def _http_sink(kind: InfluxdbKind | PrometheusKind, limit_s: float) -> str:
    return _tried_out(replace(kind, address=replace(kind.address, timeout_s=limit_s)))


def _tried_out(kind: ElasticsearchKind | InfluxdbKind | PrometheusKind) -> str:
    """Whether it could be written to, login and rights included."""
    try:
        return kind.writer().try_out()
    except WarrenError as error:
        raise UnreachableError(str(error)) from None


def _directory(path: str, _limit_s: float) -> str:
    directory = Path(re.sub("^file:(//)?(?=/)", "", path)).expanduser()
    existing = next(one for one in (directory, *directory.absolute().parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return "is writable" if existing == directory else f"can be created in {existing}"
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UnreachableError(f"cannot write in {existing}: {reason}") from None


def _is_local(path: str) -> bool:
    return ":/" not in path or path.startswith("file:/")


def _file_system(path: str, conf: dict[str, str], _limit_s: float) -> str:
    """Write and delete a file as the sink would: Spark is started, since only Java reaches such paths."""
    from warren.history.session import history_session  # noqa: PLC0415 - Spark's imports take a second
    from warren.sinks.hadoop import Files  # noqa: PLC0415
    from warren.sinks.writer import TryAgainError  # noqa: PLC0415

    try:
        with _ONE_SPARK, history_session(conf) as session:
            there = Files(session, path).try_writing()
    except TryAgainError as error:
        raise UnreachableError(f"a file cannot be written there: {str(error).splitlines()[0]}") from None
    return "is writable" if there else "can be created"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
