"""Every login of docs/configuration.md at a broker that demands it, with the rights of docs/security.md alone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from tests.forwarder import Forwarder
from tests.guarded import PASSWORD, SECRET, Access, GuardedBroker, good_logins, guarded_broker
from tests.processes import eventually
from typer.testing import CliRunner

from warren.cli.main import app
from warren.config import load
from warren.consumer.drain import DeniedError, Drain
from warren.consumer.plan import Range
from warren.demo.ports import free_port
from warren.kafka import iam
from warren.kafka.brokers import LATEST, Brokers, Limit, UnreachableError
from warren.kafka.client import client_properties
from warren.kafka.login import Property

TOPIC, GROUP, OFFSETS = "guarded-topic", "guarded-group", "__consumer_offsets"
LOGINS = ("certificate", "plain", "scram-256", "scram-512", "oauth")
LIMIT_S = 20.0
# librdkafka waits as long as it may: those who are refused are asked no longer than this
SHORT_S = 3.0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as running:
        running.admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(30)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            running.scram_user(mechanism, PASSWORD)
        running.commit(GROUP, TOPIC, 7)
        yield running


def documented_rights(principal: str) -> list[str]:
    """The commands of docs/security.md, for this principal instead of User:warren."""
    page = Path(__file__).parents[3].joinpath("docs/security.md").read_text()
    section = page.partition("## What Warren may do at Kafka")[2].partition("\n## ")[0]
    (block,) = re.findall(r"least that it needs[^\n]*\n\n((?:    .*\n)+)", section)
    commands = [line.strip() for line in block.splitlines()]
    assert len(commands) == 2
    assert all("--allow-principal User:warren " in command for command in commands)
    return [command.replace("User:warren", f"'{principal}'") for command in commands]


def properties_of(access: Access, directory: Path, more: str = "") -> dict[str, Property]:
    """As Warren reads them from its file."""
    (directory / "burrow.toml").write_text(access.sections("it") + more)
    return client_properties(load(directory, {}), "it", [access.address])


def read_all(properties: dict[str, Property]) -> int:
    """Records of the offsets topic that can be read."""
    brokers, limit = Brokers(properties), Limit(LIMIT_S)
    found = brokers.topic(OFFSETS, limit)
    assert found is not None
    ends = brokers.offsets([(OFFSETS, number) for number in found.partitions], LATEST, limit)
    ranges = [Range(number, 0, end, 0) for (_, number), end in ends.items() if end]
    return sum(len(each) for each in Drain(properties, OFFSETS).records(ranges))


@pytest.mark.parametrize("login", LOGINS)
def test_a_login_with_the_documented_rights_sees_everything(
    guarded: GuardedBroker, tmp_path: Path, login: str
) -> None:
    properties = properties_of(good_logins(guarded)[login], tmp_path)
    principal = Brokers(properties).failures.principal
    guarded.revoke(principal)
    denied = Brokers(properties)
    with pytest.raises(UnreachableError, match=r"does not let Warren read topic __consumer_offsets"):
        denied.topic(OFFSETS, Limit(LIMIT_S))
    assert denied.partitions(Limit(LIMIT_S)) == {}
    for command in documented_rights(principal):
        guarded.grant(command)
    # the same clients, as soon as the rights are there
    assert eventually(lambda: set(denied.partitions(Limit(LIMIT_S))) == {TOPIC, OFFSETS}, LIMIT_S, 0.2)
    heads = denied.offsets([(TOPIC, 0), (TOPIC, 1)], LATEST, Limit(LIMIT_S))
    assert heads == {(TOPIC, 0): 0, (TOPIC, 1): 0}
    assert read_all(properties) > 0
    guarded.revoke(principal)


def test_a_token_is_asked_for_with_id_secret_and_scope(guarded: GuardedBroker, tmp_path: Path) -> None:
    Brokers(properties_of(good_logins(guarded)["oauth"], tmp_path)).partitions(Limit(LIMIT_S))
    assert guarded.tokens.asked[-1] == {
        "client": "warren",
        "grant_type": "client_credentials",
        "scope": "lag",
    }


@pytest.mark.parametrize("token", ["one that the broker takes", "one of AWS"])
def test_the_token_of_a_callback_reaches_the_broker(
    guarded: GuardedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    # MSK's own brokers alone can verify AWS's signature: ours takes another token, and says no to a signed one
    monkeypatch.setattr(iam, "_tokens", {})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-of-aws")
    if token != "one of AWS":
        given = guarded.tokens.token("warren"), time.time() + 900
        monkeypatch.setattr(iam.TokenSource, "_signed", lambda _: given)
    (tmp_path / "burrow.toml").write_text(
        '[client-profile.it]\niam = "it"\ntls = "it"\n[iam.it]\nregion = "eu-west-1"\n'
        f'[tls.it]\ncafile = "{guarded.certificates.ca}"\n'
    )
    properties = client_properties(load(tmp_path, {}), "it", [guarded.address("TOKEN")])
    brokers = Brokers(properties)
    if token == "one of AWS":
        with pytest.raises(UnreachableError, match=r"refuses the login .*correct \[iam\.N\]") as caught:
            brokers.partitions(Limit(SHORT_S))
        assert "s3cret" not in str(caught.value)
        assert "AKIDEXAMPLE" not in str(caught.value)
    else:
        assert brokers.partitions(Limit(LIMIT_S)) == {}


def test_rights_that_go_while_a_range_is_read_are_named_at_once(
    guarded: GuardedBroker, tmp_path: Path
) -> None:
    # brokers before 2.3 do not say beforehand what we may do
    properties = properties_of(good_logins(guarded)["plain"], tmp_path)
    guarded.grant("kafka-acls.sh --add --allow-principal User:warren --operation Describe --topic '*'")
    drain = Drain(properties, OFFSETS)
    begun = time.monotonic()
    with pytest.raises(DeniedError, match=r"--operation Read --topic __consumer_offsets$"):
        list(drain.records([Range(0, 0, 1_000, 0)]))
    assert time.monotonic() - begun < 15
    guarded.revoke("User:warren")


def failing(guarded: GuardedBroker) -> dict[str, Access]:
    """Everything that can be wrong, one cluster for each."""
    good = good_logins(guarded)
    trust = {"cafile": str(guarded.certificates.ca)}
    user = {"username": "warren", "password": "s3cret-and-wrong"}
    tokens = dict(good["oauth"].sasl or {})
    plain = {"password": PASSWORD, "mechanism": "PLAIN"}
    return {
        "wrong-plain": Access(guarded.address("SASL"), sasl=user | {"mechanism": "PLAIN"}),
        "wrong-scram": Access(guarded.address("SASL"), sasl=user | {"mechanism": "SCRAM-SHA-512"}),
        "wrong-mechanism": Access(guarded.address("TOKEN"), trust, user | {"mechanism": "PLAIN"}),
        "wrong-client": Access(guarded.address("TOKEN"), trust, tokens | {"password": "s3cret-and-wrong"}),
        "no-endpoint": Access(
            guarded.address("TOKEN"),
            trust,
            tokens | {"token-url": f"http://127.0.0.1:{free_port('127.0.0.1')}"},
        ),
        "untrusted": Access(guarded.address("STRANGE"), trust),
        "no-certificate": Access(guarded.address("MUTUAL"), trust),
        "no-tls": Access(guarded.address("MUTUAL")),
        "tls-on-plaintext": Access(guarded.address("SASL"), trust, user),
        "no-login": Access(guarded.address("SASL")),
        "closed": Access(f"127.0.0.1:{free_port('127.0.0.1')}"),
        "no-read": Access(guarded.address("SASL"), sasl=plain | {"username": "no-read"}),
        "no-topics": Access(guarded.address("SASL"), sasl=plain | {"username": "no-topics"}),
        "nothing": Access(guarded.address("SASL"), sasl=plain | {"username": "stranger"}),
        "no-groups": Access(
            guarded.address("SASL"),
            sasl=plain | {"username": "no-read"},
            cluster="groups-reaper-refresh = 60",
        ),
    }


@pytest.fixture(scope="module")
def checked(guarded: GuardedBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `warren check --connect` says of each, tried all at once."""
    guarded.grant("kafka-acls.sh --add --allow-principal User:no-read --operation Describe --topic '*'")
    guarded.grant(
        "kafka-acls.sh --add --allow-principal User:no-topics --operation Read --topic __consumer_offsets"
    )
    directory = tmp_path_factory.mktemp("failing")
    clusters = failing(guarded)
    (directory / "burrow.toml").write_text("".join(each.sections(name) for name, each in clusters.items()))
    answer = CliRunner().invoke(
        app, ["check", "--config-dir", str(directory), "--connect", "--json", "--timeout", str(SHORT_S)]
    )
    assert "s3cret" not in answer.output
    return {each["key"]: each for each in json.loads(answer.stdout)["connections"]}


# module: what is said of it, and what to do
SAID = {
    "cluster.wrong-plain": r"refuses the login of User:warren with PLAIN \(.*\): correct username, password",
    "cluster.wrong-scram": r"refuses the login of User:warren with SCRAM-SHA-512 \(.*\): correct username, password",
    "cluster.wrong-mechanism": r"refuses the login of User:warren with PLAIN \(.*OAUTHBEARER.*\): correct .*mechanism",
    "cluster.wrong-client": r"There is no token .*invalid_client.*are username and password the client's id and secret",
    "cluster.no-endpoint": r"There is no token .*is token-url in \[sasl\.N\] right",
    "cluster.untrusted": r"is not trusted \(.*verif.*\): name the certificate of its CA in cafile of \[tls\.N\]",
    "cluster.no-certificate": r"does not accept Warren's certificate .*set certfile and keyfile in \[tls\.N\]",
    "cluster.no-tls": r"closes the connection .*want TLS or a login\? Set tls, and sasl or iam",
    "cluster.tls-on-plaintext": r"TLS with Kafka at .* fails .*is this the port for TLS",
    "cluster.no-login": r"closes the connection .*want TLS or a login\? Set tls, and sasl or iam",
    "cluster.closed": r"does not answer \(.*Connection refused\): is it up, and is the address right",
    "consumer.no-read": r"does not let Warren read topic __consumer_offsets: grant it with kafka-acls\.sh "
    r"--bootstrap-server 127\.0\.0\.1:\d+ --add --allow-principal User:no-read --operation Read "
    r"--topic __consumer_offsets$",
    "cluster.no-topics": r"^1 broker, 1 topic$",
    "cluster.nothing": r"^1 broker, 0 topics\. .* If it has topics, grant it .*--operation Describe --topic '\*'$",
    "cluster.no-groups": r"lists no group at all\. If it has groups, grant it .*--operation Describe --group '\*'$",
}


@pytest.mark.parametrize("module", sorted(SAID))
def test_what_is_wrong_is_one_line_with_the_remedy(checked: dict[str, Any], module: str) -> None:
    found = checked[module]
    # what is hidden cannot be told from what is not there, until groups have committed on it
    assert found["reached"] == (module in {"cluster.no-topics", "cluster.nothing"})
    assert re.search(SAID[module], found["detail"]), found["detail"]
    assert "\n" not in found["detail"]


@pytest.mark.parametrize("cause", ["closed port", "untrusted certificate", "wrong password", "no groups"])
def test_a_cause_that_goes_away_is_noticed_by_the_same_client(
    guarded: GuardedBroker, tmp_path: Path, cause: str
) -> None:
    trust = {"cafile": str(guarded.certificates.ca)}
    plain = {"username": "stranger", "password": PASSWORD, "mechanism": "PLAIN"}
    scram = {"username": "late", "password": PASSWORD, "mechanism": "SCRAM-SHA-256"}
    with Forwarder(guarded.advertised["STRANGE"], guarded.ports["STRANGE"]) as strange:
        strange.open()
        with Forwarder(free_port("127.0.0.1"), guarded.ports["CLIENT"]) as closed:

            def other_certificate() -> None:
                strange.close()
                strange.target = guarded.ports["TLS"]
                strange.open()

            def rights() -> None:
                found = re.search(r"grant it with (kafka-acls\.sh .*)", said)
                assert found is not None
                guarded.grant(found[1])

            # how Warren gets there, what is said, and what an administrator does
            cases: dict[str, tuple[Access, str, Callable[[], Any]]] = {
                "closed port": (Access(closed.address), "Connection refused", closed.open),
                "untrusted certificate": (
                    Access(strange.address, trust),
                    "is not trusted",
                    other_certificate,
                ),
                "wrong password": (
                    Access(guarded.address("SASL"), sasl=scram),
                    "refuses the login of User:late with SCRAM-SHA-256",
                    lambda: guarded.scram_user("SCRAM-SHA-256", PASSWORD, "late"),
                ),
                "no groups": (Access(guarded.address("SASL"), sasl=plain), "lists no group at all", rights),
            }
            access, expected, cure = cases[cause]
            brokers = Brokers(properties_of(access, tmp_path))
            ask = brokers.groups if cause == "no groups" else brokers.partitions
            with pytest.raises(UnreachableError, match=expected) as caught:
                ask(Limit(SHORT_S))
            said = str(caught.value)
            cure()

            def answered() -> bool:
                try:
                    ask(Limit(SHORT_S))
                except UnreachableError:
                    return False
                return True

            assert eventually(answered, LIMIT_S)


def test_extra_properties_reach_the_client(guarded: GuardedBroker, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key(guarded.certificates.client_key.read_bytes(), None)
    sealed = tmp_path / "sealed.key"
    sealed.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(SECRET.encode()))
    )
    login = good_logins(guarded)["certificate"]
    access = Access(login.address, {**(login.tls or {}), "keyfile": str(sealed)})
    more = f'[client-profile.it.properties]\nssl.key.password = "{SECRET}"\n'
    properties = properties_of(access, tmp_path, more)
    assert Brokers(properties).partitions(Limit(LIMIT_S)) == {}
    # with the wrong one the key stays shut
    with pytest.raises(Exception, match=r"ssl\.key"):
        Brokers({**properties, "ssl.key.password": "wrong"})
