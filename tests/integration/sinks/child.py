"""A process that writes a history until it is killed: python child.py CHECKPOINT-DIRECTORY HISTORY."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tests.integration.sinks.frame import running_sinks

from warren.config.modules import ParquetSink
from warren.config.sections import Spark
from warren.pipeline.session import spark_session


def main(directory: str, history: str) -> None:
    """Returns never."""
    session = spark_session(Spark(master="local[2]", checkpoint_dir=directory), 1, sinks=1)
    with running_sinks(
        session, Path(directory), {"h": ParquetSink(path=history, interval=1)}, "east", "west"
    ):
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
