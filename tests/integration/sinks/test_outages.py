"""Servers that are written to over HTTP stop and start again: nothing is missing, nothing twice, others go on."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from tests.influxdb import InfluxServer
from tests.integration.sinks.frame import PATIENCE_S, recorded, recording, running_sinks
from tests.integration.sinks.remote_write import RemoteWriteServer
from tests.processes import eventually

from warren.config import AnySink
from warren.config.modules import InfluxdbSink, PrometheusSink


def test_after_an_outage_nothing_is_missing_and_nothing_is_there_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    for name in ("influxdb", "prometheus"):
        (tmp_path / name).mkdir()
    beside = tmp_path / "beside"
    with InfluxServer(tmp_path / "influxdb") as influxdb, RemoteWriteServer(tmp_path / "prometheus") as other:
        servers: dict[str, InfluxServer | RemoteWriteServer] = {"InfluxDB": influxdb, "Prometheus": other}
        sinks: dict[str, AnySink] = {
            "InfluxDB": InfluxdbSink(url=influxdb.url, database="lag", interval=1),
            "Prometheus": PrometheusSink(url=other.write_url, interval=1),
            "beside": recording(beside),
        }
        with running_sinks(session, tmp_path, sinks, "one", "two") as running:
            for name, server in servers.items():
                running.wait(name, 2)
                server.stop()
            before = len(recorded(beside))

            def told(name: str) -> bool:
                return f"No answer from {name}" in running.state(name).progress.error

            assert eventually(lambda: all(told(name) for name in servers), PATIENCE_S)
            assert eventually(lambda: len(recorded(beside)) >= before + 2, PATIENCE_S)
            for server in servers.values():
                server.start()
            views = running.pause()

            def done() -> bool:
                return all(not state.behind and not state.progress.error for state in running.sinks.states())

            assert eventually(done, PATIENCE_S), running.sinks.states()
            samples = recorded(beside)
        assert samples == list(range(1, len(samples) + 1))
        for name, view in views.items():
            assert view is not None
            group = view.group("slow")
            assert group is not None
            query = f"SELECT * FROM burrow_group WHERE cluster = '{name}' AND \"group\" = 'slow'"
            points = [(row["time"], row["total_lag"]) for row in influxdb.rows(query, "lag")]
            labels = f'cluster="{name}",consumer_group="slow"'
            (pushed,) = other.samples(f"burrow_kafka_consumer_lag_total{{{labels}}}").values()
            # the same lags as of the same moments in both, one for each sample
            assert points == pushed
            assert len({time for time, _ in points}) == len(points) == len(samples)
            assert points[-1] == (view.as_of_ms, group.totallag) == (view.as_of_ms, 10)
