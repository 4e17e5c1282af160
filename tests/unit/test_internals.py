"""The walk of docs/internals.md: every function that it names is where it says, and it passes each file once."""

from __future__ import annotations

import ast
import re
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SECTION: Final = (
    (ROOT / "docs/internals.md").read_text().partition("## One commit, from the broker to Slack\n")[2]
)
LINES: Final = re.findall(r"^\d+\. .*$", SECTION.partition("\n## ")[0], re.MULTILINE)
# function, file
STEPS: Final = [
    match.groups() for line in LINES if (match := re.match(r"\d+\. `([\w.]+)` \(`([\w/]+\.py)`\): \S", line))
]


def defined(path: Path) -> set[str]:
    """The functions and methods of a file, a method as Class.method."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("function", "file"), STEPS)
def test_the_function_is_in_the_file(function: str, file: str) -> None:
    assert function in defined(ROOT / "src/warren" / file)


def test_every_step_names_a_function_and_its_file_and_there_are_few() -> None:
    assert len(STEPS) == len(LINES)
    assert 15 <= len(STEPS) <= 25


def test_the_walk_does_not_come_back_to_a_file() -> None:
    files = [file for file, _ in groupby(file for _, file in STEPS)]
    assert len(files) == len(set(files))
