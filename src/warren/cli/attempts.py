"""A try of a server, and all tries at once, each with a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from warren.errors import WarrenError

# how much longer than its own limit a try may take before it is given up
_GRACE_S: Final = 1.0


class UnreachableError(WarrenError):
    """A server that did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One try: what for, where, and how; it returns what it found or raises UnreachableError."""

    # dotted name of the section
    key: str
    kind: str
    address: str
    attempt: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try went."""

    probe: Probe
    reached: bool
    detail: str
    seconds: float


def attempted(tries: list[Probe], limit_s: float) -> list[Outcome]:
    """The outcomes in the order of the tries; one that hangs costs no more than its limit."""
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
        threading.Thread(target=run, args=(index, probe), daemon=True) for index, probe in enumerate(tries)
    ]
    deadline = time.monotonic() + limit_s + _GRACE_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"no answer within {limit_s:g} s"
    return [
        outcomes.get(index, Outcome(probe, reached=False, detail=late, seconds=limit_s))
        for index, probe in enumerate(tries)
    ]
