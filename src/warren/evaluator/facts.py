"""The input of the rules: arrays over many windows, and the numbers of one window for its sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from warren.storage.windows import Ints, Mask


@dataclass(frozen=True, slots=True)
class Digest:
    """What the rules need from a window and only a new commit can change: 1-D arrays, one item per window."""

    entries: Ints
    # of the oldest and the newest entry; 0 while there is none
    first_timestamp: Ints
    last_timestamp: Ints
    last_offset: Ints
    # the results of the rules that need neither the time nor heads
    rewound: Mask
    caught_up: Mask
    stalled: Mask
    falling_behind: Mask
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


@dataclass(frozen=True, slots=True)
class Facts:
    """The windows' digest, and their state relative to the current heads and time."""

    digest: Digest
    current_lag: Ints
    # entries as a share of the window's length
    complete: npt.NDArray[np.float32]
    # the lowest of the stored head samples, UNKNOWN where there is none
    lowest_sample: Ints
    # in whole seconds, as in Burrow; one for all or one for each
    now_ms: Ints | int
    allowed_lag: Ints | int
    minimum_complete: float


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers for a rule's sentence: one window, its heads and the time."""

    # of the window's entries, oldest first; a lag or a floor may be UNKNOWN
    offsets: Sequence[int]
    timestamps: Sequence[int]
    lags: Sequence[int]
    floors: Sequence[int]
    intervals: int
    complete: float
    minimum_complete: float
    current_lag: int
    allowed_lag: int
    # UNKNOWN when there is none
    head: int
    # the lowest of the stored head samples, UNKNOWN when there is none
    lowest_sample: int
    # in whole seconds, as the rules count
    now_ms: int

    @property
    def entries(self) -> int:
        return len(self.offsets)

    @property
    def silence_ms(self) -> int:
        return self.now_ms - self.timestamps[-1]

    @property
    def span_ms(self) -> int:
        return self.timestamps[-1] - self.timestamps[0]
