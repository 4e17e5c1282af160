"""The process that Spark forks Python workers from: it has everything loaded, so that workers start at once.

What is loaded before the fork is in memory once, however many workers there are. Spark has a setting for the module
and manages the process as it does its own: all of it is Spark's, but what was imported before.
"""

from __future__ import annotations

import pyspark.worker
from pyspark.daemon import manager

import warren.cluster.head_frames
import warren.consumer.reader
import warren.pipeline.source
import warren.storage.operator

# for the forks
LOADED = (
    pyspark.worker,
    warren.cluster.head_frames,
    warren.consumer.reader,
    warren.pipeline.source,
    warren.storage.operator,
)

if __name__ == "__main__":
    manager()
