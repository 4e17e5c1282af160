"""Takes the pictures of the web pages: plays the demo, and opens each page in Chromium."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, sync_playwright

from warren.config.sections import Logging
from warren.demo.stage import CLUSTER, NOTIFIER, Stage
from warren.demo.traffic import DEFAULT_SEED
from warren.logs import configure

ROOT: Final = Path(__file__).parents[1]
# those that the docs show; the others are to be looked at, and are not kept
IN_DOCS: Final = frozenset(
    {"overview-light-laptop", "group-light-laptop", "group-dark-laptop", "incident-light-laptop"}
)
CHROMIUM: Final = "/usr/bin/chromium"
PATIENCE_S: Final = 240.0
# so long does the demo run, so that lines over time have something to show
RUN_S: Final = 200.0
# name: address; {incident} is the id of one
PAGES: Final = {
    "overview": "/",
    "group": f"/clusters/{CLUSTER}/groups/mailer",
    "topic": f"/clusters/{CLUSTER}/topics/payments",
    "incidents": "/incidents",
    "incident": "/incidents/{incident}",
    "notifier": f"/notifiers/{NOTIFIER}",
    "about": "/about",
    "rules": "/rules",
}
# name: width, height, pixels of the screen for each of the page
SCREENS: Final = {"laptop": (1280, 860, 1), "phone": (360, 760, 2)}


def main() -> None:
    """Play, wait, take the pictures; arguments are the names of pages, without them all."""
    configure(Logging(level="error"))
    chosen = {name: PAGES[name] for name in sys.argv[1:]} or PAGES
    began = time.monotonic()
    with Stage(0, DEFAULT_SEED) as stage:
        while not all(scene.as_intended for scene in stage.scenes()):
            if time.monotonic() - began > PATIENCE_S:
                raise SystemExit("The groups did not get their statuses in time: no picture taken.")
            time.sleep(1)
        time.sleep(max(0.0, began + RUN_S - time.monotonic()))
        known = httpx.get(f"{stage.url}/v4/incidents", params={"group": "mailer"}).json()["incidents"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for name, pattern in chosen.items():
                address = pattern.format(incident=known[0]["id"])
                for screen in SCREENS:
                    for scheme in ("light", "dark"):
                        picture = f"{name}-{scheme}-{screen}"
                        directory = ROOT / ("docs/images" if picture in IN_DOCS else "screenshots")
                        directory.mkdir(exist_ok=True)
                        path = directory / f"{picture}.png"
                        _take(browser, stage.url + address, screen, scheme, path)
                        sys.stderr.write(f"{path.relative_to(ROOT)}\n")
            browser.close()


def _take(browser: Browser, url: str, screen: str, scheme: str, path: Path) -> None:
    width, height, pixels = SCREENS[screen]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=pixels,
        color_scheme="dark" if scheme == "dark" else "light",
        locale="en-GB",
        timezone_id="Europe/Berlin",
    )
    page = context.new_page()
    page.goto(url)
    page.locator("main h1").wait_for()
    # lines over time come after the rest
    page.wait_for_timeout(1500)
    page.screenshot(path=path)
    context.close()


if __name__ == "__main__":
    main()
