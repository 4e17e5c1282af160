"""The kinds of sinks that there are, by class-name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warren.config.modules import ElasticsearchSink, InfluxdbSink, KafkaSink, ParquetSink, PrometheusSink

if TYPE_CHECKING:
    from warren.config import AnySink, Settings
    from warren.sinks.writer import Kind


def kind_of(sink: AnySink, settings: Settings) -> Kind:
    """Clients are loaded by those who need them."""
    match sink:
        case ParquetSink():
            from warren.sinks.parquet import ParquetKind  # noqa: PLC0415

            return ParquetKind.of(sink)
        case ElasticsearchSink():
            from warren.sinks.elasticsearch import ElasticsearchKind  # noqa: PLC0415

            return ElasticsearchKind.of(sink, settings)
        case InfluxdbSink():
            from warren.sinks.influxdb import InfluxdbKind  # noqa: PLC0415

            return InfluxdbKind.of(sink, settings)
        case KafkaSink():
            from warren.sinks.kafka import KafkaKind  # noqa: PLC0415

            return KafkaKind.of(sink, settings)
        case PrometheusSink():
            from warren.sinks.prometheus import PrometheusKind  # noqa: PLC0415

            return PrometheusKind.of(sink, settings)
