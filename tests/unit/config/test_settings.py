"""The settings themselves: Burrow's defaults, names, secrets."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from warren.config import Settings, examine, load
from warren.config.kinds import Section
from warren.config.modules import ElasticsearchSink, HttpNotifier, InfluxdbSink, SlackNotifier
from warren.config.patterns import compiled
from warren.config.sections import Cluster, HttpServer, KafkaConsumer, Sasl
from warren.config.settings import NAMED, PLAIN
from warren.config.tree import fields

REQUIRED = "required"
SECRET = SecretStr("")
# section (and class): key: default, as Burrow has it; what is beyond Burrow stands last
DEFAULTS: dict[str, dict[str, Any]] = {
    "general": {
        "pidfile": "burrow.pid",
        "stdout-logfile": "",
        "access-control-allow-origin": "",
        "env-var-prefix": "burrow",
        "public-url": "",
    },
    "logging": {
        "filename": "",
        "level": "info",
        "maxsize": 100,
        "maxbackups": 10,
        "maxage": 30,
        "use-localtime": False,
        "use-compression": False,
    },
    "zookeeper": {
        "servers": REQUIRED,
        "timeout": 6,
        "root-path": "/burrow",
        "auth-type": "digest",
        "username": "",
        "password": SECRET,
    },
    "spark": {"master": "local[*]", "checkpoint-dir": "checkpoint", "trigger-interval": 5.0, "conf": {}},
    "outbox": {"max-age": 86_400, "max-bytes": 1_073_741_824},
    "prometheus": {"also-names": ()},
    "client-profile": {
        "client-id": "burrow-lagchecker",
        "kafka-version": "",
        "tls": "",
        "sasl": "",
        "iam": "",
        "dial-timeout": 10,
        "read-timeout": None,
        "properties": {},
    },
    "tls": {"certfile": "", "keyfile": "", "cafile": "", "noverify": False},
    "sasl": {
        "username": "",
        "password": SECRET,
        "mechanism": "PLAIN",
        "handshake-first": False,
        "token-url": "",
        "scope": "",
        "keytab": "",
        "service-name": "kafka",
    },
    "iam": {"region": REQUIRED, "role-arn": "", "profile": ""},
    "httpserver": {
        "address": ":0",
        "timeout": 300,
        "read-timeout": 10,
        "write-timeout": 20,
        "max-connections": 1000,
        "max-connections-per-client": 250,
        "max-unsent": 134_217_728,
        "tls": "",
        "read-token": SECRET,
        "admin-token": SECRET,
        "read-username": "",
        "read-password": SECRET,
        "admin-username": "",
        "admin-password": SECRET,
        "admin-from-anywhere": False,
        "max-body": 65536,
        "rate-limit": 0,
    },
    "storage inmemory": {
        "class-name": "inmemory",
        "intervals": 10,
        "expire-group": 604800,
        "min-distance": None,
        "group-allowlist": None,
        "group-denylist": None,
        "workers": 20,
        "queue-depth": 1,
    },
    "evaluator trend": {
        "class-name": "trend",
        "expire-cache": 10,
        "minimum-complete": 0.0,
        "allowed-lag": None,
    },
    "cluster kafka": {
        "class-name": "kafka",
        "servers": REQUIRED,
        "client-profile": "",
        "topic-refresh": 60,
        "offset-refresh": 10,
        "groups-reaper-refresh": 0,
    },
    "consumer kafka": {
        "class-name": "kafka",
        "cluster": REQUIRED,
        "servers": REQUIRED,
        "client-profile": "",
        "offsets-topic": "__consumer_offsets",
        "start-latest": False,
        "backfill-earliest": False,
        "group-allowlist": None,
        "group-denylist": None,
        "max-records-per-trigger": 5_000_000,
    },
    "consumer kafka_admin": {
        "class-name": "kafka_admin",
        "cluster": REQUIRED,
        "servers": REQUIRED,
        "client-profile": "",
        "group-allowlist": None,
        "group-denylist": None,
        "poll-interval": 10,
        "members-refresh": 60,
        "max-requests": 50,
    },
    "consumer kafka_zk": {
        "class-name": "kafka_zk",
        "cluster": REQUIRED,
        "servers": REQUIRED,
        "zookeeper-path": "",
        "zookeeper-timeout": 30,
        "group-allowlist": None,
        "group-denylist": None,
        "max-requests-per-second": 1000,
        "auth-type": "digest",
        "username": "",
        "password": SECRET,
    },
    "consumer storm": {
        "class-name": "storm",
        "cluster": REQUIRED,
        "servers": REQUIRED,
        "zookeeper-path": REQUIRED,
        "zookeeper-timeout": 30,
        "group-allowlist": None,
        "group-denylist": None,
        "max-requests-per-second": 1000,
        "auth-type": "digest",
        "username": "",
        "password": SECRET,
    },
}
SINK: dict[str, Any] = {
    "interval": 10,
    "level": "partition",
    "group-allowlist": None,
    "group-denylist": None,
    "cluster-allowlist": None,
    "cluster-denylist": None,
    "topic-allowlist": None,
    "topic-denylist": None,
    "clusters-include": (),
    "clusters-exclude": (),
    "groups-include": (),
    "groups-exclude": (),
    "topics-include": (),
    "topics-exclude": (),
    "tags": {},
}
NOTIFIER: dict[str, Any] = {
    "interval": 60,
    "cluster": "",
    "send-interval": None,
    "send-once": False,
    "threshold": 2,
    "group-allowlist": None,
    "group-denylist": None,
    "extras": {},
    "send-close": False,
    "template-open": "",
    "template-close": "",
    "topic-denylist": None,
    "minimum-complete": 0.0,
    "minimum-lag": 0,
    "on-change": False,
    "quiet-start": 0,
    "cluster-incidents": False,
    "cluster-incident-after": 120,
}
DEFAULTS |= {
    "notifier http": NOTIFIER
    | {
        "class-name": "http",
        "url-open": REQUIRED,
        "method-open": "POST",
        "url-close": "",
        "method-close": "POST",
        "username": "",
        "password": SECRET,
        "headers": {},
        "timeout": 5,
        "keepalive": 300,
        "extra-ca": "",
        "noverify": False,
        "disable-http-keepalive": False,
    },
    "notifier email": NOTIFIER
    | {
        "class-name": "email",
        "server": REQUIRED,
        "port": 25,
        "from": REQUIRED,
        "to": REQUIRED,
        "auth-type": "",
        "username": "",
        "password": SECRET,
        "extra-ca": "",
        "noverify": False,
        "tls": "auto",
        "timeout": 10,
    },
    "notifier slack": NOTIFIER
    | {
        "class-name": "slack",
        "webhook-url": SECRET,
        "token": SECRET,
        "channel": "",
        "api-url": "https://slack.com/api",
        "timeout": 5,
    },
    "notifier null": NOTIFIER | {"class-name": "null"},
    "sink parquet": SINK
    | {
        "class-name": "parquet",
        "path": REQUIRED,
        "compression": "zstd",
        "compact-after": 120,
        "retention-days": 90,
    },
    "sink elasticsearch": SINK
    | {
        "class-name": "elasticsearch",
        "server": "elasticsearch",
        "urls": REQUIRED,
        "index": "burrow-%Y.%m.%d",
        "username": "",
        "password": SECRET,
        "api-key": SECRET,
        "manage-template": True,
        "template-name": "",
        "timeout": 10,
        "batch-size": 5000,
        "batch-bytes": 10_000_000,
        "compression": "gzip",
        "extra-ca": "",
        "noverify": False,
        "certfile": "",
        "keyfile": "",
    },
    "sink influxdb": SINK
    | {
        "class-name": "influxdb",
        "url": REQUIRED,
        "database": "",
        "retention-policy": "",
        "username": "",
        "password": SECRET,
        "org": "",
        "bucket": "",
        "token": SECRET,
        "timeout": 10,
        "batch-size": 5000,
        "compression": "gzip",
        "extra-ca": "",
        "noverify": False,
    },
    "sink kafka": SINK
    | {
        "class-name": "kafka",
        "servers": REQUIRED,
        "topic": REQUIRED,
        "client-profile": "",
        "create-topic": False,
        "transactions": True,
        "compression": "lz4",
        "batch-size": 1_000_000,
        "timeout": 10,
    },
    "sink prometheus": SINK
    | {
        "class-name": "prometheus",
        "url": REQUIRED,
        "username": "",
        "password": SECRET,
        "token": SECRET,
        "headers": {},
        "timeout": 10,
        "batch-size": 5000,
        "extra-ca": "",
        "noverify": False,
    },
}


def defaults(model: type[Section]) -> dict[str, Any]:
    return {
        key: REQUIRED
        if info.is_required()
        else info.get_default(call_default_factory=True, validated_data={})
        for key, info in fields(model).items()
    }


def test_every_section_has_burrow_s_keys_and_defaults() -> None:
    models = dict(PLAIN)
    models |= {
        f"{section} {name}".strip(): model
        for section, classes in NAMED.items()
        for name, model in classes.items()
    }
    assert {name: defaults(model) for name, model in models.items()} == DEFAULTS


def test_an_empty_file_describes_a_server_with_nothing_to_watch(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").touch()
    settings = load(tmp_path, {})
    assert settings.model_dump() == Settings().model_dump()
    assert settings.zookeeper is None
    assert list(settings.httpserver) == ["default"]
    assert settings.httpserver["default"].port == 0
    assert settings.warnings == (
        "cluster: there is no cluster, so there is nothing to monitor; add [cluster.NAME] and [consumer.NAME]",
    )


@pytest.mark.parametrize(
    ("text", "rules", "min_distance_s"),
    [
        ("", "trend", 10),
        ("[evaluator.e]\nallowed-lag = 1\n", "trend", 10),
        ('[evaluator.e]\nclass-name = "caching"\n', "caching", 0),
        ("[storage.s]\nmin-distance = 0\n", "trend", 0),
        ('[evaluator.e]\nclass-name = "caching"\n[storage.s]\nmin-distance = 3\n', "caching", 3),
    ],
    ids=["nothing chosen", "no class chosen", "Burrow's rules", "no distance", "both chosen"],
)
def test_the_distance_of_commits_is_what_the_rules_want_unless_it_is_given(
    text: str, rules: str, min_distance_s: int, tmp_path: Path
) -> None:
    (tmp_path / "burrow.toml").write_text(text)
    settings = load(tmp_path, {})
    assert (settings.rules.class_name, settings.min_distance_s) == (rules, min_distance_s)


def test_names_keep_their_case_and_keys_need_none(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(
        """
[Client-Profile.Secure]
CLIENT-ID = "x"
[Cluster.East-EU]
Servers = ["a:9092"]
Client-Profile = "Secure"
[consumer.East-EU]
class-name = "kafka"
cluster = "East-EU"
servers = ["a:9092"]
"""
    )
    settings = load(tmp_path, {})
    assert settings.warnings == ()
    assert list(settings.cluster) == ["East-EU"]
    assert settings.cluster["East-EU"].client_profile == "Secure"
    assert settings.client_profile["Secure"].client_id == "x"


def test_a_reference_in_another_case_is_put_right_as_burrow_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(
        """
[cluster.local]
servers = ["a:9092"]
[consumer.c]
class-name = "kafka"
cluster = "Local"
servers = ["a:9092"]
"""
    )
    settings = load(tmp_path, {})
    assert settings.consumer["c"].cluster == "local"
    assert settings.warnings == (
        (
            'line 6: consumer.c.cluster: "Local" is written [cluster.local] in its section; '
            "names keep their case: write it the same way"
        ),
    )


@pytest.mark.parametrize(
    "value", ["hunter2", ["hunter2"], {"a": "hunter2"}], ids=["right type", "a list", "a table"]
)
@pytest.mark.parametrize(
    ("section", "key"),
    [
        ('sasl.s]\nusername = "u"', "password"),
        ("httpserver.h]\nread-username = 'u'", "read-password"),
        ("httpserver.h]", "admin-token"),
        ('notifier.n]\nclass-name = "http"\nurl-open = "http://x"', "password"),
        ('notifier.n]\nclass-name = "slack"', "webhook-url"),
        ('sink.s]\nclass-name = "elasticsearch"\nurls = ["http://x"]', "api-key"),
        ('sink.s]\nclass-name = "influxdb"\nurl = "http://x"\nbucket = "b"\norg = "o"', "token"),
    ],
)
def test_secrets_never_print(tmp_path: Path, section: str, key: str, value: object) -> None:
    text = repr(value).replace(":", " =") if isinstance(value, dict) else repr(value)
    (tmp_path / "burrow.toml").write_text(
        f"[{section}\n{key} = {text.replace(chr(39) + 'a' + chr(39), 'a')}\n"
    )
    found = examine(tmp_path, {})
    assert "hunter2" not in repr(found)
    assert "hunter2" not in " ".join(map(str, found.problems))
    assert (found.settings is not None) == isinstance(value, str)
    if found.settings is not None:
        assert "hunter2" not in found.settings.model_dump_json()
        assert "hunter2" not in str(found.settings)


@pytest.mark.parametrize(
    "text",
    [
        '[[sasl]]\npassword = "hunter2"\n',
        '[client-profile.p]\nsasl = { username = "u", password = "hunter2" }\n',
        '[cluster.c]\nservers = ["SASL_SSL://u:hunter2@kafka:9092"]\n',
        '[sink.s]\nclass-name = "elasticsearch"\nurls = ["http://u:hunter2@es:9200"]\n',
        '[sink.s]\nclass-name = "influxdb"\ndatabase = "d"\nurl = "ftp://u:hunter2@es:9200"\n',
    ],
    ids=[
        "list of sections",
        "section as a value",
        "in a server",
        "in a sink's address",
        "in another address",
    ],
)
def test_a_secret_in_a_wrong_place_does_not_print(tmp_path: Path, text: str) -> None:
    (tmp_path / "burrow.toml").write_text(text)
    found = examine(tmp_path, {})
    assert found.settings is None
    assert "hunter2" not in repr(found)


def test_a_wrong_secret_does_not_print_when_made_in_python() -> None:
    with pytest.raises(ValidationError) as caught:
        Sasl.model_validate({"username": "u", "password": ["hunter2"]})
    assert "hunter2" not in str(caught.value)


def test_header_values_are_secrets() -> None:
    notifier = HttpNotifier.model_validate({"url-open": "http://x", "headers": {"X-Token": "hunter2"}})
    assert "hunter2" not in repr(notifier)
    assert notifier.headers["X-Token"].get_secret_value() == "hunter2"


def test_settings_are_frozen_and_travel() -> None:
    settings = Settings(
        cluster={"demo": Cluster(servers=("127.0.0.1:9092",))},
        consumer={
            "demo": KafkaConsumer(cluster="demo", servers=("127.0.0.1:9092",), group_denylist=compiled("^x"))
        },
        sasl={"s": Sasl(username="u", password=SecretStr("p"))},
    )
    with pytest.raises(ValidationError):
        settings.spark = settings.spark
    with pytest.raises(ValidationError):
        settings.cluster["demo"].topic_refresh = 5
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert not settings.consumer["demo"].accepts("x1")


def test_listener_addresses() -> None:
    assert (HttpServer(address="[::1]:8000").host, HttpServer(address="[::1]:8000").port) == ("::1", 8000)
    assert (HttpServer(address=":8000").host, HttpServer(address=":8000").port) == ("", 8000)


def test_a_file_is_found_in_the_working_directory_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, work = tmp_path / "config", tmp_path / "work"
    for place in (config, work):
        place.mkdir()
    (config / "burrow.toml").touch()
    (config / "a.tmpl").write_text("beside the file")
    monkeypatch.chdir(work)
    settings = load(config, {})
    assert settings.path("a.tmpl").read_text() == "beside the file"
    (work / "a.tmpl").write_text("in the working directory")
    assert settings.path("a.tmpl").read_text() == "in the working directory"


def test_complete_logins_of_sinks_and_slack_are_taken() -> None:
    token = SecretStr("t")
    assert SlackNotifier(token=token, channel="#kafka").channel == "#kafka"
    assert InfluxdbSink(url="http://x", bucket="b", org="o", token=token).bucket == "b"
    assert ElasticsearchSink(urls=("http://x",), api_key=token).urls == ("http://x",)


@pytest.mark.parametrize(
    ("cluster", "told"),
    [("", {("east", "app"), ("west", "app")}), ("EAST", {("east", "app")})],
    ids=["every cluster", "one cluster"],
)
def test_a_notifier_may_belong_to_one_cluster(
    tmp_path: Path, cluster: str, told: set[tuple[str, str]]
) -> None:
    (tmp_path / "burrow.toml").write_text(f"""
[cluster.east]
servers = ["a:9092"]
[cluster.west]
servers = ["b:9092"]
[notifier.n]
class-name = "null"
cluster = "{cluster}"
group-allowlist = "app"
""")
    notifier = load(tmp_path, {}).notifier["n"]
    groups = [("east", "app"), ("west", "app"), ("east", "other")]
    assert {each for each in groups if notifier.covers(*each)} == told
