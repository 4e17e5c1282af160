"""Why a partition has its status: for each rule a sentence with the numbers that made it hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from warren.common.sentinels import UNKNOWN
from warren.evaluator.digest import FEWEST_ON_A_LINE, Line, enough_known, fit
from warren.evaluator.rules import FEWEST_COMMITS, LONGEST_WAIT_MS, Rule


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a sentence may speak of: one window, its heads and the clock."""

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
    samples: Sequence[int]
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


def because(rule: Rule, numbers: Numbers) -> str:
    """The sentence for the rule that decided, and why a silent partition has not stopped where that is so."""
    sentence = SENTENCES[rule](numbers)
    if rule in _AFTER_STOPPED and numbers.silence_ms > numbers.span_ms:
        sentence += f" {_not_stopped(numbers)}"
    return sentence


def _no_commit(_: Numbers) -> str:
    return "No commit of the group for this partition is known, so there is nothing to judge."


def _too_few_commits(numbers: Numbers) -> str:
    if numbers.complete >= numbers.minimum_complete:
        return (
            f"The window has {numbers.entries} of {numbers.intervals} commits: with fewer than "
            f"{FEWEST_COMMITS} the rhythm of the consumer is not known, so it is not judged for "
            f"{_seconds(LONGEST_WAIT_MS)}."
        )
    return (
        f"The window has {numbers.entries} of {numbers.intervals} commits: complete {numbers.complete:g} is "
        f"below the minimum-complete of {numbers.minimum_complete:g}, so it is not judged yet."
    )


def _no_lag_now(numbers: Numbers) -> str:
    if numbers.head == UNKNOWN:
        return "The head of the partition is not known yet, so there is no lag to judge."
    place = "at" if numbers.offsets[-1] == numbers.head else "ahead of" if _ahead(numbers) else "near"
    return (
        f"The last committed offset {numbers.offsets[-1]} is {place} the head {numbers.head}: "
        f"a lag of {numbers.current_lag}, where {numbers.allowed_lag} is allowed."
    )


def _stopped(numbers: Numbers) -> str:
    silence = _seconds(numbers.silence_ms)
    if numbers.entries == 1:
        sentence = f"The only commit is {silence} old"
    else:
        sentence = (
            f"The last commit is {silence} old, longer than the {_seconds(numbers.span_ms)} from the first "
            f"to the last of the {numbers.entries} commits in the window"
        )
    sentence += f", and the lag is {numbers.current_lag}"
    if not numbers.samples:
        return f"{sentence}; earlier heads are not known."
    return (
        f"{sentence}; the lowest stored head {min(numbers.samples)} is above the last committed offset "
        f"{numbers.offsets[-1]}, so the consumer was not at the head a moment ago either."
    )


def _rewound(numbers: Numbers) -> str:
    offsets = numbers.offsets
    fall = next(at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1])
    height = offsets[fall - 1]
    return (
        f"The offset fell from {height} to {offsets[fall]} at commit {fall + 1} of {numbers.entries} and no "
        f"later commit has come back to {height}; the last is {offsets[-1]}, the lag {numbers.current_lag}."
    )


def _caught_up(numbers: Numbers) -> str:
    certain = [
        lag if floor == UNKNOWN else floor for lag, floor in zip(numbers.lags, numbers.floors, strict=True)
    ]
    last = max(at for at, lag in enumerate(certain) if lag != UNKNOWN and lag <= numbers.allowed_lag)
    return (
        f"The lag is {numbers.current_lag} now, but it was {certain[last]} at commit {last + 1} of "
        f"{numbers.entries} (offset {numbers.offsets[last]}), where {numbers.allowed_lag} is allowed: the "
        "consumer has caught up within the window."
    )


def _stalled(numbers: Numbers) -> str:
    if numbers.entries == 1:
        return (
            f"The only commit has offset {numbers.offsets[0]} and the lag is {numbers.current_lag}: "
            "the consumer commits but has not moved."
        )
    return (
        f"All {numbers.entries} commits have offset {numbers.offsets[0]}, and the lag is "
        f"{numbers.current_lag}: the consumer commits but does not move."
    )


def _falling_behind(numbers: Numbers) -> str:
    known = [lag for lag in numbers.lags if lag != UNKNOWN]
    moves = f"The offsets move from {numbers.offsets[0]} to {numbers.offsets[-1]}"
    if not known:
        return (
            f"{moves}, but no lag at a commit is known to have shrunk; the lag is {numbers.current_lag} now."
        )
    return (
        f"{moves}, but over {numbers.entries} commits the lag never shrinks: "
        f"{', '.join(map(str, known))}, and {numbers.current_lag} now."
    )


def _keeping_pace(numbers: Numbers) -> str:
    known = [(at, lag) for at, lag in enumerate(numbers.lags) if lag != UNKNOWN]
    (before, high), (after, low) = next(pair for pair in pairwise(known) if pair[1][1] < pair[0][1])
    return (
        f"The lag is {numbers.current_lag} now, but it shrank from {high} to {low} between commits "
        f"{before + 1} and {after + 1} of {numbers.entries}: the consumer moves and catches up at times."
    )


def _growing(numbers: Numbers) -> str:
    line, known = _line(numbers), _known(numbers)
    return (
        f"The offsets move from {numbers.offsets[0]} to {numbers.offsets[-1]}, but over {numbers.entries} "
        f"commits the lag rises along a line, from {known[0]} to {known[-1]}: {line.slope[0]:.0%} of "
        f"what comes in stays unread. It is {numbers.current_lag} now."
    )


def _not_growing(numbers: Numbers) -> str:
    lags = f"The lag is {numbers.current_lag} now, and never within what is allowed in the window, but"
    if numbers.entries < numbers.intervals:
        few = f"{numbers.entries} of {numbers.intervals} commits"
        return f"{lags} the window has only {few}: growth shows in a full one."
    if numbers.intervals <= FEWEST_ON_A_LINE:
        return f"{lags} {numbers.intervals} commits are too few to see growth; set intervals to 10."
    known = _known(numbers)
    if not enough_known(np.array([numbers.lags[:-1]]) != UNKNOWN)[0]:
        return f"{lags} only {len(known)} lags of the window are known, too few to see growth."
    line = _line(numbers)
    return (
        f"{lags} it does not rise along a line ({known[0]} to {known[-1]} over {numbers.entries} "
        f"commits, correlation {line.straightness[0]:.2f}): the consumer lags and keeps pace."
    )


def _known(numbers: Numbers) -> list[int]:
    """The known lags that the rule looks at: all but the newest."""
    return [lag for lag in numbers.lags[:-1] if lag != UNKNOWN]


def _line(numbers: Numbers) -> Line:
    """The line through all known lags but the newest, as the rule draws it."""
    lag, offset = (np.array([values[:-1]], dtype=np.int64) for values in (numbers.lags, numbers.offsets))
    return fit(offset + lag, lag, lag != UNKNOWN)


def _not_stopped(numbers: Numbers) -> str:
    return (
        f"The last commit is {_seconds(numbers.silence_ms)} old, longer than the {_seconds(numbers.span_ms)} "
        f"of the window, but the stored head {min(numbers.samples)} is not above {numbers.offsets[-1]}: "
        "the consumer was at the head a moment ago and has not stopped."
    )


def _ahead(numbers: Numbers) -> bool:
    return numbers.offsets[-1] > numbers.head


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".") + " s"


# a mapping of rule: its sentence
SENTENCES: Final[dict[Rule, Callable[[Numbers], str]]] = {
    Rule.NO_COMMIT: _no_commit,
    Rule.TOO_FEW_COMMITS: _too_few_commits,
    Rule.NO_LAG_NOW: _no_lag_now,
    Rule.STOPPED: _stopped,
    Rule.REWOUND: _rewound,
    Rule.CAUGHT_UP: _caught_up,
    Rule.STALLED: _stalled,
    Rule.FALLING_BEHIND: _falling_behind,
    Rule.KEEPING_PACE: _keeping_pace,
    Rule.GROWING: _growing,
    Rule.NOT_GROWING: _not_growing,
}

# rules that are only asked when the commits have not stopped
_AFTER_STOPPED: Final = frozenset(
    {
        Rule.REWOUND,
        Rule.CAUGHT_UP,
        Rule.STALLED,
        Rule.FALLING_BEHIND,
        Rule.KEEPING_PACE,
        Rule.GROWING,
        Rule.NOT_GROWING,
    }
)
