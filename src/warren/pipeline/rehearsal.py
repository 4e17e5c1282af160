"""A query of the kind that Warren runs, over nothing: it loads the classes that Java then keeps in an archive."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from warren.common.row import ROW
from warren.config.sections import Spark
from warren.pipeline.runtime import environment
from warren.pipeline.session import JAVA_OPTIONS, spark_session
from warren.pipeline.warm_up import echoed, warm_up


class Nothing(DataSource):
    """One row per trigger, which says nothing."""

    @classmethod
    def name(cls) -> str:
        return "nothing"

    def schema(self) -> str:
        return ROW

    def streamReader(self, schema: Any) -> Silence:  # noqa: N802 (Spark's name)
        return Silence()


class Silence(DataSourceStreamReader):
    """Goes on for ever."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {"at": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802 (Spark's name)
        return {"at": start["at"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(end["at"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch(
            {"bucket": pa.array([0], pa.int32()), "kind": pa.array(["none"]), "payload": pa.array([b""])}
        )


def rehearse(archive: Path) -> None:
    """Some triggers; Java writes the archive when it exits."""
    environment(os.environ)
    options = f"{JAVA_OPTIONS} -XX:ArchiveClassesAtExit={archive}"
    done = threading.Semaphore(0)

    def take(frame: DataFrame, _: int) -> None:
        frame.toArrow()
        done.release()

    with tempfile.TemporaryDirectory() as directory:
        conf = {"spark.driver.extraJavaOptions": options, "spark.sql.shuffle.partitions": "1"}
        session = spark_session(Spark(master="local[2]", checkpoint_dir=directory, conf=conf), clusters=1)
        warm_up(session)
        session.dataSource.register(Nothing)
        query = (
            echoed(session.readStream.format("nothing").load())
            .writeStream.foreachBatch(take)
            .outputMode("update")
            .option("checkpointLocation", f"{directory}/query")
            .start()
        )
        for _ in range(3):
            done.acquire(timeout=60)
        query.stop()
        session.stop()
    # Java ends when its standard input does, and writes the archive then
    java = SparkContext._gateway.proc  # type: ignore[union-attr]
    java.stdin.close()
    java.wait(timeout=120)


if __name__ == "__main__":
    rehearse(Path(sys.argv[1]))
