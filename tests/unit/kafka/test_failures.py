"""What is said of a failed request: who refuses what, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException

from warren.demo.certificates import ensure_certificates
from warren.kafka.failures import Failures, Reports
from warren.kafka.login import Property

SERVERS: dict[str, Property] = {"bootstrap.servers": "a:9092"}
PLAIN = SERVERS | {"security.protocol": "sasl_ssl", "sasl.mechanisms": "PLAIN", "sasl.username": "ada"}
AWS = SERVERS | {"security.protocol": "sasl_ssl", "warren.iam.region": "eu-west-1"}


class Case(NamedTuple):
    """An error and the text of librdkafka, and what is said of it."""

    name: str
    properties: dict[str, Property]
    code: int
    text: str
    said: str


CASES = [
    Case(
        "closed port",
        SERVERS,
        KafkaError._TRANSPORT,
        "a:9092/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT, "
        "470 identical error(s) suppressed)",
        "Kafka at a:9092 does not answer (Connect to ipv4#127.0.0.1:1 failed: Connection refused): is it up, and is "
        "the address right?",
    ),
    Case(
        "the topic of the commits",
        PLAIN,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        "no",
        "Kafka at a:9092 does not let Warren see topics: grant it with kafka-acls.sh --bootstrap-server a:9092 --add"
        " --allow-principal User:ada --operation Describe --topic '*'",
    ),
    Case(
        "groups",
        PLAIN,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        "no",
        "Kafka at a:9092 does not let Warren see groups: grant it with kafka-acls.sh --bootstrap-server a:9092 --add"
        " --allow-principal User:ada --operation Describe --group '*'",
    ),
    Case(
        "the cluster",
        PLAIN,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        "no",
        "Kafka at a:9092 does not let Warren see the cluster: grant it with kafka-acls.sh --bootstrap-server a:9092"
        " --add --allow-principal User:ada --operation Describe --cluster",
    ),
    Case(
        "a policy of AWS",
        AWS,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        "no",
        "Kafka at a:9092 does not let Warren see topics: allow kafka-cluster:DescribeTopic on topic * in the IAM "
        "policy of its role",
    ),
    Case(
        "a login of AWS",
        AWS,
        KafkaError._AUTHENTICATION,
        "Access denied",
        "Kafka at a:9092 refuses the login (Access denied): correct [iam.N], and allow kafka-cluster:Connect in the "
        "IAM policy of its role",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_error_is_a_sentence_with_a_remedy(case: Case) -> None:
    error = KafkaException(KafkaError(case.code, case.text))
    assert Failures(case.properties).told(error) == case.said


def test_a_time_out_says_what_was_reported_meanwhile() -> None:
    reports, failures = Reports(), Failures(PLAIN)
    assert failures.told(TimeoutError(), reports.last()).startswith(
        "Kafka at a:9092 does not answer (no response in time)"
    )
    reports(KafkaError(KafkaError._AUTHENTICATION, "bad password"))
    reports(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    for error in (
        TimeoutError(),
        KafkaException(KafkaError(KafkaError._TRANSPORT, "Failed to get metadata")),
    ):
        assert failures.told(error, reports.last()) == (
            "Kafka at a:9092 refuses the login of User:ada with PLAIN (bad password): correct username, password and "
            "mechanism in [sasl.N]"
        )
    # an answer of the brokers says more than a report
    denied = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no"))
    assert "--topic __consumer_offsets" in failures.told(denied, reports.last(), "__consumer_offsets")
    reports.forget()
    assert reports.last() is None


@pytest.mark.parametrize(
    ("properties", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"sasl.username": "ada"}, "User:ada"),
        ({"sasl.oauthbearer.client.id": "lag"}, "User:lag"),
        ({"sasl.kerberos.principal": "warren/host@REALM"}, "User:warren"),
        ({"ssl.certificate.location": "/nowhere"}, "User:NAME"),
    ],
)
def test_the_user_is_named_as_the_brokers_name_it(properties: dict[str, Property], principal: str) -> None:
    assert Failures(SERVERS | properties).principal == principal


def test_a_certificate_names_its_subject(tmp_path: Path) -> None:
    client = ensure_certificates(tmp_path, "127.0.0.1").client
    failures = Failures(SERVERS | {"ssl.certificate.location": str(client)})
    assert failures.principal.startswith("User:CN=warren-client,")
    # quoted where a shell would take it apart
    assert f"--allow-principal '{failures.principal}' --operation" in failures.grant("Describe", "topic", "*")
