"""The SparkSession that every cluster's query runs in."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.sql import SparkSession

from warren.pipeline.runtime import environment, java_options

if TYPE_CHECKING:
    from warren.config.sections import Spark

_STATE: Final = "spark.sql.streaming.stateStore"

# Spark looks for secrets in plans and offsets with regular expressions that recurse: they want a deep stack. The
# heavy work is done in Python and RocksDB, so Java need not spend a second core on compiling itself to perfection
JAVA_OPTIONS: Final = (
    "-Xss4m -XX:TieredStopAtLevel=1 "
    # a small heap that grows when it must and shrinks again
    "-XX:+UseSerialGC -Xms64m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30"
)

# what Warren wants of Spark; [spark.conf] has the last word
DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    # windows live here
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # all stores of all clusters share this much, instead of some 100 MB each
    f"{_STATE}.rocksdb.boundedMemoryUsage": "true",
    f"{_STATE}.rocksdb.maxMemoryUsageMB": "128",
    # nobody asks for the number, and counting reads every row before it is written
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # enough to survive a crash, few enough to keep the checkpoint small
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.numRecentProgressUpdates": "4",
    "spark.sql.adaptive.enabled": "false",
    # a checkpoint on a local disk goes without checksum files, each of which costs a process that sets its mode
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # the rows are few and fat: code made for them would take longer to compile than it ever saves
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.daemon.module": "warren.pipeline.daemon",
    # the readers' workers would have another environment than the operator's, and so be others
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # clusters take turns: a long trigger of one does not hold up those of the others
    "spark.scheduler.mode": "FAIR",
}
# a driver and its executors in one process talk to nobody else
LOCAL: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def spark_session(settings: Spark) -> SparkSession:
    """The session, made on first use; what Spark has to say goes to `spark.log` beside the checkpoints."""
    quieten()
    java = {"spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {java_options()}"}
    local = LOCAL if settings.master.startswith("local") else {}
    builder = SparkSession.builder.appName("warren").master(settings.master)
    for key, value in (DEFAULTS | java | local | settings.conf).items():
        builder = builder.config(key, value)
    log = log_path(settings)
    log.parent.mkdir(parents=True, exist_ok=True)
    with _output_to(log), _own_signals():
        environment(os.environ)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


def quieten() -> None:
    """What PySpark would tell on the terminal of an end that we asked for stays unsaid.

    Should PySpark change in these places, the words are back and nothing else is different.
    """
    # a trigger that is cut off is told there with all of Java's stack; why a query ended is ours to say
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # Java hangs up in the middle of a word when it is stopped
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]


def log_path(settings: Spark) -> Path:
    """The file that takes what Spark has to say."""
    return Path(settings.checkpoint_dir, "spark.log")


def is_gone(session: SparkSession) -> bool:
    """Whether Spark ended by itself, for example for want of memory."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def cores(session: SparkSession) -> int:
    """Tasks that can run at the same time."""
    return int(session.sparkContext.defaultParallelism)


@contextmanager
def _own_signals() -> Iterator[None]:
    """What Ctrl-C does is for the command to say; PySpark would put its own answer in place."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Processes that start meanwhile write into a file, not into the terminal: Java has a lot to say."""
    kept = [os.dup(stream) for stream in (1, 2)]
    with path.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        for stream, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
