"""Documents in a real Elasticsearch: complete, once, and the same numbers as everywhere else."""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from pydantic import SecretStr
from pyspark.sql import SparkSession
from tests.integration.pipeline.hands import Hands, commit, pipeline_settings, reading
from tests.integration.sinks.frame import PATIENCE_S, running_sinks
from tests.integration.sinks.test_killed import writing
from tests.processes import eventually
from tests.search_server import PASSWORD, USER, SearchServer
from tests.unit.sinks.samples import example_tables, example_view

from warren.cli.attempts import Outcome, run_probes
from warren.cli.probes import probes
from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import ElasticsearchSink, ParquetSink
from warren.demo.broker import Broker
from warren.service import Service
from warren.sinks.kinds import kind_of
from warren.sinks.tables import Tables, Tabulator
from warren.sinks.writer import Batch, TryAgainError, Written

pytestmark = pytest.mark.xdist_group("elasticsearch")

# of one example: groups, heads, partitions of groups
ROWS = 2 + 4 + 3


def sink(at: SearchServer, name: str, **keys: Any) -> ElasticsearchSink:
    return ElasticsearchSink.model_validate(
        {"class-name": "elasticsearch", "urls": [at.url], "index": f"{name}-%Y.%m.%d", "interval": 1} | keys
    )


def write(settings: ElasticsearchSink, tables: Tables | None = None) -> Written:
    kind = kind_of(settings, Settings())
    return kind.writer().write(Batch(1, 0, tables or example_tables(at_ms=now_ms())))


def refusal(settings: ElasticsearchSink) -> str:
    with pytest.raises(TryAgainError) as caught:
        write(settings)
    return str(caught.value)


def tried(settings: ElasticsearchSink) -> Outcome:
    (outcome,) = run_probes(list(probes(Settings(sink={"s": settings}))), 10)
    return outcome


@pytest.fixture
def name() -> str:
    """The beginning of the names of a test's own indices."""
    return f"t{uuid.uuid4().hex[:12]}"


def test_the_lag_is_that_of_the_snapshot(elasticsearch: SearchServer, name: str) -> None:
    at_ms = now_ms()
    view = example_view(at_ms=at_ms)
    assert write(sink(elasticsearch, name), Tabulator().tables(view)) == Written(ROWS)
    day = pd.Timestamp(at_ms, unit="ms")
    found = elasticsearch.documents(f"{name}-{day:%Y.%m.%d}")
    assert len(found) == ROWS
    lags = {
        each["tag"]["group"]: each["burrow_group"]["total_lag"]
        for each in found
        if each["measurement_name"] == "burrow_group"
    }
    assert lags == {group: view.group(group).totallag for group in view.groups()} == {"fast": 0, "slow": 10}  # type: ignore[union-attr]
    assert {pd.Timestamp(each["@timestamp"]).value // 1_000_000 for each in found} == {at_ms}


def test_a_sample_that_is_written_again_changes_nothing(elasticsearch: SearchServer, name: str) -> None:
    tables = example_tables(at_ms=now_ms())
    settings = sink(elasticsearch, name, **{"batch-size": 2})
    assert write(settings, tables) == write(settings, tables) == Written(ROWS)
    elasticsearch.request("POST", f"{name}*/_refresh")
    hits = elasticsearch.request("POST", f"{name}*/_search?version=true", {"size": 100})["hits"]["hits"]
    assert [hit["_version"] for hit in hits] == [1] * ROWS


def test_dashboards_find_the_fields_that_telegraf_makes(elasticsearch: SearchServer, name: str) -> None:
    write(sink(elasticsearch, name, tags={"usage": "prod"}))
    (index,) = elasticsearch.request("GET", f"{name}*/_mapping").values()
    fields = elasticsearch.request("GET", f"{name}*/_field_caps?fields=*")["fields"]
    types = {field: [*kinds] for field, kinds in fields.items() if not field.startswith("_")}
    keywords = ["measurement_name", *(f"tag.{each}" for each in ("cluster", "group", "owner", "usage"))]
    # with Telegraf's template, and without any
    assert {types[each][0] for each in keywords} == {types[f"{each}.keyword"][0] for each in keywords}
    assert {types[each][0] for each in keywords} == {"keyword"}
    assert types["@timestamp"] == ["date"]
    assert types["burrow_group.total_lag"] == types["burrow_topic.offset"] == ["long"]
    assert types["burrow_partition.status"] == ["text"]
    assert index["mappings"]["properties"]["burrow_group"]["properties"]["offset"]["index"] is False
    # the query of a panel: lag by group
    elasticsearch.request("POST", f"{name}*/_refresh")
    answer = elasticsearch.request(
        "POST",
        f"{name}*/_search?size=0",
        {
            "query": {"query_string": {"query": "measurement_name:burrow_group AND burrow_group.status:err"}},
            "aggs": {
                "group": {
                    "terms": {"field": "tag.group.keyword"},
                    "aggs": {"lag": {"max": {"field": "burrow_group.total_lag"}}},
                }
            },
        },
    )
    lags = {each["key"]: each["lag"]["value"] for each in answer["aggregations"]["group"]["buckets"]}
    assert lags == {"slow": 10}


def test_a_template_of_somebody_else_stays(elasticsearch: SearchServer, name: str) -> None:
    own = {"index_patterns": [f"{name}-*"], "template": {"mappings": {"_meta": {"mine": True}}}}
    elasticsearch.request("PUT", f"_index_template/{name}", own)
    write(sink(elasticsearch, name))
    (index,) = elasticsearch.request("GET", f"{name}*/_mapping").values()
    assert index["mappings"]["_meta"] == {"mine": True}


def test_a_template_that_is_deleted_meanwhile_is_put_again(elasticsearch: SearchServer, name: str) -> None:
    settings = sink(elasticsearch, name)
    writer = kind_of(settings, Settings()).writer()
    for number in (1, 2):
        writer.write(Batch(number, now_ms(), example_tables(at_ms=now_ms())))
        assert elasticsearch.request("GET", f"_index_template/{name}")["index_templates"]
        elasticsearch.request("DELETE", f"_index_template/{name}")


def test_a_mapping_that_does_not_fit_rejects_those_documents_and_no_other(
    elasticsearch: SearchServer, name: str
) -> None:
    index = f"{name}-%Y.%m.%d"
    day = pd.Timestamp(now_ms(), unit="ms").strftime(index)
    other = {"mappings": {"properties": {"burrow_group": {"properties": {"status": {"type": "ip"}}}}}}
    elasticsearch.request("PUT", day, other)
    written = write(sink(elasticsearch, name))
    assert (written.rows, written.rejected) == (ROWS - 2, 2)
    assert "failed to parse field [burrow_group.status] of type [ip]" in written.reason
    assert len(elasticsearch.documents(day)) == ROWS - 2


def test_a_read_only_index_is_waited_for(elasticsearch: SearchServer, name: str) -> None:
    settings = sink(elasticsearch, name)
    write(settings)
    # what a server does when its disk is full
    elasticsearch.request("PUT", f"{name}*/_settings", {"index.blocks.read_only_allow_delete": True})
    said = refusal(settings)
    assert "answered 429: index [" in said
    assert said.endswith("when there is space, remove the block (index.blocks)")
    elasticsearch.request("PUT", f"{name}*/_settings", {"index.blocks.read_only_allow_delete": None})
    assert write(settings) == Written(ROWS)


def test_a_login_is_tried(elasticsearch: SearchServer, name: str) -> None:
    known = {"username": USER, "password": SecretStr(PASSWORD)}
    assert write(sink(elasticsearch, name, **known)) == Written(ROWS)
    right = tried(sink(elasticsearch, name, **known))
    assert (right.reached, right.detail) == (True, f"Elasticsearch 8.6.2, index template {name} is there")
    first = tried(sink(elasticsearch, f"new-{name}"))
    assert first.detail == f"Elasticsearch 8.6.2, index template new-{name} is put with the first sample"
    unknown = sink(elasticsearch, name, username=USER, password=SecretStr("a wrong one"))
    said = refusal(unknown)
    assert "answered 401: " in said
    assert said.endswith("; check username and password")
    assert "a wrong one" not in said
    outcome = tried(unknown)
    assert not outcome.reached
    assert "answered 401: " in outcome.detail


def test_stopped_and_started_again_nothing_is_missing_and_nothing_twice(
    elasticsearch: SearchServer, name: str, broker: Broker, tmp_path: Path
) -> None:
    hands = Hands(broker)
    topic, offsets = hands.make(f"{name}-orders"), hands.make(f"{name}-offsets")
    hands.fill(topic, 20)
    hands.write(offsets, [commit(name, topic, 5)])
    history = tmp_path / "history"
    settings = pipeline_settings(
        tmp_path / "checkpoint", {"live": broker}, {"own": reading("live", broker, offsets_topic=offsets)}
    ).model_copy(
        update={
            "sink": {
                "history": ParquetSink(path=str(history), interval=1),
                "search": sink(elasticsearch, name, **{"group-allowlist": f"^{name}$"}),
            }
        }
    )

    def history_files() -> int:
        return len(list(history.glob("groups/cluster=live/*/*.parquet")))

    with Service(settings) as service:
        (url,) = service.urls.values()

        def state() -> dict[str, Any]:
            sinks = httpx.get(f"{url}/v4/health").json()["sinks"]
            return next(each for each in sinks if each["sink"] == "search")

        assert eventually(lambda: state()["samples"] >= 2, PATIENCE_S, 0.2), state()
        elasticsearch.stop()
        try:
            # a request that was on its way is cut off, the next one is refused
            refused = "Connection refused; check urls and that it runs"
            assert eventually(lambda: refused in state()["error"], PATIENCE_S, 0.2), state()
            before = history_files()
            # the other sink does not notice
            assert eventually(lambda: history_files() >= before + 2, PATIENCE_S, 0.2)
        finally:
            elasticsearch.start()
        assert eventually(
            lambda: state()["error"] == "" and state()["samples"] >= before + 2, PATIENCE_S, 0.2
        ), state()
        lag = httpx.get(f"{url}/v3/kafka/live/consumer/{name}/lag").json()["status"]["totallag"]
    rows = [
        (each["@timestamp"], each["burrow_group"]["total_lag"])
        for each in elasticsearch.documents(f"{name}*", query={"term": {"measurement_name": "burrow_group"}})
    ]
    frame = pd.read_parquet(history / "groups")
    groups = frame[frame["group"] == name]
    wanted = {
        (f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z", total)
        for at, total in zip(groups["time"], groups["total_lag"], strict=True)
    }
    assert len(set(rows)) == len(rows)
    # either may have been stopped before its last sample
    last = min(max(rows), max(wanted))
    assert {each for each in rows if each <= last} == {each for each in wanted if each <= last}
    assert {total for _, total in rows} == {lag} == {15}


def test_killed_in_the_middle_of_a_write_every_document_is_there_once(
    session: SparkSession, elasticsearch: SearchServer, name: str, tmp_path: Path
) -> None:
    # several requests for each sample
    settings = sink(elasticsearch, name, **{"batch-size": 2})

    def times() -> Counter[tuple[str, str]]:
        """(cluster, time): documents."""
        if not elasticsearch.request("GET", f"_cat/indices/{name}*?format=json"):
            return Counter()
        found = elasticsearch.documents(f"{name}*")
        return Counter((each["tag"]["cluster"], each["@timestamp"]) for each in found)

    with writing(tmp_path, settings):
        assert eventually(lambda: len(times()) >= 6, PATIENCE_S, 0.2), (tmp_path / "child.log").read_text()
        # anywhere between two samples
        time.sleep(random.random())
    with running_sinks(session, tmp_path, {"h": settings}, "east", "west") as running:
        running.wait("h", 2)
    samples = running.state("h").progress.number
    found = times()
    assert max(found.values()) == ROWS
    for cluster in ("east", "west"):
        counts = [found[each] for each in sorted(found) if each[0] == cluster]
        # the stop may have cut off a sample behind the last one that counts as written
        assert counts[:samples] == [ROWS] * samples
