"""The SparkSession that every cluster's query runs in."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from warren.pipeline.output import keep_bounded, opened
from warren.pipeline.runtime import environment, java_options
from warren.pipeline.temporary import is_in_use, temporary_directory

if TYPE_CHECKING:
    from warren.config.sections import Spark

_STATE: Final = "spark.sql.streaming.stateStore"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_TASKS: Final = "spark.sql.shuffle.partitions"
_MOST_STATE_TASKS: Final = 4

# Spark redacts plans and offsets with regular expressions that recurse: they need a deep stack. The heavy work is done
# in Python and RocksDB, so the second compiler (C2) would only cost time
JAVA_OPTIONS: Final = (
    "-Xss4m -XX:TieredStopAtLevel=1 "
    # a small heap that grows when it must and shrinks again; with half of it a start collects garbage for 0.4 s more
    "-XX:+UseSerialGC -Xms128m -Xmn48m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30 "
    # what Spark loads: with the default of 21 MB each step towards it collects the whole heap
    "-XX:MetaspaceSize=96m "
    # reserved, not used: with the 48 MB of this compiler and a dozen clusters it was full, and all went on without it
    "-XX:ReservedCodeCacheSize=192m "
    # without memory Java would lose a thread or two and go on: triggers that never end. Warren ends with it
    "-XX:+ExitOnOutOfMemoryError"
)

# Warren's defaults for Spark; [spark.conf] overrides them
DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    # windows are stored here
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # all stores of all clusters share this much, instead of some 100 MB each
    f"{_STATE}.rocksdb.boundedMemoryUsage": "true",
    f"{_STATE}.rocksdb.maxMemoryUsageMB": "128",
    # the number is not used, and counting reads every row before it is written
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # enough to survive a crash, few enough to keep the checkpoint small
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.numRecentProgressUpdates": "4",
    "spark.sql.adaptive.enabled": "false",
    # a checkpoint on a local disk goes without checksum files, each of which costs a process that sets its mode
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # the rows are few and large: generated code would take longer to compile than it saves
    "spark.sql.codegen.wholeStage": "false",
    # 0.5 s less at the start
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.python.daemon.module": "warren.pipeline.daemon",
    # the readers' workers would have another environment than the operator's, and so be others
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # clusters take turns: a long trigger of one does not hold up those of the others
    "spark.scheduler.mode": "FAIR",
}
# driver and executors in one process need no network
LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # other users of this machine can still reach its ports; Spark generates a secret
    "spark.authenticate": "true",
}

# the usual reason why Spark can run no query any more
ENDED: Final = "Spark ended unexpectedly"

_LOCAL_MASTER: Final = re.compile(r"local(?:\[(?P<cores>\d+|\*)(?P<failures>\s*,\s*\d+)?\])?")


# Java that is being started for this process, see `start_java`
_java: Future[Any] | None = None


def start_java(settings: Spark, clusters: int, sinks: int = 0) -> None:
    """Begin to start Java for `spark_session`, which waits for it and raises what went wrong. Meanwhile the rest of
    Warren is imported: the first snapshot comes 0.4 s earlier."""
    global _java  # noqa: PLW0603 - as PySpark: one Java in a process
    made = _java = Future()

    def run() -> None:
        try:
            made.set_result(_launched(configuration(settings, clusters, sinks), log_path(settings)))
        except Exception as error:  # noqa: BLE001 - raised where the session is made
            made.set_exception(error)

    # Java ends when our end of its standard input is closed: at our own end, whenever that is
    threading.Thread(target=run, name="start-java", daemon=True).start()


def spark_session(settings: Spark, clusters: int, sinks: int = 0) -> SparkSession:
    """The session for the queries of so many clusters and sinks, made on first use. Spark logs to `spark.log` beside
    the checkpoints."""
    quieten()
    conf = configuration(settings, clusters, sinks)
    with _own_signals():
        if SparkContext._gateway is None:
            gateway = _java.result() if _java is not None else _launched(conf, log_path(settings))
            SparkContext._ensure_initialized(gateway=gateway)
            _ignore_sigterm(gateway)
        builder = SparkSession.builder
        for key, value in (with_slots(conf, sinks, _processors()) if sinks else conf).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        tasks = state_tasks(cores(session))
        session.conf.set(_TASKS, conf.get(_TASKS, str(tasks)))
        session.sparkContext.setLogLevel("ERROR")
    return session


def configuration(settings: Spark, clusters: int, sinks: int = 0) -> dict[str, str]:
    """The configuration of Spark."""
    names = {"spark.app.name": "warren", "spark.master": settings.master}
    java = {_JAVA_OPTIONS: f"{JAVA_OPTIONS} {java_options()}"}
    local = LOCAL if settings.master.startswith("local") else {}
    return names | DEFAULTS | java | local | _worker_pool(settings.master, clusters, sinks) | settings.conf


def state_tasks(cores: int) -> int:
    """Tasks that keep the windows of one cluster. With two cores one task takes 0.5 s of processor time per trigger
    for everything, two take 0.63 s and are no faster: each has a Python process, a state store and files of its own."""
    return min(max(cores // 2, 1), _MOST_STATE_TASKS)


def _worker_pool(master: str, clusters: int, sinks: int) -> dict[str, str]:
    """How many idle Python workers stay, 100 MB each: those that a replay needs on top end when they are done."""
    local = _LOCAL_MASTER.fullmatch(master)
    if local is None:
        return {}
    cores = _local_cores(local, os.cpu_count() or 1)
    # one more for all sinks together: it keeps the clients of those that write one after the other
    return {"spark.python.factory.idleWorkerMaxPoolSize": str(clusters * state_tasks(cores) + (sinks > 0))}


def with_slots(conf: dict[str, str], sinks: int, processors: int) -> dict[str, str]:
    """On one machine one task more at a time for each sink: one that waits for its server takes no cluster's place."""
    local = _LOCAL_MASTER.fullmatch(conf["spark.master"])
    if local is None:
        return conf
    cores = _local_cores(local, processors)
    # what is spread over the cores is still spread over as many as there are
    spread = {"spark.default.parallelism": str(cores)}
    return spread | conf | {"spark.master": f"local[{cores + sinks}{local['failures'] or ''}]"}


def _local_cores(local: re.Match[str], processors: int) -> int:
    return processors if local["cores"] == "*" else int(local["cores"] or 1)


def _processors() -> int:
    """As Java counts them: a container may have fewer than the machine."""
    jvm: Any = SparkContext._jvm
    return int(jvm.java.lang.Runtime.getRuntime().availableProcessors())


def _launched(conf: Mapping[str, str], log: Path) -> Any:
    """Start Java as PySpark does it, but with its output in a file, and without the terminal's signals."""
    environment(os.environ)
    asked = SparkConf(loadDefaults=False)
    for key, value in conf.items():
        asked.set(key, value)
    temporary, in_use = temporary_directory()
    asked.set(_JAVA_OPTIONS, f'"-Djava.io.tmpdir={temporary}" {conf.get(_JAVA_OPTIONS, "")}')
    output = opened(log)
    try:
        java = {
            "stdout": output,
            "stderr": output,
            # a process group of its own: a signal to our group stops us, and we stop Java
            "process_group": 0,
            # the lock, which Java keeps to its end
            "pass_fds": (in_use,),
        }
        gateway = launch_gateway(asked, java)  # type: ignore[no-untyped-call]
    finally:
        os.close(output)
        os.close(in_use)
    keep_bounded(log)
    # empty by then: Spark's files are removed before, and those that Java has later are removed earlier
    gateway.jvm.java.io.File(str(temporary)).deleteOnExit()
    return gateway


def _ignore_sigterm(gateway: Any) -> None:
    """Service managers send SIGTERM to all processes: only this one handles it. The planning process inherits this from
    Java; it ends with its connection."""
    signals = gateway.jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def quieten() -> None:
    """Suppress PySpark's output on the terminal during a normal stop.

    If PySpark changes here, the output is back and nothing else changes.
    """
    # an interrupted trigger is logged there with Java's stack trace; Warren logs why a query ended
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # Java closes the connection within a message when it is stopped
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]


def log_path(settings: Spark) -> Path:
    """The log file of Spark."""
    return Path(settings.checkpoint_dir, "spark.log")


def why_gone(session: SparkSession) -> str:
    """Why Spark can run no query any more; empty: it can."""
    try:
        context = session.sparkContext
        if context._jsc.sc().isStopped():
            return ENDED
        elsewhere = context.getConf().contains("spark.local.dir") or "SPARK_LOCAL_DIRS" in os.environ
        jvm: Any = context._jvm
        place = Path(jvm.java.lang.System.getProperty("java.io.tmpdir"))
    except (Py4JError, OSError):
        return ENDED
    # Spark made its directories at its start: it makes some of them again, but not all that it needs
    if not elsewhere and not (is_in_use(place) and any(place.glob("blockmgr-*"))):
        return f"Spark's temporary files were removed from {place}"
    return ""


def stop(session: SparkSession) -> None:
    """Stop Spark; it is no error if it has ended already."""
    with suppress(Py4JError, OSError):
        session.stop()


def cores(session: SparkSession) -> int:
    """Tasks that can run at the same time."""
    return int(session.sparkContext.defaultParallelism)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our SIGINT handler: PySpark would install its own."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
