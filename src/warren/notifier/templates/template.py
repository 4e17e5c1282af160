"""Loads templates from files and from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final, Protocol

from warren.gotemplate.errors import TemplateError
from warren.gotemplate.execution import Program
from warren.gotemplate.parser import parse
from warren.notifier.message import Message
from warren.notifier.templates.binding import bound
from warren.notifier.templates.helpers import FUNCTIONS
from warren.notifier.templates.jinja import JinjaProgram

_DEFAULTS: Final = "warren.notifier.templates.defaults"
JINJA_ENDING: Final = ".j2"


class Template(Protocol):
    """Thread-safe."""

    def render(self, message: Message, extras: Mapping[str, str]) -> str:
        """The text; TemplateError when the template cannot be rendered for this message."""


class GoTemplate:
    """Go's syntax."""

    def __init__(self, name: str, text: str) -> None:
        tree = parse(name, text, FUNCTIONS)
        if tree.faults:
            first = tree.faults[0]
            raise TemplateError(name, first.line, first.what, first.remedy)
        self._program = Program(tree, FUNCTIONS)

    def render(self, message: Message, extras: Mapping[str, str]) -> str:
        return self._program.execute(bound(message, extras))


def template_source(path: str, default: str) -> tuple[str, str]:
    """Name and text of a file, or of the package's own template when there is no path."""
    if not path:
        own = resources.files(_DEFAULTS).joinpath(f"{default}.tmpl")
        return f"default {default}", own.read_text(encoding="utf-8")
    try:
        return path, Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise TemplateError(
            path, None, f"cannot be read: {error.strerror or error}", "correct the path"
        ) from error
    except UnicodeDecodeError as error:
        raise TemplateError(path, None, "is not UTF-8", "save it as UTF-8") from error


def load_template(path: str, default: str) -> Template:
    """The template in a file: Jinja2 when it ends with .j2, else Go; "" is the package's default of that name."""
    name, text = template_source(path, default)
    return JinjaProgram(name, text) if path.endswith(JINJA_ENDING) else GoTemplate(name, text)


def text_template(text: str, name: str) -> Template:
    """A template out of the configuration itself, in Go's syntax."""
    return GoTemplate(name, text)
