"""All of it together: a broker, a group, the API and the history say the same."""

from __future__ import annotations

from pathlib import Path

import httpx
import pandas as pd
from tests.integration.pipeline.hands import PATIENCE_S, Hands, commit, pipeline_settings, reading
from tests.integration.sinks.test_kafka import committed, made_topic
from tests.processes import eventually

from warren.config.modules import KafkaSink, ParquetSink
from warren.demo.broker import Broker
from warren.service import Service


def test_the_history_says_what_the_api_says(broker: Broker, tmp_path: Path) -> None:
    hands = Hands(broker)
    topic, offsets = hands.make("history-orders"), hands.make("history-offsets")
    hands.fill(topic, 20)
    hands.write(offsets, [commit("history-group", topic, 5)])
    history, stream = tmp_path / "history", made_topic(broker)
    settings = pipeline_settings(
        tmp_path / "checkpoint", {"live": broker}, {"own": reading("live", broker, offsets_topic=offsets)}
    ).model_copy(
        update={
            "sink": {
                "history": ParquetSink(path=str(history), interval=1),
                "stream": KafkaSink(servers=(broker.bootstrap_servers,), topic=stream, interval=1),
            }
        }
    )
    with Service(settings) as service:
        (url,) = service.urls.values()

        def written() -> bool:
            return any(history.glob("partitions/cluster=live/*/*.parquet")) and bool(
                committed(broker, stream)
            )

        assert eventually(written, PATIENCE_S, 0.5)
        lag = httpx.get(f"{url}/v3/kafka/live/consumer/history-group/lag").json()["status"]["totallag"]
        health = httpx.get(f"{url}/v4/health").json()["sinks"]
        metrics = httpx.get(f"{url}/metrics").text
    frame = pd.read_parquet(history / "partitions")
    rows = frame[(frame["group"] == "history-group") & (frame["topic"] == topic)]
    assert set(rows["lag"]) == {lag} == {15}
    # the same lag of the group at the same moment
    at_ms = {int(moment.timestamp() * 1000) for moment in rows["time"]}
    records = {
        value["time"]: value["lag"]
        for _, value, _ in committed(broker, stream)
        if (value["kind"], value.get("group"), value.get("topic")) == ("partition", "history-group", topic)
    }
    assert at_ms & set(records)
    assert set(records.values()) == {lag}
    assert (health[0]["sink"], health[0]["error"], health[0]["samples"] > 0) == ("history", "", True)
    assert 'warren_sink_up{sink="history"} 1.0' in metrics
