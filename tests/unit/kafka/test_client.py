"""Client profiles as librdkafka properties: every way to log in, and librdkafka takes what we make."""

import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient
from pydantic import SecretStr

from warren.config import Settings, load
from warren.config.sections import ClientProfile, Iam, Sasl, Tls
from warren.kafka.client import UnknownProfileError, client_properties
from warren.kafka.iam import TokenSource
from warren.kafka.login import with_login

SERVERS = ("a:9092", "b:9092")
PLAIN = Sasl(username="u", password=SecretStr("p"))
SETTINGS = Settings(
    client_profile={
        "bare": ClientProfile(client_id="me", kafka_version="0.10.2"),
        "times": ClientProfile(dial_timeout=2.5, read_timeout=20),
        "hasty": ClientProfile(dial_timeout=0.1, read_timeout=0.001),
        "patient": ClientProfile(read_timeout=1000),
        "tls": ClientProfile(tls="full"),
        "trusting": ClientProfile(tls="trusting"),
        "plain": ClientProfile(sasl="plain"),
        "scram": ClientProfile(sasl="scram", tls="system"),
        "oauth": ClientProfile(sasl="oauth", tls="system"),
        "kerberos": ClientProfile(sasl="kerberos"),
        "msk": ClientProfile(iam="aws"),
    },
    tls={
        "full": Tls(certfile="/c.pem", keyfile="/k.pem", cafile="/ca.pem"),
        "trusting": Tls(noverify=True),
        "system": Tls(),
    },
    sasl={
        "plain": PLAIN,
        "scram": PLAIN.model_copy(update={"mechanism": "SCRAM-SHA-512"}),
        "oauth": Sasl(
            username="id",
            password=SecretStr("p"),
            mechanism="OAUTHBEARER",
            token_url="https://t",
            scope="kafka",
        ),
        "kerberos": Sasl(username="warren@REALM", mechanism="GSSAPI", keytab="/keytab"),
    },
    iam={"aws": Iam(region="eu-west-1", profile="ops")},
)


class Case(NamedTuple):
    """A profile, and its properties beyond servers, client id and the usual time for a connection."""

    profile: str
    properties: dict[str, Any]


CASES = [
    Case("", {"security.protocol": "plaintext"}),
    Case("bare", {"client.id": "me", "security.protocol": "plaintext"}),
    Case(
        "times",
        {
            "socket.connection.setup.timeout.ms": 2500,
            "socket.timeout.ms": 20000,
            "security.protocol": "plaintext",
        },
    ),
    Case(
        "hasty",
        {
            "socket.connection.setup.timeout.ms": 1000,
            "socket.timeout.ms": 10,
            "security.protocol": "plaintext",
        },
    ),
    Case("patient", {"socket.timeout.ms": 300000, "security.protocol": "plaintext"}),
    Case(
        "tls",
        {
            "security.protocol": "ssl",
            "ssl.ca.location": "/ca.pem",
            "ssl.certificate.location": "/c.pem",
            "ssl.key.location": "/k.pem",
        },
    ),
    Case(
        "trusting",
        {
            "security.protocol": "ssl",
            "enable.ssl.certificate.verification": False,
            "ssl.endpoint.identification.algorithm": "none",
        },
    ),
    Case(
        "plain",
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": "u",
            "sasl.password": "p",
        },
    ),
    Case(
        "scram",
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "u",
            "sasl.password": "p",
        },
    ),
    Case(
        "oauth",
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "id",
            "sasl.oauthbearer.client.secret": "p",
            "sasl.oauthbearer.token.endpoint.url": "https://t",
            "sasl.oauthbearer.scope": "kafka",
        },
    ),
    Case(
        "kerberos",
        {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.principal": "warren@REALM",
            "sasl.kerberos.keytab": "/keytab",
        },
    ),
    Case(
        "msk",
        {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": "OAUTHBEARER",
            "warren.iam.region": "eu-west-1",
            "warren.iam.role-arn": "",
            "warren.iam.profile": "ops",
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.profile or "none")
def test_properties(case: Case) -> None:
    common = {
        "bootstrap.servers": "a:9092,b:9092",
        "client.id": "burrow-lagchecker",
        "socket.connection.setup.timeout.ms": 10_000,
    }
    properties = client_properties(SETTINGS, case.profile, SERVERS)
    assert properties == common | case.properties
    # they travel to workers as text
    assert json.loads(json.dumps(properties)) == properties


# the rest needs files that are there, or a librdkafka with Kerberos
@pytest.mark.parametrize(
    "profile", ["", "bare", "times", "hasty", "patient", "trusting", "plain", "scram", "oauth"]
)
def test_librdkafka_takes_them(profile: str) -> None:
    AdminClient(with_login(client_properties(SETTINGS, profile, ("127.0.0.1:1",))) | {"log_level": 0})


def test_an_aws_login_becomes_a_callback() -> None:
    properties = with_login(client_properties(SETTINGS, "msk", SERVERS))
    assert properties["oauth_cb"] == TokenSource("eu-west-1", role_arn="", profile="ops")
    assert [key for key in properties if key.startswith("warren")] == []
    assert pickle.loads(pickle.dumps(properties)) == properties


def test_files_beside_the_configuration_are_found(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    (tmp_path / "burrow.toml").write_text("[tls.t]\ncafile = 'ca.pem'\n[client-profile.p]\ntls = 't'\n")
    properties = client_properties(load(tmp_path, {}), "p", SERVERS)
    assert properties["ssl.ca.location"] == str(tmp_path / "ca.pem")


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(
        UnknownProfileError, match='There is no client profile "x"; the configuration has: bare, '
    ):
        client_properties(SETTINGS, "x", SERVERS)
