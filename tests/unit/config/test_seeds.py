"""Configuration files that people have printed and that a real Burrow ran with: all of them load."""

from pathlib import Path

import pytest

from warren.config import Settings, load
from warren.config.modules import EmailNotifier, HttpNotifier, NullNotifier
from warren.config.sections import KafkaConsumer, KafkaZkConsumer
from warren.errors import ConfigError

DATA = Path(__file__).parents[2] / "data" / "config"


def seed(name: str) -> Settings:
    return load(DATA / "seeds" / name, {})


def test_article_with_every_section() -> None:
    settings = seed("000")
    assert settings.general.stdout_logfile == "burrow.out"
    assert settings.general.access_control_allow_origin == "mysite.example.com"
    assert settings.zookeeper is not None
    assert settings.zookeeper.servers == tuple(f"zkhost0{n}.example.com:2181" for n in (1, 2, 3))
    assert settings.zookeeper.root_path == "/mypath/burrow"
    profile = settings.client_profile["myclient"]
    assert (profile.client_id, profile.kafka_version) == ("burrow-myclient", "0.10.2")
    assert (profile.tls, profile.sasl) == ("mytlsprofile", "mysaslprofile")
    listener = settings.httpserver["mylistener"]
    assert (listener.host, listener.port, listener.timeout) == ("", 8080, 300)
    assert list(settings.storage) == ["mystorage"]
    assert (settings.window.intervals, settings.window.min_distance) == (10, 1)
    assert settings.window.accepts("any group")
    assert settings.rules.expire_cache == 10
    cluster = settings.cluster["myclustername"]
    assert (cluster.topic_refresh, cluster.offset_refresh) == (120, 30)
    consumer = settings.consumer["myconsumers"]
    assert isinstance(consumer, KafkaConsumer)
    assert consumer.start_latest
    assert consumer.accepts("a-group")
    assert not consumer.accepts("not-this-group")
    notifier = settings.notifier["mynotify"]
    assert isinstance(notifier, HttpNotifier)
    assert (notifier.interval, notifier.repeat_after, notifier.threshold) == (30, 30, 3)
    assert notifier.extras == {"key1": "value1", "key2": "value2"}
    assert notifier.accepts("important-group-prefix-7")
    assert not notifier.accepts("another")
    assert settings.path(notifier.template_open).read_text() == "{{.Group}} is {{.Result.Status}}\n"


def test_team_with_kafka_and_zookeeper_consumers() -> None:
    settings = seed("003")
    assert settings.logging.filename == "logs/burrow.log"
    assert (settings.logging.maxbackups, settings.logging.maxage) == (30, 10)
    assert settings.logging.use_localtime
    assert settings.logging.use_compression
    assert settings.client_profile["logis-dev-client"].client_id == "burrow-logis"
    assert settings.cluster["logis-dev"].servers == tuple(f"logis-dp-0{n}:9092" for n in (1, 2, 3))
    zookeeper = settings.consumer["logis-dev-zk"]
    assert isinstance(zookeeper, KafkaZkConsumer)
    assert (zookeeper.zookeeper_path, zookeeper.zookeeper_timeout) == ("/kafka10", 30)
    # an empty allow list is no list
    assert zookeeper.group_allowlist is None
    assert not zookeeper.accepts("console-consumer-77")
    assert list(settings.consumers_of("logis-dev")) == ["logis-dev", "logis-dev-zk"]
    assert settings.httpserver["default"].address == ":8002"
    assert settings.window.intervals == 15
    assert settings.notifier == {}


def test_local_cluster_with_today_s_names() -> None:
    settings = seed("004")
    assert settings.warnings == ()
    assert settings.general.pidfile == "burrow.pid"
    assert settings.zookeeper is not None
    assert (settings.zookeeper.timeout, settings.zookeeper.root_path) == (6, "/burrow")
    consumer = settings.consumer["local"]
    assert consumer.accepts("orders")
    assert not consumer.accepts("quick-look")
    assert (settings.window.intervals, settings.window.min_distance) == (15, 1)


def test_the_configuration_that_a_real_burrow_notified_with() -> None:
    settings = load(DATA / "notifier", {})
    assert settings.warnings == ()
    assert len(settings.notifier) == 19
    full = settings.notifier["full"]
    assert isinstance(full, HttpNotifier)
    # Burrow gives extras to templates under lower-case names, and writes {"app":…,"fabric":…,"tier":…}
    assert full.extras == {"app": "burrow", "tier": "STG", "fabric": "dc1"}
    assert full.headers["X-Token"].get_secret_value() == "abc"
    assert (full.username, full.method_open, full.method_close) == ("hookuser", "POST", "DELETE")
    assert settings.notifier["sendint"].repeat_after == 20
    once = settings.notifier["onceclose"]
    assert isinstance(once, HttpNotifier)
    assert (once.send_once, once.method_open, once.disable_http_keepalive) == (True, "PUT", True)
    mail = settings.notifier["mailauth"]
    assert isinstance(mail, EmailNotifier)
    assert (mail.from_, mail.to, mail.auth_type) == (
        "Burrow <burrow@example.com>",
        "Ops <ops@example.com>",
        "plain",
    )
    assert mail.password.get_secret_value() == "mailpass"
    assert isinstance(settings.notifier["nothing"], NullNotifier)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "000-as-printed-extras",
            (
                "line 7, column 40: extras=…: "
                "there is text after the end of the value; correct this line so that it is valid TOML"
            ),
        ),
        (
            "000-as-printed-root-path",
            (
                "line 4, column 11: root-path=…: "
                "this is not a value, text must be in quotes; correct this line so that it is valid TOML"
            ),
        ),
    ],
)
def test_misprints_of_the_article(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        seed(name)
    assert str(caught.value) == f"{DATA / 'seeds' / name / 'burrow.toml'}, {message}"
