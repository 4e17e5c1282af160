"""klag's velocity: whether the lag has grown over the last samples, one each minute."""

from __future__ import annotations

from typing import Final

import numpy as np

from warren.lab.producers import Floats, Ints, Mask

_EVERY_S: Final = 60.0
_SAMPLES: Final = 20


def growing(asked_s: Floats, lag: Ints) -> Mask:
    """Whether the least squares slope of the last samples is above 0; shaped as `lag`, (looks, groups)."""
    result = np.zeros(lag.shape, dtype=np.bool_)
    sampled = _sampled(asked_s)
    if len(sampled) < _SAMPLES:
        return result
    times = np.lib.stride_tricks.sliding_window_view(asked_s[sampled], _SAMPLES)
    lags = np.lib.stride_tricks.sliding_window_view(lag[sampled], _SAMPLES, axis=0)
    # of the sign of the slope
    moment = np.einsum("wk,wgk->wg", times - times.mean(axis=1, keepdims=True), lags)
    first = sampled[_SAMPLES - 1]
    window = np.searchsorted(sampled[_SAMPLES - 1 :], np.arange(first, len(asked_s)), side="right") - 1
    result[first:] = (moment > 0)[window]
    return result


def _sampled(asked_s: Floats) -> Ints:
    """The looks that take a sample: the first one, and each that is a minute after the last sample or more."""
    following = np.searchsorted(asked_s, asked_s + _EVERY_S)
    taken = [0]
    while following[taken[-1]] < len(asked_s):
        taken.append(int(following[taken[-1]]))
    return np.array(taken)
