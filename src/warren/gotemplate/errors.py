"""Errors of templates: the file and line, what is wrong, and what to do."""

from __future__ import annotations

from warren.errors import WarrenError


class TemplateError(WarrenError):
    """A template that is invalid, or that cannot be rendered for this message."""

    def __init__(self, template: str, line: int | None, what: str, remedy: str) -> None:
        location = template if line is None else f"{template}: line {line}"
        super().__init__(f"{location}: {what}; {remedy}")
        # the file, or the key of the configuration that holds the text
        self.template = template
        # from 1; None when the error has no line
        self.line = line
        self.what = what
        self.remedy = remedy
