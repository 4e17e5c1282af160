"""Series pushed to a real Prometheus: those of /metrics, complete, once, and a sentence for what can be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from tests.integration.httpserver.test_server import local, serving
from tests.integration.sinks.remote_write import RemoteWriteServer
from tests.receivers.http import HttpReceiver, Reply
from tests.unit.httpserver.memory import MemoryAnswers
from tests.unit.sinks.samples import example_tables, example_view

from warren.cli.attempts import Outcome, run_probes
from warren.cli.probes import probes
from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import PrometheusSink
from warren.sinks.kinds import kind_of
from warren.sinks.tables import Tables, Tabulator
from warren.sinks.writer import Batch, TryAgainError, Written

pytestmark = pytest.mark.xdist_group("prometheus")

# of the example: two groups, four topic partitions, three windows, two, one and three series each
SERIES = 2 * 2 + 4 + 3 * 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteWriteServer]:
    with RemoteWriteServer(tmp_path_factory.mktemp("prometheus")) as running:
        yield running


def write(sink: PrometheusSink, tables: Tables | None = None) -> Written:
    kind = kind_of(sink, Settings())
    return kind.writer().write(Batch(1, 0, tables or example_tables(at_ms=now_ms())))


def refusal(sink: PrometheusSink) -> str:
    with pytest.raises(TryAgainError) as caught:
        write(sink)
    return str(caught.value)


def tried(sink: PrometheusSink) -> Outcome:
    (outcome,) = run_probes(list(probes(Settings(sink={"s": sink}))), 5)
    return outcome


def test_the_series_are_those_of_metrics(server: RemoteWriteServer) -> None:
    view = example_view("same", now_ms())
    with serving(answers=MemoryAnswers(["same"], {"same": view}), httpserver={"a": local()}) as api:
        text = httpx.get(f"{api.urls['a']}/metrics").text
    expected = {
        frozenset((sample.labels | {"__name__": sample.name}).items()): [(view.as_of_ms, sample.value)]
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("burrow_")
        # it has no commit on this one: a lag of 0 stands for none there
        and (sample.labels.get("consumer_group"), sample.labels.get("partition")) != ("slow", "1")
    }
    tables = Tabulator().tables(view)
    # again, in parts of another size: it changes nothing
    for size in (5000, 2):
        sink = PrometheusSink(url=server.write_url, batch_size=size)
        assert write(sink, tables) == Written(SERIES)
        assert server.samples('{cluster="same"}') == expected
    assert len(expected) == SERIES


def test_tags_are_labels_with_names_that_prometheus_takes(server: RemoteWriteServer) -> None:
    tags = {"usage": "log stash", "my-team": "a", "0day": "b", "empty": "", "cluster": "other"}
    assert write(PrometheusSink(url=server.write_url, tags=tags), example_tables("tagged", now_ms()))
    found = [dict(labels) for labels in server.samples('{cluster="tagged"}')]
    assert len(found) == SERIES
    for labels in found:
        assert (labels["usage"], labels["my_team"], labels["_0day"]) == ("log stash", "a", "b")
        assert "empty" not in labels


def test_names_come_as_they_are(server: RemoteWriteServer) -> None:
    name = 'grøup "x" \\ a\nb'
    view = example_view(name, now_ms())
    assert write(PrometheusSink(url=server.write_url), Tabulator().tables(view)) == Written(SERIES)
    found = {dict(labels)["cluster"] for labels in server.samples('{cluster=~"(?s)gr.*"}')}
    assert found == {name}


def test_an_older_sample_that_comes_again_counts_as_written(server: RemoteWriteServer) -> None:
    sink, at_ms = PrometheusSink(url=server.write_url), now_ms()
    for time_ms in (at_ms - 2_000, at_ms - 1_000, at_ms - 2_000):
        assert write(sink, example_tables("older", time_ms)) == Written(SERIES)
    times = {tuple(time for time, _ in found) for found in server.samples('{cluster="older"}').values()}
    assert times == {(at_ms - 2_000, at_ms - 1_000)}


def test_a_sample_that_is_too_old_is_rejected(server: RemoteWriteServer) -> None:
    write(PrometheusSink(url=server.write_url))
    written = write(PrometheusSink(url=server.write_url), example_tables("old", 1_000_000))
    assert (written.rows, written.rejected) == (0, SERIES)
    assert "out of bounds" in written.reason


def test_a_server_without_remote_write_is_told(server: RemoteWriteServer, tmp_path: Path) -> None:
    assert tried(PrometheusSink(url=server.write_url)).detail == "takes remote write"
    with RemoteWriteServer(tmp_path, enabled=False) as other:
        said = refusal(PrometheusSink(url=other.write_url))
        assert "HTTP 404" in said
        assert "--web.enable-remote-write-receiver" in said
        assert tried(PrometheusSink(url=other.write_url)).reached is False


def test_logins_and_headers() -> None:
    with HttpReceiver() as receiver:
        receiver.answer(Reply(204))
        secret = SecretStr("hush-hush")
        write(PrometheusSink(url=receiver.url, username="warren", password=secret))
        write(PrometheusSink(url=receiver.url, token=secret, headers={"X-Scope-OrgID": SecretStr("team-a")}))
        requests = receiver.received
        assert (requests[0].header("Authorization") or "").startswith("Basic ")
        assert requests[-1].header("Authorization") == "Bearer hush-hush"
        assert requests[-1].header("X-Scope-OrgID") == "team-a"
        assert requests[-1].header("Content-Encoding") == "snappy"
        receiver.answer(Reply(401, b"token hush-hush is not valid"))
        said = refusal(PrometheusSink(url=receiver.url, token=secret))
        assert said.endswith("401: token REDACTED is not valid; check username and password, or token")
        kind = kind_of(PrometheusSink(url=receiver.url, token=secret), Settings())
        assert "hush" not in repr(kind)


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(429, b"slow down"), "HTTP 429: slow down; write less often"),
        (Reply(503, b"<html>", (("Content-Type", "text/html"),)), "HTTP 503; see its log"),
        (Reply(400, b"<html>", (("Content-Type", "text/html"),)), "HTTP 400; check url"),
        (Reply(200, fault="close"), "check url and that it runs"),
    ],
)
def test_what_may_be_better_later_is_tried_again(reply: Reply, sentence: str) -> None:
    with HttpReceiver() as receiver:
        receiver.answer(reply)
        assert sentence in refusal(PrometheusSink(url=receiver.url, timeout=1))
