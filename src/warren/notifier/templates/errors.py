"""A template's mistake: in which file and line, what is unknown, and what would be right."""

from __future__ import annotations

from warren.errors import WarrenError


class TemplateError(WarrenError):
    """A template that cannot be used, or cannot say something about this message."""

    def __init__(self, template: str, line: int | None, what: str, remedy: str) -> None:
        place = template if line is None else f"{template}: line {line}"
        super().__init__(f"{place}: {what}; {remedy}")
        # the file, or the key of the configuration that holds the text
        self.template = template
        # from 1; None when the fault has no place
        self.line = line
        self.what = what
        self.remedy = remedy
