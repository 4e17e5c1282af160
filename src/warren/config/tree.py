"""A file's tree normalised: sections and keys in lower case, current names, module names as written."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic.fields import FieldInfo

from warren.config.files import Document
from warren.config.kinds import RefersTo, Section, kebab, shown
from warren.config.problems import Problem
from warren.config.properties import flattened
from warren.config.settings import NAMED, PLAIN
from warren.spelling import did_you_mean, nearest

# names of older Burrow versions: current names
OLD_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"group-whitelist": "group-allowlist", "group-blacklist": "group-denylist"}
)
# Telegraf's names for what a sink leaves out, which people have in their configurations: ours
TELEGRAF_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{what}_{how}": f"{what}-{how}"
        for what in ("clusters", "groups", "topics")
        for how in ("include", "exclude")
    }
)

# identifies a module: (section,) or (section, name)
ModuleId = tuple[str, ...]


@dataclass(slots=True)
class Tree:
    """All modules with their keys, and the problems found."""

    document: Document
    # (section,) or (section, name): key: value
    modules: dict[ModuleId, dict[str, Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # (module_id..., key): the environment variable that its value comes from
    origins: dict[tuple[str, ...], str] = field(default_factory=dict)

    def names(self, section: str) -> tuple[str, ...]:
        """The modules of a section."""
        return tuple(
            module_id[1] for module_id in self.modules if module_id[0] == section and len(module_id) == 2
        )

    def named(self, section: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The modules of a section with their keys."""
        return (
            (module_id[1], keys)
            for module_id, keys in self.modules.items()
            if module_id[0] == section and len(module_id) == 2
        )

    def add(
        self, severity: Literal["error", "warning"], path: tuple[str, ...], what: str, remedy: str
    ) -> None:
        """One more problem, with its line or the environment variable that it comes from."""
        origin = self.origins.get(path)
        key = dotted(path) + (f" (from {origin})" if origin else "")
        line = None if origin else self.line(path)
        self.problems.append(Problem(severity, key, what, remedy, line))

    def line(self, path: tuple[str, ...]) -> int | None:
        """The line of the key; of its section when the key is missing."""
        for length in range(len(path), 0, -1):
            for part in (path[:length], tuple(name.lower() for name in path[:length])):
                if part in self.document.lines:
                    return self.document.lines[part]
        return None


def dotted(path: tuple[str, ...]) -> str:
    """The path as written in TOML: names with a dot, a blank and the like in quotes."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"' for part in path)


def arranged(document: Document) -> Tree:
    """The document's modules; anything else is reported."""
    tree = Tree(document)
    known = (*PLAIN, *NAMED)
    for written, found in document.tree.items():
        section = str(written).lower()
        content = {} if found is None else found  # YAML writes an empty section as nothing
        if section not in known:
            remedy = did_you_mean(section, known, f"known sections are {', '.join(known)}")
            tree.add("warning", (str(written),), "this section is not known and has no effect", remedy)
        elif not isinstance(content, dict):
            header = f"[{section}]" if section in PLAIN else f"[{section}.NAME]"
            tree.add(
                "error",
                (section,),
                f"{shown(content)} is not a section",
                f"write {header} with keys under it",
            )
        elif section in PLAIN:
            tree.modules[section,] = _keys(tree, (section,), content)
        else:
            _modules(tree, section, content)
    return tree


def _modules(tree: Tree, section: str, content: Mapping[Any, Any]) -> None:
    loose = [str(key) for key, value in content.items() if value is not None and not isinstance(value, dict)]
    if loose:
        verb = "is" if len(loose) == 1 else "are"
        tree.add(
            "error",
            (section,),
            f"{', '.join(loose)} {verb} in a section without a name",
            f"give it one, for example [{section}.{'default' if section != 'cluster' else 'local'}]",
        )
    seen: dict[str, str] = {}
    for written, found in content.items():
        name, keys = str(written), {} if found is None else found
        if not isinstance(keys, dict):
            continue
        inner = [str(key) for key, value in keys.items() if isinstance(value, dict)]
        if inner and len(inner) == len(keys) and inner[0].lower() not in all_fields(section):
            quoted = f'[{section}."{name}.{inner[0]}"]'
            what = "this is a section in a section"
            tree.add("error", (section, name, inner[0]), what, f"put a name with a dot in quotes: {quoted}")
            continue
        if name.lower() in seen:
            other = dotted((section, seen[name.lower()]))
            tree.add(
                "error",
                (section, name),
                f"the name differs from {other} only by its case",
                "rename one of them",
            )
            continue
        seen[name.lower()] = name
        tree.modules[section, name] = _keys(tree, (section, name), keys)


def _keys(tree: Tree, module_id: ModuleId, content: Mapping[Any, Any]) -> dict[str, Any]:
    """The section's keys in lower case, old names replaced by current ones."""
    keys: dict[str, Any] = {}
    for written, value in content.items():
        key = str(written).lower()
        key = TELEGRAF_NAMES.get(key, key)
        if key in keys:
            tree.add(
                "error", (*module_id, str(written)), "this key is in the section twice", "keep one of them"
            )
        if key == "class-name" and value is None:
            keys[key] = "null"  # YAML's and JSON's null is also the name of a notifier class
        elif (module_id[0], key) == ("client-profile", "properties"):
            # before environment variables, which name them whole
            keys[key] = flattened(value)
        elif value is not None:
            keys[key] = value
    for old, new in OLD_NAMES.items():
        if old not in keys or new not in all_fields(module_id[0]):
            continue
        value = keys.pop(old)
        if new in keys:
            tree.add(
                "warning",
                (*module_id, old),
                f"{new} is set too and takes precedence",
                f"remove {old}, the older name",
            )
        else:
            tree.add(
                "warning", (*module_id, old), "this is an older name, still accepted", f"rename it to {new}"
            )
            keys[new] = value
    return keys


def fields(model: type[Section]) -> dict[str, FieldInfo]:
    """The section's keys as written in a file: pydantic's description of each."""
    return {kebab(name): info for name, info in model.model_fields.items()}


def all_fields(section: str) -> dict[str, FieldInfo]:
    """The keys of every class of a section."""
    if section in PLAIN:
        return fields(PLAIN[section])
    return {key: info for model in NAMED[section].values() for key, info in fields(model).items()}


def model_of(section: str, keys: Mapping[str, Any]) -> type[Section] | None:
    """The type of a module by its class-name; None when that is unknown."""
    if section in PLAIN:
        return PLAIN[section]
    models = NAMED[section]
    if len(models) == 1:
        return next(iter(models.values()))
    return models.get(str(keys.get("class-name", "")))


def likely_model(section: str, keys: Mapping[str, Any]) -> type[Section] | None:
    """The type of a module, or what was probably meant by a misspelt class-name."""
    model = model_of(section, keys)
    if model is not None:
        return model
    meant = nearest(str(keys.get("class-name", "")), NAMED[section])
    return None if meant is None else NAMED[section][meant]


def reference(info: FieldInfo) -> RefersTo | None:
    """The section that a key's value names, if it names one."""
    return next((mark for mark in info.metadata if isinstance(mark, RefersTo)), None)
