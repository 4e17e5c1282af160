"""Warren as an image and a host have it: the wheel in an environment of its own, far from the repository.

The steps are those of the image (packaging/install.sh). Only the download is left out: the packages that the script
asks for are links to those that the set-up has installed from the same lock file, by the same hashes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from tests.processes import eventually

from warren.cache import cache_directory
from warren.demo.groups import CAST
from warren.demo.ports import free_port

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
# a machine that does other things too
PATIENCE_S = 280.0

CONFIGURATION = """
[cluster.production]
class-name = "kafka"
servers = ["kafka-1.example.com:9092"]

[consumer.production]
class-name = "kafka"
cluster = "production"
servers = ["kafka-1.example.com:9092"]

[notifier.ops]
class-name = "http"
url-open = "https://pager.example.com"
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Not pytest's, which keeps the directories of three runs."""
    with tempfile.TemporaryDirectory(prefix="warren-installed-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def packages(place: Path) -> Path:
    """What `make package` makes."""
    subprocess.run(["make", "package", f"ARGS={place / 'dist'}"], cwd=ROOT, check=True, capture_output=True)
    return place / "dist"


@pytest.fixture(scope="module")
def installed(place: Path, packages: Path) -> Path:
    """The directory that packaging/install.sh has filled."""
    directory = place / "warren"
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    _link_packages(packages / "requirements.txt", directory)
    shutil.copytree(cache_directory() / "jars", directory / "cache" / "jars", copy_function=_link)
    done = subprocess.run(
        [packages / "install.sh", directory],
        cwd=place,
        env=_environment(directory) | {"PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def test_the_wheel_and_the_archive_hold_every_file_of_the_package(packages: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {name.removeprefix("src/") for name in listed.stdout.split() if (ROOT / name).exists()}
    (wheel,) = packages.glob("warren-*.whl")
    (archive,) = packages.glob("warren-*.tar.gz")

    with zipfile.ZipFile(wheel) as opened:
        assert {name for name in opened.namelist() if ".dist-info/" not in name} == files
    with tarfile.open(archive) as unpacked:
        inside = {name.partition("/src/")[2] for name in unpacked.getnames()}
    assert files <= inside


def test_what_it_needs_to_run_is_locked_and_nothing_of_the_tests_is_in_it(packages: Path) -> None:
    names = set(re.findall(r"^([\w.-]+)==", (packages / "requirements.txt").read_text(), re.MULTILINE))

    assert {"pyspark", "py4j", "confluent-kafka", "pydantic-core"} <= names
    assert names.isdisjoint({"pytest", "mypy", "ruff", "hypothesis", "schemathesis", "pip-tools"})
    assert "--hash=sha256:" in (packages / "requirements.txt").read_text()


def test_it_runs_from_where_it_is_installed(installed: Path) -> None:
    found = _run(installed, "python", "-c", "import warren; print(warren.__file__)")

    assert found.stdout.strip().startswith(str(installed))


def test_whoever_runs_it_may_read_what_root_has_installed(installed: Path) -> None:
    closed = [str(path) for path in installed.rglob("*") if not path.is_symlink() and not _open_to_all(path)]
    assert closed == []


def test_check_looks_a_configuration_over(installed: Path, place: Path) -> None:
    (place / "burrow.toml").write_text(CONFIGURATION)
    well = _run(installed, "warren", "check", "--config-dir", str(place))
    assert well.returncode == 0, well.stdout + well.stderr

    # its own templates come with it, and mistakes in others are found
    (place / "bad.tmpl").write_text("{{.Nobody}}")
    (place / "burrow.toml").write_text(CONFIGURATION + 'template-open = "bad.tmpl"\n')
    wrong = _run(installed, "warren", "check", "--json", "--config-dir", str(place))
    assert wrong.returncode == 2
    assert "Nobody" in json.dumps(json.loads(wrong.stdout))


def test_the_demo_judges_every_group_and_the_image_knows_that_it_is_healthy(
    installed: Path, place: Path
) -> None:
    port = free_port("127.0.0.1")
    health = _health_check()
    environment = _environment(installed) | {"WARREN_URL": f"http://127.0.0.1:{port}"}

    def healthy() -> bool:
        asked = subprocess.run(
            [installed / "bin" / health[0], *health[1:]], env=environment, capture_output=True, check=False
        )
        return asked.returncode == 0

    assert not healthy()
    with (place / "output").open("wb") as output:
        demo = subprocess.Popen(
            [installed / "bin" / "warren", "demo", "--check", "--port", str(port)],
            cwd="/",
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        assert eventually(healthy, PATIENCE_S / 2, every_s=0.5), (place / "output").read_text()
        demo.wait(PATIENCE_S)
    finally:
        demo.kill()
    shown = (place / "output").read_text()
    assert demo.returncode == 0, shown
    assert "Every group has its intended status" in shown
    # at the width that a terminal has when nobody has changed it
    for actor in CAST:
        assert re.search(rf"^ *{actor.name} ", shown, re.MULTILINE), shown
    assert not healthy()


def test_systemd_takes_the_unit(installed: Path, place: Path) -> None:
    unit = place / "warren.service"
    unit.write_text((PACKAGING / "warren.service").read_text().replace("/opt/warren", str(installed)))

    verified = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    exposure = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    # of 100; without the options that protect the host it is 90
    assert exposure.returncode == 0, exposure.stdout


def test_the_unit_restarts_and_stops_as_warren_does() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(PACKAGING / "warren.service")
    service = unit["Service"]

    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("always", "2")
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    # Java would be told to stop before Warren has ended its triggers
    assert service["KillMode"] == "mixed"
    # a test of `warren run` waits 40 s for a stop on a machine that does other things too
    assert int(service["TimeoutStopSec"]) > 40
    # java and python compile at run time
    assert "MemoryDenyWriteExecute" not in service


def test_the_image_runs_the_script_and_nothing_as_root() -> None:
    steps = _dockerfile()

    runs = [text for word, text in steps if word == "RUN"]
    assert [shlex.split(text)[-1] for text in runs if "install.sh" in text.partition("&&")[0]] != []
    assert re.findall(r"install\.sh /opt/warren (\w+)", " ".join(runs)) == ["dependencies", "warren"]
    words = [word for word, _ in steps]
    users = [text for word, text in steps if word == "USER"]
    assert users == ["10001"]
    assert words.index("USER") < words.index("ENTRYPOINT")
    for word in ("ENTRYPOINT", "CMD"):
        # a shell would not pass the signal on
        assert isinstance(json.loads(dict(steps)[word]), list)
    assert dict(steps)["VOLUME"] == dict(steps)["WORKDIR"] == "/var/lib/warren"
    assert dict(steps)["STOPSIGNAL"] == "SIGTERM"


def _dockerfile() -> list[tuple[str, str]]:
    """Instructions and what they say, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (PACKAGING / "Dockerfile").read_text(), flags=re.MULTILINE)
    joined = re.sub(r"\\\n\s*", "", text)
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines()) if word]


def _health_check() -> list[str]:
    """The command by which Docker asks for Warren's health."""
    text = dict(_dockerfile())["HEALTHCHECK"]
    command: list[str] = json.loads(text.partition("CMD ")[2])
    return command


def _link_packages(requirements: Path, directory: Path) -> None:
    """Put what the file names into the environment, as an installer with a cache of unpacked wheels does."""
    (packages,) = directory.glob("lib/python*/site-packages")
    for name in re.findall(r"^([\w.-]+)==", requirements.read_text(), re.MULTILINE):
        found = distribution(name)
        for file in found.files or ():
            # commands lie beside the packages, and nobody calls those of libraries
            if ".." not in file.parts:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                _link(str(found.locate_file(file)), str(packages / file))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        # another file system
        shutil.copy2(source, target)


def _open_to_all(path: Path) -> bool:
    wanted = 0o5 if path.is_dir() else 0o4
    return path.stat().st_mode & wanted == wanted


def _run(installed: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [installed / "bin" / command, *arguments],
        cwd="/",
        env=_environment(installed),
        capture_output=True,
        text=True,
        check=False,
    )


def _environment(installed: Path) -> dict[str, str]:
    """As the image and the unit have it, without a word of the environment that the tests run in."""
    kept = {key: value for key, value in os.environ.items() if key in {"PATH", "JAVA_HOME", "LANG", "TMPDIR"}}
    return kept | {"HOME": str(installed / "no-home"), "WARREN_CACHE": str(installed / "cache")}
