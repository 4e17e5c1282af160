"""Prometheus' text format, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

# labels of some series, each with the blank that follows them, and their values
Series = tuple[Sequence[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, help text and Prometheus type."""

    name: str
    help: str
    type: str = "gauge"

    @property
    def head(self) -> str:
        return f"# HELP {self.name} {self.help}\n# TYPE {self.name} {self.type}\n"


def text(family: Family, parts: Sequence[Series]) -> bytes:
    """All series of a family; nothing when it has none."""
    labels = list(chain.from_iterable(part[0] for part in parts))
    if not labels:
        return b""
    # name, labels, value of each line in turn: one join of three lists is quicker than a string per line
    pieces = [f"\n{family.name}"] * (3 * len(labels))
    pieces[0] = family.head + family.name
    pieces[1::3] = labels
    pieces[2::3] = map(str, chain.from_iterable(part[1] for part in parts))
    pieces.append("\n")
    return "".join(pieces).encode(errors="replace")


def escaped(label: str) -> str:
    """A label's value between its quotes."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
