"""Straight lines through the lags of windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from warren.storage.windows import Ints, Mask

Floats = npt.NDArray[np.float64]

# two points are always on a line
FEWEST_ON_A_LINE: Final = 3


@dataclass(frozen=True, slots=True)
class Line:
    """Straight lines through the lags of many windows, over the heads at their commits."""

    # the share of what came in that stays unread
    slope: Floats
    # correlation of lag and head: 1 when all lags are on a rising line
    straightness: Floats


def enough_known(known: Mask) -> Mask:
    """Whether a line can be drawn through the known lags of each row: two thirds of them, and three at least."""
    fewest = max(FEWEST_ON_A_LINE, -(-2 * known.shape[1] // 3))
    return np.asarray(np.count_nonzero(known, axis=1) >= fewest)


def fit(head: Ints, lag: Ints, known: Mask) -> Line:
    """The least squares line through the known values of each row; 0 where head or lag do not change."""
    x, y = (_centred(each, known) for each in (head, lag))
    covariance = (x * y).sum(axis=1)
    head_variance = (x * x).sum(axis=1)
    both = np.sqrt(head_variance * (y * y).sum(axis=1))
    moves = both > 0
    slope = np.divide(covariance, head_variance, out=np.zeros_like(covariance), where=moves)
    return Line(slope, np.divide(covariance, both, out=np.zeros_like(covariance), where=moves))


def _centred(values: Ints, known: Mask) -> Floats:
    """The values minus their mean, and 0 where they are not known."""
    # offsets can be too great for the floating point that squares need
    first = np.take_along_axis(values, known.argmax(axis=1)[:, None], axis=1)
    steps = np.where(known, values - first, 0).astype(np.float64)
    mean = steps.sum(axis=1) / np.maximum(np.count_nonzero(known, axis=1), 1)
    return np.where(known, steps - mean[:, None], 0.0)
