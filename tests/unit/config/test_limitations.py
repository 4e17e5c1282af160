"""What is understood and not done yet is said, module by module, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from tests.configurations import SMALLEST

from warren.config import AnySink, Settings, load
from warren.config.limitations import SUPPORTED_SINKS, limitations
from warren.config.modules import ElasticsearchSink, InfluxdbSink, KafkaSink, ParquetSink, PrometheusSink
from warren.sinks.kinds import kind_of

TEXT = f"""
{SMALLEST}
[consumer.old]
class-name = "kafka_zk"
cluster = "local"
servers = ["localhost:2181"]

[notifier.nobody]
class-name = "null"

[sink.history]
class-name = "parquet"
path = "history"

[sink.stream]
class-name = "kafka"
servers = ["localhost:9092"]
topic = "lag"
"""


def test_each_module_that_is_not_served_is_named(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(TEXT)
    assert [sentence.split(":")[0] for sentence in limitations(load(tmp_path, {}))] == ["consumer.old"]


def test_what_is_said_to_be_supported_is() -> None:
    sinks: dict[str, AnySink] = {
        "parquet": ParquetSink(path="history"),
        "elasticsearch": ElasticsearchSink(urls=("http://localhost:9200",)),
        "influxdb": InfluxdbSink(url="http://localhost:8086", database="burrow"),
        "kafka": KafkaSink(servers=("localhost:9092",), topic="lag"),
        "prometheus": PrometheusSink(url="http://localhost:9090/api/v1/write"),
    }
    supported = {name for name, sink in sinks.items() if kind_of(sink, Settings()) is not None}
    assert supported == set(SUPPORTED_SINKS)
