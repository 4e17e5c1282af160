"""Environment variables over the file: prefix, section, name and key in upper case with underscores."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from warren.config.kinds import shown
from warren.config.problems import Problem
from warren.config.settings import DEFAULT_NAME, NAMED, PLAIN
from warren.config.tree import OLD_NAMES, Tree, all_fields
from warren.spelling import did_you_mean

# sections that exist without being in the file, so that a variable can set keys of their one module
IMPLIED: Final = ("httpserver", "storage", "evaluator")
# what Kubernetes sets in every container for a service that has the prefix as its name
_KUBERNETES: Final = re.compile(
    r"(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)


def variable(*parts: str) -> str:
    """The variable's name for a prefix and a path of keys."""
    return "_".join(re.sub(r"[.-]", "_", part).upper() for part in parts if part)


def apply(tree: Tree, environ: Mapping[str, str]) -> None:
    """Applies the variables over the file; unknown ones are reported."""
    prefix = str(tree.modules.get(("general",), {}).get("env-var-prefix", "burrow"))
    paths = _paths(tree, prefix)
    for name, value in sorted(environ.items()):
        if name in paths:
            if value:  # an empty variable counts as not set, as in Burrow
                for path in paths[name]:
                    _set(tree, path, name, value)
        elif prefix and name.startswith(variable(prefix) + "_"):
            _unknown(tree, prefix, name, paths)


def _paths(tree: Tree, prefix: str) -> dict[str, list[tuple[str, ...]]]:
    """Variable: the paths that it sets (two names that differ in - and _ share one)."""
    paths: dict[str, list[tuple[str, ...]]] = {}
    module_ids: list[tuple[str, ...]] = [(section,) for section in PLAIN]
    for section in NAMED:
        names = tree.names(section) or ((DEFAULT_NAME,) if section in IMPLIED else ())
        module_ids += [(section, name) for name in names]
    for module_id in module_ids:
        known = all_fields(module_id[0])
        old = [old for old, new in OLD_NAMES.items() if new in known]
        for key in (*known, *old):
            if (*module_id, key) != ("general", "env-var-prefix"):
                paths.setdefault(variable(prefix, *module_id, key), []).append((*module_id, key))
        for key, value in tree.modules.get(module_id, {}).items():
            if key in known and isinstance(value, dict):
                for inner in value:
                    paths.setdefault(variable(prefix, *module_id, key, str(inner)), []).append(
                        (*module_id, key, str(inner))
                    )
    return paths


def _set(tree: Tree, path: tuple[str, ...], name: str, value: str) -> None:
    module_id = path[:1] if path[0] in PLAIN else path[:2]
    key, *inner = path[len(module_id) :]
    keys = tree.modules.setdefault(module_id, {})
    if inner:
        # another variable may have replaced the table by another type
        if isinstance(keys.get(key), dict):
            keys[key] = {**keys[key], inner[0]: value}
    else:
        key = OLD_NAMES.get(key, key)
        keys[key] = _structured(value)
    tree.origins[(*module_id, key)] = name


def _structured(value: str) -> object:
    """Lists and tables may be written as JSON; everything else is text, typed by its key later."""
    if value[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return value


def _unknown(tree: Tree, prefix: str, name: str, paths: Mapping[str, Any]) -> None:
    if _KUBERNETES.fullmatch(name.removeprefix(variable(prefix) + "_")):
        return
    if name == variable(prefix, "general", "env-var-prefix"):
        what, remedy = "the prefix cannot come from a variable", "set general.env-var-prefix in the file"
    else:
        what = f"this variable begins with {shown(variable(prefix))} but names no key"
        remedy = did_you_mean(name, paths, "variables apply only to modules that are in the file")
    tree.problems.append(Problem("warning", name, what, remedy))
