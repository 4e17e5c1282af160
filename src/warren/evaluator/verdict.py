"""From windows to statuses: the rules in their order, where the first that holds decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from warren.common.sentinels import EMPTY
from warren.evaluator import rules
from warren.evaluator.facts import Digest, Facts
from warren.evaluator.rules import Rule, RuleSpec
from warren.storage.windows import Ints, Windows

_Time = TypeVar("_Time", int, Ints, Ints | int)


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Rules in the order of evaluation; the last one always holds."""

    rules: tuple[RuleSpec, ...]
    # the default of allowed-lag
    allowed_lag: int = 0

    def spec(self, rule: int) -> RuleSpec:
        """The rule of this number, in this book's variant."""
        return next(spec for spec in self.rules if spec.rule == rule)


# exactly Burrow's
CACHING: Final = RuleBook(
    (
        rules.NO_COMMIT,
        rules.TOO_FEW_COMMITS,
        rules.NO_LAG_NOW,
        rules.STOPPED,
        rules.REWOUND,
        rules.CAUGHT_UP,
        rules.STALLED,
        rules.FALLING_BEHIND,
        rules.KEEPING_PACE,
    )
)
# Burrow's, but WARN needs a growing lag, and there is no status other than OK without enough commits
TREND: Final = RuleBook(
    (
        rules.NO_COMMIT,
        rules.TOO_FEW_COMMITS_FOR_A_TREND,
        rules.NO_LAG_NOW,
        rules.STOPPED,
        rules.REWOUND,
        rules.CAUGHT_UP,
        rules.STALLED_OVER_A_FULL_WINDOW,
        rules.GROWING,
        rules.NOT_GROWING,
    ),
    # a transaction's marker leaves a lag of 1 for a consumer that has read everything
    allowed_lag=1,
)
# class-name of the evaluator: its rules
RULES: Final[dict[str, RuleBook]] = {"caching": CACHING, "trend": TREND}
# rule number: status, as an array to index with rules; a rule has the same status in every book
_STATUS_OF: Final = np.zeros(max(Rule) + 1, dtype=np.int8)
for _spec in (*CACHING.rules, *TREND.rules):
    _STATUS_OF[_spec.rule] = _spec.status


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """Settings of the evaluation."""

    # entries that a full window has
    intervals: int
    # one number for all windows or one for each
    allowed_lag: Ints | int = 0
    minimum_complete: float = 0.0
    book: RuleBook = CACHING


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdicts on many partitions: 1-D arrays, one item per window."""

    # of Status
    status: npt.NDArray[np.int8]
    current_lag: Ints
    complete: npt.NDArray[np.float32]
    # of Rule
    rule: npt.NDArray[np.int8]


def digest(windows: Windows, allowed_lag: Ints | int) -> Digest:
    """The digests of windows; `allowed_lag` is one number for all windows or one for each."""
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
        rewound=rules.rewound(windows.offset, filled),
        caught_up=rules.caught_up(windows, allowed),
        stalled=rules.stalled(windows.offset, filled),
        falling_behind=rules.falling_behind(windows.lag, filled),
        growing=rules.growing(windows, entries),
    )


def judge(
    digest: Digest, head: Ints, lowest_sample: Ints, now_ms: Ints | int, settings: RuleSettings
) -> Verdict:
    """The verdict on each window; `head` and `lowest_sample` are UNKNOWN where there is no sample yet.

    `now_ms` is one moment for all windows or one for each.
    """
    lag = np.maximum(head - digest.last_offset, 0)
    facts = Facts(
        digest=digest,
        # UNKNOWN is below every offset, so there is no lag without a head either
        current_lag=np.where(digest.entries == 0, 0, lag),
        complete=(digest.entries / settings.intervals).astype(np.float32),
        lowest_sample=lowest_sample,
        now_ms=whole_seconds(now_ms),
        allowed_lag=settings.allowed_lag,
        minimum_complete=settings.minimum_complete,
    )
    rule = np.empty(len(digest), dtype=np.int8)
    # from the last to the first, so that the first that holds decides
    for spec in reversed(settings.book.rules):
        rule[spec.holds(facts)] = spec.rule
    return Verdict(_STATUS_OF[rule], facts.current_lag, facts.complete, rule)


def whole_seconds(now_ms: _Time) -> _Time:
    """The time in ms, truncated to whole seconds as Burrow does."""
    return now_ms // 1000 * 1000
