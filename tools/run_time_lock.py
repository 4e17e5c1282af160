"""Writes the part of requirements.lock that Warren needs when it runs: not what only tests, linters and builds need."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK: Final = Path(__file__).parents[1] / "requirements.lock"
# the extra of those who work on Warren; every other one is something that Warren can do
DEVELOPMENT: Final = "dev"


def main() -> None:
    """Follow the requirements from Warren on, through what is installed here."""
    entries = locked()
    needed: set[str] = set()
    ahead = [each for each in map(Requirement, requires("warren") or ()) if _wanted(each)]
    while ahead:
        requirement = ahead.pop()
        name = canonicalize_name(requirement.name)
        # the same package may be asked for again with extras
        for extra in ("", *requirement.extras):
            key = f"{name}[{extra}]"
            if key in needed:
                continue
            needed.add(key)
            ahead += _needs(name, extra)
    names = sorted({key.partition("[")[0] for key in needed})
    if missing := [name for name in names if name not in entries]:
        sys.exit(f"requirements.lock lacks {', '.join(missing)}: make lock")
    sys.stdout.write("# What Warren needs when it runs: the versions that it was tested with.\n")
    sys.stdout.writelines(f"{entries[name]}\n" for name in names)


def _needs(name: str, extra: str) -> list[Requirement]:
    try:
        found = map(Requirement, requires(name) or ())
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed here: make lock")
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": extra})]


def locked() -> dict[str, str]:
    """Name: its entry in the lock file, hashes included."""
    entries = re.split(r"\n(?=[^\s#])", LOCK.read_text().strip())
    return {canonicalize_name(entry.partition("==")[0]): entry for entry in entries if "==" in entry}


def _wanted(requirement: Requirement) -> bool:
    """Whether Warren itself needs it here, or one of its extras but the developers'."""
    marker = requirement.marker
    if marker is None or marker.evaluate({"extra": ""}):
        return True
    extras = re.findall(r'extra == "([^"]+)"', str(marker))
    return any(extra != DEVELOPMENT and marker.evaluate({"extra": extra}) for extra in extras)


if __name__ == "__main__":
    main()
