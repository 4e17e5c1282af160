"""The vectorised verdict is the one that a person reaches who reads the rules from top to bottom."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.verdict import RuleSettings, digest, judge
from warren.storage.windows import Windows

INTERVALS: Final = 5

# offset, timestamp, lag
Entry = tuple[int, int, int | None]


def verdict_of(  # noqa: C901, PLR0911 - one after the other, as the rules are written
    entries: list[Entry], samples: list[int], now_ms: int, allowed_lag: int, minimum_complete: float
) -> tuple[Status, int, float]:
    """The rules in words, for one window."""
    complete = float(np.float32(len(entries) / INTERVALS))
    if not entries:
        return Status.OK, 0, 0.0
    offsets = [offset for offset, _, _ in entries]
    last = offsets[-1]
    current_lag = max(samples[-1] - last, 0) if samples else 0
    if complete < np.float32(minimum_complete):
        return Status.OK, current_lag, complete
    if current_lag <= allowed_lag:
        return Status.OK, current_lag, complete
    first_time, last_time = entries[0][1], entries[-1][1]
    silent = now_ms // 1000 * 1000 - last_time > last_time - first_time
    if silent and not any(sample <= last for sample in samples):
        return Status.STOP, current_lag, complete
    for at in range(1, len(offsets)):
        if offsets[at] < offsets[at - 1]:
            if not any(offset >= offsets[at - 1] for offset in offsets[at:]):
                return Status.REWIND, current_lag, complete
            break
    lags = [lag for _, _, lag in entries if lag is not None]
    if any(lag <= allowed_lag for lag in lags):
        return Status.OK, current_lag, complete
    if all(offset == last for offset in offsets):
        return Status.STALL, current_lag, complete
    if not any(lags[at] < lags[at - 1] for at in range(1, len(lags))):
        return Status.WARN, current_lag, complete
    return Status.OK, current_lag, complete


entries_lists = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 9_000), st.one_of(st.none(), st.integers(0, 6))),
    max_size=INTERVALS,
)
partitions = st.tuples(entries_lists, st.lists(st.integers(0, 14), max_size=4), st.integers(0, 3))


@given(
    windows=st.lists(partitions, min_size=1, max_size=8),
    now_ms=st.integers(0, 30_000),
    minimum_complete=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)
def test_judge_is_reading_the_rules_one_by_one(
    windows: list[tuple[list[Entry], list[int], int]], now_ms: int, minimum_complete: float
) -> None:
    arrays = Windows.empty(len(windows), INTERVALS)
    for row, (entries, _, _) in enumerate(windows):
        for column, (offset, timestamp, lag) in enumerate(entries, start=INTERVALS - len(entries)):
            arrays.offset[row, column] = offset
            arrays.timestamp[row, column] = timestamp
            arrays.lag[row, column] = UNKNOWN if lag is None else lag
            arrays.order[row, column] = column
    allowed = np.array([allowed_lag for _, _, allowed_lag in windows])

    verdict = judge(
        digest(arrays, allowed),
        np.array([samples[-1] if samples else UNKNOWN for _, samples, _ in windows]),
        np.array([min(samples, default=UNKNOWN) for _, samples, _ in windows]),
        now_ms,
        RuleSettings(INTERVALS, allowed, minimum_complete),
    )

    found = zip(verdict.status.tolist(), verdict.current_lag.tolist(), verdict.complete.tolist(), strict=True)
    assert list(found) == [
        verdict_of(entries, samples, now_ms, allowed_lag, minimum_complete)
        for entries, samples, allowed_lag in windows
    ]
