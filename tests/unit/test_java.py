"""The right Java is found, and any other is refused in one sentence that says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from warren.java import JavaError, find_java


def fake_java(home: Path, answer: str) -> Path:
    """A java that says only this about its version."""
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\n")
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class Version:
    """What a java prints, and the version that this means."""

    name: str
    answer: str
    major: int


GOOD = (
    Version("debian 17", 'openjdk version "17.0.15" 2025-04-15', 17),
    Version("first of its line", 'openjdk version "21" 2023-09-19', 21),
    Version("early access", 'openjdk version "26-ea" 2026-03-17', 26),
    Version(
        "a notice first", 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "17.0.1" 2021-10-19 LTS', 17
    ),
)
OLD = (
    Version("java 8", 'openjdk version "1.8.0_402"', 8),
    Version("java 11", 'openjdk version "11.0.22" 2024-01-16', 11),
)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_java_home_is_asked_for_its_version(case: Version, tmp_path: Path) -> None:
    path = fake_java(tmp_path, case.answer)
    found = find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert (found.path, found.major) == (path, case.major)


@pytest.mark.parametrize("case", OLD, ids=lambda case: case.name)
def test_an_old_java_is_one_sentence_with_the_remedy(case: Version, tmp_path: Path) -> None:
    path = fake_java(tmp_path, case.answer)
    with pytest.raises(JavaError) as caught:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    message = str(caught.value)
    assert message.startswith(f"Java 17 or newer is needed and {path} is Java {case.major}: install it")
    assert "openjdk-17-jre-headless" in message
    assert "\n" not in message


def test_no_java_at_all_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"^Java 17 or newer is needed and none was found: install it .*\.$"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"JAVA_HOME \(.*\) has no bin/java: unset it"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


def test_a_java_that_does_not_answer_is_named(tmp_path: Path) -> None:
    path = fake_java(tmp_path, "cannot load libjvm")
    with pytest.raises(JavaError, match=rf"{path} does not print its version \(cannot load libjvm\)"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    at_home = fake_java(tmp_path / "home", 'openjdk version "21.0.1"')
    on_path = fake_java(tmp_path / "other", 'openjdk version "17.0.1"')
    path = str(on_path.parent)
    # sh, which the fake needs, is found by its absolute name
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": path}).path == at_home
    assert find_java({"PATH": path}).path == on_path
