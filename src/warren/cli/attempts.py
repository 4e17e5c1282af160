"""Probes of servers, run in parallel, each with a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from warren.errors import WarrenError

# how much longer than its own limit a probe may take before it counts as failed
_GRACE_S: Final = 1.0


class UnreachableError(WarrenError):
    """A server that did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe; `attempt` returns what it found or raises UnreachableError."""

    # dotted name of the section
    key: str
    kind: str
    address: str
    attempt: Callable[[float], str]
    # on top of the limit: what has to be started here first
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a probe."""

    probe: Probe
    reached: bool
    detail: str
    seconds: float


def run_probes(probes: list[Probe], limit_s: float) -> list[Outcome]:
    """The outcomes in the order of the probes; one that hangs takes no more than its limit."""
    outcomes: dict[int, Outcome] = {}

    def run(index: int, probe: Probe) -> None:
        begun = time.monotonic()
        try:
            reached, detail = True, probe.attempt(limit_s)
        except WarrenError as error:
            reached, detail = False, str(error)
        outcomes[index] = Outcome(probe, reached, detail, time.monotonic() - begun)

    # daemons: a thread stuck in a name lookup must not keep the process from ending
    threads = [
        threading.Thread(target=run, args=(index, probe), daemon=True) for index, probe in enumerate(probes)
    ]
    deadline = time.monotonic() + limit_s + _GRACE_S
    for thread in threads:
        thread.start()
    for thread, probe in zip(threads, probes, strict=True):
        thread.join(max(0.0, deadline + probe.start_s - time.monotonic()))
    late = f"no answer within {limit_s:g} s"
    return [
        outcomes.get(index, Outcome(probe, reached=False, detail=late, seconds=limit_s))
        for index, probe in enumerate(probes)
    ]
