"""Finds the errors in all templates of a configuration, without sending anything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from warren.common.status import Status
from warren.config.modules import EmailNotifier, HttpNotifier
from warren.config.problems import Problem
from warren.config.settings import AnyNotifier, Settings
from warren.gotemplate.checker import KnownKeys
from warren.gotemplate.checker import faults as go_faults
from warren.gotemplate.errors import TemplateError
from warren.gotemplate.nodes import Fault
from warren.gotemplate.parser import parse
from warren.notifier.message import Kind, Message
from warren.notifier.templates import jinja
from warren.notifier.templates.binding import EXTRAS, SUBJECT
from warren.notifier.templates.helpers import FUNCTIONS
from warren.notifier.templates.samples import sample, sparse
from warren.notifier.templates.template import JINJA_ENDING, GoTemplate, Template, template_source

_STATUSES: Final = (Status.OK, Status.WARN, Status.ERR, Status.STOP, Status.STALL, Status.REWIND)


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a template in the configuration."""

    key: str
    # the file name; empty when the text is in the configuration itself
    name: str
    text: str
    kind: Kind
    is_jinja: bool = False
    is_mail: bool = False


def examine(settings: Settings) -> list[Problem]:
    """Errors will or may prevent a message; warnings only change its text."""
    problems: list[Problem] = []
    for name, module in settings.notifier.items():
        for use in _uses(settings, name, module, problems):
            problems += _problems(use, name, module)
    return problems


def _uses(settings: Settings, name: str, module: AnyNotifier, problems: list[Problem]) -> Iterator[_Use]:
    kinds: tuple[Kind, ...] = ("open", "close")
    for kind in kinds:
        path = module.template_open if kind == "open" else module.template_close
        key = f"notifier.{name}.template-{kind}"
        if path:
            file = str(settings.path(path))
            try:
                _, text = template_source(file, "")
            except TemplateError as error:
                problems.append(Problem("error", key, f"{path} {error.what}", error.remedy))
            else:
                yield _Use(
                    key, file, text, kind, file.endswith(JINJA_ENDING), isinstance(module, EmailNotifier)
                )
        if isinstance(module, HttpNotifier):
            url = module.url_open if kind == "open" else module.url_close
            yield _Use(f"notifier.{name}.url-{kind}", "", url, kind)


def _problems(use: _Use, name: str, module: AnyNotifier) -> list[Problem]:
    faults, template = _static(use, module)
    if template is not None and not any(fault.severe for fault in faults):
        faults += _rendered(use, template, name, module)
    return [_problem(use, fault) for fault in dict.fromkeys(faults)]


def _problem(use: _Use, fault: Fault) -> Problem:
    # lines of a problem are those of the configuration's file
    location = (
        f"{use.name}, line {fault.line}: " if use.name and fault.line else f"{use.name}: " if use.name else ""
    )
    return Problem("error" if fault.severe else "warning", use.key, location + fault.what, fault.remedy)


def _static(use: _Use, module: AnyNotifier) -> tuple[list[Fault], Template | None]:
    if use.is_jinja:
        found = jinja.faults(use.text, tuple(module.extras))
        with contextlib.suppress(TemplateError):
            return found, jinja.JinjaProgram(use.name, use.text)
        return found, None
    tree = parse(use.name or use.key, use.text, FUNCTIONS)
    found = [*tree.faults]
    if tree.templates.get(tree.name) is not None:
        found += go_faults(tree, FUNCTIONS, SUBJECT, {EXTRAS: KnownKeys("extras", module.extras)})
    found.sort(key=lambda fault: fault.line)
    with contextlib.suppress(TemplateError):
        return found, GoTemplate(use.name or use.key, use.text)
    return found, None


def _rendered(use: _Use, template: Template, name: str, module: AnyNotifier) -> list[Fault]:
    """The errors of rendering samples of every message that this module may get."""
    found: dict[tuple[int, str], Fault] = {}
    for message in _messages(use.kind, name, module):
        for variant, severe in ((message, True), (sparse(message), False)):
            try:
                text = template.render(variant, module.extras)
            except TemplateError as error:
                fault = Fault(error.line or 0, error.what, error.remedy, severe)
                found.setdefault((fault.line, fault.what), fault)
            else:
                if use.is_mail and not has_subject(text):
                    found.setdefault((0, _SUBJECT), _NO_SUBJECT)
    return list(found.values())


_SUBJECT: Final = "subject:"
_NO_SUBJECT: Final = Fault(1, "the mail does not begin with a subject", 'make its first line "Subject: …"')


def _messages(kind: Kind, name: str, module: AnyNotifier) -> Iterator[Message]:
    if kind == "close":
        yield sample(Status.OK, name, "close")
        return
    for status in _STATUSES:
        # a threshold that nothing reaches is tested with the worst status
        if min(status, Status.ERR) >= min(module.threshold, Status.ERR):
            yield sample(status, name, "open")


def has_subject(text: str) -> bool:
    """Whether the first line is a subject: Burrow sends no mail without."""
    return text[: len(_SUBJECT)].lower() == _SUBJECT
