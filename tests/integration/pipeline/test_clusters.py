"""Several clusters in one engine: what is wrong with one is said of that one, and changes nothing for the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import (
    BlackHole,
    Hands,
    await_view,
    commit,
    offsets,
    pipeline_settings,
    running,
    watched,
)
from tests.processes import eventually

from warren.cluster.head_frames import SURVEY_TIMEOUT_S
from warren.config.kinds import Secret
from warren.config.sections import ClientProfile, KafkaConsumer, Sasl, Tls
from warren.demo.broker import Broker
from warren.demo.credentials import Credentials
from warren.demo.ports import free_port
from warren.pipeline.engine import Engine
from warren.snapshot.view import ClusterView

RAW, DATA = "clusters-offsets", "clusters-data"


class Scene(NamedTuple):
    engine: Engine
    # of the cluster that is down: not started yet
    late: Broker
    plain: Hands
    secure: Hands


def prepared(broker: Broker) -> Hands:
    hands = Hands(broker)
    hands.make(DATA)
    hands.fill(DATA, 10)
    hands.make(RAW)
    return hands


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Clusters: one plain, one with TLS and SASL, one that is down, one that is silent, one with a wrong password."""
    with ExitStack() as stack:
        plain = stack.enter_context(Broker(offsets_partitions=OFFSETS_PARTITIONS))
        user = Credentials("SCRAM-SHA-512", "warren", "s3cret, with a comma")
        secure = stack.enter_context(Broker(offsets_partitions=OFFSETS_PARTITIONS, sasl=user, tls=True))
        late = Broker(free_port("127.0.0.1"), offsets_partitions=OFFSETS_PARTITIONS)
        stack.callback(late.close)
        hole = BlackHole()
        stack.callback(hole.close)
        assert secure.certificates is not None
        sasl = Sasl(username="warren", password=Secret("s3cret, with a comma"), mechanism="SCRAM-SHA-512")
        servers = {
            "plain": (plain.bootstrap_servers, ""),
            "secure": (secure.bootstrap_servers, "secure"),
            "down": (late.bootstrap_servers, ""),
            "silent": (hole.address, ""),
            "intruder": (secure.bootstrap_servers, "intruder"),
        }
        settings = pipeline_settings(
            tmp_path_factory.mktemp("clusters"),
            {name: watched(address, client_profile=profile) for name, (address, profile) in servers.items()},
            {
                name: KafkaConsumer(
                    cluster=name, servers=(address,), client_profile=profile, offsets_topic=RAW
                )
                for name, (address, profile) in servers.items()
            },
            client_profile={
                "secure": ClientProfile(tls="secure", sasl="secure"),
                "intruder": ClientProfile(tls="secure", sasl="intruder"),
            },
            tls={"secure": Tls(cafile=str(secure.certificates.ca))},
            sasl={"secure": sasl, "intruder": sasl.model_copy(update={"password": Secret("wrong")})},
        )
        hands = prepared(plain), prepared(secure)
        yield Scene(stack.enter_context(running(settings, ("plain", "secure"))), late, *hands)


def has(wanted: list[int], view: ClusterView) -> bool:
    return offsets(view, "clusters-group", DATA) == wanted


def test_each_of_the_good_ones_is_followed(scene: Scene) -> None:
    for number in (1, 2):
        scene.plain.write(RAW, [commit("clusters-group", DATA, number)])
        scene.secure.write(RAW, [commit("clusters-group", DATA, number + 3)])
        await_view(scene.engine, "plain", partial(has, list(range(1, number + 1))))
        await_view(scene.engine, "secure", partial(has, list(range(4, number + 4))))
    for cluster in ("plain", "secure"):
        progress = scene.engine.progress(cluster)
        assert (progress.error, progress.restarts, progress.running) == ("", 0, True)


def test_what_is_wrong_is_said_of_the_one_that_it_is_wrong_with(scene: Scene) -> None:
    engine = scene.engine

    def says(cluster: str, metadata: str) -> bool:
        return metadata in engine.progress(cluster).error

    for cluster, metadata in (
        ("down", "does not answer"),
        ("silent", "does not answer"),
        ("intruder", "refuses the login of User:warren with SCRAM-SHA-512"),
    ):
        assert eventually(partial(says, cluster, metadata), 90), (cluster, engine.progress(cluster))
        assert "s3cret" not in engine.progress(cluster).error
        assert engine.snapshot(cluster) is None
        assert not engine.progress(cluster).caught_up
    assert not engine.ready()
    assert scene.late.bootstrap_servers in engine.progress("down").error


def test_one_that_comes_up_is_followed_from_then_on(scene: Scene) -> None:
    scene.late.start()
    hands = prepared(scene.late)
    hands.write(RAW, [commit("clusters-group", DATA, 7)])
    await_view(scene.engine, "down", partial(has, [7]), 150)
    assert eventually(lambda: scene.engine.progress("down").error == "", 30)


def test_a_silent_cluster_does_not_slow_the_others_down(scene: Scene) -> None:
    engine = scene.engine
    view = engine.snapshot("plain")
    assert view is not None
    # five triggers while the silent one waits in vain once or twice
    following = await_view(engine, "plain", lambda each: each.number >= view.number + 5, SURVEY_TIMEOUT_S * 6)
    assert offsets(following, "clusters-group", DATA) == [1, 2]


def test_secrets_are_not_written_down(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> None:
    directories = list(tmp_path_factory.getbasetemp().glob("clusters*"))
    assert directories
    for path in (path for directory in directories for path in directory.rglob("*") if path.is_file()):
        assert b"s3cret" not in Path(path).read_bytes(), path
