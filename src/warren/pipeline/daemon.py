"""The process that Spark forks Python workers from: it has everything loaded, so that workers start at once.

What is loaded before the fork is in memory once, however many workers there are.
"""

from __future__ import annotations

import pyspark.worker
from pyspark.daemon import manager

import warren.cluster.source
import warren.consumer.source
import warren.storage.operator

# for the forks
LOADED = (pyspark.worker, warren.cluster.source, warren.consumer.source, warren.storage.operator)

if __name__ == "__main__":
    manager()
