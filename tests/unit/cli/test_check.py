"""`warren check`: what a person reads, in full, for files that are broken in one way each."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.configurations import SMALLEST
from typer.testing import CliRunner

from warren.cli.main import app
from warren.config import checks

RUNNER = CliRunner()

GOOD = SMALLEST


class Broken(NamedTuple):
    """A file that is broken in one way, and everything that is said about it; GOOD has six lines."""

    name: str
    text: str
    said: str


BROKEN = [
    Broken(
        "no port",
        '[cluster.local]\nservers = ["kafka01"]\n' + GOOD.partition('"]\n')[2],
        """\
✗ error  cluster.local.servers  burrow.toml:2
    "kafka01" has no port; write host:port, for example "kafka01:9092"
""",
    ),
    Broken(
        "not a number",
        GOOD + '[storage.default]\nintervals = "ten"\n',
        """\
✗ error  storage.default.intervals  burrow.toml:8
    "ten" is not a whole number; write a whole number, for example 10
""",
    ),
    Broken(
        "out of range",
        GOOD + '[notifier.ops]\nclass-name = "null"\nthreshold = 7\n',
        """\
✗ error  notifier.ops.threshold  burrow.toml:9
    7 is too large; write a number from 0 to 6, for example 2
""",
    ),
    Broken(
        "misspelt name of a profile",
        GOOD + '[client-profile.prod]\n[cluster.east]\nservers = ["b:9092"]\nclient-profile = "prd"\n'
        '[consumer.east]\nclass-name = "kafka"\ncluster = "east"\nservers = ["b:9092"]\n',
        """\
✗ error  cluster.east.client-profile  burrow.toml:10
    there is no section [client-profile.prd]; did you mean "prod"?
""",
    ),
    Broken(
        "consumer of no cluster",
        GOOD + '[consumer.other]\nclass-name = "kafka"\nservers = ["b:9092"]\n',
        """\
✗ error  consumer.other.cluster  burrow.toml:7
    the key is missing; add cluster = "local"
""",
    ),
    Broken(
        "bad regular expression",
        GOOD + "[storage.default]\ngroup-denylist = '^(test-'\n",
        """\
✗ error  storage.default.group-denylist  burrow.toml:8
    "^(test-" is not a regular expression: a ( is never closed; \
add the missing )
""",
    ),
    Broken(
        "missing template",
        GOOD + '[notifier.ops]\nclass-name = "null"\ntemplate-open = "/nowhere/open.tmpl"\n',
        """\
✗ error  notifier.ops.template-open  burrow.toml:9
    there is no file "/nowhere/open.tmpl"; correct the path, or leave the key out to send Warren's own message
""",
    ),
    Broken(
        "unknown class",
        GOOD + '[notifier.ops]\nclass-name = "smtp"\n',
        """\
✗ error  notifier.ops.class-name  burrow.toml:8
    there is no class "smtp"; write one of "http", "email", "slack", "null"
""",
    ),
    Broken(
        "two storages",
        GOOD + "[storage.a]\n[storage.b]\n",
        """\
✗ error  storage.b  burrow.toml:8
    there is already [storage.a]; keep one storage section: Warren has one storage
""",
    ),
    Broken(
        "section without a name",
        GOOD + "[httpserver]\naddress = ':8000'\n",
        """\
✗ error  httpserver  burrow.toml:7
    address is in a section without a name; give it one, for example [httpserver.default]
""",
    ),
    Broken(
        "close without an address",
        GOOD + '[notifier.ops]\nclass-name = "http"\nurl-open = "https://x.example.com"\nsend-close = true\n',
        """\
✗ error  notifier.ops  burrow.toml:7
    send-close is set without url-close; add url-close, the URL for the close message
""",
    ),
    Broken(
        "login without a password",
        GOOD + '[sasl.kafka]\nusername = "warren"\nmechanism = "scram-sha-256"\n',
        """\
✗ error  sasl.kafka  burrow.toml:7
    password is missing; mechanism SCRAM-SHA-256 needs username, password
""",
    ),
    Broken(
        "unknown log level",
        GOOD + '[logging]\nlevel = "loud"\n',
        """\
✗ error  logging.level  burrow.toml:8
    "loud" is not known; write one of "trace", "debug", "info", "warn", "warning", "error", "panic", "fatal"
""",
    ),
    Broken(
        "two listeners on one address",
        GOOD + "[httpserver.a]\naddress = ':8000'\n[httpserver.b]\naddress = ':8000'\n",
        """\
✗ error  httpserver.b.address  burrow.toml:10
    [httpserver.a] listens on ":8000" too; give each listener an address of its own
""",
    ),
    Broken(
        "listener without a certificate",
        GOOD + "[httpserver.a]\naddress = ':8443'\ntls = 'web'\n[tls.web]\nnoverify = true\n",
        """\
✗ error  httpserver.a.tls  burrow.toml:9
    [tls.web] has no certificate; a listener needs certfile and keyfile there
""",
    ),
    Broken(
        "names that differ by case",
        GOOD + "[cluster.LOCAL]\nservers = ['b:9092']\n",
        """\
✗ error  cluster.LOCAL  burrow.toml:7
    the name differs from cluster.local only by its case; rename one of them
""",
    ),
    Broken(
        "key twice in two cases",
        GOOD + "[storage.default]\nintervals = 5\nIntervals = 6\n",
        """\
✗ error  storage.default.Intervals  burrow.toml:9
    this key is in the section twice; keep one of them
""",
    ),
    Broken(
        "list of sections",
        GOOD + "[[notifier]]\nclass-name = 'null'\n",
        """\
✗ error  notifier
    [a table] is not a section; write [notifier.NAME] with keys under it
""",
    ),
    Broken(
        "two sinks with one path",
        GOOD + "".join(f"[sink.{name}]\nclass-name = 'parquet'\npath = 'history'\n" for name in "ab"),
        """\
✗ error  sink.b.path  burrow.toml:12
    [sink.a] writes to "history" too; give each sink a path of its own
""",
    ),
    Broken(
        "name with a dot",
        GOOD + "[sink.my.lake]\nclass-name = 'parquet'\n",
        """\
✗ error  sink.my.lake  burrow.toml:7
    this is a section in a section; put a name with a dot in quotes: [sink."my.lake"]
""",
    ),
]


def checked(tmp_path: Path, text: str, *arguments: str) -> tuple[int, str]:
    (tmp_path / "burrow.toml").write_text(text)
    answer = RUNNER.invoke(app, ["check", "--config-dir", str(tmp_path), *arguments])
    return answer.exit_code, answer.output


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_broken_files(tmp_path: Path, case: Broken) -> None:
    closing = f"{tmp_path / 'burrow.toml'}: 1 problem, 0 warnings\n"
    assert checked(tmp_path, case.text) == (2, case.said + closing)


@pytest.mark.parametrize("installed", [True, False])
def test_a_login_at_aws_names_the_extra_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    if not installed:
        monkeypatch.setattr(checks, "find_spec", lambda _name: None)
    text = GOOD + "[client-profile.msk]\niam = 'aws'\n[iam.aws]\nregion = 'eu-west-1'\n"
    code, said = checked(tmp_path, text)
    missing = """\
✗ error  client-profile.msk.iam  burrow.toml:8
    logins at AWS MSK need AWS's signer, which is not installed; pip install 'warren[aws]'
"""
    assert (missing in said) is not installed
    assert code == (0 if installed else 2)


@pytest.mark.parametrize("server", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("installed", [True, False])
def test_a_search_engine_names_the_extra_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, *, installed: bool
) -> None:
    if not installed:
        monkeypatch.setattr(checks, "find_spec", lambda _name: None)
    sink = f"[sink.search]\nclass-name = 'elasticsearch'\nserver = '{server}'\nurls = ['http://localhost:9200']\n"
    code, said = checked(tmp_path, GOOD + sink)
    missing = f"    the client of {server} is not installed; pip install 'warren[elasticsearch]'\n"
    assert (missing in said) is not installed
    assert code == (0 if installed else 2)


def test_all_problems_at_once(tmp_path: Path) -> None:
    # wrong keys, a rule over several keys, references and warnings, in one module and in several
    text = """\
[cluster.local]
servers = ["PLAINTEXT://a:9092", "b"]
[consumer.c]
class-name = "kafak"
cluster = "lcoal"
severs = ["a:9092"]
[notifier.ops]
class-name = "http"
threshold = -1
send-close = true
template-open = "open.tmpl"
[custer.x]
"""
    assert checked(tmp_path, text) == (
        2,
        f"""\
✗ error  cluster.local.servers  burrow.toml:2
    "PLAINTEXT://a:9092" has a scheme in front and "b" has no port; write only host and port: "a:9092" and \
write host:port, for example "b:9092"
✗ error  consumer.c.servers  burrow.toml:3
    the key is missing; add servers = ["kafka01.example.com:9092"]
✗ error  consumer.c.class-name  burrow.toml:4
    there is no class "kafak"; did you mean "kafka"?
✗ error  consumer.c.cluster  burrow.toml:5
    there is no section [cluster.lcoal]; did you mean "local"?
! warning  consumer.c.severs  burrow.toml:6
    this key is not known and has no effect; did you mean servers?
✗ error  notifier.ops.url-open  burrow.toml:7
    the key is missing; add url-open = "https://hooks.example.com/burrow"
✗ error  notifier.ops  burrow.toml:7
    send-close is set without url-close; add url-close, the URL for the close message
✗ error  notifier.ops.threshold  burrow.toml:9
    -1 is too small; write a number from 0 to 6, for example 2
✗ error  notifier.ops.template-open  burrow.toml:11
    there is no file "open.tmpl", neither in the working directory nor in {tmp_path}; \
correct the path, or leave the key out to send Warren's own message
! warning  custer  burrow.toml:12
    this section is not known and has no effect; did you mean cluster?
{tmp_path / "burrow.toml"}: 8 problems, 2 warnings
""",
    )


class Odd(NamedTuple):
    """A file that works, and what it is warned of."""

    name: str
    text: str
    said: str


ODD = [
    Odd(
        "old name",
        GOOD + "[storage.default]\ngroup-whitelist = 'a'\n",
        "storage.default.group-whitelist  burrow.toml:8\n"
        "    this is an older name, still accepted; rename it to group-allowlist",
    ),
    Odd(
        "old and new name",
        GOOD + "[storage.default]\ngroup-whitelist = 'a'\ngroup-allowlist = 'b'\n",
        "storage.default.group-whitelist  burrow.toml:8\n"
        "    group-allowlist is set too and takes precedence; remove group-whitelist, the older name",
    ),
    Odd(
        "unknown key",
        GOOD + "[general]\npid-file = 'x'\n",
        "general.pid-file  burrow.toml:8\n    this key is not known and has no effect; did you mean pidfile?",
    ),
    Odd(
        "key of another class",
        GOOD + "zookeeper-path = '/kafka'\n",
        "consumer.local.zookeeper-path  burrow.toml:7\n"
        '    this key belongs to class-name "kafka_zk" or "storm" and has no effect here; '
        "remove it, or change class-name",
    ),
    Odd(
        "cluster without a consumer",
        GOOD + "[cluster.lonely]\nservers = ['b:9092']\n",
        "cluster.lonely  burrow.toml:7\n"
        "    no consumer section belongs to this cluster, so none of its groups is monitored; "
        'add a [consumer.NAME] with cluster = "lonely"',
    ),
    Odd(
        "the same topic twice",
        GOOD + GOOD.partition('9092"]\n')[2].replace("consumer.local", "consumer.again"),
        "consumer.again  burrow.toml:7\n"
        "    this reads the same topic as [consumer.local]; remove one of them",
    ),
    Odd(
        "the same groups polled and read",
        GOOD + "[consumer.polled]\nclass-name = 'kafka_admin'\ncluster = 'local'\nservers = ['a:9092']\n",
        "consumer.polled  burrow.toml:7\n"
        "    [consumer.local] has the commits of these groups already; "
        "remove one of them, or give each its groups with group-allowlist",
    ),
    Odd(
        "backfill for nothing",
        GOOD + "backfill-earliest = true\n",
        "consumer.local.backfill-earliest  burrow.toml:7\n"
        "    backfill-earliest has no effect without start-latest; set start-latest = true, or remove it",
    ),
]


@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
def test_warnings_stop_nothing(tmp_path: Path, case: Odd) -> None:
    code, output = checked(tmp_path, case.text)
    assert output.startswith(f"! warning  {case.said}\n{tmp_path / 'burrow.toml'}: 0 problems, 1 warning. ")
    assert code == 0


# template file: what is said of it after the key's line
TEMPLATES = {
    ("open.tmpl", "{{.Cluster}}\n{{.Gruop}}\n"): "line 2: ",
    ("open.tmpl", "{{range .Result.Partitions}}{{.Topic}}\n"): "line ",
    ("open.tmpl", "{{nosuch .Group}}\n"): "line 1: ",
    ("open.j2", "{{ cluster }}\n\n{{ gruop }}\n"): "line 3: ",
}


@pytest.mark.parametrize(("file", "text"), TEMPLATES, ids=["field", "no end", "function", "Jinja2"])
def test_a_template_s_mistake_is_found_with_file_and_line(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    code, output = checked(
        tmp_path, GOOD + f'[notifier.ops]\nclass-name = "null"\ntemplate-open = "{file}"\n'
    )
    first, second, *_ = output.splitlines()
    assert (code, first) == (2, "✗ error  notifier.ops.template-open")
    assert second.startswith(f"    {tmp_path / file}, {TEMPLATES[file, text]}")
    assert ";" in second
    assert output.endswith(": 1 problem, 0 warnings\n")


def test_a_mistake_in_an_address_is_found(tmp_path: Path) -> None:
    text = GOOD + '[notifier.ops]\nclass-name = "http"\nurl-open = "http://a.example.com/{{.Grop}}"\n'
    code, output = checked(tmp_path, text)
    assert code == 2
    assert output.startswith("✗ error  notifier.ops.url-open\n")
    assert "Grop" in output
    assert "Group" in output


def test_mistakes_of_all_templates_are_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.tmpl").write_text("{{.A}}\n{{.B}}\n")
    notifier = '[notifier.{0}]\nclass-name = "null"\ntemplate-{1} = "a.tmpl"\n'
    code, output = checked(
        tmp_path, GOOD + notifier.format("x", "open") + notifier.format("y", "close"), "--json"
    )
    assert code == 2
    assert [problem["key"] for problem in json.loads(output)["problems"]] == [
        "notifier.x.template-open",
        "notifier.x.template-open",
        "notifier.y.template-close",
        "notifier.y.template-close",
    ]


def test_a_good_file_is_described(tmp_path: Path) -> None:
    text = GOOD + "[httpserver.a]\naddress = ':8000'\n[notifier.n]\nclass-name = 'null'\n"
    path = tmp_path / "burrow.toml"
    said = f"{path}: 0 problems, 0 warnings. 1 cluster (local), 1 consumer, 1 notifier; listens on :8000.\n"
    assert checked(tmp_path, text) == (0, said)


def test_json(tmp_path: Path) -> None:
    code, output = checked(tmp_path, GOOD + "[storage.a]\nintervals = 0\n", "--json")
    assert code == 2
    assert json.loads(output) == {
        "file": str(tmp_path / "burrow.toml"),
        "ok": False,
        "problems": [
            {
                "severity": "error",
                "key": "storage.a.intervals",
                "what": "0 is too small",
                "remedy": "write at least 1, for example 10",
                "line": 8,
            }
        ],
        "connections": [],
    }


def test_a_file_that_cannot_be_parsed(tmp_path: Path) -> None:
    path = tmp_path / "burrow.toml"
    assert checked(tmp_path, "[zookeeper]\nroot-path=/burrow\n") == (
        2,
        f"""\
✗ error
    {path}, line 2, column 11: root-path=…: this is not a value, text must be in quotes; \
correct this line so that it is valid TOML
{tmp_path}: 1 problem, 0 warnings
""",
    )


def test_the_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURROW_STORAGE_DEFAULT_INTERVALS", "-3")
    code, output = checked(tmp_path, GOOD)
    assert code == 2
    assert output.startswith("✗ error  storage.default.intervals (from BURROW_STORAGE_DEFAULT_INTERVALS)\n")


def test_directory_and_file_exclude_each_other(tmp_path: Path) -> None:
    code, output = checked(tmp_path, GOOD, "--config", str(tmp_path / "burrow.toml"))
    assert code == 2
    assert "give --config-dir or --config, not both" in output


def test_config_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text(GOOD)
    answer = RUNNER.invoke(app, ["check", "--config", str(path)])
    assert (answer.exit_code, answer.output.partition(":")[0]) == (0, str(path))
