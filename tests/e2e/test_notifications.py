"""The demo's faults, told by HTTP, mail and Slack, across a Warren that is killed in the middle."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.configurations import watching
from tests.e2e.faults import Faults
from tests.e2e.instance import Instance
from tests.e2e.listening import HTTP_TEMPLATE, Heard, Listening
from tests.integration.pipeline.hands import Hands
from tests.processes import eventually as eventually_true

from warren.demo.broker import Broker

PREFIX = "told-"
SEND_INTERVAL_S = 6
# a machine that does other things too
PATIENCE_S = 120.0

Streams = dict[tuple[str, str], list[Heard]]


def configuration(broker: Broker) -> str:
    """As the demo's with shorter windows, without notifiers and listeners."""
    return watching(broker.bootstrap_servers, PREFIX, intervals=6)


def eventually(condition: Callable[[], bool]) -> bool:
    """Asks servers that need the processor themselves, so not too often."""
    return eventually_true(condition, PATIENCE_S, every_s=0.2)


def streams(listening: Listening, groups: list[str]) -> Streams:
    """Module and group: what the module heard of it, in order."""
    found: Streams = defaultdict(list)
    for heard in listening.heard(groups):
        found[heard.module, heard.group].append(heard)
    return found


def opens(found: Streams, key: tuple[str, str]) -> int:
    return sum(heard.kind == "open" for heard in found[key])


def test_every_fault_is_told_once_repeated_and_closed_across_a_kill(broker: Broker, tmp_path: Path) -> None:
    faults = Faults(broker, PREFIX)
    groups = faults.groups
    assert len(groups) == 4
    Hands(broker).commit_first("nobody-is-told")
    wanted = list(itertools.product(("hook", "mail", "chat"), groups))
    with Listening() as listening:
        text = configuration(broker) + listening.notifiers(groups, send_interval=SEND_INTERVAL_S)
        with Instance(tmp_path / "warren", text, hook=HTTP_TEMPLATE) as warren:
            assert eventually(warren.ready), warren.output
            with faults:

                def told(times: int) -> bool:
                    found = streams(listening, groups)
                    return all(opens(found, key) >= times for key in wanted)

                assert eventually(lambda: told(2)), warren.output
                before = {each["group"]: each for each in warren.incidents("open")}
                assert sorted(before) == sorted(groups)
                # nothing is under way or due: what a kill would cost then is another test's question
                assert eventually(lambda: _idle(warren, listening, groups))
                warren.kill()
                warren.start()
                assert eventually(lambda: told(3)), warren.output
                after = {each["group"]: each for each in warren.incidents("open")}
                assert _identities(after) == _identities(before)
                faults.end()
            assert eventually(lambda: warren.incidents() != [] and not warren.incidents("open"))
            assert eventually(lambda: _owed(warren) == 0), warren.output
            _look_again(warren)
            assert warren.incidents("open") == []
            # a group may have been in trouble while its windows were filling: nobody was to be told of that
            past = {each["group"]: each for each in warren.incidents("past") if each["messages"]}
            assert _identities(past) == _identities(before)
            assert len([each for each in warren.incidents() if each["messages"]]) == len(groups)
            assert warren.terminate() == 0
        found = streams(listening, groups)
        assert sorted(found) == sorted(wanted)
        for (module, group), messages in found.items():
            record = [each for each in past[group]["messages"] if each["module"] == module]
            _check_stream(past[group]["id"], record, messages)


def _identities(incidents: dict[str, dict[str, Any]]) -> dict[str, tuple[str, int]]:
    """Group: id and start of its incident."""
    return {group: (each["id"], each["start"]) for group, each in incidents.items()}


def _check_stream(incident: str, record: list[dict[str, Any]], messages: list[Heard]) -> None:
    """One module's messages about one group: one open, its repeats, one close; none lost, none doubled."""
    kinds = [heard.kind for heard in messages]
    assert kinds == ["open"] * (len(kinds) - 1) + ["close"]
    assert len(kinds) >= 4
    assert {heard.incident for heard in messages} <= {incident, ""}
    assert [heard.id for heard in messages] == [each["id"] for each in record]
    assert len({heard.id for heard in messages}) == len(messages)
    assert {(each["state"], each["attempts"]) for each in record} == {("sent", 1)}
    decided = [each["decided_at"] for each in record if each["kind"] == "open"]
    gaps_ms = [second - first for first, second in itertools.pairwise(decided)]
    # a look that is a tenth of a second early still counts
    assert all(gap >= SEND_INTERVAL_S * 1000 - 100 for gap in gaps_ms), gaps_ms


def _owed(warren: Instance) -> int:
    modules = warren.notifier().get("modules")
    return sum(each["owed"] for each in modules) if modules else -1


def _idle(warren: Instance, listening: Listening, groups: list[str]) -> bool:
    """Whether everybody was told a moment ago, and nothing waits."""
    now_ms = time.time_ns() // 1_000_000
    last = [max(heard.at_ms for heard in each) for each in streams(listening, groups).values()]
    ages_s = [(now_ms - at_ms) / 1000 for at_ms in last]
    return all(0.5 < age < SEND_INTERVAL_S - 2 for age in ages_s) and _owed(warren) == 0


def _look_again(warren: Instance) -> None:
    """Wait for looks that could tell something more, if anything was left to tell."""
    number = warren.page("/v4/health")["clusters"][0]["snapshot"]["number"]
    assert eventually(lambda: warren.page("/v4/health")["clusters"][0]["snapshot"]["number"] >= number + 3)
