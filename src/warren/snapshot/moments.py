"""As of which moment windows are judged, where consumers are polled: each has a moment of its own.

While a consumer cannot be polled, its windows are judged as of the last moment at which it could be, with the heads of
that moment: what has been committed since is not known, so no group looks stopped because of it. The others go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.common.look import LookTaken, PolledMoment
    from warren.snapshot.structure import Structure

    Ints = NDArray[np.int64]
    Indices = NDArray[np.int32]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Moments:
    """One item per window."""

    now_ms: Ints
    # of its topic partition, at that moment
    head: Ints
    lowest: Ints
    # its consumer cannot be polled now
    blind: Mask


def hold_unanswered(
    moments: Moments,
    polled: Mapping[str, PolledMoment],
    consumer: NDArray[np.int16],
    names: Sequence[str],
    structure: Structure,
) -> None:
    """Groups of a consumer that have no answer, though others have, are judged as of their last one."""
    for number, name in enumerate(names):
        for group, at_ms in polled[name].unanswered.items() if name in polled else ():
            if group not in structure.index:
                continue
            rows = np.arange(len(consumer))[structure.rows(structure.index[group])]
            own = rows[consumer[rows] == number]
            moments.now_ms[own] = at_ms
            moments.blind[own] = True


class PolledHeads:
    """The heads of the last moments at which consumers that cannot be polled now were polled."""

    def __init__(self) -> None:
        # label: head and lowest sample of every topic partition
        self._kept: dict[str, tuple[Ints, Ints]] = {}

    def see(self, polled: Mapping[str, PolledMoment], head: Ints, lowest: Ints) -> None:
        """Keep the heads of consumers that have just become blind; called before and after new heads are applied: after
        a start there are none before."""
        for label, moment in polled.items():
            if not moment.blind:
                self._kept.pop(label, None)
            elif label not in self._kept and len(head):
                self._kept[label] = head.copy(), lowest.copy()

    def take(self, kept: Mask) -> None:
        """Only these topic partitions are left."""
        self._kept = {
            label: (head[kept[: len(head)]], lowest[kept[: len(lowest)]])
            for label, (head, lowest) in self._kept.items()
        }

    def moments(
        self,
        look: LookTaken,
        consumer: NDArray[np.int16],
        names: Sequence[str],
        tp: Indices,
        *,
        head: Ints,
        lowest: Ints,
    ) -> Moments | None:
        """The moments of windows; None: one for all. `consumer` is an index in `names`, `tp` one in the heads."""
        polled = look.polled
        if not polled:
            return None
        now = np.full(len(tp), look.as_of_ms, dtype=np.int64)
        head, lowest = head[tp], lowest[tp]
        blind = np.zeros(len(tp), dtype=np.bool_)
        for number, name in enumerate(names):
            if name not in polled:
                continue
            own = consumer == number
            now[own] = polled[name].as_of_ms
            blind |= own & polled[name].blind
            if name in self._kept:
                kept_head, kept_lowest = self._kept[name]
                # topic partitions that are newer than that keep their present heads
                rows = np.flatnonzero(own & (tp < len(kept_head)))
                head[rows], lowest[rows] = kept_head[tp[rows]], kept_lowest[tp[rows]]
        return Moments(now, head, lowest, blind)
