"""Allow and deny lists of the configuration, as workers take them."""

from __future__ import annotations

from warren.common.group_filter import GroupFilter
from warren.config.sections import GroupLists


def group_filter(*lists: GroupLists) -> GroupFilter:
    """The lists of all modules together; regular expressions alone, so that workers need no settings."""
    return GroupFilter(
        tuple(each.group_allowlist.regex for each in lists if each.group_allowlist is not None),
        tuple(each.group_denylist.regex for each in lists if each.group_denylist is not None),
    )
