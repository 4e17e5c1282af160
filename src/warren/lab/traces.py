"""Traces of real groups, one row per second, and the commits that are rebuilt from them."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv

from warren.lab.groups import Played, Timetable, by_time
from warren.lab.plan import LabError
from warren.lab.producers import Floats, Ints, Mask

_ENDING: Final = ".csv.gz"
_COLUMNS: Final = {name: pa.int64() for name in ("second", "head", "lag", "up", "fault", "trouble")}
# shorter traces have no two looks
_SHORTEST_S: Final = 60
# the inflow is a mean over this time
_RATE_S: Final = 60
# a rise of the lag within two seconds by more than this much inflow, and that of the two seconds, is a restart
_JUMP_S: Final = 3
_JUMP_IN_S: Final = 2
# a restart that follows a fault within this time is due to it; a job makes no checkpoint in between
_FAULT_RESTARTS_S: Final = 60
# from the position of a checkpoint to its commit, minimum and maximum; and at most from that of an auto-commit
_CHECKPOINT_S: Final = (0.5, 1.5)
_AUTO_COMMIT_S: Final = 0.05


class Cadence(StrEnum):
    """How the group commits; the number is the period in seconds."""

    CHECKPOINTS_10 = "ckpt10"
    AUTO_5 = "auto5"
    CHECKPOINTS_60 = "ckpt60"

    @property
    def period_s(self) -> int:
        return int(self.value[4:])

    @property
    def by_checkpoint(self) -> bool:
        return self.value.startswith("ckpt")


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a job, as one partition. All arrays but the last two have one value per second."""

    name: str
    head: Ints
    # head minus what the job has read
    lag: Ints
    # whether the job runs
    up: Mask
    # the seconds in which a fault begins
    faults: Ints
    # first second of each trouble and first second after it, shaped (troubles, 2)
    troubles: Ints

    @property
    def length_s(self) -> int:
        return len(self.head)

    def head_at(self, at_s: Floats) -> Ints:
        """The head at these moments; before and after the trace that of its ends."""
        return np.floor(np.interp(at_s, np.arange(len(self.head)), self.head)).astype(np.int64)

    def inflow(self) -> Floats:
        """Messages a second over the last minute, at least one."""
        seconds = np.arange(len(self.head))
        written = self.head - self.head[np.maximum(seconds - _RATE_S, 0)]
        return np.maximum(written / np.minimum(seconds + 1, _RATE_S), 1.0)


def load_all(directory: Path) -> list[Trace]:
    """The traces of a directory, by name."""
    if not directory.is_dir():
        raise LabError(f"{directory} is not a directory: give the one that holds the traces (*{_ENDING})")
    paths = sorted(directory.glob(f"*{_ENDING}"))
    if not paths:
        raise LabError(f"no traces in {directory}: their names end in {_ENDING}")
    return [load(path) for path in paths]


def load(path: Path) -> Trace:
    """Read one trace."""
    columns = _read(path)
    if len(columns["second"]) < _SHORTEST_S:
        raise LabError(f"{path} has {len(columns['second'])} rows: a trace needs at least {_SHORTEST_S}")
    wrong = np.flatnonzero(columns["second"] != np.arange(len(columns["second"])))
    if len(wrong):
        raise LabError(
            f"{path}, row {wrong[0] + 1}: second is {columns['second'][wrong[0]]} and not {wrong[0]}; "
            "a trace has one row for each second from 0 on: add what is missing, or number the rows anew"
        )
    return Trace(
        name=path.name.removesuffix(_ENDING),
        head=columns["head"],
        lag=columns["lag"],
        up=columns["up"] != 0,
        faults=spans(columns["fault"] != 0)[:, 0],
        troubles=spans(columns["trouble"] != 0),
    )


def _read(path: Path) -> dict[str, Ints]:
    try:
        content = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise LabError(f"{path} is damaged ({error}): copy it again") from error
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    header = content.split(b"\n", 1)[0].decode(errors="replace").strip().split(",")
    missing = [name for name in _COLUMNS if name not in header]
    if missing:
        raise LabError(
            f"{path} is no trace: its first line does not name {', '.join(missing)}; "
            f"a trace has the columns {', '.join(_COLUMNS)}"
        )
    # an empty cell is no number
    options = pyarrow.csv.ConvertOptions(
        column_types=_COLUMNS, include_columns=list(_COLUMNS), null_values=[]
    )
    try:
        table = pyarrow.csv.read_csv(io.BytesIO(content), convert_options=options)
    except pa.ArrowInvalid as error:
        raise LabError(f"{path}: {error}; every cell is a whole number: write the file again") from error
    return {name: table.column(name).to_numpy() for name in _COLUMNS}


def spans(flag: Mask) -> Ints:
    """First and end of every stretch in which the flag is set."""
    edges = np.flatnonzero(np.diff(flag.astype(np.int8), prepend=0, append=0))
    return edges.reshape(-1, 2)


def restarts(trace: Trace) -> Ints:
    """The seconds from which the job runs (again): the start, the end of a gap, or a sudden rise of the lag."""
    after = slice(_JUMP_IN_S, None)
    risen = trace.lag[after] - trace.lag[:-_JUMP_IN_S]
    jump = risen > (_JUMP_S + _JUMP_IN_S) * trace.inflow()[after]
    begins = spans(jump)[:, 0]
    # a rise at the end of a gap is that gap's
    jumps = begins[trace.up[np.maximum(begins - 1, 0)]] + _JUMP_IN_S
    back = np.flatnonzero(trace.up[1:] & ~trace.up[:-1]) + 1
    return np.unique(np.concatenate([[0], back, jumps]))


def commits(trace: Trace, cadence: Cadence, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Times and offsets of the commits of a job, which never go back."""
    begins = restarts(trace)
    ends = np.append(begins[1:], trace.length_s)
    period_s = cadence.period_s
    phase = np.ones(len(begins)) if cadence.by_checkpoint else rng.random(len(begins))
    first = begins + period_s * phase
    counts = np.maximum(np.ceil((ends - first) / period_s), 0).astype(np.int64)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    due = np.repeat(first, counts) + period_s * number
    second = due.astype(np.int64)
    if cadence.by_checkpoint:
        least, most = _CHECKPOINT_S
        at = due + least + (most - least) * rng.random(len(due))
        completed = np.minimum(at.astype(np.int64), trace.length_s - 1)
        # a checkpoint needs all tasks from its begin to its end
        broken = np.append(0, np.cumsum(~trace.up | _cut_off(trace, begins)))
        made = (at < np.repeat(ends, counts)) & (broken[completed + 1] == broken[second])
    else:
        at = due + _AUTO_COMMIT_S * rng.random(len(due))
        made = trace.up[second]
    position = (trace.head - trace.lag)[second[made]]
    return at[made], np.maximum.accumulate(position)


def _cut_off(trace: Trace, begins: Ints) -> Mask:
    """The seconds between a fault and the restart that is due to it."""
    following = np.append(begins, trace.length_s)[np.searchsorted(begins, trace.faults, side="right")]
    due_to_it = (following <= trace.faults + _FAULT_RESTARTS_S) & (following < trace.length_s)
    change = np.zeros(trace.length_s, dtype=np.int64)
    np.add.at(change, trace.faults[due_to_it], 1)
    np.add.at(change, following[due_to_it], -1)
    return np.cumsum(change) > 0


def rebuilt(
    traces: Sequence[Trace], cadence: Cadence, seed: int, timetable: Timetable, zero_ms: int
) -> Played[Trace]:
    """The traces as groups: their commits, and heads at the looks."""
    made: list[tuple[Floats, Ints, Ints, Ints]] = []
    heads = np.empty((len(timetable.heads_at_s), len(traces)), dtype=np.int64)
    polled_heads = np.empty((len(timetable.polls_s), len(traces)), dtype=np.int64)
    for number, trace in enumerate(traces):
        heads[:, number] = trace.head_at(timetable.heads_at_s)
        polled_heads[:, number] = trace.head_at(timetable.polls_s)
        at, offset = commits(trace, cadence, np.random.default_rng((seed, number)))
        poll = np.maximum(np.searchsorted(timetable.polls_s, at, side="right") - 1, 0)
        timestamp = zero_ms + np.floor(at * 1000).astype(np.int64)
        made.append((at, offset, timestamp, polled_heads[poll, number]))
    return by_time(tuple(traces), made, heads, polled_heads)
