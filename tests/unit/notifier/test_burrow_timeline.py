"""What a real Burrow sent over two minutes, and what these rules would have sent at the same looks."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.unit.notifier.scenes import NOW, group

from warren.common.status import Status
from warren.config.modules import Notifier
from warren.notifier.incidents import evaluated
from warren.notifier.rules import Module, Moment
from warren.notifier.store import Case

DATA = Path(__file__).parents[2] / "data" / "notifier"
# a look takes Burrow's modules so long, one after the other
SPREAD_S = 0.4
# modules that sent nothing, or whose closes failed; "once" is told of below
LEFT_OUT = {"default", "mailnosubject", "nothing", "maildefault", "once"}
COMMON = (
    "interval",
    "send-interval",
    "threshold",
    "send-once",
    "send-close",
    "group-allowlist",
    "group-denylist",
)


@dataclass(frozen=True)
class Look:
    at_s: float
    status: Status
    # module: open or close
    sent: dict[str, str]


def modules() -> dict[str, Module]:
    sections = tomllib.loads((DATA / "burrow.toml").read_text())["notifier"]
    return {
        name: Module(name, Notifier.model_validate({key: each[key] for key in COMMON if key in each}))
        for name, each in sections.items()
        if name not in LEFT_OUT
    }


def looks() -> dict[str, list[Look]]:
    """Group: the looks at it of which anything is known, in order."""
    sent = json.loads((DATA / "timeline.json").read_text())["sent"]
    events: dict[str, list[tuple[float, str, str, str | None]]] = defaultdict(list)
    # the receiver answered its requests with 500; it is named by its address
    sent["failing"] = sent.pop("fail")
    for name, groups in sent.items():
        for each, messages in groups.items():
            events[each] += [(at, name, kind, status) for at, kind, status in messages]
    found: dict[str, list[Look]] = {}
    for each, of_group in events.items():
        lines: list[list[tuple[float, str, str, str | None]]] = []
        for event in sorted(of_group):
            if not lines or event[0] - lines[-1][0][0] > SPREAD_S:
                lines.append([])
            lines[-1].append(event)
        found[each] = [
            Look(
                line[0][0],
                next(Status[status] for _, _, _, status in line if status),
                {name: kind for _, name, kind, _ in line},
            )
            for line in lines
            if any(status for *_, status in line)
        ]
    return found


def new_ids() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: str(next(numbers))


@pytest.mark.parametrize("name", ["nt-good", "nt-flap", "nt-esc", "nt-warn", "nt-stall", "burrow-local"])
def test_the_same_modules_are_told_at_the_same_looks(name: str) -> None:
    case, ids = Case("local", name), new_ids()
    accepting = [each for each in modules().values() if each.settings.accepts(name)]
    compared = 0
    for look in looks()[name]:
        now_ms = NOW + round(look.at_s * 1000)
        # judged a little late: where Burrow's clock just made it, ours must not just miss it
        moment = Moment(now_ms + round(SPREAD_S * 1000), NOW)
        outcome = evaluated(case, group(name, look.status), accepting, moment, ids)
        ours = {each.module: each.kind for each in outcome.messages}
        burrows = {each: kind for each, kind in look.sent.items() if each not in LEFT_OUT}
        assert burrows.items() <= ours.items(), look
        told = dict(outcome.case.told)
        for extra in ours.keys() - burrows.keys():
            # Burrow wants more than the interval to have passed, and looks whenever it has: a matter of luck
            gap_s = (now_ms - case.told[extra].at_ms) / 1000
            interval_s = modules()[extra].settings.repeat_after
            assert abs(gap_s - interval_s) < 2 * SPREAD_S, (extra, look)
            told[extra] = case.told[extra]
        for module in burrows:
            if module in told:
                told[module] = msgspec.structs.replace(told[module], at_ms=now_ms)
        case = Case("local", name, outcome.case.incident, told)
        compared += len(burrows)
    assert compared > 20


def test_send_once_is_the_one_difference() -> None:
    """Burrow, without send-close, never told `once` of the second incident of nt-flap."""
    settings = tomllib.loads((DATA / "burrow.toml").read_text())["notifier"]["once"]
    once = Module("once", Notifier.model_validate({key: settings[key] for key in COMMON if key in settings}))
    case, ids, told_at, incidents = Case("local", "nt-flap"), new_ids(), [], set()
    for look in looks()["nt-flap"]:
        moment = Moment(NOW + round(look.at_s * 1000), NOW)
        outcome = evaluated(case, group("nt-flap", look.status), [once], moment, ids)
        case = outcome.case
        told_at += [round(look.at_s) for _ in outcome.messages]
        incidents |= {each.incident for each in outcome.messages}
    assert told_at == [62, 107]
    assert len(incidents) == 2
