"""The SparkSession that every cluster's query runs in."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from warren.config.sections import Spark

_STATE: Final = "spark.sql.streaming.stateStore"

# what Warren wants of Spark; [spark.conf] has the last word
DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    # windows live here
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # enough to survive a crash, few enough to keep the checkpoint small
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # a bucket's frames are few and fat
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.python.worker.reuse": "true",
}


def spark_session(settings: Spark) -> SparkSession:
    """The session, made on first use; the workers run the same Python as this process."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("warren").master(settings.master)
    for key, value in (DEFAULTS | settings.conf).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def cores(session: SparkSession) -> int:
    """Tasks that can run at the same time."""
    return int(session.sparkContext.defaultParallelism)
