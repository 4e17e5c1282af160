"""The rules that judge a partition. Each is in one place: its condition over arrays, its sentence, its status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import Final

import numpy as np

from warren.common.sentinels import UNKNOWN
from warren.common.status import Status
from warren.evaluator.facts import Facts, Numbers
from warren.evaluator.line import FEWEST_ON_A_LINE, Line, enough_known, fit
from warren.storage.windows import Ints, Mask, Windows


class Rule(IntEnum):
    """Which rule decided. The numbers are those of docs/rules.md, in the order of evaluation, and never change."""

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
class RuleSpec:
    """A rule: whether it holds for all windows at once; why it does for one of them, and what would end it."""

    rule: Rule
    status: Status
    holds: Callable[[Facts], Mask]
    sentence: Callable[[Numbers], str]
    # the entries that it looked at, by their position in the window
    decided_by: Callable[[Numbers], Sequence[int]]
    # what would make another rule decide
    would_change: Callable[[Numbers], str]

    def because(self, numbers: Numbers) -> str:
        """The sentence, and for a silent partition that counts as running the reason for that."""
        sentence = self.sentence(numbers)
        if self.rule > Rule.STOPPED and numbers.silence_ms > numbers.span_ms:
            sentence += f" {_not_stopped_sentence(numbers)}"
        return sentence


def _otherwise(facts: Facts) -> Mask:
    """Of the last rule: it holds where none before it does."""
    return np.ones(len(facts.digest), dtype=np.bool_)


def _every_entry(numbers: Numbers) -> Sequence[int]:
    return range(numbers.entries)


def _known_lags(numbers: Numbers) -> Sequence[int]:
    return [at for at, lag in enumerate(numbers.lags) if lag != UNKNOWN]


def _enough(numbers: Numbers) -> int:
    """The lowest offset that is near enough to the head now."""
    return numbers.head - numbers.allowed_lag


# 1: no_commit


def _nothing_was_committed(facts: Facts) -> Mask:
    """There is no entry to judge by."""
    return np.equal(facts.digest.entries, 0)


def _no_commit_sentence(_: Numbers) -> str:
    return "No commit of the group for this partition is known, so there is nothing to judge."


def _a_first_commit(_: Numbers) -> str:
    return "A first commit of the group for this partition."


NO_COMMIT: Final = RuleSpec(
    Rule.NO_COMMIT, Status.OK, _nothing_was_committed, _no_commit_sentence, _every_entry, _a_first_commit
)


# 2: too_few_commits

# with fewer commits `trend` waits: two commits have a single interval, which is too little
FEWEST_COMMITS: Final = 3
# the limit: a consumer that is silent for this long has ended
LONGEST_WAIT_MS: Final = 300_000


def _the_window_has_too_few_commits(facts: Facts) -> Mask:
    """Fewer entries than `minimum-complete` requires."""
    return np.less(facts.complete, np.float32(facts.minimum_complete))


def _there_are_hardly_any_commits(facts: Facts) -> Mask:
    """Too few to know the commit interval of the consumer, and the last one not long ago."""
    window = facts.digest
    waiting: Mask = facts.now_ms - window.last_timestamp <= LONGEST_WAIT_MS
    return np.less(window.entries, FEWEST_COMMITS) & waiting | _the_window_has_too_few_commits(facts)


def _too_few_commits_sentence(numbers: Numbers) -> str:
    if numbers.complete >= numbers.minimum_complete:
        return (
            f"The window has {numbers.entries} of {numbers.intervals} commits: with fewer than "
            f"{FEWEST_COMMITS} the commit interval of the consumer is not known, so it is not judged for "
            f"{_seconds(LONGEST_WAIT_MS)}."
        )
    return (
        f"The window has {numbers.entries} of {numbers.intervals} commits: complete {numbers.complete:g} is "
        f"below the minimum-complete of {numbers.minimum_complete:g}, so it is not judged yet."
    )


def _enough_commits(numbers: Numbers) -> str:
    if numbers.complete >= numbers.minimum_complete:
        more, left_ms = FEWEST_COMMITS - numbers.entries, LONGEST_WAIT_MS - numbers.silence_ms
        return f"{_more(more, 'commit')}, or none for another {_seconds(left_ms)}: then the window is judged."
    least = np.float32(numbers.minimum_complete)
    wanted = next(at for at in range(numbers.intervals + 1) if np.float32(at / numbers.intervals) >= least)
    return f"{_more(wanted - numbers.entries, 'commit')}: then the window is judged."


TOO_FEW_COMMITS: Final = RuleSpec(
    Rule.TOO_FEW_COMMITS,
    Status.OK,
    _the_window_has_too_few_commits,
    _too_few_commits_sentence,
    _every_entry,
    _enough_commits,
)
TOO_FEW_COMMITS_FOR_A_TREND: Final = replace(TOO_FEW_COMMITS, holds=_there_are_hardly_any_commits)


# 3: no_lag_now


def _there_is_no_lag_now(facts: Facts) -> Mask:
    """The last commit is at the head, or as near as is allowed."""
    return np.less_equal(facts.current_lag, facts.allowed_lag)


def _no_lag_now_sentence(numbers: Numbers) -> str:
    if numbers.head == UNKNOWN:
        return "The head of the partition is not known yet, so there is no lag to judge."
    last = numbers.offsets[-1]
    where = "at" if last == numbers.head else "ahead of" if last > numbers.head else "near"
    return (
        f"The last committed offset {last} is {where} the head {numbers.head}: "
        f"a lag of {numbers.current_lag}, where {numbers.allowed_lag} is allowed."
    )


def _more_lag(numbers: Numbers) -> str:
    if numbers.head == UNKNOWN:
        return "A head of the partition from the brokers."
    more = numbers.offsets[-1] + numbers.allowed_lag + 1 - numbers.head
    return (
        f"A lag above {numbers.allowed_lag}, which is {_more(more, 'message')} without a commit: "
        "then the window is judged."
    )


NO_LAG_NOW: Final = RuleSpec(
    Rule.NO_LAG_NOW,
    Status.OK,
    _there_is_no_lag_now,
    _no_lag_now_sentence,
    lambda numbers: [numbers.entries - 1],
    _more_lag,
)


# 4: stopped


def _the_commits_stopped(facts: Facts) -> Mask:
    """No commit for longer than the whole window spans, and not at the head a moment ago."""
    window = facts.digest
    silence = facts.now_ms - window.last_timestamp
    span = window.last_timestamp - window.first_timestamp
    silent: Mask = silence > span
    return silent & ~_was_at_the_head_a_moment_ago(facts)


def _was_at_the_head_a_moment_ago(facts: Facts) -> Mask:
    """Some stored head sample is not above the last commit."""
    known = np.not_equal(facts.lowest_sample, UNKNOWN)
    return known & np.less_equal(facts.lowest_sample, facts.digest.last_offset)


def _stopped_sentence(numbers: Numbers) -> str:
    silence = _seconds(numbers.silence_ms)
    if numbers.entries == 1:
        sentence = f"The only commit is {silence} old"
    else:
        sentence = (
            f"The last commit is {silence} old, longer than the {_seconds(numbers.span_ms)} from the first "
            f"to the last of the {numbers.entries} commits in the window"
        )
    sentence += f", and the lag is {numbers.current_lag}"
    if numbers.lowest_sample == UNKNOWN:
        return f"{sentence}; earlier heads are not known."
    return (
        f"{sentence}; the lowest stored head {numbers.lowest_sample} is above the last committed offset "
        f"{numbers.offsets[-1]}, so the consumer was not at the head a moment ago either."
    )


def _not_stopped_sentence(numbers: Numbers) -> str:
    """What the rules after this one add where the consumer is silent."""
    return (
        f"The last commit is {_seconds(numbers.silence_ms)} old, longer than the {_seconds(numbers.span_ms)} "
        f"of the window, but the stored head {numbers.lowest_sample} is not above {numbers.offsets[-1]}: "
        "the consumer was at the head a moment ago and has not stopped."
    )


def _one_commit(numbers: Numbers) -> str:
    return (
        f"One commit. With offset {_enough(numbers)} or above the partition is OK at once; below that its "
        "window is judged again."
    )


def _stops_when(numbers: Numbers) -> str:
    """What the rules after this one add: when this one would hold."""
    left_ms, last = numbers.span_ms - numbers.silence_ms, numbers.offsets[-1]
    at_the_head = numbers.lowest_sample != UNKNOWN and numbers.lowest_sample <= last
    if left_ms < 0:
        return f"STOP, when no commit comes and all stored heads are above {last}."
    also = f" and all stored heads are above {last}" if at_the_head else ""
    return f"STOP, when no commit comes for more than another {_seconds(left_ms)}{also}."


STOPPED: Final = RuleSpec(
    Rule.STOPPED,
    Status.STOP,
    _the_commits_stopped,
    _stopped_sentence,
    lambda numbers: sorted({0, numbers.entries - 1}),
    _one_commit,
)


# 5: rewound


def rewound(offset: Ints, filled: Mask) -> Mask:
    """Some offset is below the previous one, and no later one has reached that again."""
    falls = (offset[:, 1:] < offset[:, :-1]) & filled[:, :-1]
    rewound = np.asarray(falls.any(axis=1))
    rows = np.flatnonzero(rewound)
    if len(rows):
        fell_from = falls[rows].argmax(axis=1)
        height = offset[rows, fell_from]
        later = np.arange(offset.shape[1]) > fell_from[:, None]
        rewound[rows] = ~(later & (offset[rows] >= height[:, None])).any(axis=1)
    return rewound


def _fall(offsets: Sequence[int]) -> int | None:
    """The position of the first offset that is below the one before it."""
    return next((at for at in range(1, len(offsets)) if offsets[at] < offsets[at - 1]), None)


def _fell_at(numbers: Numbers) -> int:
    fall = _fall(numbers.offsets)
    assert fall is not None  # noqa: S101 - else the rule does not hold
    return fall


def _rewound_sentence(numbers: Numbers) -> str:
    offsets = numbers.offsets
    fall = _fell_at(numbers)
    height = offsets[fall - 1]
    return (
        f"The offset fell from {height} to {offsets[fall]} at commit {fall + 1} of {numbers.entries} and no "
        f"later commit has come back to {height}; the last is {offsets[-1]}, the lag {numbers.current_lag}."
    )


def _come_back(numbers: Numbers) -> str:
    last = numbers.offsets[-1]
    height = min(numbers.offsets[_fell_at(numbers) - 1], _enough(numbers))
    commits = next(more for more in range(1, numbers.intervals + 1) if not _still_rewound(numbers, more))
    return (
        f"A commit of {height} or above, {_more(height - last, 'message')}; or {_more(commits, 'commit')}, "
        f"with which the fall leaves the window. {_stops_when(numbers)}"
    )


def _still_rewound(numbers: Numbers, more: int) -> bool:
    """After so many more commits of the last offset."""
    offsets = [*numbers.offsets, *[numbers.offsets[-1]] * more][-numbers.intervals :]
    fall = _fall(offsets)
    return fall is not None and max(offsets[fall:]) < offsets[fall - 1]


REWOUND: Final = RuleSpec(
    Rule.REWOUND,
    Status.REWIND,
    lambda facts: facts.digest.rewound,
    _rewound_sentence,
    lambda numbers: [_fell_at(numbers) - 1, _fell_at(numbers)],
    _come_back,
)


# 6: caught_up


def caught_up(windows: Windows, allowed_lag: Ints) -> Mask:
    """At some commit the floor was within the allowed lag; windows from other sources have lags only."""
    certain = np.where(windows.floor == UNKNOWN, windows.lag, windows.floor)
    caught_up: Mask = ((certain != UNKNOWN) & (certain <= allowed_lag[:, None])).any(axis=1)
    return caught_up


def _last_caught_up(numbers: Numbers) -> tuple[int, int]:
    """The last entry that had caught up: its position, and its lag."""
    certain = [
        lag if floor == UNKNOWN else floor for lag, floor in zip(numbers.lags, numbers.floors, strict=True)
    ]
    last = max(at for at, lag in enumerate(certain) if lag != UNKNOWN and lag <= numbers.allowed_lag)
    return last, certain[last]


def _caught_up_sentence(numbers: Numbers) -> str:
    last, lag = _last_caught_up(numbers)
    return (
        f"The lag is {numbers.current_lag} now, but it was {lag} at commit {last + 1} of "
        f"{numbers.entries} (offset {numbers.offsets[last]}), where {numbers.allowed_lag} is allowed: the "
        "consumer has caught up within the window."
    )


def _not_caught_up_again(numbers: Numbers) -> str:
    commits = _pushed_out(numbers, _last_caught_up(numbers)[0])
    return (
        f"{_more(commits, 'commit')}, all with a lag above {numbers.allowed_lag}: then no commit of the "
        f"window has caught up, and its trend decides. {_stops_when(numbers)}"
    )


def _pushed_out(numbers: Numbers, entry: int) -> int:
    """The number of commits after which an entry has left the window."""
    return numbers.intervals - numbers.entries + entry + 1


CAUGHT_UP: Final = RuleSpec(
    Rule.CAUGHT_UP,
    Status.OK,
    lambda facts: facts.digest.caught_up,
    _caught_up_sentence,
    lambda numbers: [_last_caught_up(numbers)[0]],
    _not_caught_up_again,
)


# 7: stalled


def stalled(offset: Ints, filled: Mask) -> Mask:
    """All offsets are equal; trivially so for one entry."""
    moves: Mask = ((offset[:, 1:] != offset[:, :-1]) & filled[:, :-1]).any(axis=1)
    return ~moves


def _stalled_over_a_full_window(facts: Facts) -> Mask:
    """The same offset in as many commits as a window has: a consumer that waits for messages pauses for less."""
    return facts.digest.stalled & np.greater_equal(facts.complete, 1)


def _stalled_sentence(numbers: Numbers) -> str:
    if numbers.entries == 1:
        return (
            f"The only commit has offset {numbers.offsets[0]} and the lag is {numbers.current_lag}: "
            "the consumer commits but has not moved."
        )
    return (
        f"All {numbers.entries} commits have offset {numbers.offsets[0]}, and the lag is "
        f"{numbers.current_lag}: the consumer commits but does not move."
    )


def _another_offset(numbers: Numbers) -> str:
    return (
        f"One commit above offset {numbers.offsets[-1]}; with {_enough(numbers)} or above the partition is OK "
        f"at once. {_stops_when(numbers)}"
    )


STALLED: Final = RuleSpec(
    Rule.STALLED,
    Status.STALL,
    lambda facts: facts.digest.stalled,
    _stalled_sentence,
    _every_entry,
    _another_offset,
)
STALLED_OVER_A_FULL_WINDOW: Final = replace(STALLED, holds=_stalled_over_a_full_window)


# 8: falling_behind, and 9: keeping_pace where none of the rules of `caching` holds


def falling_behind(lag: Ints, filled: Mask) -> Mask:
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


def _falling_behind_sentence(numbers: Numbers) -> str:
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


def _a_lower_lag(numbers: Numbers) -> str:
    known = [lag for lag in numbers.lags if lag != UNKNOWN]
    lower = f"One commit with a lag below {known[-1]}" if known else "Two commits, the second with less lag"
    return f"{lower}. {_stops_when(numbers)}"


def _shrinkings(numbers: Numbers) -> list[tuple[int, int]]:
    """Positions of two neighbours among the known lags, the second of which is lower."""
    lags = numbers.lags
    return [(before, after) for before, after in pairwise(_known_lags(numbers)) if lags[after] < lags[before]]


def _keeping_pace_sentence(numbers: Numbers) -> str:
    before, after = _shrinkings(numbers)[0]
    return (
        f"The lag is {numbers.current_lag} now, but it shrank from {numbers.lags[before]} to "
        f"{numbers.lags[after]} between commits "
        f"{before + 1} and {after + 1} of {numbers.entries}: the consumer moves and catches up at times."
    )


def _no_lower_lag(numbers: Numbers) -> str:
    commits = _pushed_out(numbers, _shrinkings(numbers)[-1][0])
    return f"WARN, when the lag does not shrink in {_more(commits, 'commit')}. {_stops_when(numbers)}"


FALLING_BEHIND: Final = RuleSpec(
    Rule.FALLING_BEHIND,
    Status.WARN,
    lambda facts: facts.digest.falling_behind,
    _falling_behind_sentence,
    _known_lags,
    _a_lower_lag,
)
KEEPING_PACE: Final = RuleSpec(
    Rule.KEEPING_PACE,
    Status.OK,
    _otherwise,
    _keeping_pace_sentence,
    lambda numbers: _shrinkings(numbers)[0],
    _no_lower_lag,
)


# 10: growing, and 11: not_growing where none of the rules of `trend` holds

# Growing lags lie on a line; those of a group that lags evenly fluctuate, and by chance along a line. The nearer to 1,
# the fewer false alarms, and the more even the growth must be. `warren lab` measures both.
STRAIGHT: Final = 0.99
# the share of what comes in that stays unread: 0.02 for a group that is minutes late, when traffic rises in the morning
WORTH_A_WARNING: Final = 0.03
# in messages, over the window: with a few messages a minute, such lines occur by chance
LEAST_RISE: Final = 10


def growing(windows: Windows, entries: Ints) -> Mask:
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
    rows = np.flatnonzero(full & _ends_higher(lag, known))
    if len(rows):
        growing[rows] = _on_a_line(windows.offset[rows, :-1] + lag[rows], lag[rows], known[rows])
    return growing


def _ends_higher(lag: Ints, known: Mask) -> Mask:
    """Whether the last known lag is above the first by what counts."""
    first, last = known.argmax(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    every = np.arange(len(lag))
    higher: Mask = lag[every, last] - lag[every, first] >= LEAST_RISE
    return higher


def _on_a_line(head: Ints, lag: Ints, known: Mask) -> Mask:
    """Whether the known lags rise along a line over the heads."""
    line = fit(head, lag, known)
    return (line.slope >= WORTH_A_WARNING) & (line.straightness >= STRAIGHT)


def _growing_sentence(numbers: Numbers) -> str:
    line, known = _line(numbers), _known(numbers)
    return (
        f"The offsets move from {numbers.offsets[0]} to {numbers.offsets[-1]}, but over {numbers.entries} "
        f"commits the lag rises along a line, from {known[0]} to {known[-1]}: {line.slope[0]:.0%} of "
        f"what comes in stays unread. It is {numbers.current_lag} now."
    )


def _not_growing_sentence(numbers: Numbers) -> str:
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
    """The known lags that the rule uses: all but the newest."""
    return [lag for lag in numbers.lags[:-1] if lag != UNKNOWN]


def _line(numbers: Numbers) -> Line:
    """The line through all known lags but the newest, as in the rule."""
    lag, offset = (np.array([values[:-1]], dtype=np.int64) for values in (numbers.lags, numbers.offsets))
    return fit(offset + lag, lag, lag != UNKNOWN)


def _line_entries(numbers: Numbers) -> Sequence[int]:
    """The newest is left out, as in the rule."""
    return [at for at in _known_lags(numbers) if at < numbers.entries - 1]


def _off_the_line(numbers: Numbers) -> str:
    leads_to, below = _bend(numbers)
    return (
        f"A lag below {below} at the next commit, where the line leads to {leads_to}; with offset "
        f"{_enough(numbers)} or above the partition is OK at once. {_stops_when(numbers)}"
    )


def _bend(numbers: Numbers) -> tuple[int, int]:
    """The lag that the line leads to at the next commit, and the one below which there is no line any more.

    That lag counts once another commit follows, since the newest is left out; two entries have left by then.
    """
    at = np.array(_known_lags(numbers))
    lag, offset = np.array(numbers.lags)[at], np.array(numbers.offsets)[at]
    head = offset + lag
    next_head = int(head[-1] + (head[-1] - head[0]) / max(at[-1] - at[0], 1))
    slope = float(_line(numbers).slope[0])
    leads_to = round(float(lag.mean()) + slope * (next_head - float(head.mean())))
    kept = at >= 2
    # a row for each lag that the next commit could have
    lags = np.unique(np.linspace(0, leads_to, 201).astype(np.int64))
    rows = np.column_stack([np.tile(lag[kept], (len(lags), 1)), lags])
    heads = np.tile(np.append(head[kept], next_head), (len(lags), 1))
    every = np.ones(rows.shape, dtype=np.bool_)
    rises = _ends_higher(rows, every) & _on_a_line(heads, rows, every)
    return leads_to, int(lags[~rises].max(initial=0)) + 1


def _growth(numbers: Numbers) -> str:
    missing = numbers.intervals - numbers.entries
    if missing:
        return f"{_more(missing, 'commit')}: growth shows in a full window. {_stops_when(numbers)}"
    return (
        f"WARN, when the lag rises along a line over {numbers.intervals} commits, by {LEAST_RISE} messages and "
        f"{WORTH_A_WARNING:.0%} of what comes in at least. {_stops_when(numbers)}"
    )


GROWING: Final = RuleSpec(
    Rule.GROWING,
    Status.WARN,
    lambda facts: facts.digest.growing,
    _growing_sentence,
    _line_entries,
    _off_the_line,
)
NOT_GROWING: Final = RuleSpec(
    Rule.NOT_GROWING, Status.OK, _otherwise, _not_growing_sentence, _line_entries, _growth
)


def _more(number: int, what: str) -> str:
    return f"{number} more {what}{'' if number == 1 else 's'}"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".") + " s"
