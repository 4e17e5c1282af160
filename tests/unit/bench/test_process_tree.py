"""Memory and processor time of process trees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.processes import eventually

from warren.bench.process_tree import (
    DRIVER,
    JAVA,
    PLANNERS,
    WORKERS,
    Sample,
    Sampler,
    cores_used,
    peak,
    typical,
)

MIB = 2**20
# a driver with a worker that holds 64 MiB and a planner; each says when it is ready
TREE = f"""
import subprocess, sys
hold = "x = b'1' * {64 * MIB}; print('ready', flush=True); input()"
children = [
    subprocess.Popen([sys.executable, '-c', code, role], stdin=0, stdout=subprocess.PIPE)
    for code, role in ((hold, 'warren.pipeline.daemon'), ("print('ready', flush=True); input()", 'planner'))
]
[child.stdout.readline() for child in children]
sum(range(3_000_000))
print('ready', flush=True)
input()
"""


@pytest.fixture
def tree() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", TREE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def test_a_tree_is_measured_by_role(tree: subprocess.Popen[bytes]) -> None:
    with tree:
        assert tree.stdout is not None
        tree.stdout.readline()
        sample = Sampler(tree.pid).look()
        tree.communicate()
    assert sample is not None
    assert sample.processes == 3
    assert set(sample.memory) == {DRIVER, WORKERS, PLANNERS}
    assert 64 * MIB < sample.memory[WORKERS] < 96 * MIB
    assert 0 < sample.memory[PLANNERS] < 32 * MIB
    assert sample.total == sum(sample.memory.values())
    assert set(sample.cpu_s) == {DRIVER, WORKERS, PLANNERS}
    assert sample.cpu_s[DRIVER] > 0


def test_a_sampler_ends_with_its_process(tree: subprocess.Popen[bytes]) -> None:
    with tree, Sampler(tree.pid, every_s=0.01) as sampler:
        assert tree.stdout is not None
        tree.stdout.readline()
        assert eventually(lambda: len(sampler.between(0, 1e12)) > 2, within_s=10)
        tree.communicate()
        assert sampler.look() is None


def _sample(at: float, cpu_s: float, **memory: int) -> Sample:
    # Java appears later
    return Sample(at, memory, {DRIVER: cpu_s} | ({JAVA: 3.0} if at > 10 else {}), 1)


SAMPLES = [
    _sample(10, 5.0, driver=100, java=10),
    _sample(11, 6.0, driver=300, java=20),
    _sample(12, 8.0, driver=200),
]
Summary = Callable[[list[Sample]], object]


@pytest.mark.parametrize(
    ("summary", "of_all", "of_none"),
    [(cores_used, {DRIVER: 1.5, JAVA: 1.5}, {}), (peak, 320, 0), (typical, {DRIVER: 200, JAVA: 10}, {})],
    ids=["cores", "peak", "typical"],
)
def test_samples_are_summed_up(summary: Summary, of_all: object, of_none: object) -> None:
    assert summary(SAMPLES) == of_all
    assert summary([]) == of_none
