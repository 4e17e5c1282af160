"""What a judge saw of the faults and troubles in traces, and how often it was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Any, Final

import numpy as np

from warren.lab.producers import Floats, Ints, Mask
from warren.lab.traces import Trace

_DAY_S: Final = 86_400.0
# within how many seconds effective faults are to be seen
WITHIN_S: Final = (60, 120, 300, 600)
# troubles of at least this length are long; those below the first need not be seen
SHORT_S: Final = 120
LONG_S: Final = 300
# a fault is effective if trouble begins so soon after it
_EFFECTIVE_S: Final = 300
# an alarm that begins so soon after recovery counts as seen, or as late, and not as false
_JUST_OVER_S: Final = 15
_LATE_S: Final = 300
# the lag shrinks once it has fallen from its maximum by this share
_FALLEN: Final = 0.1
# an incident that opens so soon after the previous one is a flap
_AGAIN_S: Final = 600.0
# the last seconds of a trace are not scored: heads come later than the look
_END_S: Final = 2


@dataclass(frozen=True, slots=True)
class Truth:
    """What there is to see in a trace, in seconds."""

    # effective faults, and the ends of the troubles that they began
    faults: Ints
    fault_ends: Ints
    # of every trouble
    begins: Ints
    ends: Ints
    # when the lag begins to shrink
    shrinks: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceScore:
    """The figures of one judge; those of several traces can be added."""

    watched_s: float = 0.0
    quiet_s: float = 0.0
    faults: int = 0
    # of each effective fault that was seen: seconds after it
    delays_s: tuple[float, ...] = ()
    long: int = 0
    long_seen: int = 0
    # looks at long troubles until the lag shrinks, and those with an alarm; the same until recovery
    growing_looks: int = 0
    growing_alarms: int = 0
    long_looks: int = 0
    long_alarms: int = 0
    short: int = 0
    short_seen: int = 0
    false_alarms: int = 0
    late_alarms: int = 0
    flaps: int = 0
    # of each alarm that was on at recovery: seconds until OK
    clears_s: tuple[float, ...] = ()

    def seen_within(self, limit_s: float) -> int:
        """How many effective faults were seen so soon."""
        return sum(delay <= limit_s for delay in self.delays_s)

    @property
    def long_share(self) -> float | None:
        """The share of long troubles that were seen."""
        return _share(self.long_seen, self.long)

    @property
    def growing_share(self) -> float | None:
        """The share of the time of long troubles, until the lag shrinks, with an alarm."""
        return _share(self.growing_alarms, self.growing_looks)

    @property
    def whole_share(self) -> float | None:
        """The share of the time of long troubles with an alarm."""
        return _share(self.long_alarms, self.long_looks)

    @property
    def short_share(self) -> float | None:
        return _share(self.short_seen, self.short)

    @property
    def false_a_day(self) -> float | None:
        """Per quiet group-day."""
        return _share(self.false_alarms, self.quiet_s / _DAY_S)

    @property
    def flaps_a_day(self) -> float | None:
        """Per group and day."""
        return _share(self.flaps, self.watched_s / _DAY_S)

    @property
    def delay_s(self) -> float | None:
        """The median, of the faults that were seen within the longest limit."""
        seen = [delay for delay in self.delays_s if delay <= WITHIN_S[-1]]
        return median(seen) if seen else None

    @property
    def clear_s(self) -> float | None:
        """The median."""
        return median(self.clears_s) if self.clears_s else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "group_days": _rounded(self.watched_s / _DAY_S),
            "quiet_group_days": _rounded(self.quiet_s / _DAY_S),
            "effective_faults": self.faults,
            "seen_within_s": {str(limit): self.seen_within(limit) for limit in WITHIN_S},
            "long_troubles": self.long,
            "long_seen": self.long_seen,
            "not_ok_until_lag_shrinks": _rounded(self.growing_share),
            "not_ok_until_recovery": _rounded(self.whole_share),
            "short_troubles": self.short,
            "short_seen": self.short_seen,
            "false_alarms": self.false_alarms,
            "false_alarms_per_quiet_group_day": _rounded(self.false_a_day),
            "late_alarms": self.late_alarms,
            "flaps": self.flaps,
            "flaps_per_group_and_day": _rounded(self.flaps_a_day),
            "delay_s": _rounded(self.delay_s),
            "clear_s": _rounded(self.clear_s),
        }


def truth(trace: Trace) -> Truth:
    """The effective faults and the troubles of a trace."""
    begins, ends = trace.troubles[:, 0], trace.troubles[:, 1]
    # the first trouble that begins at the fault or later, and whether the one before is over
    following = np.searchsorted(begins, trace.faults)
    far = np.append(begins, np.iinfo(np.int64).max // 2)[following]
    over = np.append(-1, ends)[following] <= trace.faults
    effective = over & (far <= trace.faults + _EFFECTIVE_S)
    return Truth(
        faults=trace.faults[effective],
        fault_ends=ends[following[effective]],
        begins=begins,
        ends=ends,
        shrinks=np.array([_shrinks(trace.lag, *each) for each in trace.troubles.tolist()], dtype=np.int64),
    )


def _shrinks(lag: Ints, begin: int, end: int) -> int:
    """When the lag has fallen from the maximum of this trouble; its end if it has not."""
    top = begin + int(np.argmax(lag[begin:end]))
    fallen = np.flatnonzero(lag[top:end] <= (1 - _FALLEN) * lag[top])
    return top + int(fallen[0]) if len(fallen) else end


def watched(trace: Trace, asked_s: Floats) -> int:
    """How many looks there are before the end of the trace."""
    return int(np.searchsorted(asked_s, trace.length_s - _END_S))


def score(there: Truth, asked_s: Floats, alarm: Mask, every_s: float) -> TraceScore:
    """One judge on one trace; `alarm` says of each look whether it was not OK."""

    def after(at_s: Ints) -> Ints:
        """The first look at this moment or later."""
        return np.searchsorted(asked_s, at_s)

    def until(at_s: Ints) -> Ints:
        """The first look after this moment."""
        return np.searchsorted(asked_s, at_s, side="right")

    times = np.append(asked_s, asked_s[-1])
    next_alarm, next_ok = _next(alarm), _next(~alarm)
    was_on = np.append(False, alarm)
    alarms = np.append(0, np.cumsum(alarm))
    length_s = there.ends - there.begins
    long, short = length_s >= LONG_S, (length_s >= SHORT_S) & (length_s < LONG_S)
    first, recovered = after(there.begins), until(there.ends)
    seen = next_alarm[first] < until(there.ends + _JUST_OVER_S)
    shrinks = until(there.shrinks)

    found = next_alarm[after(there.faults)]
    # an alarm that was on before the fault says nothing about it
    fresh = (found < until(there.fault_ends + _JUST_OVER_S)) & ~was_on[after(there.faults)]

    begins = alarm & ~was_on[:-1]
    in_trouble = _inside(asked_s, there.begins, there.ends)
    quiet = ~_inside(asked_s, there.begins, there.ends + _LATE_S)
    begins_s, ends_s = asked_s[begins], asked_s[~alarm & was_on[:-1]]
    pauses_s = begins_s[1:] - ends_s[: max(len(begins_s) - 1, 0)]
    at_recovery = after(there.ends)
    still_on = was_on[at_recovery] & (at_recovery < len(asked_s))
    clears_s = times[next_ok[at_recovery[still_on]]] - there.ends[still_on]
    return TraceScore(
        watched_s=len(asked_s) * every_s,
        quiet_s=int(quiet.sum()) * every_s,
        faults=len(there.faults),
        delays_s=tuple((times[found[fresh]] - there.faults[fresh]).tolist()),
        long=int(long.sum()),
        long_seen=int((seen & long).sum()),
        growing_looks=int((shrinks - first)[long].sum()),
        growing_alarms=int((alarms[shrinks] - alarms[first])[long].sum()),
        long_looks=int((recovered - first)[long].sum()),
        long_alarms=int((alarms[recovered] - alarms[first])[long].sum()),
        short=int(short.sum()),
        short_seen=int((seen & short).sum()),
        false_alarms=int((begins & quiet).sum()),
        late_alarms=int((begins & ~quiet & ~in_trouble).sum()),
        flaps=int((pauses_s <= _AGAIN_S).sum()),
        clears_s=tuple(clears_s.tolist()),
    )


def total(scores: Sequence[TraceScore]) -> TraceScore:
    """The figures of several traces as one."""

    def added(values: Iterable[Any]) -> Any:
        first, *others = values
        return sum(others, first)

    return TraceScore(
        **{each.name: added(getattr(one, each.name) for one in scores) for each in fields(TraceScore)}
    )


def best_threshold(there: Truth, asked_s: Floats, lag: Ints, every_s: float) -> tuple[int, TraceScore]:
    """The threshold with the fewest missed faults and false or late alarms, and its figures."""

    def cost(tried: tuple[int, TraceScore]) -> int:
        found = tried[1]
        return found.faults - found.seen_within(300) + found.false_alarms + found.late_alarms

    limits = np.unique(np.logspace(2.5, 6, 71).astype(np.int64)).tolist()
    return min(((limit, score(there, asked_s, lag > limit, every_s)) for limit in limits), key=cost)


def _next(flag: Mask) -> Ints:
    """The first look from each on at which the flag is set; one value more than looks, their number for none."""
    count = len(flag)
    there = np.append(np.where(flag, np.arange(count), count), count)
    return np.minimum.accumulate(there[::-1])[::-1]


def _inside(asked_s: Floats, begins: Ints, ends: Ints) -> Mask:
    """Whether each look is in one of the spans, ends included."""
    change = np.zeros(len(asked_s) + 1, dtype=np.int64)
    np.add.at(change, np.searchsorted(asked_s, begins), 1)
    np.add.at(change, np.searchsorted(asked_s, ends, side="right"), -1)
    return np.cumsum(change[:-1]) > 0


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
