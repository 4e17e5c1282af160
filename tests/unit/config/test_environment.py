"""Variables over the file, typed by their key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from warren.config import Examination, examine

TEXT = """
[cluster.Local-1]
servers = ["a:9092"]
[consumer.c]
class-name = "kafka"
cluster = "Local-1"
servers = ["a:9092"]
[sasl.s]
username = "u"
password = "from file"
[notifier.n]
class-name = "null"
extras = { app = "file", Tier = "file" }
"""


def examined(tmp_path: Path, environ: Mapping[str, str], text: str = TEXT) -> Examination:
    (tmp_path / "burrow.toml").write_text(text)
    return examine(tmp_path, environ)


class Override(NamedTuple):
    """A variable, and the value that it gives to a key."""

    variable: str
    value: str
    path: tuple[str, ...]
    expected: Any


OVERRIDES = [
    Override("BURROW_GENERAL_PIDFILE", "/run/x.pid", ("general", "pidfile"), "/run/x.pid"),
    Override("BURROW_LOGGING_USE_COMPRESSION", "true", ("logging", "use_compression"), True),
    Override("BURROW_ZOOKEEPER_SERVERS", "z1:2181,z2:2181", ("zookeeper", "servers"), ("z1:2181", "z2:2181")),
    Override("BURROW_STORAGE_DEFAULT_INTERVALS", "25", ("storage", "default", "intervals"), 25),
    Override(
        "BURROW_EVALUATOR_DEFAULT_MINIMUM_COMPLETE", "0.5", ("evaluator", "default", "minimum_complete"), 0.5
    ),
    Override("BURROW_HTTPSERVER_DEFAULT_ADDRESS", ":8000", ("httpserver", "default", "address"), ":8000"),
    Override("BURROW_CLUSTER_LOCAL_1_SERVERS", "x:1 y:2", ("cluster", "Local-1", "servers"), ("x:1", "y:2")),
    Override("BURROW_CLUSTER_LOCAL_1_SERVERS", '["x:1"]', ("cluster", "Local-1", "servers"), ("x:1",)),
    Override("BURROW_CONSUMER_C_START_LATEST", "1", ("consumer", "c", "start_latest"), True),
    Override("BURROW_NOTIFIER_N_EXTRAS", '{"a": "b"}', ("notifier", "n", "extras"), {"a": "b"}),
    Override(
        "BURROW_NOTIFIER_N_EXTRAS_TIER", "env", ("notifier", "n", "extras"), {"app": "file", "tier": "env"}
    ),
    Override("BURROW_SPARK_TRIGGER_INTERVAL", "2.5", ("spark", "trigger_interval"), 2.5),
    # an empty variable counts as not set
    Override("BURROW_GENERAL_PIDFILE", "", ("general", "pidfile"), "burrow.pid"),
]


@pytest.mark.parametrize("case", OVERRIDES, ids=lambda case: f"{case.variable}={case.value}")
def test_override(tmp_path: Path, case: Override) -> None:
    found = examined(tmp_path, {case.variable: case.value, "PATH": "/bin"})
    assert found.problems == ()
    value: Any = found.settings
    for part in case.path:
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    assert value == case.expected


def test_secrets_come_from_variables_too(tmp_path: Path) -> None:
    settings = examined(tmp_path, {"BURROW_SASL_S_PASSWORD": "from variable"}).settings
    assert settings is not None
    assert settings.sasl["s"].password.get_secret_value() == "from variable"


def test_an_old_name_is_understood_in_a_variable(tmp_path: Path) -> None:
    settings = examined(tmp_path, {"BURROW_CONSUMER_C_GROUP_BLACKLIST": "^x"}).settings
    assert settings is not None
    assert not settings.consumer["c"].accepts("xy")


def test_the_file_changes_the_prefix(tmp_path: Path) -> None:
    text = TEXT + '[general]\nenv-var-prefix = "lag"\n'
    environ = {"LAG_STORAGE_DEFAULT_INTERVALS": "7", "BURROW_STORAGE_DEFAULT_INTERVALS": "8"}
    found = examined(tmp_path, environ, text)
    assert found.problems == ()
    assert found.settings is not None
    assert found.settings.window.intervals == 7


def test_a_wrong_value_names_its_variable(tmp_path: Path) -> None:
    found = examined(tmp_path, {"BURROW_STORAGE_DEFAULT_INTERVALS": "many"})
    assert [str(problem) for problem in found.problems] == [
        (
            "storage.default.intervals (from BURROW_STORAGE_DEFAULT_INTERVALS): "
            '"many" is not a whole number; write a whole number, for example 10'
        )
    ]


class Stray(NamedTuple):
    """A variable that means nothing, and the advice."""

    variable: str
    message: str


NO_KEY = 'this variable begins with "BURROW" but names no key; '
STRAYS = [
    Stray("BURROW_STORAGE_DEFAULT_INTERVAL", NO_KEY + "did you mean BURROW_STORAGE_DEFAULT_INTERVALS?"),
    Stray("BURROW_CLUSTER_OTHER_SERVERS", NO_KEY + "did you mean BURROW_CLUSTER_LOCAL_1_SERVERS?"),
    Stray(
        "BURROW_GENERAL_ENV_VAR_PREFIX",
        "the prefix cannot come from a variable; set general.env-var-prefix in the file",
    ),
    Stray("BURROW_X", NO_KEY + "variables apply only to modules that are in the file"),
]


@pytest.mark.parametrize("case", STRAYS, ids=lambda case: case.variable)
def test_stray_variables_are_warnings(tmp_path: Path, case: Stray) -> None:
    found = examined(tmp_path, {case.variable: "5"})
    assert [str(problem) for problem in found.warnings] == [f"{case.variable}: {case.message}"]
    assert found.errors == ()


def test_variables_of_a_kubernetes_service_are_not_ours(tmp_path: Path) -> None:
    names = (
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8000_TCP",
        "PORT_8000_TCP_ADDR",
    )
    assert examined(tmp_path, {f"BURROW_{name}": "10.0.0.1" for name in names}).problems == ()
