"""The cache is where the user wants it, and one process at a time works in it."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from warren.cache import cache_directory, locked


@dataclass(frozen=True)
class Place:
    """An environment, and the directory that it means."""

    name: str
    directory: str
    environ: dict[str, str] = field(default_factory=dict)


PLACES = (
    Place("home", str(Path.home() / ".cache" / "warren")),
    Place("xdg", "/x/warren", {"XDG_CACHE_HOME": "/x"}),
    Place("own wins", "/w", {"XDG_CACHE_HOME": "/x", "WARREN_CACHE": "/w"}),
    Place("own in the home", str(Path.home() / "w"), {"WARREN_CACHE": "~/w"}),
    Place(
        "empty is unset", str(Path.home() / ".cache" / "warren"), {"XDG_CACHE_HOME": "", "WARREN_CACHE": ""}
    ),
)


@pytest.mark.parametrize("case", PLACES, ids=lambda case: case.name)
def test_the_cache_is_where_the_environment_says(case: Place) -> None:
    assert str(cache_directory(case.environ)) == case.directory


def hold(path: Path, held: Event, release: Event) -> None:
    """Another process that has the lock until it is told otherwise."""
    with locked(path):
        held.set()
        release.wait(30)


def test_a_second_process_says_that_it_waits_and_then_goes_on(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path / "lock", held, release))
    other.start()
    try:
        assert held.wait(30)
        waited: list[bool] = []

        def on_wait() -> None:
            waited.append(True)
            release.set()

        with locked(tmp_path / "lock", on_wait):
            assert waited == [True]
    finally:
        release.set()
        other.join(30)


def test_a_holder_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path / "lock", held, release))
    other.start()
    assert held.wait(30)
    other.kill()
    other.join(30)
    waited: list[bool] = []
    with locked(tmp_path / "lock", lambda: waited.append(True)):
        assert waited == []
