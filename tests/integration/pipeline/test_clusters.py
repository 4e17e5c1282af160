"""Many clusters in one Warren: what is wrong with one is said of that one, and changes nothing for the others."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from structlog.testing import capture_logs
from tests.forwarder import Forwarder
from tests.guarded import PASSWORD, Access, GuardedBroker, good_logins, guarded_broker
from tests.integration.pipeline.hands import Hands, await_view, offsets
from tests.processes import eventually

from warren.bench.process_tree import thread_count
from warren.config import load
from warren.demo.ports import free_port
from warren.pipeline.engine import Engine
from warren.service import Service
from warren.snapshot.view import ClusterView

DATA, GROUP = "clusters-data", "clusters-group"
GOOD = ("certificate", "oauth")
# cluster: what is said of it
SAID = {
    "down": r"does not answer \(.*Connection refused\): is it up, and is the address right",
    "intruder": r"refuses the login of User:intruder with SCRAM-SHA-256 .*: correct username, password and mechanism",
    "no-read": r"does not let Warren read topic __consumer_offsets: grant it with (?P<command>kafka-acls\.sh .*)$",
    "no-topics": r"do not list topics that groups have committed on: clusters-data\..* grant it with "
    r"(?P<command>kafka-acls\.sh .* --topic '\*')$",
}
SETTINGS = """
[general]
pidfile = ""
[httpserver.default]
address = "127.0.0.1:0"
[evaluator.default]
class-name = "caching"
[spark]
master = "local[2]"
trigger-interval = 1
checkpoint-dir = "{checkpoint}"
"""


class Scene(NamedTuple):
    guarded: GuardedBroker
    service: Service
    # port of the cluster: what stands before it
    forwarders: dict[str, Forwarder]
    # log lines so far
    lines: Sequence[Any]
    checkpoint: Path
    hands: Hands

    @property
    def engine(self) -> Engine:
        return self.service.engine

    def error(self, cluster: str) -> str:
        return self.engine.progress(cluster).error

    def commit(self, offset: int) -> None:
        self.guarded.commit(GROUP, DATA, offset)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("clusters")
    with ExitStack() as stack:
        guarded = stack.enter_context(guarded_broker(directory))
        hands = Hands(guarded.broker)
        hands.make(DATA)
        hands.fill(DATA, 10)
        guarded.scram_user("SCRAM-SHA-256", "another", "intruder")
        good = {name: access for name, access in good_logins(guarded).items() if name in GOOD}
        forwarders = {
            name: stack.enter_context(Forwarder(guarded.advertised[name], guarded.ports[name]))
            for name in ("SLOW", "FRAIL")
        } | {"DOWN": stack.enter_context(Forwarder(free_port("127.0.0.1"), guarded.ports["CLIENT"]))}
        forwarders["SLOW"].delay_s = 0.3
        for name in ("SLOW", "FRAIL"):
            forwarders[name].open()
        user = {"password": PASSWORD, "mechanism": "PLAIN"}
        clusters = {
            **good,
            "slow": Access(forwarders["SLOW"].address),
            "frail": Access(forwarders["FRAIL"].address),
            "down": Access(forwarders["DOWN"].address),
            "intruder": Access(
                guarded.address("SASL"),
                sasl={"username": "intruder", "password": PASSWORD, "mechanism": "SCRAM-SHA-256"},
            ),
            "no-read": Access(guarded.address("SASL"), sasl=user | {"username": "no-read"}),
            "no-topics": Access(guarded.address("SASL"), sasl=user | {"username": "no-topics"}),
        }
        for principal in ("warren", "intruder", "no-topics", certificate_name(guarded)):
            grant(guarded, principal, "--operation Read --topic __consumer_offsets")
        for principal in ("warren", "intruder", "no-read", certificate_name(guarded)):
            grant(guarded, principal, "--operation Describe --topic '*'")
        (directory / "burrow.toml").write_text(
            SETTINGS.format(checkpoint=directory / "checkpoint")
            + "".join(access.sections(name) for name, access in clusters.items())
        )
        lines = stack.enter_context(capture_logs())
        service = stack.enter_context(Service(load(directory, {})))
        scene = Scene(guarded, service, forwarders, lines, directory / "checkpoint", hands)
        scene.commit(1)
        yield scene


def certificate_name(guarded: GuardedBroker) -> str:
    from warren.kafka.failures import Failures  # noqa: PLC0415

    given = {"bootstrap.servers": "", "ssl.certificate.location": str(guarded.certificates.client)}
    return Failures(given).principal.removeprefix("User:")


def grant(guarded: GuardedBroker, user: str, right: str) -> None:
    guarded.grant(f"kafka-acls.sh --add --allow-principal 'User:{user}' {right}")


def has(last: int, view: ClusterView) -> bool:
    return offsets(view, GROUP, DATA)[-1:] == [last]


def await_all(scene: Scene, clusters: Sequence[str], offset: int, within_s: float = 150) -> None:
    for cluster in clusters:
        await_view(scene.engine, cluster, partial(has, offset), within_s)


def await_error(scene: Scene, cluster: str) -> re.Match[str]:
    """What is said of the cluster, once it is."""
    found: list[re.Match[str]] = []

    def said() -> bool:
        found.extend(filter(None, [re.search(SAID[cluster], scene.error(cluster))]))
        return bool(found)

    assert eventually(said, 60), scene.error(cluster)
    return found[0]


def test_every_login_is_followed_and_a_slow_cluster_too(scene: Scene) -> None:
    await_all(scene, [*GOOD, "slow", "frail"], 1)
    scene.commit(2)
    await_all(scene, [*GOOD, "slow", "frail"], 2)
    for cluster in GOOD:
        progress = scene.engine.progress(cluster)
        assert (progress.error, progress.restarts, progress.running) == ("", 0, True)


@pytest.mark.parametrize("cluster", SAID)
def test_what_is_wrong_is_said_of_the_one_that_it_is_wrong_with(scene: Scene, cluster: str) -> None:
    said = await_error(scene, cluster).re
    (url,) = scene.service.urls.values()
    health = {each["cluster"]: each for each in httpx.get(f"{url}/v4/health", timeout=30).json()["clusters"]}
    assert said.search(health[cluster]["error"])
    told = [each for each in scene.lines if each.get("cluster") == cluster and "error" in each]
    assert any(said.search(each["error"]) for each in told), told
    assert PASSWORD not in str(told)
    if cluster != "no-topics":
        # nothing is known of it yet
        assert scene.engine.snapshot(cluster) is None
        assert not scene.engine.progress(cluster).caught_up


def test_those_that_do_not_answer_do_not_hold_up_the_others(scene: Scene) -> None:
    def more_threads() -> int:
        """After four triggers each, while those that are refused wait in vain once or more."""
        threads = thread_count(os.getpid())
        before = {cluster: scene.engine.progress(cluster).triggers for cluster in GOOD}
        for cluster in GOOD:
            assert eventually(
                lambda name=cluster: scene.engine.progress(name).triggers >= before[name] + 4,  # type: ignore[misc]
                60,
            )
        return thread_count(os.getpid()) - threads

    # a client that was made anew in every trigger would have three threads each time, whenever one looks; workers that
    # are still being started have some once
    assert any(more_threads() <= 12 for _ in range(3))


def test_one_that_dies_is_named_and_comes_back(scene: Scene) -> None:
    scene.forwarders["FRAIL"].close()
    assert eventually(lambda: "does not answer" in scene.error("frail"), 60), scene.error("frail")
    scene.commit(3)
    await_all(scene, GOOD, 3)
    view = scene.engine.snapshot("frail")
    assert view is not None
    assert has(2, view)
    scene.forwarders["FRAIL"].open()
    await_all(scene, ["frail"], 3)
    assert eventually(lambda: scene.error("frail") == "", 30)
    (end,) = [each for each in scene.lines if each.get("cluster") == "frail" and "again" in each["event"]]
    assert end["event"] == "cluster is fine again"


def test_every_cause_that_goes_away_is_noticed_without_a_restart(scene: Scene) -> None:
    for cluster in ("no-read", "no-topics"):
        said = await_error(scene, cluster)
        # the command that the line itself recommends
        scene.guarded.grant(said["command"])
    scene.guarded.scram_user("SCRAM-SHA-256", PASSWORD, "intruder")
    scene.forwarders["DOWN"].open()
    scene.commit(4)
    await_all(scene, list(SAID), 4)
    for cluster in SAID:
        assert eventually(lambda name=cluster: scene.error(name) == "", 30), scene.error(cluster)  # type: ignore[misc]
        assert scene.engine.progress(cluster).restarts == 0


def test_secrets_are_not_written_down(scene: Scene) -> None:
    files = [path for path in scene.checkpoint.rglob("*") if path.is_file()]
    assert files
    for path in files:
        # Spark removes old ones meanwhile
        with contextlib.suppress(FileNotFoundError):
            assert PASSWORD.encode() not in path.read_bytes(), path
