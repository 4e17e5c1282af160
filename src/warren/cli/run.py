"""`warren run`: monitor the clusters of a configuration until it is stopped."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import structlog

from warren import logs, pidfile
from warren.cli.options import ConfigDir, ConfigFile, config_path
from warren.cli.signals import stop_signal
from warren.config import load
from warren.errors import WarrenError
from warren.pipeline.checkpoint_lock import lock_checkpoint
from warren.pipeline.session import ENDED, start_java

if TYPE_CHECKING:
    from warren.pipeline.engine import Engine

log = structlog.get_logger("warren")


class SparkLostError(WarrenError):
    """Spark can run no query any more."""


_REMEDY: Final = 'see {}. If it was out of memory, give it more with spark.conf: "spark.driver.memory" = "2g"'
_REMEDY_FILES: Final = (
    "exclude warren-java-* from what cleans up there, or set TMPDIR to another local directory"
)
# interval of log lines about a query that is catching up
_LOG_S: Final = 5.0


def run(*, config_dir: ConfigDir = None, config: ConfigFile = None) -> None:
    """Monitor the clusters of a configuration and serve Burrow's API, until Ctrl-C or SIGTERM.

    [bold]Examples[/bold]

    [cyan]warren run --config-dir /etc/burrow[/cyan]   as Burrow was started

    [cyan]warren run --config burrow.yaml[/cyan]

    [cyan]BURROW_LOGGING_LEVEL=debug warren run[/cyan]  with burrow.toml in the working directory
    """
    settings = load(config_path(config_dir, config), os.environ)
    logs.begin(settings, logs.utc())
    stopping = stop_signal()
    held = Path(settings.general.pidfile) if settings.general.pidfile else None
    with pidfile.held(held), ExitStack() as running:
        running.enter_context(lock_checkpoint(Path(settings.spark.checkpoint_dir), stopping))
        if stopping.is_set():
            log.info("stopped during the start")
            return
        start_java(settings.spark, len(settings.cluster), len(settings.sink))
        # half a second of imports, while Java starts
        from warren.service import Service  # noqa: PLC0415

        try:
            service = running.enter_context(Service(settings))
        except Exception as error:
            if not stopping.is_set():
                raise
            # a signal to all processes also stops those that were being started
            log.info("stopped during the start", error=str(error).partition("\n")[0])
            return
        log.info("watching", clusters=service.engine.clusters())
        _log_progress(stopping, service.engine)
        log.info("stopping")


def _log_progress(stopping: Event, engine: Engine) -> None:
    """Log the progress of each cluster until all have caught up or Warren is stopped."""
    behind = set(engine.clusters())
    while not stopping.wait(_LOG_S):
        if lost := engine.lost():
            remedy = _REMEDY.format(engine.log) if lost == ENDED else _REMEDY_FILES
            raise SparkLostError(f"{lost}: {remedy}. A start continues where this one ended.")
        for cluster in sorted(behind):
            progress = engine.progress(cluster)
            if progress.caught_up:
                behind.discard(cluster)
                log.info("caught up", cluster=cluster, records=progress.records)
            elif not progress.error:
                # errors are logged when they begin
                log.info(
                    "catching up",
                    cluster=cluster,
                    records=progress.records,
                    of=progress.records + progress.left,
                    per_second=progress.rate,
                )
