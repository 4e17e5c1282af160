"""What the rules need to know of a window and what only a new commit can change: computed once per change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from warren.common.sentinels import EMPTY, UNKNOWN
from warren.storage.windows import Ints, Mask, Windows

Floats = npt.NDArray[np.float64]

# Lags that grow lie on a line; those of a group that lags evenly waver, and by chance they waver along a line. The
# nearer to 1, the more rarely that is taken for growth, and the more even the growth must be. `warren lab` shows both.
STRAIGHT: Final = 0.99
# the share of what comes in that stays unread; that of a group that is minutes late is 0.02 when traffic rises at dawn
WORTH_A_WARNING: Final = 0.03
# in messages, over the window: where a few come a minute, chance makes such lines
LEAST_RISE: Final = 10
# two points are always on a line
FEWEST_ON_A_LINE: Final = 3


@dataclass(frozen=True, slots=True)
class Digest:
    """Facts about many windows that need neither clock nor heads: 1-D arrays, one item per window."""

    entries: Ints
    # of the oldest and the newest entry; 0 while there is none
    first_timestamp: Ints
    last_timestamp: Ints
    last_offset: Ints
    # the offsets fell and have not come back
    rewound: Mask
    # some known floor was within the allowed lag
    caught_up: Mask
    # all offsets are equal
    stalled: Mask
    # no known lag is below the known lag before it
    falling_behind: Mask
    # the lags of a full window rise along a line
    growing: Mask

    @classmethod
    def concat(cls, parts: Sequence[Digest]) -> Self:
        """The windows of all parts, in their order."""
        columns = zip(*(part.arrays() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.entries)

    def take(self, rows: Ints | Mask | slice) -> Self:
        return type(self)(*(array[rows] for array in self.arrays()))

    def arrays(self) -> Iterator[npt.NDArray[Any]]:
        """The arrays in the order of the fields."""
        return (getattr(self, field.name) for field in fields(self))


def digest(windows: Windows, allowed_lag: Ints | int) -> Digest:
    """The facts; `allowed_lag` is one number for all windows or one for each."""
    filled = windows.order != EMPTY
    entries = np.count_nonzero(filled, axis=1).astype(np.int64)
    every = np.arange(windows.rows)
    # with no entry this is the last slot, which is empty like the others
    first = np.minimum(windows.intervals - entries, windows.intervals - 1)
    allowed = np.broadcast_to(np.asarray(allowed_lag, dtype=np.int64), every.shape)
    return Digest(
        entries=entries,
        first_timestamp=np.where(entries, windows.timestamp[every, first], 0),
        last_timestamp=np.where(entries, windows.timestamp[:, -1], 0),
        last_offset=np.where(entries, windows.offset[:, -1], 0),
        rewound=_rewound(windows.offset, filled),
        caught_up=_caught_up(windows, allowed),
        stalled=_stalled(windows.offset, filled),
        falling_behind=_falling_behind(windows.lag, filled),
        growing=_growing(windows, entries),
    )


def _rewound(offset: Ints, filled: Mask) -> Mask:
    """Some offset is below the one before it, and none after the first such fall has reached that again."""
    falls = (offset[:, 1:] < offset[:, :-1]) & filled[:, :-1]
    rewound = np.asarray(falls.any(axis=1))
    rows = np.flatnonzero(rewound)
    if len(rows):
        fell_from = falls[rows].argmax(axis=1)
        height = offset[rows, fell_from]
        later = np.arange(offset.shape[1]) > fell_from[:, None]
        rewound[rows] = ~(later & (offset[rows] >= height[:, None])).any(axis=1)
    return rewound


def _caught_up(windows: Windows, allowed_lag: Ints) -> Mask:
    """At some commit no more than the allowed lag was certainly there; windows from elsewhere have lags alone."""
    certain = np.where(windows.floor == UNKNOWN, windows.lag, windows.floor)
    caught_up: Mask = ((certain != UNKNOWN) & (certain <= allowed_lag[:, None])).any(axis=1)
    return caught_up


def _stalled(offset: Ints, filled: Mask) -> Mask:
    """All offsets are equal; trivially so for one entry."""
    moves: Mask = ((offset[:, 1:] != offset[:, :-1]) & filled[:, :-1]).any(axis=1)
    return ~moves


def _falling_behind(lag: Ints, filled: Mask) -> Mask:
    """No known lag is below the known lag before it; trivially so for one known lag or none."""
    known = lag != UNKNOWN
    shrinks: Mask = ((lag[:, 1:] < lag[:, :-1]) & known[:, 1:]).any(axis=1)
    rows = np.flatnonzero((filled & ~known).any(axis=1))
    if len(rows):
        # unknown lags count as the last known one; the lags are never negative, so UNKNOWN leads
        columns = np.where(known[rows], np.arange(lag.shape[1]), 0)
        carried = np.take_along_axis(lag[rows], np.maximum.accumulate(columns, axis=1), axis=1)
        shrinks[rows] = (carried[:, 1:] < carried[:, :-1]).any(axis=1)
    return ~shrinks


def _growing(windows: Windows, entries: Ints) -> Mask:
    """In a full window the lag rises along a line with what comes in: a share of that always stays unread.

    The newest entry is left out: with `min-distance` its slot is still open.
    """
    growing = np.zeros(windows.rows, dtype=np.bool_)
    lag = windows.lag[:, :-1]
    if lag.shape[1] < FEWEST_ON_A_LINE:
        return growing
    known = lag != UNKNOWN
    full = (entries == windows.intervals) & enough_known(known)
    # most lags do not end above where they begin, and those need not be fitted
    first, last = known.argmax(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    every = np.arange(windows.rows)
    rows = np.flatnonzero(full & (lag[every, last] - lag[every, first] >= LEAST_RISE))
    if len(rows):
        line = fit(windows.offset[rows, :-1] + lag[rows], lag[rows], known[rows])
        growing[rows] = (line.slope >= WORTH_A_WARNING) & (line.straightness >= STRAIGHT)
    return growing


def enough_known(known: Mask) -> Mask:
    """Whether a line can be drawn through the known lags of each row: two thirds of them, and three at least."""
    fewest = max(FEWEST_ON_A_LINE, -(-2 * known.shape[1] // 3))
    return np.asarray(np.count_nonzero(known, axis=1) >= fewest)


@dataclass(frozen=True, slots=True)
class Line:
    """Straight lines through the lags of many windows, over the heads at their commits."""

    # the share of what came in that stays unread
    slope: Floats
    # correlation of lag and head: 1 when all lags are on a rising line
    straightness: Floats


def fit(head: Ints, lag: Ints, known: Mask) -> Line:
    """The line of least squares through what is known of each row; 0 everywhere where head or lag stand still."""
    across, up = (_round_their_mean(each, known) for each in (head, lag))
    together = (across * up).sum(axis=1)
    of_head = (across * across).sum(axis=1)
    both = np.sqrt(of_head * (up * up).sum(axis=1))
    moves = both > 0
    slope = np.divide(together, of_head, out=np.zeros_like(together), where=moves)
    return Line(slope, np.divide(together, both, out=np.zeros_like(together), where=moves))


def _round_their_mean(values: Ints, known: Mask) -> Floats:
    """The values less their mean, and 0 where they are not known."""
    # offsets can be too great for the floating point that squares need
    first = np.take_along_axis(values, known.argmax(axis=1)[:, None], axis=1)
    steps = np.where(known, values - first, 0).astype(np.float64)
    mean = steps.sum(axis=1) / np.maximum(np.count_nonzero(known, axis=1), 1)
    return np.where(known, steps - mean[:, None], 0.0)
