"""Resolves names in requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import unquote

T = TypeVar("T")


def module_named(requested: str, known: Iterable[str]) -> str | None:
    """The configured name: as it is written, else the only one that differs in nothing but case.

    Burrow lower-cases names; clients that got theirs from Burrow use the lower-cased ones.
    """
    names = list(known)
    for spelling in spellings(requested):
        if spelling in names:
            return spelling
        alike = [name for name in names if name.casefold() == spelling.casefold()]
        if len(alike) == 1:
            return alike[0]
    return None


def first_found(requested: str, find: Callable[[str], T | None]) -> T | None:
    """The result for the name, or for the name unescaped once more."""
    for spelling in spellings(requested):
        if (found := find(spelling)) is not None:
            return found
    return None


def spellings(requested: str) -> Iterable[str]:
    """The name itself, then what is left when it is unescaped again: Telegraf escapes names twice."""
    yield requested
    if "%" in requested and (plain := unquote(requested, errors="replace")) != requested:
        yield plain
