"""How fast the overview is with 10,000 groups, in Chromium: make page-figures. Times are no test on a busy machine."""

from __future__ import annotations

import statistics
import sys

from tests.chromium import Visitor, chromium
from tests.e2e.pages.world import World, ten_thousand

_LOADED = """async () => {
    const shown = () => document.querySelector("output.shown")?.textContent === "10,000 groups" &&
        document.querySelectorAll(".rows .row .mark").length > 10;
    while (!shown()) await new Promise(requestAnimationFrame);
    return performance.now();
}"""
_FILTERED = """async () => {
    const field = document.querySelector("input[type=search]");
    const times = [];
    for (const text of ["service-0", "99", "service-01234", "nothing", ""]) {
        field.value = text;
        const began = performance.now();
        field.dispatchEvent(new Event("input"));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - began);
    }
    return times;
}"""


def main() -> None:
    loaded, filtered, heaps = [], [], []
    with World([ten_thousand()]) as world, chromium() as browser:
        for _ in range(5):
            visitor = Visitor(browser, world.url)
            page = visitor.open()
            loaded.append(page.evaluate(_LOADED))
            filtered += page.evaluate(_FILTERED)
            heaps.append(page.evaluate("performance.memory.usedJSHeapSize"))
            visitor.close()
    sys.stdout.write(
        f"10,000 groups: shown after {statistics.median(loaded):.0f} ms ({min(loaded):.0f} to {max(loaded):.0f}), "
        f"filtered in {statistics.median(filtered):.0f} ms ({min(filtered):.0f} to {max(filtered):.0f}), "
        f"{statistics.median(heaps) / 1e6:.1f} MB of JavaScript's memory\n"
    )


if __name__ == "__main__":
    main()
