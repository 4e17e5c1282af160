"""The benchmarks at the smallest sizes, with everything real: they run, tell, keep what they found and clean up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import psutil
import pytest
from tests.processes import alive, eventually

# a minute at most on a machine with nothing else to do
LIMIT_S = 580
pytestmark = pytest.mark.timeout(600)

SIZES = ("--partitions", "5", "--offsets-partitions", "2")
SHORT = ("--warm-up", "1", "--seconds", "5")
# each window commits every 20 s, so that no snapshot shows two commits of one
STEADY = ("--groups", "80", "--rate", "20", *SHORT)


class Case(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    # figures that must be there, and above 0
    figures: tuple[str, ...]


CASES = [
    Case(
        "replay",
        ("--commits", "3000", "--groups", "20", "--runs", "1"),
        ("bare drain", "warm, to the bare drain's rate", "cold, to the bare drain's time"),
    ),
    Case(
        "scale",
        ("--windows", "50", "--windows", "200", "--rate", "100", *SHORT),
        ("50 windows: trigger p95", "200 windows: memory, peak", "200 windows: checkpoint"),
    ),
    Case(
        "api",
        (*STEADY, "--scrapes", "3", "--pages", "20"),
        (
            "trigger beside 20 open pages, to without",
            "open page, received a second",
            "/metrics plain, first of a snapshot, p50",
            "/metrics gzip, next, p50",
            "/lag of one group",
            "/lag of all in turn",
            "trigger p50, without requests",
        ),
    ),
    Case(
        "sinks",
        (*STEADY, "--rounds", "1", "--samples", "2", "--runs", "1"),
        (
            "parquet, rows",
            "kafka, to the bare script",
            "trigger beside sinks, to without",
            "memory of all processes, peak, with sinks",
        ),
    ),
    Case(
        "clusters",
        ("--clusters", "2", "--groups", "20", "--rate", "20", *SHORT),
        ("2 clusters: memory, peak", "2 clusters: trigger p95", "2 clusters: all ready after"),
    ),
    Case(
        "outages",
        ("--clusters", "1", "--groups", "20", "--rate", "20", *SHORT),
        ("trigger p95, without", "trigger p95, with to without", "threads at its end", "back after"),
    ),
]


def _environment(tmp_path: Path) -> dict[str, str]:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    # triggers that come quickly: the runs are short
    quick = {"BURROW_SPARK_TRIGGER_INTERVAL": "1"}
    return {**os.environ, "TMPDIR": str(scratch), "COLUMNS": "140", **quick}


def _command(bench: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "warren.cli.main", "bench", bench, *SIZES, *arguments]


def _figures(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in report["figures"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_benchmark_runs_tells_and_leaves_a_report_only(case: Case, tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = _command(case.name, *case.arguments, "--results", str(results))
    done = subprocess.run(
        command, env=_environment(tmp_path), capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    (kept,) = results.glob("*.json")
    report = json.loads(kept.read_text())
    assert report["name"] == case.name
    assert report["machine"]["cores"] >= 1
    found = _figures(report)
    for name in case.figures:
        assert found[name]["value"] > 0, name
        assert name in done.stdout
    assert "yes" in done.stdout or "no" in done.stdout
    if case.name == "scale":
        (picture,) = results.glob("*.svg")
        ElementTree.fromstring(picture.read_text())
    assert list((tmp_path / "scratch").glob("warren-*")) == []


def test_json_is_the_report_and_nothing_else(tmp_path: Path) -> None:
    command = _command("steady", *STEADY, "--json", "--results", str(tmp_path / "results"))
    done = subprocess.run(
        command, env=_environment(tmp_path), capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    report = json.loads(done.stdout)
    found = _figures(report)
    for name in ("trigger p95", "commit to snapshot p99", "processor", "memory of all processes, peak"):
        assert found[name]["value"] > 0, name
    # every commit is seen once
    assert report["detail"]["all_seen"]
    written = 20 * report["detail"]["seconds"]
    assert report["detail"]["visible_ms"]["count"] == pytest.approx(written, rel=0.1, abs=4)


def test_after_an_interrupt_nothing_is_left(tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = _command("steady", *STEADY, "--warm-up", "200", "--results", str(results))
    with subprocess.Popen(command, env=_environment(tmp_path), stderr=subprocess.PIPE, text=True) as running:
        offspring: dict[int, psutil.Process] = {}

        def java_runs() -> bool:
            offspring.update(
                {each.pid: each for each in psutil.Process(running.pid).children(recursive=True)}
            )
            # the broker's and Spark's
            return sum(each.is_running() and each.name() == "java" for each in offspring.values()) >= 2

        started = eventually(java_runs, within_s=150)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=90)
    assert started
    assert running.returncode == 1
    assert "Stopped." in said
    assert eventually(lambda: not any(alive(pid) for pid in offspring), within_s=20)
    assert list((tmp_path / "scratch").glob("warren-*")) == []
    assert not results.exists()
