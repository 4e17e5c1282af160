"""From a file and the environment to settings, or to the list of all problems."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warren.config import checks, environment, files
from warren.config.problems import Problem
from warren.config.settings import NAMED, PLAIN, Settings
from warren.config.tree import Tree, arranged
from warren.config.validation import validated
from warren.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of checking a configuration."""

    path: Path
    # None when there are errors
    settings: Settings | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that prevent the start."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")


def load(location: Path | str | None, environ: Mapping[str, str]) -> Settings:
    """The settings from a file, or from the one in a directory (default: the working directory)."""
    found = examine(location, environ)
    if found.settings is None:
        raise ConfigError([f"{found.path.name}: {problem}" for problem in found.errors])
    return found.settings


def examine(location: Path | str | None, environ: Mapping[str, str]) -> Examination:
    """The settings and all problems; ConfigError only when there is no file or it cannot be parsed."""
    path = files.find(Path("." if location is None else location).expanduser())
    return examined(files.read(path), environ)


def examined(document: files.Document, environ: Mapping[str, str]) -> Examination:
    """The settings and all problems of a file that is read already."""
    path = document.path
    tree = arranged(document)
    environment.apply(tree, environ)
    checks.resolve_references(tree)
    checks.find_files(tree)
    modules = validated(tree)
    checks.check_sections(tree, modules)
    problems = tuple(sorted(tree.problems, key=lambda problem: (problem.line is None, problem.line or 0)))
    if any(problem.severity == "error" for problem in problems):
        return Examination(path, None, problems)
    settings = _settings(tree, modules)
    settings._source = path
    settings._warnings = tuple(str(problem) for problem in problems)
    return Examination(path, settings, problems)


def _settings(tree: Tree, modules: checks.Modules) -> Settings:
    given: dict[str, Any] = {}
    for section in PLAIN:
        if (section,) in modules:
            given[section] = modules[section,]
    for section in NAMED:
        named = {name: modules[section, name] for name in tree.names(section)}
        # an absent storage, evaluator or httpserver has defaults of its own
        if named:
            given[section] = named
    return Settings.model_validate(given)
