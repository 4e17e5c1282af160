"""What a failed request to Kafka means to the person who has to do something about it: one line with the remedy."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from warren.kafka.login import IAM_PREFIX, Property

# the client gave up waiting; what it reported meanwhile says more
_SILENCE: Final = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._AUTHENTICATION,
    }
)
# reports that say only that something was wrong
_VAGUE: Final = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError._ALL_BROKERS_DOWN})
_LOGIN: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED})
# code: resource type of the right that is missing
_DENIED: Final[Mapping[int, str]] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}
# what OpenSSL says of a certificate of ours that the broker does not accept, or that it lacks
_OUR_CERTIFICATE: Final = ("alert", "certificate required", "bad certificate")
_NOTHING_ACQUIRED: Final = "Failed to acquire SASL OAUTHBEARER"
# what librdkafka puts before and after the reason
_CONNECTION: Final = re.compile(r"^(?:\[thrd:[^\]]*\]: )?\S+/(?:bootstrap|\d+): ")
_TIMING: Final = re.compile(r" \(after \d+ms in state .*\)$")
# Java puts a backslash before these in a subject, more often than RFC 4514 wants it
_ESCAPED: Final = frozenset(',=+<>#;"\\')

# resource type: the option of kafka-acls.sh, without a name for the cluster
_OPTIONS: Final[Mapping[str, str]] = {"topic": "--topic", "group": "--group", "cluster": "--cluster"}
# the same rights at AWS MSK: (operation, resource type): action of an IAM policy
_IAM_ACTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("Read", "topic"): "kafka-cluster:ReadData and kafka-cluster:DescribeTopic",
    ("Describe", "topic"): "kafka-cluster:DescribeTopic",
    ("Describe", "group"): "kafka-cluster:DescribeGroup",
    ("Describe", "cluster"): "kafka-cluster:DescribeCluster",
}


class Reports:
    """What librdkafka has reported since the last answer; its `error_cb`.

    It repeats a report only every 30 s, so the last one holds until there is an answer.
    """

    def __init__(self) -> None:
        self._found: deque[KafkaError] = deque(maxlen=32)

    def __call__(self, error: KafkaError) -> None:
        self._found.append(error)

    def forget(self) -> None:
        """There was an answer."""
        self._found.clear()

    def last(self) -> KafkaError | None:
        """The last one that says something, the last of all when none does."""
        found = [each for each in self._found if each.code() not in _VAGUE] or list(self._found)
        return found[-1] if found else None


class Failures:
    """The errors of one client, in sentences."""

    def __init__(self, properties: Mapping[str, Property]) -> None:
        self._properties = properties
        self.servers = str(properties["bootstrap.servers"])

    def told(self, error: BaseException, report: KafkaError | None = None, topic: str = "") -> str:
        """What to do about an error; `topic`: the one that was asked for."""
        found = error.args[0] if isinstance(error, KafkaException) else None
        if not isinstance(found, KafkaError):
            found = None
        if report is not None and (found is None or found.code() in _SILENCE):
            found = report
        if found is None:
            return self._silent("no response in time" if isinstance(error, TimeoutError) else str(error))
        return self._refused(found, topic)

    def _refused(self, found: KafkaError, topic: str) -> str:
        code, why = found.code(), _short(found.str())
        if code in _DENIED:
            kind = _DENIED[code]
            if kind == "topic" and topic:
                return self.denied("Read", kind, topic)
            return self.denied("Describe", kind, "" if kind == "cluster" else "*")
        if code in _LOGIN:
            return self._login(why)
        if code == KafkaError._SSL or "SSL" in why:
            return self._tls(why)
        if code == KafkaError._ALL_BROKERS_DOWN or "Disconnected" in why:
            # it is not said whether nobody is there, or somebody who expects something else
            return (
                f"Kafka at {self.servers} does not answer, or closes the connection ({why}): is it up, and does this "
                "port want TLS or a login? Set tls, and sasl or iam, in [client-profile.N] as the listener has them"
            )
        return self._silent(why)

    def denied(self, operation: str, kind: str, name: str = "") -> str:
        """A right that Warren needs and does not have."""
        what = f"{kind} {name}" if name and name != "*" else "topics" if kind == "topic" else f"{kind}s"
        what = "the cluster" if kind == "cluster" else what
        verb = "read" if operation == "Read" else "see"
        return (
            f"Kafka at {self.servers} does not let Warren {verb} {what}: {self.grant(operation, kind, name)}"
        )

    def no_topics(self) -> str:
        """An empty list of topics: without rights the brokers do not refuse, they hide."""
        remedy = self.grant("Describe", "topic", "*")
        return f"Kafka at {self.servers} lists no topic at all. If it has topics, {remedy}"

    def no_groups(self) -> str:
        """The same for groups."""
        remedy = self.grant("Describe", "group", "*")
        return f"Kafka at {self.servers} lists no group at all. If it has groups, {remedy}"

    def grant(self, operation: str, kind: str, name: str = "") -> str:
        """How to give Warren a right: the command, or at AWS MSK the action of its policy."""
        if any(key.startswith(IAM_PREFIX) for key in self._properties):
            where = f" on {kind} {name}" if name else ""
            return f"allow {_IAM_ACTIONS[operation, kind]}{where} in the IAM policy of its role"
        words = ["kafka-acls.sh", "--bootstrap-server", self.servers, "--add"]
        words += ["--allow-principal", self.principal, "--operation", operation, _OPTIONS[kind]]
        return "grant it with " + shlex.join(words + ([name] if name else []))

    @property
    def principal(self) -> str:
        """As the brokers call us, unless they map names."""
        given = self._properties
        for key in ("sasl.username", "sasl.oauthbearer.client.id"):
            if given.get(key):
                return f"User:{given[key]}"
        if given.get("sasl.kerberos.principal"):
            return "User:" + str(given["sasl.kerberos.principal"]).partition("@")[0].partition("/")[0]
        if given.get("ssl.certificate.location"):
            return f"User:{_subject(Path(str(given['ssl.certificate.location'])))}"
        return "User:ANONYMOUS"

    def _silent(self, why: str) -> str:
        return f"Kafka at {self.servers} does not answer ({why}): is it up, and is the address right?"

    def _login(self, why: str) -> str:
        if _NOTHING_ACQUIRED in why:
            return (
                f"There is no token to log in with at Kafka at {self.servers} ({why}): is token-url in [sasl.N] "
                "right, and are username and password the client's id and secret?"
            )
        if any(key.startswith(IAM_PREFIX) for key in self._properties):
            return (
                f"Kafka at {self.servers} refuses the login ({why}): correct [iam.N], and allow kafka-cluster:Connect "
                "in the IAM policy of its role"
            )
        if str(self._properties.get("security.protocol", "")).startswith("sasl"):
            mechanism = self._properties.get("sasl.mechanisms", "")
            return (
                f"Kafka at {self.servers} refuses the login of {self.principal} with {mechanism} ({why}): correct "
                "username, password and mechanism in [sasl.N]"
            )
        return f"Kafka at {self.servers} wants a login ({why}): set sasl or iam in [client-profile.N]"

    def _tls(self, why: str) -> str:
        if any(word in why for word in _OUR_CERTIFICATE):
            return (
                f"Kafka at {self.servers} does not accept Warren's certificate ({why}): set certfile and keyfile in "
                "[tls.N] to one that the brokers trust"
            )
        if "verif" in why or "unknown ca" in why or "self-signed" in why:
            return (
                f"The certificate of Kafka at {self.servers} is not trusted ({why}): name the certificate of its CA in "
                "cafile of [tls.N], and the brokers by names that are in their certificates"
            )
        remedy = "is this the port for TLS? See tls in [client-profile.N]"
        return f"TLS with Kafka at {self.servers} fails ({why}): {remedy}"


def _subject(path: Path) -> str:
    """The subject of a certificate, as Java and so the brokers write it."""
    # slow, and only errors need it
    from cryptography.x509 import load_pem_x509_certificate  # noqa: PLC0415

    try:
        subject = load_pem_x509_certificate(path.read_bytes()).subject
    except (OSError, ValueError):
        return "NAME"
    parts = [f"{each.rfc4514_attribute_name}={_escaped(str(each.value))}" for each in reversed(list(subject))]
    return ",".join(parts)


def _escaped(value: str) -> str:
    return "".join(f"\\{char}" if char in _ESCAPED else char for char in value)


def _short(text: str) -> str:
    """librdkafka's message without the name of the connection in front, and without its timing."""
    text = _CONNECTION.sub("", text)
    return " ".join(_TIMING.sub("", text).split())
