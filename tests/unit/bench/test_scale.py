"""Growth between levels, and its pictures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from warren.bench import plot
from warren.bench.figures import Report
from warren.bench.plot import Panel
from warren.bench.scale import BYTES_PER_WINDOW, Level, ScalePlan, figures, growths, levels, panels

SVG = "{http://www.w3.org/2000/svg}"


def _level(windows: int, trigger_ms: float, **memory: int) -> dict[str, Any]:
    return {
        "plan": {"sizes": {"windows": windows}},
        "trigger_ms": {"p50": trigger_ms, "p95": 2 * trigger_ms},
        "visible_ms": {"p99": 3 * trigger_ms},
        "memory": {"peak": sum(memory.values()), "typical": memory},
        "checkpoint": windows * 300,
    }


FOUND = [_level(1_000, 500, driver=10**6, workers=10**6), _level(11_000, 900, driver=6 * 10**6, java=10**6)]


def test_bytes_per_further_window_are_told_by_role() -> None:
    assert growths(*FOUND) == {"driver": 500, "java": 100, "workers": -100}


def test_the_last_level_has_the_targets() -> None:
    told = {figure.name: figure for figure in figures(FOUND)}
    assert told["1,000 windows: trigger p95"].target is None
    assert told["11,000 windows: trigger p95"].target == 5
    growth = told["1,000 to 11,000: per additional window, driver and workers"]
    assert (growth.value, growth.target, growth.reached) == (400, BYTES_PER_WINDOW, True)
    assert told["1,000 to 11,000: per additional window, all processes"].value == 500


@pytest.mark.parametrize(
    ("windows", "rate", "chosen"),
    [
        ([1_000_000, 10_000], None, (Level(10_000, 2_000), Level(1_000_000, 5_000))),
        ([50, 50, 20], 7.0, (Level(20, 7), Level(50, 7))),
    ],
    ids=["a million gets more commits", "a given rate is for all"],
)
def test_levels_come_in_order(windows: list[int], rate: float | None, chosen: tuple[Level, ...]) -> None:
    assert levels(windows, rate) == chosen


def test_a_level_has_its_windows_in_groups_of_all_partitions() -> None:
    plan = ScalePlan(partitions=50).steady(Level(100_000, 2_000))
    assert (plan.sizes.groups, plan.sizes.windows, plan.filling) == (2_000, 100_000, 1_000_000)


def test_pictures_have_a_bar_for_every_value() -> None:
    report = Report("scale", datetime(2026, 1, 1, tzinfo=UTC), {}, [], {}, {"levels": FOUND})
    pictures = panels(report)
    drawn = ElementTree.fromstring(plot.svg("a < b", pictures))
    titled = [each for each in drawn.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    assert len(titled) == sum(len(panel.labels) * len(panel.series) for panel in pictures)


def test_bars_are_as_long_as_their_values() -> None:
    console = Console(width=120)
    with console.capture() as caught:
        console.print(plot.terminal([Panel("t", "s", ["few", "many"], {"p50": [1, 2]}, target=4)]))
    lines = caught.get().splitlines()
    few, many = (next(line for line in lines if label in line) for label in ("few", "many"))
    assert (few.count("█"), many.count("█")) == (10, 20)


def test_stacked_bars_stand_on_each_other() -> None:
    panel = Panel("memory", "GiB", ["1"], {"a": [1.0], "b": [2.0]}, stacked=True)
    assert panel.highest == 3
    drawn = ElementTree.fromstring(plot.svg("t", [panel]))
    bars = [each for each in drawn.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]
    lower, upper = ((float(bar.get("y", 0)), float(bar.get("height", 0))) for bar in bars)
    assert upper[0] + upper[1] == pytest.approx(lower[0], abs=0.2)
