"""A Chromium for each file of tests, and its windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.chromium import Visitor, chromium
from tests.e2e.pages.world import World

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, world: World) -> Iterator[Visit]:
    """A window each; at the end there was no error, no dialog and no request to another host in any of them."""
    visitors: list[Visitor] = []

    def make(base: str = world.url, **how: Any) -> Visitor:
        visitors.append(Visitor(browser, base, **how))
        return visitors[-1]

    yield make
    for each in visitors:
        each.close()
