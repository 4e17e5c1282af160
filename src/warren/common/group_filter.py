"""Which groups are monitored: the allow and deny lists, without the rest of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Expression(Protocol):
    """A compiled regular expression that can be pickled."""

    def search(self, text: bytes, /) -> object | None:
        """None: it does not occur in the text."""


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """Allow and deny lists of several modules: every one must accept a group."""

    allow: tuple[Expression, ...] = ()
    deny: tuple[Expression, ...] = ()

    def accepts(self, group: str) -> bool:
        name = group.encode("utf-8", "surrogatepass")
        return all(each.search(name) for each in self.allow) and not any(
            each.search(name) for each in self.deny
        )


# consumer module: the groups that it monitors
Watched = Mapping[str, GroupFilter]
