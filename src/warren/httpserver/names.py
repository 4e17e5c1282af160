"""Names as clients write them, and the names they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import unquote

T = TypeVar("T")


def module_named(asked: str, known: Iterable[str]) -> str | None:
    """The configured name: as it is written, else the only one that differs in nothing but case.

    Burrow lower-cases names; clients that learnt theirs from Burrow go on asking for the lower-cased ones.
    """
    names = list(known)
    for spelling in spellings(asked):
        if spelling in names:
            return spelling
        alike = [name for name in names if name.casefold() == spelling.casefold()]
        if len(alike) == 1:
            return alike[0]
    return None


def first_found(asked: str, find: Callable[[str], T | None]) -> T | None:
    """What is found under the name, or under the name that was escaped once too often."""
    for spelling in spellings(asked):
        if (found := find(spelling)) is not None:
            return found
    return None


def spellings(asked: str) -> Iterable[str]:
    """The name itself, then what is left when it is unescaped again: Telegraf escapes names twice."""
    yield asked
    if "%" in asked and (plain := unquote(asked, errors="replace")) != asked:
        yield plain
