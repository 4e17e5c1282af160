"""The rules that judge a partition: each a sentence over arrays, and the verdict is the first that holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.digest import Digest, digest
from warren.storage.windows import Ints, Mask

__all__ = [
    "CACHING",
    "RULES",
    "TREND",
    "Digest",
    "Facts",
    "Rule",
    "RuleBook",
    "Verdict",
    "digest",
    "facts",
    "judge",
]


# with fewer than this `trend` waits: two commits have one distance between them, which says little
FEWEST_COMMITS: Final = 3
# but not for ever: who is silent for so long has ended
LONGEST_WAIT_MS: Final = 300_000


class Rule(IntEnum):
    """Why a partition has its status; the numbers are kept in snapshots, so they never change."""

    NO_COMMIT = 1
    TOO_FEW_COMMITS = 2
    NO_LAG_NOW = 3
    STOPPED = 4
    REWOUND = 5
    CAUGHT_UP = 6
    STALLED = 7
    FALLING_BEHIND = 8
    KEEPING_PACE = 9
    GROWING = 10
    NOT_GROWING = 11


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the rules look at: the windows' digest, and how they stand against heads and clock now."""

    digest: Digest
    current_lag: Ints
    # entries as a share of the window's length
    complete: npt.NDArray[np.float32]
    # the lowest of the stored head samples, UNKNOWN where there is none
    lowest_sample: Ints
    # in whole seconds, as in Burrow
    now_ms: int
    allowed_lag: Ints | int
    minimum_complete: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on many partitions: 1-D arrays, one item per window."""

    # of Status
    status: npt.NDArray[np.int8]
    current_lag: Ints
    complete: npt.NDArray[np.float32]
    # of Rule
    rule: npt.NDArray[np.int8]


def nothing_was_committed(facts: Facts) -> Mask:
    """There is no entry to judge by."""
    return np.equal(facts.digest.entries, 0)


def the_window_has_too_few_commits(facts: Facts) -> Mask:
    """Fewer entries than the configuration wants to see before it judges."""
    return np.less(facts.complete, np.float32(facts.minimum_complete))


def there_are_hardly_any_commits(facts: Facts) -> Mask:
    """Too few to know the rhythm of the consumer, and the last one not long ago."""
    window = facts.digest
    waiting: Mask = facts.now_ms - window.last_timestamp <= LONGEST_WAIT_MS
    return np.less(window.entries, FEWEST_COMMITS) & waiting | the_window_has_too_few_commits(facts)


def there_is_no_lag_now(facts: Facts) -> Mask:
    """The last commit is at the head, or as near as is allowed."""
    return np.less_equal(facts.current_lag, facts.allowed_lag)


def the_commits_stopped(facts: Facts) -> Mask:
    """Silent for longer than the whole window spans, and not at the head a moment ago."""
    window = facts.digest
    silence = facts.now_ms - window.last_timestamp
    span = window.last_timestamp - window.first_timestamp
    silent: Mask = silence > span
    return silent & ~was_at_the_head_a_moment_ago(facts)


def was_at_the_head_a_moment_ago(facts: Facts) -> Mask:
    """Some stored head sample is not beyond the last commit."""
    known = np.not_equal(facts.lowest_sample, UNKNOWN)
    return known & np.less_equal(facts.lowest_sample, facts.digest.last_offset)


def the_offsets_fell_and_did_not_come_back(facts: Facts) -> Mask:
    """An offset is below the one before it, and no later one has reached that again."""
    return facts.digest.rewound


def the_lag_was_gone_at_some_commit(facts: Facts) -> Mask:
    """At some commit of the window the lag was within what is allowed."""
    return facts.digest.caught_up


def the_offsets_do_not_move(facts: Facts) -> Mask:
    """The consumer commits the same offset again and again."""
    return facts.digest.stalled


def the_offsets_of_a_full_window_do_not_move(facts: Facts) -> Mask:
    """The same offset in as many commits as a window has: a consumer that waits for messages pauses for less."""
    return facts.digest.stalled & np.greater_equal(facts.complete, 1)


def the_lag_never_shrinks(facts: Facts) -> Mask:
    """From commit to commit the lag stays or grows."""
    return facts.digest.falling_behind


def the_lag_grows(facts: Facts) -> Mask:
    """The lags of a full window rise along a line."""
    return facts.digest.growing


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Rules in the order in which they are asked: the first that holds decides."""

    # rule, whether it holds, the status that it gives
    rules: tuple[tuple[Rule, Callable[[Facts], Mask], Status], ...]
    # the rule that stands for none of them: OK
    otherwise: Rule
    # the allowed lag where nobody has set one
    allowed_lag: int = 0


# Burrow's, to the letter
CACHING: Final = RuleBook(
    (
        (Rule.NO_COMMIT, nothing_was_committed, Status.OK),
        (Rule.TOO_FEW_COMMITS, the_window_has_too_few_commits, Status.OK),
        (Rule.NO_LAG_NOW, there_is_no_lag_now, Status.OK),
        (Rule.STOPPED, the_commits_stopped, Status.STOP),
        (Rule.REWOUND, the_offsets_fell_and_did_not_come_back, Status.REWIND),
        (Rule.CAUGHT_UP, the_lag_was_gone_at_some_commit, Status.OK),
        (Rule.STALLED, the_offsets_do_not_move, Status.STALL),
        (Rule.FALLING_BEHIND, the_lag_never_shrinks, Status.WARN),
    ),
    otherwise=Rule.KEEPING_PACE,
)
# Burrow's, but a warning needs a lag that grows, and no verdict comes before there is ground for it
TREND: Final = RuleBook(
    (
        (Rule.NO_COMMIT, nothing_was_committed, Status.OK),
        (Rule.TOO_FEW_COMMITS, there_are_hardly_any_commits, Status.OK),
        (Rule.NO_LAG_NOW, there_is_no_lag_now, Status.OK),
        (Rule.STOPPED, the_commits_stopped, Status.STOP),
        (Rule.REWOUND, the_offsets_fell_and_did_not_come_back, Status.REWIND),
        (Rule.CAUGHT_UP, the_lag_was_gone_at_some_commit, Status.OK),
        (Rule.STALLED, the_offsets_of_a_full_window_do_not_move, Status.STALL),
        (Rule.GROWING, the_lag_grows, Status.WARN),
    ),
    otherwise=Rule.NOT_GROWING,
    # what the marker of a transaction leaves behind a consumer that has read everything
    allowed_lag=1,
)
# a mapping of class-name of the evaluator: its rules
RULES: Final[dict[str, RuleBook]] = {"caching": CACHING, "trend": TREND}


# a mapping of rule number: status, as an array to index with rules; a rule gives the same status in every book
_STATUS_OF: Final = np.full(max(Rule) + 1, Status.OK, dtype=np.int8)
for _book in RULES.values():
    for _rule, _, _status in _book.rules:
        _STATUS_OF[_rule] = _status


def facts(
    digest: Digest,
    head: Ints,
    lowest_sample: Ints,
    now_ms: int,
    *,
    intervals: int,
    allowed_lag: Ints | int,
    minimum_complete: float,
) -> Facts:
    """How the windows stand now; `head` is the newest head of each, UNKNOWN where there is none yet."""
    lag = np.maximum(head - digest.last_offset, 0)
    return Facts(
        digest=digest,
        # UNKNOWN is below every offset, so there is no lag without a head either
        current_lag=np.where(digest.entries == 0, 0, lag),
        complete=(digest.entries / intervals).astype(np.float32),
        lowest_sample=lowest_sample,
        now_ms=now_ms // 1000 * 1000,
        allowed_lag=allowed_lag,
        minimum_complete=minimum_complete,
    )


def judge(
    digest: Digest,
    head: Ints,
    lowest_sample: Ints,
    now_ms: int,
    *,
    intervals: int,
    allowed_lag: Ints | int,
    minimum_complete: float,
    book: RuleBook = CACHING,
) -> Verdict:
    """The verdict on each window; `head` and `lowest_sample` are UNKNOWN where there is no sample yet."""
    seen = facts(
        digest,
        head,
        lowest_sample,
        now_ms,
        intervals=intervals,
        allowed_lag=allowed_lag,
        minimum_complete=minimum_complete,
    )
    rule = np.full(len(digest), book.otherwise, dtype=np.int8)
    # from the last to the first, so that the first that holds is what stays
    for number, holds, _ in reversed(book.rules):
        rule[holds(seen)] = number
    return Verdict(_STATUS_OF[rule], seen.current_lag, seen.complete, rule)
