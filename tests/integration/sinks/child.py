"""A process that writes to a sink until it is killed: python child.py CHECKPOINT-DIRECTORY SINK (as JSON)."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from tests.integration.sinks.frame import running_sinks

from warren.config import Settings
from warren.config.sections import Spark
from warren.pipeline.session import spark_session


def main(directory: str, sink: str) -> None:
    """Returns never."""
    session = spark_session(Spark(master="local[2]", checkpoint_dir=directory), 1, sinks=1)
    sinks = Settings.model_validate({"sink": {"h": json.loads(sink)}}).sink
    with running_sinks(session, Path(directory), sinks, "east", "west"):
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
