"""`warren run` is told to stop: a few lines and exit code 0, whoever is told along with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.integration.pipeline.hands import Hands
from tests.processes import alive, eventually, kill_session

from warren.demo.broker import Broker
from warren.demo.ports import free_port

# a machine that does other things too
READY_S = 120.0
STOP_S = 40.0


class Run:
    """A `warren run` in a session of its own; its output and its errors in one file, as a service manager has them."""

    def __init__(self, directory: Path, broker: Broker, checkpoint: Path | None = None) -> None:
        directory.mkdir(exist_ok=True)
        self.url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        self.checkpoint = checkpoint or directory / "checkpoint"
        settings = {
            "httpserver": {"default": {"address": self.url.removeprefix("http://")}},
            "cluster": {"c": {"class-name": "kafka", "servers": [broker.bootstrap_servers]}},
            "consumer": {"c": {"class-name": "kafka", "cluster": "c", "servers": [broker.bootstrap_servers]}},
            "spark": {"checkpoint-dir": str(self.checkpoint), "master": "local[1]"},
        }
        (directory / "burrow.json").write_text(json.dumps(settings))
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self._output = directory / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "warren.cli.main", "run", "--config-dir", str(directory)],
                cwd=directory,
                env=os.environ | {"TMPDIR": str(self.temporary)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/burrow/admin/ready", timeout=30).status_code == 200
        except httpx.HTTPError:
            return False

    @property
    def output(self) -> str:
        return self._output.read_text()


@pytest.fixture
def run(tmp_path: Path, broker: Broker) -> Iterator[Run]:
    Hands(broker).commit_first("stop")
    started = Run(tmp_path, broker)
    try:
        yield started
    finally:
        kill_session(started.process.pid)


def group(run: Run, number: int) -> None:
    os.killpg(run.process.pid, number)


def everybody(run: Run, number: int) -> None:
    """As service managers do it, which know nothing of groups."""
    main = psutil.Process(run.process.pid)
    for each in [main, *main.children(recursive=True)]:
        # some end as soon as another does
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)


def alone(run: Run, number: int) -> None:
    run.process.send_signal(number)


@pytest.mark.parametrize(
    ("tell", "number"),
    [
        pytest.param(alone, signal.SIGTERM, id="SIGTERM to the main process"),
        pytest.param(group, signal.SIGTERM, id="SIGTERM to its group"),
        pytest.param(everybody, signal.SIGTERM, id="SIGTERM to every process"),
        pytest.param(group, signal.SIGINT, id="Ctrl-C"),
    ],
)
def test_a_signal_to_all_its_processes_is_no_fault(
    run: Run, tell: Callable[[Run, int], None], number: int
) -> None:
    assert eventually(run.ready, READY_S, every_s=0.5), run.output
    started = psutil.Process(run.process.pid).children(recursive=True)
    assert list(run.temporary.iterdir()) != []
    before = run.output.splitlines()

    tell(run, number)

    assert run.process.wait(STOP_S) == 0, run.output
    said: list[dict[str, Any]] = [json.loads(line) for line in run.output.splitlines()]
    assert [line for line in said if line["level"] in ("warn", "error", "fatal")] == []
    assert len(said) - len(before) <= 4, run.output
    assert eventually(lambda: not any(alive(each.pid) for each in started), 20)
    assert list(run.temporary.iterdir()) == []


def test_a_signal_during_the_start_is_no_fault(run: Run) -> None:
    main = psutil.Process(run.process.pid)
    assert eventually(lambda: any(each.name() == "java" for each in main.children()), READY_S)

    everybody(run, signal.SIGTERM)

    assert run.process.wait(READY_S) == 0, run.output
    assert "Traceback" not in run.output


def test_a_java_that_dies_is_told_in_a_sentence(run: Run) -> None:
    assert eventually(run.ready, READY_S, every_s=0.5), run.output
    (java,) = [each for each in psutil.Process(run.process.pid).children() if each.name() == "java"]

    java.kill()

    assert run.process.wait(STOP_S) == 1, run.output
    # the log may say more; what the command ends with is the sentence
    sentences = [line for line in run.output.splitlines() if not line.startswith("{")]
    assert len(sentences) == 1, run.output
    assert sentences[0].startswith("Error: Spark ended unexpectedly")


def test_temporary_files_that_somebody_removed_stopped_every_query_for_good(run: Run, tmp_path: Path) -> None:
    assert eventually(run.ready, READY_S, every_s=0.5), run.output

    # a trigger that is running puts further files into a directory that is being emptied
    for each in run.temporary.iterdir():
        each.rename(tmp_path / f"removed-{each.name}")

    # a service manager starts it again
    assert eventually(lambda: run.process.poll() == 1, STOP_S), run.output
    sentences = [line for line in run.output.splitlines() if not line.startswith("{")]
    assert len(sentences) == 1, run.output
    assert sentences[0].startswith("Error: Spark's temporary files were removed from ")


def test_a_second_instance_on_one_checkpoint_waits_until_the_first_has_stopped(
    run: Run, tmp_path: Path, broker: Broker
) -> None:
    assert eventually(run.ready, READY_S, every_s=0.5), run.output
    second = Run(tmp_path / "second", broker, run.checkpoint)
    try:
        assert eventually(lambda: "waiting for another instance" in second.output, READY_S)
        alone(run, signal.SIGTERM)
        assert run.process.wait(STOP_S) == 0, run.output
        assert eventually(second.ready, READY_S, every_s=0.5), second.output
        # two at once made each other's triggers fail
        assert "query failed" not in run.output + second.output
    finally:
        kill_session(second.process.pid)


def test_the_log_during_the_start_is_the_log_and_what_spark_says_outlives_the_stop(run: Run) -> None:
    assert eventually(run.ready, READY_S, every_s=0.5), run.output
    of_spark = run.checkpoint / "spark.log"
    before = of_spark.read_text()

    alone(run, signal.SIGTERM)

    assert run.process.wait(STOP_S) == 0, run.output
    assert '"msg":' not in of_spark.read_text()
    # Java always has something to say when it starts
    assert before
    assert of_spark.read_text().startswith(before)
