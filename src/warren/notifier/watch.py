"""Which groups are monitored at all, by the lists of the configuration."""

from __future__ import annotations

from typing import Final

from warren.config import Settings
from warren.config.sections import GroupLists

# groups that are cached
_MOST_REMEMBERED: Final = 100_000


class Watch:
    """The lists of the consumers and of the windows, as the pipeline applies them."""

    def __init__(self, settings: Settings) -> None:
        # cluster: for each of its consumers, the lists that a group must pass
        self._lists: dict[str, list[tuple[GroupLists, ...]]] = {
            cluster: [(consumer, settings.window) for consumer in settings.consumers_of(cluster).values()]
            for cluster in settings.cluster
        }

        # cluster and group: whether it is monitored
        self._known: dict[tuple[str, str], bool] = {}

    def includes(self, cluster: str, group: str) -> bool:
        """Whether some consumer of the cluster reads the group; without consumers there are no lists."""
        known = self._known.get((cluster, group))
        if known is None:
            if len(self._known) > _MOST_REMEMBERED:
                self._known.clear()
            lists = self._lists.get(cluster)
            known = not lists or any(all(each.accepts(group) for each in passed) for passed in lists)
            self._known[cluster, group] = known
        return known
