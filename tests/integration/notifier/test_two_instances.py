"""Two instances and a real ZooKeeper: the one that sends is killed in the middle of an incident."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.configurations import watching
from tests.e2e.faults import Faults
from tests.e2e.instance import Instance
from tests.processes import eventually as eventually_true
from tests.receivers.http import HttpReceiver
from tests.zookeeper import ZooKeeperServer

from warren.demo.broker import Broker

PREFIX = "led-"
INTERVAL_S, SEND_INTERVAL_S, SESSION_S = 1, 5, 4
# a machine that does other things too: for all that must happen, and for what must happen in time
PATIENCE_S, SLACK_S = 120.0, 8.0


@dataclass(frozen=True)
class Heard:
    """One request as it came in."""

    at_s: float
    kind: str
    group: str
    incident: str
    id: str


def configuration(broker: Broker, zookeeper: str, receiver: HttpReceiver) -> str:
    return f"""
{watching(broker.bootstrap_servers, PREFIX, intervals=10)}
[zookeeper]
servers = ["{zookeeper}"]
timeout = {SESSION_S}
root-path = "/two"
[notifier.hook]
class-name = "http"
interval = {INTERVAL_S}
send-interval = {SEND_INTERVAL_S}
send-close = true
minimum-complete = 1.0
url-open = "{receiver.url}/open/{{{{.Group}}}}/{{{{.ID}}}}"
url-close = "{receiver.url}/close/{{{{.Group}}}}/{{{{.ID}}}}"
"""


def eventually(condition: Callable[[], bool]) -> bool:
    """Asks servers that need the processor themselves, so not too often."""
    return eventually_true(condition, PATIENCE_S, every_s=0.2)


def heard(receiver: HttpReceiver) -> list[Heard]:
    found = []
    for each in receiver.received:
        kind, group, incident = each.path[1:].split("/")
        found.append(Heard(each.at_ms / 1000, kind, group, incident, each.header("Idempotency-Key") or ""))
    return found


def test_the_next_one_goes_on_when_the_leader_is_killed(broker: Broker, tmp_path: Path) -> None:
    with (
        ZooKeeperServer(tmp_path, tick_ms=1000) as zookeeper,
        HttpReceiver() as receiver,
        Faults(broker, PREFIX, "mailer", "fraud-check") as faults,
    ):
        text = configuration(broker, zookeeper.address, receiver)
        with Instance(tmp_path / "one", text) as one, Instance(tmp_path / "two", text) as two:
            both = (one, two)
            assert eventually(lambda: _states(*both) == ["following", "leading"]), one.output
            # both watch, and so the next one is ready to take over
            assert eventually(lambda: all(each.ready() for each in both)), two.output
            leader, follower = sorted(both, key=lambda each: each.notifier()["state"], reverse=True)
            assert eventually(lambda: follower.notifier()["leader"] == leader.name)
            # each fault told and repeated
            assert eventually(lambda: _told_since(receiver, 0, faults.groups) >= 2), leader.output
            # the follower knows what the leader did, and did nothing itself
            assert eventually(lambda: len(follower.incidents("open")) == len(faults.groups))
            assert [each["sent"] for each in follower.notifier()["modules"]] == [0]
            assert eventually(lambda: _idle(leader, receiver))
            incidents = {each["group"]: each["id"] for each in leader.incidents("open")}
            leader.kill()
            killed_s = time.time()
            # the next due repeat of every group, by the one that took over
            assert eventually(lambda: _told_since(receiver, killed_s, faults.groups) >= 1), follower.output
            assert follower.notifier()["state"] == "leading"
            faults.end()
            assert eventually(lambda: not follower.incidents("open"))
            assert eventually(lambda: follower.notifier()["modules"][0]["owed"] == 0)
            # while its windows were filling a group may have had others, of which nobody was to be told
            told = [each for each in follower.incidents("past") if each["messages"]]
        past = {each["group"]: each for each in told}
        assert len(told) == len(past)
        assert {group: each["id"] for group, each in past.items()} == incidents
        for group in faults.groups:
            messages = [each for each in heard(receiver) if each.group == group]
            assert {each.incident for each in messages} == {incidents[group]}
            kinds = [each.kind for each in messages]
            assert kinds == ["open"] * (len(kinds) - 1) + ["close"]
            # exactly what the book says, of both leaders' times: none lost, none doubled
            assert [each.id for each in messages] == [each["id"] for each in past[group]["messages"]]
            assert len({each.id for each in messages}) == len(messages)
            last, first = next(
                (one, other)
                for one, other in itertools.pairwise(messages)
                if one.at_s < killed_s <= other.at_s
            )
            due_s = max(killed_s, last.at_s + SEND_INTERVAL_S)
            assert first.at_s - due_s <= SESSION_S + INTERVAL_S + SLACK_S


def _told_since(receiver: HttpReceiver, since_s: float, groups: list[str]) -> int:
    """How many messages every group has had, at least."""
    came = [each.group for each in heard(receiver) if each.at_s >= since_s]
    return min(came.count(group) for group in groups)


def _states(*instances: Instance) -> list[str]:
    return sorted(each.notifier().get("state", "") for each in instances)


def _idle(leader: Instance, receiver: HttpReceiver) -> bool:
    """Whether every group was told a moment ago, and nothing waits or is due."""
    latest = {each.group: each.at_s for each in heard(receiver)}
    ages_s = [time.time() - at_s for at_s in latest.values()]
    modules = leader.notifier().get("modules")
    return (
        all(0.5 < age < SEND_INTERVAL_S - 2 for age in ages_s)
        and modules is not None
        and not modules[0]["owed"]
    )
