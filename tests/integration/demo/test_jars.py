"""Jars are what the lock file says, whatever befell the cache: with the real Ivy, without the network."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from warren.cache import cache_directory
from warren.demo.jars import SETTINGS_VARIABLE, Jar, JarError, ensure_jars, read_lock
from warren.java import find_java

# small ones
NAMES = {"slf4j-api", "jopt-simple", "jspecify"}


@pytest.fixture
def jars() -> tuple[Jar, ...]:
    """A few of Kafka's."""
    return tuple(jar for jar in read_lock() if jar.name in NAMES)


@pytest.fixture
def mirror(jars: tuple[Jar, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror on this machine that has them, and an empty cache to fetch them into."""
    java = find_java()
    mirror = tmp_path / "mirror"
    for path, jar in zip(ensure_jars(java, jars), jars, strict=True):
        (mirror / jar.relative_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, mirror / jar.relative_path)
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{mirror}/[organisation]/[artifact]-[revision].[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    monkeypatch.setenv(SETTINGS_VARIABLE, str(settings))
    monkeypatch.setenv("WARREN_CACHE", str(tmp_path / "cache"))
    return mirror


@pytest.fixture
def console() -> Console:
    """One whose output can be read."""
    return Console(record=True, file=io.StringIO(), width=100)


def same(paths: tuple[Path, ...], mirror: Path, jars: tuple[Jar, ...]) -> bool:
    """Are these the mirror's bytes?"""
    return [path.read_bytes() for path in paths] == [
        (mirror / jar.relative_path).read_bytes() for jar in jars
    ]


def test_an_empty_cache_is_filled_and_then_left_alone(
    mirror: Path, jars: tuple[Jar, ...], console: Console
) -> None:
    paths = ensure_jars(find_java(), jars, console)
    assert same(paths, mirror, jars)
    assert "3/3 jars" in console.export_text()

    shutil.rmtree(mirror)
    times = [path.stat().st_mtime_ns for path in paths]
    assert ensure_jars(find_java(), jars, console) == paths
    assert [path.stat().st_mtime_ns for path in paths] == times
    assert console.export_text() == ""


def test_a_damaged_jar_is_fetched_again_and_only_that(
    mirror: Path, jars: tuple[Jar, ...], console: Console
) -> None:
    paths = ensure_jars(find_java(), jars, console)
    untouched = [path.stat().st_ino for path in paths[1:]]
    paths[0].write_bytes(paths[0].read_bytes()[:-1])
    console.export_text()
    assert same(ensure_jars(find_java(), jars, console), mirror, jars)
    assert [path.stat().st_ino for path in paths[1:]] == untouched
    assert "1/1 jars" in console.export_text()


def test_a_wrong_jar_on_the_mirror_is_refused_and_not_kept(
    mirror: Path, jars: tuple[Jar, ...], console: Console
) -> None:
    (mirror / jars[0].relative_path).write_bytes(b"not the original")
    with pytest.raises(JarError, match=rf"{jars[0].coordinates} has the checksum .* so it was not used"):
        ensure_jars(find_java(), jars, console)
    assert not (cache_directory() / "jars" / jars[0].relative_path).exists()


def test_a_jar_that_cannot_be_had_is_named(mirror: Path, jars: tuple[Jar, ...], console: Console) -> None:
    unknown = replace(jars[0], version="99.9")
    with pytest.raises(JarError, match=rf"{unknown.coordinates} could not be fetched .* check the network"):
        ensure_jars(find_java(), (unknown,), console)


def test_a_distribution_is_a_zip(mirror: Path, console: Console) -> None:
    content = b"a whole server"
    server = Jar(hashlib.sha256(content).hexdigest(), "org.example", "server", "1.0", "zip")
    (mirror / "org.example").mkdir()
    (mirror / "org.example" / "server-1.0.zip").write_bytes(content)
    (path,) = ensure_jars(find_java(), (server,), console, what="a server")
    assert path.read_bytes() == content
    assert "Fetching a server" in console.export_text()


FETCH = """
from warren.demo.jars import ensure_jars, read_lock
from warren.java import find_java
ensure_jars(find_java(), [jar for jar in read_lock() if jar.name in {names!r}])
"""


@pytest.mark.usefixtures("mirror")
def test_of_two_processes_one_fetches_and_the_other_waits(jars: tuple[Jar, ...]) -> None:
    program = [sys.executable, "-c", FETCH.format(names=NAMES)]
    both = [subprocess.Popen(program, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("Fetching Kafka: 3 jars" in each for each in said) == 1
    assert all((cache_directory() / "jars" / jar.relative_path).exists() for jar in jars)


def test_the_lock_names_kafka_and_a_checksum_for_every_jar() -> None:
    lock = read_lock()
    assert ("org.apache.kafka", "kafka_2.13", "4.1.1") in {
        (jar.organisation, jar.name, jar.version) for jar in lock
    }
    assert all(len(jar.sha256) == 64 for jar in lock)
    assert len({jar.relative_path for jar in lock}) == len(lock)
