"""The configuration of Spark: tasks and worker processes that fit the machine."""

from __future__ import annotations

import pytest

from warren.config.sections import Spark
from warren.pipeline.session import configuration, state_tasks

POOL = "spark.python.factory.idleWorkerMaxPoolSize"


@pytest.mark.parametrize(("cores", "tasks"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (64, 4)])
def test_half_of_the_cores_keep_windows(cores: int, tasks: int) -> None:
    assert state_tasks(cores) == tasks


@pytest.mark.parametrize(
    ("master", "clusters", "workers"),
    [
        ("local", 1, "1"),
        ("local[2]", 1, "1"),
        ("local[2]", 10, "10"),
        ("local[8]", 3, "12"),
        ("local[4,2]", 1, "2"),
    ],
)
def test_idle_workers_stay_as_many_as_triggers_need(master: str, clusters: int, workers: str) -> None:
    assert configuration(Spark(master=master), clusters)[POOL] == workers


def test_a_spark_cluster_keeps_its_own_pool_size() -> None:
    assert POOL not in configuration(Spark(master="spark://host:7077"), 1)


def test_spark_conf_overrides_the_pool_size() -> None:
    assert configuration(Spark(master="local[2]", conf={POOL: "7"}), 1)[POOL] == "7"
