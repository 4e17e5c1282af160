"""One Spark for the tests of a module; each test has a checkpoint directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from warren.config.sections import Spark
from warren.pipeline import supervisor
from warren.pipeline.session import spark_session, stop


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sinks try again sooner than users would want it."""
    monkeypatch.setattr(supervisor, "BACK_OFF_S", (0.2, 0.5))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    mount = "spark.hadoop.fs.viewfs.mounttable.elsewhere.link./"
    elsewhere: Path = tmp_path_factory.mktemp("elsewhere")
    settings = Spark(
        master="local[2]",
        checkpoint_dir=str(tmp_path_factory.mktemp("spark")),
        # a file system of Hadoop's that is not the local one: viewfs://elsewhere/data
        conf={f"{mount}data": f"file://{elsewhere}", "spark.warren.elsewhere": str(elsewhere)},
    )
    made = spark_session(settings, 1, sinks=2)
    yield made
    stop(made)
