"""A Spark of its own for questions to the history: on this machine, small, and silent."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from warren.config.sections import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# over Warren's own defaults, which are for a few large rows; here there are many small ones
_SETTINGS: Final = {
    "spark.app.name": "warren history",
    "spark.driver.memory": "640m",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    # times in files are UTC, and so are those of `sql`
    "spark.sql.session.timeZone": "UTC",
    # a cluster named 007 keeps its name
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # directories are few: they are listed here and not in a job
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # errors are shown with one sentence: no stack of Java's calls
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}


@contextmanager
def history_session(conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """`conf`: the user's own settings of Spark, as [spark.conf] has them: where the jars for s3a are, and the like."""
    # a second until it is there: only those who ask the history wait for it
    from warren.pipeline.session import spark_session, stop  # noqa: PLC0415
    from warren.pipeline.temporary import temporary_directory  # noqa: PLC0415

    # should this process be killed, the next start removes it
    directory, in_use = temporary_directory()
    own = {"spark.sql.warehouse.dir": str(directory / "warehouse")}
    settings = Spark(
        # all cores, but never more tasks than a laptop has
        master=f"local[{min(os.cpu_count() or 1, 8)}]",
        checkpoint_dir=str(directory),
        conf=_SETTINGS | dict(conf) | own,
    )
    # PySpark prints there what it also raises
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        session = spark_session(settings, clusters=0)
        # what is shuffled is small
        session.conf.set("spark.sql.shuffle.partitions", "8")
        try:
            yield session
        finally:
            stop(session)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(in_use)
