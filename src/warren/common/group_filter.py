"""Which groups are watched: the lists of the configuration, without the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """Allow and deny lists, as many of each as there are: every one must let a group through."""

    allow: tuple[re.Pattern[str], ...] = ()
    deny: tuple[re.Pattern[str], ...] = ()

    def accepts(self, group: str) -> bool:
        return all(each.search(group) for each in self.allow) and not any(
            each.search(group) for each in self.deny
        )


# consumer module: the groups that it watches
Watched = Mapping[str, GroupFilter]
