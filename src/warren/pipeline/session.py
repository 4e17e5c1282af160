"""The SparkSession that every cluster's query runs in."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from warren.pipeline.output import keep_bounded, opened
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
LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # other users of this machine reach its ports all the same; Spark makes up a secret
    "spark.authenticate": "true",
}


def spark_session(settings: Spark) -> SparkSession:
    """The session, made on first use; what Spark has to say goes to `spark.log` beside the checkpoints."""
    quieten()
    conf = configuration(settings)
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    with _own_signals():
        if SparkContext._gateway is None:
            environment(os.environ)
            _start_java(conf, log_path(settings))
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


def configuration(settings: Spark) -> dict[str, str]:
    """What Spark is told."""
    names = {"spark.app.name": "warren", "spark.master": settings.master}
    java = {"spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {java_options()}"}
    local = LOCAL if settings.master.startswith("local") else {}
    return names | DEFAULTS | java | local | settings.conf


def _start_java(conf: Mapping[str, str], log: Path) -> None:
    """Start Java as PySpark does it, but with its output in a file, and out of reach of the terminal's signals."""
    asked = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        asked.set(key, value)
    output = opened(log)
    try:
        # a group of its own: who stops our whole group stops us, and we stop Java
        java = {"stdout": output, "stderr": output, "process_group": 0}
        gateway = launch_gateway(asked, java)  # type: ignore[no-untyped-call]
    finally:
        os.close(output)
    keep_bounded(log)
    SparkContext._ensure_initialized(gateway=gateway)
    # service managers send SIGTERM to every process there is: what it means is for this one to say. The process that
    # plans inherits this from Java; it ends with its connection
    signals = gateway.jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


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


def stop(session: SparkSession) -> None:
    """Stop Spark; one that ended by itself is no fault here."""
    with suppress(Py4JError, OSError):
        session.stop()


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
