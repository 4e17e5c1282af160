"""The seedling: what Spark starts in place of Python is the process that it wanted, only sooner."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.processes import eventually

from warren.pipeline import seedling, stand_in

# tells all about its process, then ends as its argument says
MODULE = """
import json, os, sys, time
print(json.dumps({
    "pid": os.getpid(), "words": sys.argv[1:], "directory": os.getcwd(), "given": os.environ.get("GIVEN"),
    "name": __name__, "hash": hash("the same everywhere"), "loaded": "warren.storage.operator" in sys.modules,
    "called": open("/proc/self/comm").read().strip(),
}), flush=True)
print(sys.stdin.read(), file=sys.stderr)
if sys.argv[1] == "stay":
    time.sleep(60)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """As Spark sees it while there is a seedling, with a module to run."""
    (tmp_path / "told.py").write_text(MODULE)
    given = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    given |= {"PYTHONPATH": str(tmp_path), "GIVEN": "to this one alone"}
    before = dict(given)
    with seedling.planted(given):
        yield dict(given)
    assert given == before


def started(environ: dict[str, str], *words: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [environ["PYSPARK_PYTHON"], "-m", "told", *words],
        env=environ,
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_copy_is_the_process_that_was_wanted(environ: dict[str, str], tmp_path: Path) -> None:
    process = started(environ, "7", "and more", directory=tmp_path)
    out, err = process.communicate("through standard input", timeout=60)
    told = json.loads(out)
    assert (told["words"], told["directory"]) == (["7", "and more"], str(tmp_path))
    assert (told["name"], told["given"]) == ("__main__", "to this one alone")
    assert err.strip() == "through standard input"
    assert process.returncode == 7
    # and it was made from the seedling
    assert told["loaded"]
    assert told["called"] == "warren-planner"
    assert told["pid"] != process.pid


def test_copies_have_the_same_hashes(environ: dict[str, str], tmp_path: Path) -> None:
    hashes = {
        json.loads(started(environ, "0", directory=tmp_path).communicate("", timeout=60)[0])["hash"]
        for _ in range(2)
    }
    code = "print(hash('the same everywhere'))"
    plain = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        check=True,
    )
    assert hashes == {int(plain.stdout)}


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_copy_goes_with_its_stand_in(environ: dict[str, str], tmp_path: Path, by: signal.Signals) -> None:
    with started(environ, "stay", directory=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        copy = json.loads(process.stdout.readline())["pid"]
        assert psutil.pid_exists(copy)
        process.send_signal(by)
        process.stdin.close()
        assert eventually(lambda: not psutil.pid_exists(copy), 20)


def test_a_stand_in_goes_with_its_copy(environ: dict[str, str], tmp_path: Path) -> None:
    with started(environ, "stay", directory=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        os.kill(json.loads(process.stdout.readline())["pid"], signal.SIGKILL)
        process.stdin.close()
        assert process.wait(20) == 256 - signal.SIGKILL


def test_without_a_seedling_it_is_plain_python(environ: dict[str, str], tmp_path: Path) -> None:
    alone = {name: value for name, value in environ.items() if name != stand_in.ADDRESS}
    process = started(alone, "3", directory=tmp_path)
    told = json.loads(process.communicate("", timeout=60)[0])
    assert (process.returncode, told["loaded"], told["pid"]) == (3, False, process.pid)


def test_a_python_that_somebody_chose_for_spark_stays() -> None:
    chosen = {"PYSPARK_PYTHON": "/opt/python"}
    with seedling.planted(chosen):
        assert chosen == {"PYSPARK_PYTHON": "/opt/python"}


def test_it_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from warren.pipeline.seedling import planted\n"
        "environ = dict(os.environ)\n"
        "with planted(environ):\n"
        "    print(environ['PYSPARK_PYTHON'], flush=True)\n"
        "    sys.stdin.read()\n"
    )
    given = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    given["WARREN_CACHE"] = str(tmp_path)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        script = Path(owner.stdout.readline().strip())
        assert script.exists()
        (child,) = psutil.Process(owner.pid).children()
        owner.kill()
        assert eventually(lambda: not script.parent.exists() and not child.is_running(), 20)
