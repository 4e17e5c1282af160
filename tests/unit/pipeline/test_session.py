"""The configuration of Spark: tasks and worker processes that fit the machine."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from warren.config.sections import Spark
from warren.pipeline.session import configuration, state_tasks, with_slots
from warren.pipeline.warm_up import warm_up

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


class SessionWithoutWorkers:
    """Stands for a session whose Spark cannot start a worker; notes which thread asked."""

    def __init__(self) -> None:
        self.asked_by: list[str] = []
        self.asked = threading.Event()

    def range(self, _: int) -> Any:
        self.asked_by.append(threading.current_thread().name)
        self.asked.set()
        raise RuntimeError("Java is gone")


def test_a_warm_up_that_fails_does_not_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    escaped: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", escaped.append)
    session = SessionWithoutWorkers()
    warm_up(cast("SparkSession", session))
    assert session.asked.wait(10)
    for thread in threading.enumerate():
        if thread.name == "warm-up":
            thread.join(10)
    assert session.asked_by == ["warm-up"]
    assert escaped == []


def test_one_worker_more_stays_for_all_sinks() -> None:
    assert configuration(Spark(master="local[2]"), 1, 3)[POOL] == "2"


@pytest.mark.parametrize(
    ("master", "sinks", "wanted", "spread"),
    [
        ("local[*]", 3, "local[7]", "4"),
        ("local[2]", 1, "local[3]", "2"),
        ("local", 1, "local[2]", "1"),
        ("local[2, 4]", 2, "local[4, 4]", "2"),
        ("spark://host:7077", 2, "spark://host:7077", None),
    ],
)
def test_each_sink_has_a_task_slot_of_its_own_on_one_machine(
    master: str, sinks: int, wanted: str, spread: str | None
) -> None:
    conf = with_slots({"spark.master": master}, sinks, 4)
    assert (conf["spark.master"], conf.get("spark.default.parallelism")) == (wanted, spread)


def test_what_is_set_for_spark_has_the_last_word_on_how_work_is_spread() -> None:
    given = {"spark.master": "local[2]", "spark.default.parallelism": "8"}
    assert with_slots(given, 1, 4)["spark.default.parallelism"] == "8"
