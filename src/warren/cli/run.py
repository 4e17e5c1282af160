"""`warren run`: watch the clusters of a configuration until told to stop."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from warren import logs, pidfile
from warren.cli.options import ConfigDir, ConfigFile, config_path
from warren.cli.signals import stop_asked
from warren.config import load
from warren.errors import WarrenError
from warren.pipeline.engine import Engine
from warren.service import Service

log = structlog.get_logger("warren")


class SparkLostError(WarrenError):
    """The engine under the queries is gone."""


# how often the log tells of a query that is catching up
_TELL_S: Final = 5.0


def run(*, config_dir: ConfigDir = None, config: ConfigFile = None) -> None:
    """Watch the clusters of a configuration and serve Burrow's API, until Ctrl-C or SIGTERM.

    [bold]Examples[/bold]

    [cyan]warren run --config-dir /etc/burrow[/cyan]   as Burrow was started

    [cyan]warren run --config burrow.yaml[/cyan]

    [cyan]BURROW_LOGGING_LEVEL=debug warren run[/cyan]  with burrow.toml in the working directory
    """
    settings = load(config_path(config_dir, config), os.environ)
    logs.begin(settings, logs.utc())
    asked = stop_asked()
    held = Path(settings.general.pidfile) if settings.general.pidfile else None
    with pidfile.held(held), ExitStack() as running:
        try:
            service = running.enter_context(Service(settings))
        except Exception as error:
            if not asked.is_set():
                raise
            # who stops every process there is stops those that we were starting
            log.info("stopped during the start", error=str(error).partition("\n")[0])
            return
        log.info("watching", clusters=service.engine.clusters())
        _tell_until(asked, service.engine)
        log.info("stopping")


def _tell_until(asked: Event, engine: Engine) -> None:
    """Log how far each cluster has come, until all have caught up or somebody asks to stop."""
    behind = set(engine.clusters())
    while not asked.wait(_TELL_S):
        if engine.lost():
            raise SparkLostError(
                f"Spark ended by itself: {engine.log} says why. If it was out of memory, give it more with "
                'spark.conf: "spark.driver.memory" = "2g". A start continues where this one ended.'
            )
        for cluster in sorted(behind):
            progress = engine.progress(cluster)
            if progress.error:
                log.warning("cluster does not answer", cluster=cluster, error=progress.error)
            elif progress.caught_up:
                behind.discard(cluster)
                log.info("caught up", cluster=cluster, records=progress.records)
            else:
                log.info(
                    "catching up",
                    cluster=cluster,
                    records=progress.records,
                    of=progress.records + progress.left,
                    per_second=progress.rate,
                )
