"""The pages of topics, incidents, notifiers and this Warren in a real Chromium, with a real notifier behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.chromium import LAPTOP, PHONE, Visitor, axe_violations
from tests.e2e.pages.conftest import Visit
from tests.e2e.pages.world import HOSTILE, World, cast, simulated
from tests.processes import eventually
from tests.receivers.http import HttpReceiver, Reply
from tests.simulated import Habit, Reader

from warren.config.modules import HttpNotifier
from warren.httpserver.v4 import notifiers

expect.set_options(timeout=20_000)

REFUSED = "The receiver answered HTTP 403"


@pytest.fixture(scope="module")
def receiver() -> Iterator[HttpReceiver]:
    with HttpReceiver() as running:
        yield running


@pytest.fixture(scope="module")
def world(receiver: HttpReceiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One cluster with an incident that is over, open ones, and a notifier whose receiver refuses."""
    hostile = Reader(HOSTILE[0], "orders", Habit.STOPS)
    readers = [
        *(each for each in cast() if each.group != HOSTILE[0]),
        hostile,
        Reader("over", "orders", Habit.STICKS),
    ]
    refusing = HttpReceiver(responder=lambda _: Reply(403, b"no entry"))
    url = f"{receiver.url}/S3CR3T"
    every: dict[str, Any] = {"interval": 1, "send_interval": 3600}
    hooks = {
        "ops": HttpNotifier(url_open=url, url_close=url, send_close=True, **every),
        "pager": HttpNotifier(url_open=f"{refusing.url}/S3CR3T", **every),
    }
    folder = tmp_path_factory.mktemp("incidents")
    with refusing, World([simulated(readers, "production")], notifiers=dict(hooks), folder=folder) as running:
        assert eventually(lambda: len(incidents(running)) == 6, 30)
        running.reader("over").habit = Habit.KEEPS_UP
        running.step(12)
        assert eventually(lambda: any(each.end_ms for each in incidents(running)), 30)
        yield running


def incidents(world: World) -> list[Any]:
    assert world.notifying is not None
    return world.notifying.incidents()


def incident_of(world: World, group: str) -> Any:
    return next(each for each in incidents(world) if each.group == group)


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_incidents_are_listed_with_durations_and_lead_to_their_evidence(visit: Visit, world: World) -> None:
    page = visit().open("/incidents")
    expect(page.get_by_role("heading", level=1)).to_have_text("5 open incidents")
    expect(page).to_have_title(re.compile("5 open"))
    past = page.get_by_role("table", name="Past incidents")
    expect(past.get_by_role("row")).to_have_count(2)
    expect(row(page, "over")).to_contain_text("OK again")
    expect(row(page, "over")).to_contain_text(re.compile(r"\d+ s"))
    expect(row(page, "fraud-check")).to_contain_text("1 failed")
    page.get_by_role("button", name="Past").click()
    expect(page).to_have_url(re.compile(r"/incidents\?state=past$"))
    expect(page.get_by_role("table", name="Open incidents")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("table", name="Open incidents")).to_be_visible()
    page.get_by_role("searchbox", name="Group").fill("fraud*")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"group=fraud"))
    expect(page.get_by_role("table", name="Past incidents")).to_have_count(0)
    row(page, "fraud-check").get_by_role("link").click()
    expect(page).to_have_url(f"{world.url}/incidents/{incident_of(world, 'fraud-check').id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("fraud-check")


def test_an_incident_keeps_its_windows_and_what_was_sent(
    visit: Visit, world: World, receiver: HttpReceiver
) -> None:
    over = incident_of(world, "over")
    # the link in the message leads to the page
    linked = [json.loads(each.body)["link"] for each in receiver.received]
    assert f"{world.url}/incidents/{over.id}" in linked
    page = visit().open(f"/incidents/{over.id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("over")
    opening = page.get_by_role("region", name="At its opening")
    expect(opening).to_contain_text("STALL: All 10 commits have offset")
    expect(opening).to_contain_text("What would change it:")
    drawing = opening.get_by_role("img", name=re.compile("Window of partition")).first
    expect(drawing).to_be_visible()
    assert drawing.locator("circle.decided").count() == 10
    end = page.get_by_role("region", name="At its end")
    expect(end).to_contain_text("OK: The last committed offset")
    sent = page.get_by_role("region", name="What was sent to whom")
    expect(sent).to_contain_text("the end to ops")
    expect(sent).to_contain_text(REFUSED)
    page.get_by_role("link", name="over", exact=True).click()
    expect(page).to_have_url(re.compile(r"/clusters/production/groups/over$"))


def test_an_open_incident_that_ends_under_the_reader_says_so(visit: Visit, world: World) -> None:
    mailer = incident_of(world, "mailer")
    page = visit().open(f"/incidents/{mailer.id}")
    expect(page.get_by_text("Open since")).to_be_visible()
    expect(page.get_by_role("region", name="At its end")).to_have_count(0)
    world.reader("mailer").habit = Habit.KEEPS_UP
    world.step(12)
    expect(page.get_by_text(re.compile("it ended: OK again"))).to_be_visible()
    expect(page.get_by_role("region", name="At its end")).to_be_visible()
    world.reader("mailer").habit = Habit.STICKS


def test_a_topic_shows_who_reads_it_and_how_far_behind_each_is(visit: Visit, world: World) -> None:
    page = visit().open("/clusters/production/topics/orders")
    expect(page.get_by_role("heading", level=1)).to_have_text("orders")
    readers = page.get_by_role("table", name="Groups that read the topic")
    expect(readers.get_by_role("row")).to_have_count(len(world.clusters[0].view.consumers_of("orders")) + 1)
    expect(row(page, "fraud-check")).to_contain_text("STOP")
    expect(row(page, "billing")).to_contain_text("OK")
    expect(page.get_by_role("table", name="Partitions of the topic").get_by_role("row")).to_have_count(3)
    world.step(2)
    expect(page.get_by_role("region", name="In short")).to_contain_text("a second")
    expect(row(page, "fraud-check")).to_contain_text("≈")
    # hostile names are text here, too
    expect(row(page, HOSTILE[0])).to_be_visible()
    row(page, "fraud-check").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/clusters/production/groups/fraud-check$"))
    page.get_by_role("link", name="All readers of orders").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders")


def test_this_warren_with_trigger_times_and_no_secret(visit: Visit) -> None:
    page = visit().open("/about")
    expect(page.get_by_role("img", name=re.compile("Trigger times from"))).to_be_visible()
    expect(page.get_by_role("region", name="Trigger times")).to_contain_text("median 3")
    expect(row(page, "production")).to_contain_text("healthy")
    expect(page.get_by_text("nothing is written anywhere")).to_be_visible()
    expect(page.get_by_role("region", name="Configuration")).to_contain_text("[notifier.ops]")
    assert "S3CR3T" not in page.content()
    row(page, "pager").get_by_role("link").click()
    expect(page).to_have_url(re.compile("/notifiers/pager$"))


def test_a_notifier_says_why_its_last_message_failed_and_is_tried(
    visit: Visit, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifiers, "BETWEEN_S", 0.0)
    page = visit().open("/notifiers/pager")
    failed = page.get_by_role("region", name="Why the last message failed")
    expect(failed).to_contain_text(f'{REFUSED}: "no entry"')
    tried = page.get_by_role("region", name="Try it")
    tried.get_by_role("button", name="Send a sample").click()
    expect(tried).to_contain_text(re.compile("not sent after"))
    expect(tried).to_contain_text(REFUSED)
    expect(tried).to_contain_text("would not be tried again")
    page.goto(page.url.replace("pager", "ops"))
    expect(page.get_by_role("heading", name="No message has failed")).to_be_visible()
    before = len(receiver.received)
    tried.get_by_label("Status of the sample").select_option("ERR")
    tried.get_by_role("button", name="Send a sample").click()
    expect(tried).to_contain_text(re.compile("sent after .* HTTP 200"))
    tried.get_by_text("What was sent").click()
    expect(tried).to_contain_text("warren-notify-test")
    assert "S3CR3T" not in page.content()
    assert len(receiver.received) == before + 1
    assert json.loads(receiver.received[-1].body)["status"] == "ERR"


def test_a_reader_may_not_try_a_notifier(browser: Browser, tmp_path: Path) -> None:
    hooks = {"ops": HttpNotifier(interval=60, url_open="http://127.0.0.1:9/")}
    token = {"admin-token": "4dm1n"}
    quiet = [simulated([Reader("billing", "orders", Habit.KEEPS_UP)], "production")]
    with World(quiet, token, notifiers=dict(hooks), folder=tmp_path) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open("/notifiers/ops")
        expect(page.get_by_text("Only an administrator may send one")).to_be_visible()
        expect(page.get_by_role("button", name="Send a sample")).to_be_hidden()
        expect(page.get_by_role("heading", name="No message has failed")).to_be_visible()
        visitor.open("/incidents")
        expect(page.get_by_role("heading", name="No incident yet")).to_be_visible()
        visitor.close()


PATHS = (
    "/incidents",
    "/incidents/{open}",
    "/incidents/{past}",
    "/about",
    "/notifiers/pager",
    "/clusters/production/topics/orders",
)


@pytest.mark.parametrize(("size", "scheme"), [(LAPTOP, "light"), (PHONE, "dark")])
def test_nothing_is_wider_than_the_window_and_axe_finds_nothing_serious(
    visit: Visit, world: World, size: tuple[int, int], scheme: str
) -> None:
    visitor = visit(size=size, color_scheme=scheme)
    ids = {"open": incident_of(world, HOSTILE[0]).id, "past": incident_of(world, "over").id}
    for path in PATHS:
        page = visitor.open(path.format(**ids))
        expect(page.locator("main section").first).to_be_visible()
        expect(page.locator("main")).to_contain_text(re.compile("OK|healthy|HTTP"))
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0], path
        assert axe_violations(page) == [], path


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/incidents/none", "There is no such incident"),
        ("/clusters/production/topics/none", "There is no such topic"),
        ("/notifiers/none", "There is no such notifier"),
        ("/incidents?group=none", "No such incident"),
    ],
)
def test_what_is_not_there_says_what_to_do(visit: Visit, path: str, heading: str) -> None:
    page = visit().open(path)
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.locator("main .empty").get_by_role("link")).to_be_visible()
