"""A real Chromium for tests of the web pages, and axe-core, which looks for what keeps people out."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from warren.cache import cache_directory, locked

CHROMIUM: Final = "/usr/bin/chromium"
# from npm, fetched by deno into the user's cache
AXE_VERSION: Final = "4.11.0"
AXE_SHA256: Final = "e9e5863c33a874f09bc01acd9234b7e3c871479f5eef8802fa582544465e6d01"

# a machine that does other things too
expect.set_options(timeout=20_000)

LAPTOP: Final = (1280, 860)
PHONE: Final = (360, 780)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # as root in a container it has no sandbox
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A browser window; whatever goes wrong in it is kept."""

    def __init__(self, browser: Browser, base: str, size: tuple[int, int] = LAPTOP, **how: Any) -> None:
        width, height = size
        self.base = base
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height}, locale="en-US", timezone_id="Europe/Berlin", **how
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        # errors in the console, scripts that ran away, requests to others
        self.problems: list[str] = []
        self.page.on("console", lambda each: self._console(each.type, each.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self._requested(request.url))

    def _console(self, kind: str, text: str) -> None:
        # the browser itself reports answers that are not 200, and servers that are away
        if kind in {"error", "warning"} and "Failed to load resource" not in text:
            self.problems.append(text)

    def _requested(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.base).netloc:
            self.problems.append(f"request to {url}")

    def open(self, path: str = "/") -> Page:
        self.page.goto(self.base + path)
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.problems == []


def axe_violations(page: Page) -> list[str]:
    """What axe-core finds serious or critical."""
    page.evaluate(_axe().read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        json.dumps([each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]]])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


def _axe() -> Path:
    directory = cache_directory() / "deno"
    if (found := _held(directory)) is None:
        with locked(directory.with_name("deno.lock")):
            deno = Path(sys.executable).with_name("deno")
            command = [str(deno), "cache", "--quiet", "--no-config", f"npm:axe-core@{AXE_VERSION}"]
            subprocess.run(command, check=True, env=os.environ | {"DENO_DIR": str(directory)}, cwd="/")
        found = _held(directory)
    assert found is not None, f"axe-core {AXE_VERSION} is not the one that is expected"
    return found


def _held(directory: Path) -> Path | None:
    for path in directory.glob(f"npm/*/axe-core/{AXE_VERSION}/axe.min.js"):
        if hashlib.sha256(path.read_bytes()).hexdigest() == AXE_SHA256:
            return path
    return None
