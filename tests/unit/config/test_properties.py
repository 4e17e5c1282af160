"""Extra properties of librdkafka: what is taken, what is refused and why, and that no value is ever printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.configurations import SMALLEST
from tests.unit.kafka.test_client import CASES

from warren.config import Examination, examine, load
from warren.config.properties import SET_BY_WARREN
from warren.consumer import drain
from warren.kafka.brokers import OWN
from warren.kafka.client import client_properties
from warren.sinks import kafka_producer

PROFILE = '[client-profile.p]\nclient-id = "x"\n[client-profile.p.properties]\n'


def examined(directory: Path, lines: str, **environ: str) -> Examination:
    (directory / "burrow.toml").write_text(SMALLEST + PROFILE + lines)
    return examine(directory, environ)


def test_they_reach_the_client_with_and_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(
        SMALLEST
        + PROFILE
        + 'ssl.key.password = "hush"\n"sasl.oauthbearer.extensions" = "a=b"\nsocket.keepalive.enable = true\n'
        "statistics.interval.ms = 0\nsocket.nagle.disable = false\n"
    )
    environ = {"BURROW_CLIENT_PROFILE_P_PROPERTIES_SSL_KEY_PASSWORD": "from outside"}
    for variables, password in (({}, "hush"), (environ, "from outside")):
        settings = load(tmp_path, variables)
        properties = client_properties(settings, "p", ["a:9092"])
        assert properties["ssl.key.password"] == password
        assert (properties["socket.keepalive.enable"], properties["statistics.interval.ms"]) == ("true", "0")
        assert properties["socket.nagle.disable"] == "false"
        assert password not in repr(settings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '"socket.nagel.disable" = true',
            "librdkafka has no such property; see CONFIGURATION.md of librdkafka",
        ),
        ('"statistics.interval.ms" = "hush"', "librdkafka does not take this value; see CONFIGURATION.md"),
        ('"broker.address.family" = "hush"', "librdkafka does not take this value; see CONFIGURATION.md"),
        ('"client.id" = "hush"', "Warren sets this property itself; use client-id of this profile"),
        ('"sasl.password" = "hush"', r"Warren sets this property itself; use password of \[sasl\.N\]"),
        (
            '"isolation.level" = "hush"',
            "Warren sets this property itself; remove it: how Warren reads depends on it",
        ),
        ('"error_cb" = "hush"', "Warren sets this property itself; remove it: it takes a function"),
        ('"ssl.key.password" = ["hush"]', "."),
    ],
)
def test_what_cannot_be_is_refused_without_its_value(tmp_path: Path, line: str, said: str) -> None:
    found = examined(tmp_path, line)
    assert found.settings is None
    (problem,) = found.problems
    assert problem.key.startswith("client-profile.p.properties")
    assert re.search(said, f"{problem.what}; {problem.remedy}"), problem
    assert "hush" not in str(problem)


def test_whatever_warren_sets_is_refused() -> None:
    ours = {name for case in CASES for name in case.properties if not name.startswith("warren.")}
    ours |= set(OWN) | set(drain._CONSUMER) | {"isolation.level", "bootstrap.servers", "client.id"}
    source = Path(kafka_producer.__file__).read_text()
    ours |= {name for name in re.findall(r'^ +"([a-z.]+\.[a-z.]+)": ', source, re.MULTILINE) if "." in name}
    # a profile without noverify may still turn this off alone
    assert ours - set(SET_BY_WARREN) == {"ssl.endpoint.identification.algorithm"}
