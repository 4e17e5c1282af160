"""The process that is measured: starts as `warren run` does."""

from __future__ import annotations

import importlib
import os

from warren import logs
from warren.bench.line import Parent, as_child
from warren.config import load
from warren.pipeline.session import start_java


def main(parent: Parent) -> None:
    """`runs` in the task: replay this often in one process; otherwise run as a service until `stop`."""
    # what `warren run` imports before it has read its configuration
    for module in ("warren.cli.main", "warren.cli.run"):
        importlib.import_module(module)
    settings = load(parent.task["directory"], os.environ)
    logs.begin(settings, logs.utc())
    start_java(settings.spark, len(settings.cluster), len(settings.sink))
    # while Java starts, as in `warren run`
    from warren.bench import serving  # noqa: PLC0415

    if "runs" in parent.task:
        serving.replay(parent, settings)
    else:
        serving.serve(parent, settings)


if __name__ == "__main__":
    as_child(main)
