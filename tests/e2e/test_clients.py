"""The demo as its clients see it: Burrow's pages, /v4, a browser, the terminal, and a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import msgspec
import pytest
from playwright.sync_api import expect
from tests.chromium import Visitor, chromium
from tests.e2e.playing import playing, settled
from tests.processes import eventually
from tests.prometheus import PrometheusServer
from tests.unit.httpserver.captures import captures
from typer.testing import CliRunner

from warren.cli.main import app
from warren.demo.stage import CLUSTER, Stage
from warren.httpserver.v4 import shapes

KAFKA = f"/v3/kafka/{CLUSTER}"


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with playing() as stage:
        yield stage


@pytest.fixture(scope="module")
def client(stage: Stage) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stage.url, timeout=30) as client:
        yield client


# capture: where the demo has the like of it
ALIKE = {
    "admin": "/burrow/admin",
    "admin_ready": "/burrow/admin/ready",
    "kafka": "/v3/kafka",
    "kafka_cluster": KAFKA,
    "topics": f"{KAFKA}/topic",
    "topic_orders": f"{KAFKA}/topic/orders",
    "topic_orders_consumers": f"{KAFKA}/topic/orders/consumers",
    "consumers": f"{KAFKA}/consumer",
    "consumer_healthy": f"{KAFKA}/consumer/billing",
    "consumer_healthy_status": f"{KAFKA}/consumer/billing/status",
    "consumer_healthy_lag": f"{KAFKA}/consumer/billing/lag",
    "consumer_two-topics_lag": f"{KAFKA}/consumer/warehouse/lag",
    "consumer_kip848_lag": f"{KAFKA}/consumer/shipping/lag",
    "consumer_manual-assign_lag": f"{KAFKA}/consumer/backup/lag",
    "consumer_stuck_status": f"{KAFKA}/consumer/mailer/status",
    "consumer_dead_status": f"{KAFKA}/consumer/fraud-check/status",
    "consumer_rewinder_status": f"{KAFKA}/consumer/replayer/status",
    "consumer_slow_status": f"{KAFKA}/consumer/recommender/status",
    "err_consumer": f"{KAFKA}/consumer/nosuch",
    "err_consumer_status": f"{KAFKA}/consumer/nosuch/status",
    "err_consumer_lag": f"{KAFKA}/consumer/nosuch/lag",
    "err_topic": f"{KAFKA}/topic/nosuch",
    "err_topic_consumers": f"{KAFKA}/topic/nosuch/consumers",
    "err_cluster": "/v3/kafka/nosuch",
    "err_cluster_topics": "/v3/kafka/nosuch/topic",
    "err_path": "/v3/nosuch",
    "config": "/v3/config",
    "config_storage": "/v3/config/storage",
    "config_storage_default": "/v3/config/storage/default",
    "config_evaluator": "/v3/config/evaluator",
    "config_cluster": "/v3/config/cluster",
    "config_cluster_local": f"/v3/config/cluster/{CLUSTER}",
    "config_consumer": "/v3/config/consumer",
    "config_consumer_local": f"/v3/config/consumer/{CLUSTER}",
    "config_notifier": "/v3/config/notifier",
    "config_notifier_unknown": "/v3/config/notifier/nosuch",
    "loglevel_get": "/v3/admin/loglevel",
    "metrics": "/metrics",
}
# objects whose keys are names, which differ of course
KEYED_BY_NAME = frozenset({"topics", "httpserver", "extras"})


def shape(value: Any, key: str = "") -> Any:
    """Keys in their order and types of values; `?` where there is nothing to see."""
    if isinstance(value, dict):
        if key in KEYED_BY_NAME:
            return {"*": merged([shape(each) for each in value.values()])}
        return {name: shape(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [merged([shape(each) for each in value])]
    if value is None:
        return "?"
    return (
        "number" if isinstance(value, float | int) and not isinstance(value, bool) else type(value).__name__
    )


def merged(shapes_seen: list[Any]) -> Any:
    """Of several shapes the one that tells most."""
    return max(shapes_seen, key=lambda each: len(str(each)), default="?")


def fits(ours: Any, theirs: Any) -> bool:
    if "?" in (ours, theirs):
        return True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(fits(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return fits(ours[0], theirs[0])
    return bool(ours == theirs)


@pytest.mark.parametrize("name", ALIKE)
def test_the_answer_has_the_shape_of_burrows(client: httpx.Client, name: str) -> None:
    capture = captures()[name]
    answer = client.get(ALIKE[name])
    assert answer.status_code == capture.status
    assert answer.headers["content-type"] == capture.headers["content-type"]
    if isinstance(capture.body, dict):
        ours, theirs = shape(answer.json()), shape(capture.body)
        assert fits(ours, theirs), f"{ours}\n{theirs}"
    elif name != "metrics":
        assert answer.text == capture.body


# group: its rule, and the beginning of its sentence
REASONS = {
    "recommender": ("growing", "WARN: partition"),
    "fraud-check": ("stopped", "STOP: partition"),
    "mailer": ("stalled", "STALL: partition 0 of payments"),
    "replayer": ("rewound", "REWIND: partition"),
}


def test_a_browser_shows_every_group_in_its_status_and_why(stage: Stage) -> None:
    with chromium() as browser:
        visitor = Visitor(browser, stage.url)
        page = visitor.open()
        for actor in stage.traffic.cast:
            row = page.get_by_role("row").filter(has=page.get_by_text(actor.name, exact=True))
            expect(row.locator(".mark")).to_have_text(actor.status.name)
            expect(row.get_by_role("img", name=re.compile("lag in the last hour"))).to_be_visible()
        assert re.fullmatch(r"\d+ not OK · Warren", page.title())
        for group, (rule, sentence) in REASONS.items():
            page.get_by_role("link", name=group, exact=True).click()
            verdict = page.get_by_role("region", name="Verdict")
            expect(verdict).to_contain_text(sentence)
            expect(verdict.get_by_role("link", name=f"rule {rule}")).to_be_visible()
            expect(page.get_by_role("img", name=re.compile("Window of partition")).first).to_be_visible()
            expect(page.get_by_role("img", name=re.compile("Lag over time"))).to_be_visible()
            page.go_back()
        # billing's member is the owner of its partitions
        page.get_by_role("link", name="billing", exact=True).click()
        expect(page.get_by_role("region", name="Verdict")).to_contain_text("1 member")
        visitor.close()


def test_a_browser_shows_the_incidents_of_the_demo_with_their_windows(stage: Stage) -> None:
    with chromium() as browser:
        visitor = Visitor(browser, stage.url)
        page = visitor.open("/incidents")
        table = page.get_by_role("table", name="Open incidents")
        table.get_by_role("link", name="mailer", exact=True).first.click(timeout=20_000)
        # on a busy machine it may have begun by another rule
        opening = page.get_by_role("region", name="At its opening")
        expect(opening).to_contain_text("What would change it", timeout=20_000)
        expect(page.get_by_role("img", name=re.compile("Window of partition")).first).to_be_visible()
        visitor.open("/about")
        expect(page.get_by_role("img", name=re.compile("Trigger times from"))).to_be_visible(timeout=20_000)
        visitor.open(f"/clusters/{CLUSTER}/topics/payments")
        expect(page.get_by_role("region", name="In short")).to_contain_text("a second", timeout=20_000)
        visitor.close()


def test_an_open_page_follows_the_demo_without_a_reload(stage: Stage) -> None:
    with chromium() as browser:
        visitor = Visitor(browser, stage.url)
        page = visitor.open("/?q=recommender")
        lag = page.locator(".rows .row:not([hidden]) .lag span")
        expect(lag).to_have_text(re.compile(r"\d"))
        before = lag.inner_text()
        expect(lag).not_to_have_text(before)
        visitor.close()


def test_the_metrics_are_burrows_and_more(client: httpx.Client) -> None:
    def names(text: str) -> set[str]:
        return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}

    text = client.get("/metrics").text
    theirs = {name for name in names(cast("str", captures()["metrics"].body)) if name.startswith("burrow_")}
    assert theirs <= names(text)
    assert {"warren_records_total", "warren_trigger_seconds", "warren_groups"} <= names(text)
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


PAGES = {
    "/v4/health": shapes.Health,
    f"/v4/clusters/{CLUSTER}/groups": shapes.Groups,
    f"/v4/clusters/{CLUSTER}/groups/mailer": shapes.GroupDetail,
    f"/v4/clusters/{CLUSTER}/groups/mailer/topics/payments": shapes.GroupTopic,
    f"/v4/clusters/{CLUSTER}/groups/mailer/windows": shapes.GroupWindows,
    f"/v4/clusters/{CLUSTER}/topics/payments": shapes.Topic,
    f"/v4/clusters/{CLUSTER}/changes": shapes.Changes,
    "/v4/incidents": shapes.Incidents,
    "/v4/notifiers": shapes.Notifiers,
    "/v4/about": shapes.About,
}


@pytest.mark.parametrize("path", PAGES)
def test_v4_answers_as_it_is_described(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    decoded = msgspec.json.decode(answer.content, type=PAGES[path])
    assert json.loads(msgspec.json.encode(decoded)) == answer.json()


def test_v4_and_v3_say_the_same(client: httpx.Client, stage: Stage) -> None:
    def lines() -> dict[str, Any]:
        return {line["group"]: line for line in client.get(f"/v4/clusters/{CLUSTER}/groups").json()["groups"]}

    intended = {actor.name: actor.status.name for actor in stage.traffic.cast}
    assert eventually(lambda: {name: lines()[name]["status"] for name in intended} == intended, 60)
    for name, line in lines().items():
        verdict = client.get(f"{KAFKA}/consumer/{name}/lag").json()["status"]
        assert verdict["partition_count"] == line["partition_count"]
    page = client.get(f"/v4/clusters/{CLUSTER}/groups/mailer").json()
    for part in page["partitions"]:
        assert part["tail"] == 0
        assert part["head"] - part["end"]["offset"] == part["current_lag"]


def test_changes_are_told_as_they_happen(client: httpx.Client) -> None:
    since = client.get(f"/v4/clusters/{CLUSTER}/groups").json()["snapshot"]["cursor"]
    changes = client.get(f"/v4/clusters/{CLUSTER}/changes", params={"since": since, "wait": 25}).json()
    assert not changes["complete"]
    assert changes["groups"]
    assert changes["snapshot"]["cursor"] != since


def test_status_in_the_terminal(stage: Stage) -> None:
    shown = CliRunner().invoke(app, ["status", "--url", stage.url], env={"COLUMNS": "200"})
    assert shown.exit_code == 1
    found = [line.split()[0] for line in shown.output.splitlines()[1:] if line.strip()]
    assert {actor.name for actor in stage.traffic.cast} <= set(found)
    one = CliRunner().invoke(app, ["status", CLUSTER, "billing", "--url", stage.url, "--json"])
    assert one.exit_code == 0
    assert json.loads(one.output)["clusters"][0]["partitions"]


def test_the_log_level_is_set(client: httpx.Client) -> None:
    before = client.get("/v3/admin/loglevel").json()["level"]
    for level in ("error", before):
        answer = client.post("/v3/admin/loglevel", json={"level": level})
        assert shape(answer.json()) == shape(captures()["loglevel_post_good"].body)
        assert client.get("/v3/admin/loglevel").json()["level"] == level


def test_a_deleted_group_is_gone(client: httpx.Client) -> None:
    """One that commits no more, so that it does not come back."""
    assert "newcomer" in client.get(f"{KAFKA}/consumer").json()["consumers"]
    answer = client.delete(f"{KAFKA}/consumer/newcomer")
    assert shape(answer.json()) == shape(captures()["delete_consumer"].body)
    assert "newcomer" not in client.get(f"{KAFKA}/consumer").json()["consumers"]
    assert client.get(f"{KAFKA}/consumer/newcomer").status_code == 404


def test_prometheus_shows_the_lag_that_the_api_shows(
    stage: Stage, client: httpx.Client, tmp_path: Path
) -> None:
    """The last test of the play: the traffic ends, so that two who look one after the other see the same."""
    settled(stage)

    def expected() -> dict[str, int]:
        groups = client.get(f"/v4/clusters/{CLUSTER}/groups").json()["groups"]
        return {line["group"]: line["totallag"] for line in groups}

    assert any(expected().values())
    with PrometheusServer(tmp_path, stage.url) as server:
        asked = server.instant

        def lags() -> dict[str, int]:
            found = asked(f'burrow_kafka_consumer_lag_total{{cluster="{CLUSTER}"}}')
            return {each["metric"]["consumer_group"]: int(each["value"][1]) for each in found}

        assert eventually(lambda: lags() == expected(), 30), (lags(), expected())
        for group in expected():
            partitions = client.get(f"{KAFKA}/consumer/{group}/lag").json()["status"]["partitions"]
            series = asked(f'burrow_kafka_consumer_partition_lag{{consumer_group="{group}"}}')
            assert {
                (each["metric"]["topic"], int(each["metric"]["partition"])): int(each["value"][1])
                for each in series
            } == {(part["topic"], part["partition"]): part["current_lag"] for part in partitions}
        assert [each["value"][1] for each in asked(f'warren_cluster_up{{cluster="{CLUSTER}"}}')] == ["1"]
        assert [each["value"][1] for each in asked('up{job="warren"}')] == ["1"]
