"""Finding and reading the configuration file."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from warren.errors import ConfigError

FILE_NAMES: Final = ("burrow.toml", "burrow.yaml", "burrow.yml", "burrow.json")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its tree as written, and the lines of its keys."""

    path: Path
    tree: Mapping[str, Any]
    # path of keys, as written and in lower case: line, from 1
    lines: Mapping[tuple[str, ...], int]


def find(location: Path) -> Path:
    """The configuration file: the path itself, or the one file with a known name in that directory."""
    if location.is_file():
        return location
    if not location.exists():
        raise ConfigError([f"{location} does not exist; give a configuration file or the directory it is in"])
    found = [location / name for name in FILE_NAMES if (location / name).is_file()]
    if not found:
        names = ", ".join(FILE_NAMES)
        raise ConfigError(
            [f"no configuration in {location.resolve()}; put one of {names} there or name a file"]
        )
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise ConfigError(
            [f"{location.resolve()} contains {names}; keep one of them or name the file to use"]
        )
    return found[0]


def read(path: Path) -> Document:
    """The file's tree; ConfigError says at which line and column it cannot be read."""
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise ConfigError(
            [f"{path} is not a supported file type; its name must end in .toml, .yaml, .yml or .json"]
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8"]) from None
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {error.strerror}; check its permissions"]) from None
    tree, lines = parse(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(
            [f"{path} has no sections; write sections such as [cluster.local] with keys in them"]
        )
    return Document(path, tree, lines)


# what may be quoted of a line: a section, or a key up to its value
_QUOTABLE: Final = re.compile(
    r"""(\[{1,2}[^\]"']*\]{1,2}$|[{}\[\],\s]+$|[{\s]*(?:"[\w.-]+"|'[\w.-]+'|[\w.-]+)\s*[=:])(\s*)(\S?)"""
)


def _unreadable(path: Path, text: str, mark: tuple[int, int], reason: str) -> ConfigError:
    """The error with the position (line, column) from 1, the line up to its value, and what to do."""
    line, column = mark
    lines = text.splitlines()
    found = _QUOTABLE.match(lines[line - 1].strip()) if 0 < line <= len(lines) else None
    # the rest may be a password
    shown = "" if found is None else found[1] + (f"{found[2]}…" if found[3] else "")
    quoted = f": {shown}" if 0 < len(shown) <= 100 else ""
    kind = "YAML" if path.suffix.lower() in {".yaml", ".yml"} else path.suffix[1:].upper()
    location = f"{path}, line {line}, column {column}{quoted}"
    return ConfigError([f"{location}: {reason}; correct this line so that it is valid {kind}"])


# message of tomllib: what a person should look for
_TOML_HINTS: Final = (
    (r"Invalid value", "this is not a value, text must be in quotes"),
    (r"Expected newline or end of document after a statement", "there is text after the end of the value"),
    (r"Cannot declare (.*) twice", "this section is in the file twice"),
    (r"Cannot overwrite a value", "this key is in the section twice"),
    (r"Expected '=' after a key", "this is not key = value"),
    (r"Unescaped '\\'", "there is a backslash in double quotes, put the text in single quotes"),
)
_JSON_HINTS: Final = (
    (r"Expecting property name", "a key in double quotes is expected, perhaps there is a trailing comma"),
    (r"Expecting ',' delimiter", "a comma or a closing bracket is missing before this"),
    (r"Expecting value", "a value is expected here, text must be in double quotes"),
    (r"Extra data", "there is text after the end"),
)
_YAML_HINTS: Final = (
    (r"expected <block end>", "the indentation does not match the lines above"),
    (r"mapping values are not allowed here", "the indentation does not match the lines above"),
    (r"found character '\\t'", "there is a tab here, indent with spaces"),
    # messages that quote the value
    (
        r"found undefined|found duplicate anchor|could not determine a constructor",
        "the value begins with a special character, put the text in quotes",
    ),
)


def _hint(hints: tuple[tuple[str, str], ...], reason: str) -> str:
    """The parser's message, or a better one where there is one."""
    return next((hint for pattern, hint in hints if re.match(pattern, reason)), reason)


def _toml(text: str, path: Path) -> tuple[Any, Mapping[tuple[str, ...], int]]:
    try:
        return tomllib.loads(text), _toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(
            r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL
        )
        reason = found[1] if found else str(error)
        line, column = (int(found[2]), int(found[3])) if found and found[2] else (len(text.splitlines()), 1)
        hint = _hint(_TOML_HINTS, reason)
        if (
            "after the end" in hint
            and found
            and found[2]
            and "=" not in text.splitlines()[line - 1][: column - 1]
        ):
            hint = "this is not key = value"
        raise _unreadable(path, text, (line, column), hint) from None


_HEADER: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_KEY: Final = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def _toml_lines(text: str) -> Mapping[tuple[str, ...], int]:
    """Lines of headers and keys; a line inside a long value may be mistaken for a key, which is harmless."""
    found: list[tuple[tuple[str, ...], int]] = []
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _parts(header[1])
            found.append((section, number))
        elif key := _KEY.match(line):
            found.append(((*section, *_parts(key[1])), number))
    return _both_cases(found)


def _both_cases(found: list[tuple[tuple[str, ...], int]]) -> Mapping[tuple[str, ...], int]:
    """The lines of what was found, first as written, then in lower case, then of what encloses it."""
    lines: dict[tuple[str, ...], int] = {}
    for path, number in found:
        lines.setdefault(path, number)
    for path, number in found:
        lines.setdefault(tuple(part.lower() for part in path), number)
    for path, number in found:
        for length in range(1, len(path)):
            lines.setdefault(path[:length], number)
    return MappingProxyType(lines)


def _parts(text: str) -> tuple[str, ...]:
    parts = re.findall(r""""[^"]*"|'[^']*'|[^.\s]+""", text)
    return tuple(part.strip("\"'") for part in parts)


def _json(text: str, path: Path) -> tuple[Any, Mapping[tuple[str, ...], int]]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError([f'{path}: "{name}" is in the same object twice; keep one of them'])
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=unique), {}
    except json.JSONDecodeError as error:
        raise _unreadable(path, text, (error.lineno, error.colno), _hint(_JSON_HINTS, error.msg)) from None


def _yaml(text: str, path: Path) -> tuple[Any, Mapping[tuple[str, ...], int]]:
    lines: dict[tuple[str, ...], int] = {}  # path as written: line

    def walk(node: yaml.Node, above: tuple[str, ...]) -> None:
        if not isinstance(node, yaml.MappingNode):
            return
        for key, value in node.value:
            here = (*above, str(key.value))
            line = key.start_mark.line + 1
            if here in lines:
                raise ConfigError(
                    [f"{path}, line {line}: {'.'.join(here)} is in the file twice; keep one of them"]
                )
            lines[here] = line
            walk(value, here)

    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return {}, {}
            walk(node, ())
            return loader.construct_document(node), _both_cases(list(lines.items()))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = _hint(_YAML_HINTS, error.problem or "syntax error")
        raise _unreadable(path, text, (line, column), reason) from None
    except yaml.YAMLError as error:
        raise _unreadable(path, text, (1, 1), str(error)) from None


# suffix: its parser, which gives the tree and the lines of its keys
_PARSERS: Final[Mapping[str, Callable[[str, Path], tuple[Any, Mapping[tuple[str, ...], int]]]]] = (
    MappingProxyType({".toml": _toml, ".json": _json, ".yaml": _yaml, ".yml": _yaml})
)
