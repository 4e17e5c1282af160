"""Finding and reading the file: three languages, one meaning, and clear words when it cannot be read."""

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from warren.config import examine, load
from warren.config.files import find, read
from warren.errors import ConfigError

TEXT = """
[general]
pidfile = "/run/warren.pid"
[cluster.East]
servers = ["a:9092", "b:9092"]
[consumer.East]
class-name = "kafka"
cluster = "East"
servers = ["a:9092"]
[spark.conf]
"spark.sql.shuffle.partitions" = "8"
"""


@pytest.mark.parametrize("kind", ["toml", "yaml", "yml", "json"])
def test_three_languages_one_meaning(tmp_path: Path, kind: str) -> None:
    tree = tomllib.loads(TEXT)
    texts = {
        "toml": TEXT,
        "json": json.dumps(tree),
        "yaml": yaml.safe_dump(tree),
        "yml": yaml.safe_dump(tree),
    }
    (tmp_path / f"burrow.{kind}").write_text(texts[kind])
    settings = load(tmp_path, {})
    assert settings.source == tmp_path / f"burrow.{kind}"
    assert settings.general.pidfile == "/run/warren.pid"
    assert settings.cluster["East"].servers == ("a:9092", "b:9092")
    assert settings.consumer["East"].cluster == "East"
    assert settings.spark.conf == {"spark.sql.shuffle.partitions": "8"}


def test_nothing_in_yaml_is_an_empty_section_or_an_absent_key(tmp_path: Path) -> None:
    (tmp_path / "burrow.yaml").write_text(
        "general:\nstorage:\n  mem:\nnotifier:\n  n:\n    class-name: null\n    interval:\n"
    )
    settings = load(tmp_path, {})
    assert list(settings.storage) == ["mem"]
    assert settings.notifier["n"].class_name == "null"
    assert settings.notifier["n"].interval == 60


def test_yaml_problems_have_their_line(tmp_path: Path) -> None:
    (tmp_path / "burrow.yaml").write_text("storage:\n  Mem:\n    workers: 3\n    intervals: few\n")
    assert [problem.line for problem in examine(tmp_path, {}).errors] == [4]


def test_the_working_directory_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "burrow.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    assert list(load(None, {}).cluster) == ["East"]


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "production.toml"
    path.write_text(TEXT)
    assert list(load(path, {}).cluster) == ["East"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "burrow.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert list(load(path, {}).cluster) == ["East"]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no configuration in .*; put one of burrow\.toml, burrow\.yaml"):
        find(tmp_path)


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="nowhere does not exist; give a configuration file or the directory"
    ):
        find(tmp_path / "nowhere")


def test_two_files(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").touch()
    (tmp_path / "burrow.json").touch()
    with pytest.raises(ConfigError, match=r"contains burrow\.toml and burrow\.json; keep one of them"):
        find(tmp_path)


class Unreadable(NamedTuple):
    """A file that cannot be parsed, and the message after its path."""

    name: str
    file: str
    text: str
    message: str
    ending: str = ""


# what every message with a line and a column ends with
TOML, YAML, JSON = (f"; correct this line so that it is valid {kind}" for kind in ("TOML", "YAML", "JSON"))


UNREADABLE = [
    Unreadable(
        "empty value",
        "burrow.toml",
        "[a]\nx =\n",
        ", line 2, column 4: x =: this is not a value, text must be in quotes",
        TOML,
    ),
    Unreadable(
        "section twice",
        "burrow.toml",
        "[a.b]\n[a.b]\n",
        ", line 2, column 5: [a.b]: this section is in the file twice",
        TOML,
    ),
    Unreadable(
        "key twice",
        "burrow.toml",
        "[a]\nx = 1\nx = 2\n",
        ", line 3, column 6: x = …: this key is in the section twice",
        TOML,
    ),
    Unreadable(
        "expression in double quotes",
        "burrow.toml",
        '[a]\nx = "\\d+"\n',
        ", line 2, column 8: x = …: there is a backslash in double quotes, put the text in single quotes",
        TOML,
    ),
    Unreadable("no key", "burrow.toml", "[a]\nhello\n", ", line 2, column 6: this is not key = value", TOML),
    Unreadable(
        "indentation",
        "burrow.yaml",
        "a:\n  x: 1\n y: 2\n",
        ", line 3, column 2: y: …: the indentation does not match the lines above",
        YAML,
    ),
    Unreadable(
        "tab",
        "burrow.yaml",
        "a:\n\tx: 1\n",
        ", line 2, column 1: x: …: there is a tab here, indent with spaces",
        YAML,
    ),
    Unreadable(
        "a password that was quoted",
        "burrow.toml",
        'password = "S3cr\\et"\n',
        ", line 1, column 19: password = …: there is a backslash in double quotes, put the text in single quotes",
        TOML,
    ),
    Unreadable(
        "a password without a sign before it",
        "burrow.toml",
        '[x]\npassword "S3cret"\n',
        ", line 2, column 10: this is not key = value",
        TOML,
    ),
    Unreadable(
        "a password without a sign before it in JSON",
        "burrow.json",
        '{"password" "S3cret"}',
        ", line 1, column 13: Expecting ':' delimiter",
        JSON,
    ),
    Unreadable(
        "a password that was quoted in YAML",
        "burrow.yaml",
        "x:\n  password: S3cr: et\n",
        ", line 2, column 17: password: …: the indentation does not match the lines above",
        YAML,
    ),
    Unreadable(
        "a password that was taken for an alias",
        "burrow.yaml",
        "x:\n  password: *S3cret\n",
        ", line 2, column 13: password: …: the value begins with a special character, put the text in quotes",
        YAML,
    ),
    Unreadable(
        "a password that was quoted in JSON",
        "burrow.json",
        '{"x": 1,\n"password": "S3c"ret"}',
        ', line 2, column 18: "password": …: a comma or a closing bracket is missing before this',
        JSON,
    ),
    Unreadable(
        "YAML key twice",
        "burrow.yaml",
        "a:\n  x: 1\na:\n  x: 2\n",
        ", line 3: a is in the file twice; keep one of them",
    ),
    Unreadable(
        "JSON key twice",
        "burrow.json",
        '{"a": {}, "a": {}}',
        ': "a" is in the same object twice; keep one of them',
    ),
    Unreadable(
        "comma too many",
        "burrow.json",
        '{"a": 1,\n}',
        ", line 2, column 1: }: a key in double quotes is expected, perhaps there is a trailing comma",
        JSON,
    ),
    Unreadable(
        "a list",
        "burrow.json",
        "[1]",
        " has no sections; write sections such as [cluster.local] with keys in them",
    ),
    Unreadable(
        "another suffix",
        "burrow.ini",
        "",
        " is not a supported file type; its name must end in .toml, .yaml, .yml or .json",
    ),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.name)
def test_unreadable(tmp_path: Path, case: Unreadable) -> None:
    path = tmp_path / case.file
    path.write_text(case.text)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{case.message}{case.ending}"


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "burrow.toml"
    path.write_bytes(b"[a]\nx = '\xff'\n")
    with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 9\); save it as UTF-8"):
        read(path)


def test_yaml_cannot_make_objects(tmp_path: Path) -> None:
    path = tmp_path / "burrow.yaml"
    path.write_text("a: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(ConfigError, match="begins with a special character"):
        read(path)
