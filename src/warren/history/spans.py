"""How long each sample counts: until the next one of its cluster, but not across a hole in the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warren.history.period import Grid, Period

    Ints = NDArray[np.int64]

# a sample counts for so many intervals at most: what is longer is a hole, in which nobody knows
HOLE_INTERVALS: Final = 3
# where there are too few samples to tell the interval: the default of sinks
USUAL_MS: Final = 10_000
# no sink has a longer one; a few samples with days between them do not make it one
_LONGEST_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000
# gaps from which the interval of a day is told by its own
_ENOUGH: Final = 10

TIME: Final = pa.timestamp("ms", tz="UTC")


def intervals(times_ms: Ints) -> Ints:
    """For each moment the interval in which samples came on its day, as the median of the gaps."""
    gaps = np.diff(times_ms)
    if len(gaps) == 0:
        return np.full(len(times_ms), USUAL_MS)
    found = np.full(len(times_ms), min(int(np.median(gaps)), _LONGEST_MS))
    days = times_ms // _DAY_MS
    begins = np.flatnonzero(np.diff(days, prepend=days[0] - 1))
    for begin, end in zip(begins, [*begins[1:], len(days)], strict=True):
        # the gap to the next day's first sample is none of this day's
        own = gaps[begin : end - 1]
        if len(own) >= _ENOUGH:
            found[begin:end] = min(int(np.median(own)), _LONGEST_MS)
    return found


def ends(times_ms: Ints, until_ms: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Until when each sample counts, and whether that is when the next one was taken. Moments are sorted."""
    following = np.append(times_ms[1:], until_ms)
    longest = times_ms + HOLE_INTERVALS * intervals(times_ms)
    joined = following <= longest
    if len(joined):
        # nobody knows yet what comes after the last
        joined[-1] = False
    return np.minimum(np.minimum(following, longest), until_ms), joined


def moments_table(moments: pa.Table, period: Period) -> pa.Table:
    """`cluster`, `time`, `next` (null before a hole) and `seconds` of every sample; from `cluster` and `time`."""
    parts = []
    for cluster, times in _by_cluster(moments):
        end, joined = ends(times, period.until_ms)
        following = np.append(times[1:], 0)
        parts.append(
            pa.table(
                {
                    "cluster": pa.array([cluster] * len(times), pa.string()),
                    "time": pa.array(times).cast(TIME),
                    "next": pa.array(following, mask=~joined).cast(TIME),
                    "seconds": (end - times) / 1000,
                }
            )
        )
    return pa.concat_tables(parts)


def spans_table(moments: pa.Table, period: Period, grid: Grid) -> pa.Table:
    """`cluster`, `time`, `step` and `seconds`: how long each sample counts in each step of the grid."""
    parts = []
    for cluster, times in _by_cluster(moments):
        end, _ = ends(times, period.until_ms)
        first = (times - grid.origin_ms) // grid.step_ms
        last = (np.maximum(end - 1, times) - grid.origin_ms) // grid.step_ms
        count = last - first + 1
        sample = np.repeat(np.arange(len(times)), count)
        step = first[sample] + np.arange(len(sample)) - np.repeat(np.cumsum(count) - count, count)
        begin = np.maximum(times[sample], grid.origin_ms + step * grid.step_ms)
        until = np.minimum(end[sample], grid.origin_ms + (step + 1) * grid.step_ms)
        parts.append(
            pa.table(
                {
                    "cluster": pa.array([cluster] * len(sample), pa.string()),
                    "time": pa.array(times[sample]).cast(TIME),
                    "step": pa.array(step.astype(np.int32)),
                    "seconds": (until - begin) / 1000,
                }
            )
        )
    return pa.concat_tables(parts)


def _by_cluster(moments: pa.Table) -> list[tuple[str, Ints]]:
    clusters = moments.column("cluster").to_numpy(zero_copy_only=False)
    times = moments.column("time").cast(pa.int64()).to_numpy()
    return [(str(each), np.unique(times[clusters == each])) for each in sorted(set(clusters))]
