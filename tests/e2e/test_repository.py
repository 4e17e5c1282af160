"""The repository keeps its promises: it names no machine and no registry, and its texts do not lie."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from warren.cli.main import COMMANDS, loaded

ROOT = Path(__file__).parents[2]

# the escapes and the classes of one letter keep this file from finding itself
FORBIDDEN = {
    "the Python registry": r"pypi\.org|pythonhosted\.org",
    "Maven's registry": r"repo1\.maven|maven\.org/maven2|search\.maven",
    "other registries": r"registry\.npmjs|static\.crates\.io|proxy\.golang\.org",
    "Debian's mirrors": r"deb\.debian\.org|snapshot\.debian\.org",
    "an index or a place of wheels": r"--(?:extra-)?index-url[ =]\S*[:/]|--find-links[ =]\S*/",
    "a path of one machine": r"(?<![\w.])/(?:root|home/\w+|opt/wheels|work/(?:main|shared))/",
    "work left undone": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b",
    "a test that does not run": r"mark\.(?:skip|xfail)|pytest\.(?:skip|xfail|importorskip)\(",
}


def committed() -> Iterator[Path]:
    """Every file that git keeps, but pictures: their bytes may spell anything."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and not name.endswith(".png") and (ROOT / name).is_file():
            yield ROOT / name


@pytest.mark.parametrize("pattern", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_no_committed_file_holds(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in committed()
        if (match := re.search(pattern, path.read_text(errors="replace")))
    ]
    assert found == []


def locked() -> dict[str, list[str]]:
    """A mapping of requirement: hashes, as the lock file has them."""
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip())
    return {
        entry.split()[0]: re.findall(r"--hash=(\S+)", entry) for entry in entries if not entry.startswith("#")
    }


def test_every_locked_requirement_has_one_version_and_hashes() -> None:
    entries = locked()
    assert len(entries) > 50
    for requirement, hashes in entries.items():
        assert re.fullmatch(r"[\w.-]+==[\w.+!-]+", requirement), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


def test_the_lock_holds_all_that_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = map(Requirement, chain(project["dependencies"], *extras))
    versions = {canonicalize_name(name): version for name, version in (each.split("==") for each in locked())}
    for requirement in wanted:
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked: make lock"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: make lock"


def test_make_without_a_target_lists_the_targets() -> None:
    said = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  make ([\w-]+) +\S", said, re.MULTILINE)
    assert {"demo", "test", "lint", "bench", "clean", "help"} <= set(listed)
    targets = re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(targets)


TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
)


@pytest.mark.parametrize("text", TEXTS)
def test_the_targets_commands_and_pages_that_a_text_names_exist(text: str) -> None:
    content = (ROOT / text).read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = {command.name for command in COMMANDS}
    code = "\n".join(re.findall(r"^ {4}.*$|`[^`\n]+`", content, re.MULTILINE))
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z][\w-]*)", code, re.MULTILINE)) <= targets
    assert set(re.findall(r"(?:^ {4}|`|bin/|\| )warren ([a-z][\w-]*)", code, re.MULTILINE)) <= commands
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", content):
        assert (ROOT / text).parent.joinpath(link).exists(), f"{text} links to {link}"


@pytest.mark.parametrize("text", TEXTS)
def test_the_options_that_a_text_gives_to_a_command_exist(text: str) -> None:
    content = (ROOT / text).read_text().replace("\\\n", " ")
    for name, rest in re.findall(r"^ {4}.*?\bwarren ([a-z][\w-]*)\b([^#|\n]*)", content, re.MULTILINE):
        command = loaded(name)
        known = {
            option
            for each in (command, *getattr(command, "commands", {}).values())
            for parameter in each.params
            for option in (*parameter.opts, *parameter.secondary_opts, "--help")
        }
        assert set(re.findall(r"(?<!\S)\[?(--[a-z][\w-]*)", rest)) <= known, f"{text}: warren {name}{rest}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_the_scripts_can_be_run() -> None:
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=True)
    modes = {
        name: mode for mode, _, _, name in (line.split(maxsplit=3) for line in listed.stdout.splitlines())
    }
    scripts = (".ci/run", "tools/setup", "tools/lock", "tools/package", "packaging/install.sh")
    assert {name: modes.get(name) for name in scripts} == dict.fromkeys(scripts, "100755")
