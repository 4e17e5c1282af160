"""The web pages in a real Chromium, over simulated clusters: what they show, keep, follow and refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.chromium import LAPTOP, PHONE, Visitor, axe_violations
from tests.e2e.pages.conftest import Visit
from tests.e2e.pages.world import CAST, HOSTILE, World, cast, simulated, ten_thousand
from tests.simulated import Habit, Reader

from warren.httpserver.v4 import feed, stream


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Two clusters; whoever changes a group changes one of its own."""
    spare = [Reader(f"spare-{number}", "orders", Habit.KEEPS_UP) for number in range(3)]
    others = [Reader(f"reader-{number:03d}", "events", Habit.KEEPS_UP) for number in range(60)]
    with World([simulated(cast() + spare, "production"), simulated(others, "staging")]) as running:
        yield running


def rows(page: Page) -> list[str]:
    """The groups of the table, from the top."""
    found = page.locator(".rows .row:not([hidden])").evaluate_all(
        "rows => rows.map(row => [Number(row.ariaRowIndex), row.querySelector('.group a').textContent])"
    )
    return [name for _, name in sorted(found)]


def row(page: Page, group: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_text(group, exact=True))


def group_path(cluster: str, group: str) -> str:
    return f"/clusters/{quote(cluster, safe='')}/groups/{quote(group, safe='')}"


def test_every_group_has_its_status_and_the_worst_come_first(visit: Visit) -> None:
    page = visit().open()
    expect(page.get_by_role("heading", level=1)).to_have_text("4 of 73 groups are not OK")
    for group, (_, status) in CAST.items():
        expect(row(page, group).locator(".mark")).to_have_text(status)
    assert set(rows(page)[:3]) == {"fraud-check", "mailer", "replayer"}
    assert rows(page)[3] == "recommender"
    assert page.title() == "4 not OK · Warren"
    assert "err.svg" in page.evaluate("document.getElementById('favicon').href")
    cards = page.get_by_role("list", name="Clusters").get_by_role("listitem")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("healthy")
    expect(cards.first).to_contain_text("3 ERR")


def test_the_filter_is_in_the_address_and_the_back_button_undoes_it(visit: Visit) -> None:
    page = visit().open()
    page.get_by_role("button", name="Not OK").click()
    expect(page.locator("output.shown")).to_have_text("4 of 73 groups")
    expect(page).to_have_url(re.compile(r"/\?status=ERR,WARN$"))
    page.get_by_label("Only groups of this cluster").select_option("staging")
    expect(page.get_by_role("heading", name="No group matches")).to_be_visible()
    page.go_back()
    expect(page.locator("output.shown")).to_have_text("4 of 73 groups")
    page.get_by_role("searchbox", name="Filter groups by name").fill("MAIL")
    expect(page).to_have_url(re.compile(r"status=ERR,WARN&q=MAIL$"))
    assert rows(page) == ["mailer"]
    # a link that somebody sends
    page = visit().open("/?status=ERR&topic=payments&cluster=production")
    expect(page.locator("output.shown")).to_have_text("1 of 73 groups")
    assert rows(page) == ["mailer"]
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("output.shown")).to_have_text("73 groups")


def test_sorted_by_a_column_and_back(visit: Visit) -> None:
    page = visit().open("/?cluster=production")
    expect(page.locator("output.shown")).to_have_text("13 of 73 groups")
    head = page.get_by_role("columnheader", name="Group")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert rows(page) == sorted(rows(page), key=str.lower, reverse=True)
    head.get_by_role("button").click()
    expect(page).to_have_url(re.compile("sort=group"))
    assert rows(page) == sorted(rows(page), key=str.lower)
    page.get_by_role("columnheader", name="Lag").get_by_role("button").click()
    lags = page.locator(".rows .row:not([hidden]) .lag").all_inner_texts()
    assert max(int(each.replace(",", "")) for each in lags) > 999
    assert any("," in each for each in lags)


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit().open()
    expect(page.locator("output.shown")).to_have_text("73 groups")
    page.keyboard.press("/")
    page.keyboard.type("spare")
    expect(page.locator("output.shown")).to_have_text("3 of 73 groups")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".row[aria-selected=true] .group a")).to_have_text("spare-1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("spare-1")
    page.go_back()
    expect(page.locator("output.shown")).to_have_text("3 of 73 groups")
    # the way back leads to where the reader was
    expect(page.locator(".row[aria-selected=true] .group a")).to_have_text("spare-1")


def test_a_page_left_open_follows_a_change_and_stays_where_it_is(visit: Visit, world: World) -> None:
    visitor = visit()
    page = visitor.open()
    expect(page.locator("output.shown")).to_have_text("73 groups")
    page.evaluate("window.sameDocument = true")
    page.get_by_role("grid").focus()
    for _ in range(40):
        page.keyboard.press("ArrowDown")
    selected = page.locator(".row[aria-selected=true] .group a").inner_text()
    before = page.evaluate("scrollY")
    assert before > 500
    world.reader("spare-2").habit = Habit.STICKS
    world.reader("spare-2").at = {0: 9_000, 1: 9_000}
    world.step(12)
    expect(page).to_have_title("5 not OK · Warren")
    assert page.evaluate("scrollY") == before
    assert page.evaluate("window.sameDocument")
    assert page.locator(".row[aria-selected=true] .group a").inner_text() == selected
    page.evaluate("scrollTo(0, 0)")
    expect(row(page, "spare-2").locator(".mark")).to_have_text("ERR")
    expect(row(page, "spare-2").locator("time")).to_have_attribute("title", re.compile("GMT"))
    world.reader("spare-2").habit = Habit.KEEPS_UP
    world.step(12)
    expect(page).to_have_title("4 not OK · Warren")


@pytest.mark.parametrize(
    ("group", "status", "rule", "sentence"),
    [
        ("fraud-check", "STOP", "stopped", "The last commit is"),
        ("mailer", "STALL", "stalled", "does not move"),
        ("replayer", "REWIND", "rewound", "The offset fell from"),
        ("recommender", "WARN", "growing", "rises along a line"),
    ],
)
def test_a_group_says_why_with_numbers_and_shows_its_windows(
    visit: Visit, group: str, status: str, rule: str, sentence: str
) -> None:
    page = visit().open(group_path("production", group))
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict).to_contain_text(f"{status}: partition")
    expect(verdict).to_contain_text(sentence)
    expect(verdict).to_contain_text("What would change it")
    for name in ("Verdict", "Coordinator", "Completeness"):
        expect(verdict.get_by_role("term").filter(has_text=name)).to_be_visible()
    drawing = page.get_by_role("img", name=re.compile("Window of partition")).first
    expect(drawing).to_be_visible()
    assert drawing.locator("circle.commit").count() == 10
    assert drawing.locator("circle.decided").count() >= 2
    page.locator(".partition[open] .numbers summary").first.click()
    expect(page.get_by_role("table").first.get_by_role("row")).to_have_count(11)
    expect(page.get_by_role("link", name=f"/v4{group_path('production', group)}", exact=True)).to_be_visible()
    verdict.get_by_role("link", name=f"rule {rule}").click()
    expect(page).to_have_url(re.compile(f"/rules#{rule}$"))
    expect(page.locator(f"#{rule}")).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(group)


@pytest.mark.parametrize("group", HOSTILE)
def test_a_hostile_name_is_text_everywhere(visit: Visit, group: str) -> None:
    visitor = visit()
    page = visitor.open(f"/?q={quote(group, safe='')}")
    expect(page.locator("output.shown")).to_have_text("1 of 73 groups")
    scripts = page.locator("script").count()
    row(page, group).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(group)
    expect(page.get_by_role("region", name="Verdict")).to_contain_text("OK:")
    assert group in page.title()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Delete {group}?")
    page.get_by_role("button", name="Cancel").click()
    assert page.locator("script").count() == scripts
    assert page.locator("img[src]").count() == 0
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(group)


def test_markup_cannot_be_made_from_text(browser: Browser, world: World) -> None:
    visitor = Visitor(browser, world.url)
    page = visitor.open("/rules")
    made = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; } catch (error) { return error.name } }"
    )
    assert made == "TypeError"
    # the browser tells of it
    assert "TrustedHTML" in visitor.problems.pop()
    visitor.close()


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_nothing_is_wider_than_the_window(visit: Visit, size: tuple[int, int]) -> None:
    visitor = visit(size=size)
    for path in ("/", group_path("production", "mailer"), group_path("production", HOSTILE[0]), "/rules"):
        page = visitor.open(path)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main")).to_contain_text("OK")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0], path


def test_light_and_dark_as_the_system_or_the_reader_wants(visit: Visit) -> None:
    def brightness(page: Page) -> int:
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness(visit(color_scheme="light").open()) > 600
    page = visit(color_scheme="dark").open()
    assert brightness(page) < 120
    page.get_by_role("button", name="Light colours").click()
    assert brightness(page) > 600
    page.reload()
    assert brightness(page) > 600
    page.get_by_role("button", name="Dark colours").click()
    assert brightness(page) < 120


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, scheme: str) -> None:
    visitor = visit(color_scheme=scheme)
    for path in ("/", group_path("production", "fraud-check"), "/rules", group_path("production", "nosuch")):
        page = visitor.open(path)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main")).to_contain_text(re.compile("OK|no such group"))
        assert axe_violations(page) == [], path
    visitor.open(group_path("production", "billing")).get_by_role("button", name="Delete").click()
    assert axe_violations(visitor.page) == []


def test_what_is_not_there_says_what_to_do(visit: Visit, world: World) -> None:
    page = visit().open(group_path("production", "nosuch"))
    expect(page.get_by_role("heading", name="There is no such group")).to_be_visible()
    expect(page.get_by_role("link", name="See all groups of the cluster")).to_be_visible()
    empty = World([])
    with empty:
        page = visit(empty.url).open()
        expect(page.get_by_role("heading", name="No cluster is configured")).to_be_visible()


def test_the_server_is_restarted_under_an_open_page(browser: Browser) -> None:
    with World([simulated([Reader("billing", "orders", Habit.KEEPS_UP)], "production")]) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open()
        expect(page.get_by_role("heading", level=1)).to_have_text("The only group is OK")
        world.stop()
        expect(page.get_by_text("Reconnecting.")).to_be_visible()
        assert "unknown.svg" in page.evaluate("document.getElementById('favicon').href")
        # what was seen stays
        expect(row(page, "billing").locator(".mark")).to_have_text("OK")
        world.reader("billing").habit = Habit.STICKS
        world.step(25)
        world.start()
        expect(page.get_by_text("Reconnecting.")).to_be_hidden()
        expect(row(page, "billing").locator(".mark")).to_have_text("ERR")
        expect(page).to_have_title("1 not OK · Warren")
        visitor.close()


TOKENS = {"read-token": "r34d", "admin-token": "4dm1n"}


def test_a_token_is_wanted_wrong_and_right(browser: Browser) -> None:
    with World([simulated(cast(), "production")], TOKENS) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open(group_path("production", "mailer"))
        field = page.get_by_label("Token or password")
        expect(field).to_be_focused()
        assert "mailer" not in page.content()
        assert axe_violations(page) == []
        field.fill("wrong")
        page.get_by_role("button", name="Sign in").last.click()
        expect(page.get_by_role("alert")).to_have_text("These credentials are wrong.")
        field.fill("r34d")
        page.keyboard.press("Enter")
        # where the link led to
        expect(page.get_by_role("heading", level=1)).to_have_text("mailer")
        expect(page.get_by_role("region", name="Verdict")).to_contain_text("STALL")
        # for the session: this tab, also after a reload, and no other one
        page.reload()
        expect(page.get_by_role("region", name="Verdict")).to_contain_text("STALL")
        expect(page.get_by_role("button", name="Delete")).to_be_hidden()
        other = visitor.context.new_page()
        other.goto(world.url)
        expect(other.get_by_label("Token or password")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token or password")).to_be_visible()
        visitor.close()


def test_only_an_administrator_deletes_and_only_after_confirming(browser: Browser) -> None:
    with World([simulated(cast(), "production")], {"admin-token": "4dm1n"}) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open(group_path("production", "fraud-check"))
        expect(page.get_by_role("region", name="Verdict")).to_contain_text("STOP")
        expect(page.get_by_role("button", name="Delete")).to_be_hidden()
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Token or password").fill("4dm1n")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Cancel").click()
        assert world.answers.deleted == []
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete the group").click()
        expect(page.locator("output.shown")).to_have_text("9 groups")
        assert world.answers.deleted == [("production", "fraud-check")]
        visitor.close()


def test_ten_thousand_groups_are_shown_with_as_many_rows_as_fit(browser: Browser) -> None:
    with World([ten_thousand()]) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open()
        expect(page.locator("output.shown")).to_have_text("10,000 groups")
        assert page.locator(".rows .row").count() < 100
        assert rows(page)[0].endswith("00")
        page.get_by_role("searchbox", name="Filter groups by name").fill("service-0123")
        expect(page.locator("output.shown")).to_have_text("10 of 10,000 groups")
        page.get_by_role("searchbox", name="Filter groups by name").fill("")
        expect(page.locator("output.shown")).to_have_text("10,000 groups")
        page.get_by_role("grid").focus()
        page.keyboard.press("End")
        expect(page.locator(".row[aria-selected=true] .group a")).to_have_text("service-09999")
        visitor.close()


SEEN = """async (lag) => {
    const seen = () => [...document.querySelectorAll(".rows .lag span")].some((each) => each.textContent === lag);
    while (!seen()) await new Promise((done) => setTimeout(done, 5));
}"""


def test_the_memory_of_an_open_page_is_bounded_over_an_hour_of_updates(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # every update is sent, however fast they come
    monkeypatch.setattr(stream, "_GROUPS_PER_SECOND", 1e9)
    monkeypatch.setattr(feed, "_LOOK_S", 0.005)
    readers = [Reader(f"service-{number:03d}", "orders", Habit.FALLS_BEHIND) for number in range(30)]
    with World([simulated(readers, "production", partitions=1)]) as world:
        visitor = Visitor(browser, world.url)
        page = visitor.open()
        expect(page.locator("output.shown")).to_have_text("30 groups")
        session = visitor.context.new_cdp_session(page)

        def used(steps: int) -> tuple[int, int]:
            """Bytes and elements, after so many updates that the page has seen."""
            for _ in range(steps):
                world.step()
                lag = int(world.clusters[0].view.group_table().totallag.max())
                page.evaluate(SEEN, f"{lag:,}")
            session.send("HeapProfiler.collectGarbage")
            size = session.send("Runtime.getHeapUsage")["usedSize"]
            return int(size), page.evaluate("document.querySelectorAll('*').length")

        used(30)
        early, elements = used(30)
        late, elements_late = used(300)
        assert late < early + 1_000_000
        assert elements_late == elements
        visitor.close()
