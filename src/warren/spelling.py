"""A name that is not known: which of the known ones was meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like it, if one does."""
    found = difflib.get_close_matches(name.lower(), {one.lower(): one for one in known}, n=1, cutoff=0.6)
    return next((one for one in known if found and one.lower() == found[0]), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A question with the nearest name, or the other advice when none is near."""
    names = tuple(known)
    near = nearest(name, names)
    return f"did you mean {near}?" if near else otherwise
