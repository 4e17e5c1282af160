"""The machine that the figures come from."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import psutil

import warren
from warren.demo.jars import read_lock
from warren.java import find_java

_PACKAGES: Final = ("pyspark", "pyarrow", "numpy", "confluent-kafka", "uvicorn", "uvloop")


def facts() -> dict[str, Any]:
    """Cores, memory, the load just now, and the versions of all components."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_before": [round(each, 2) for each in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "java": find_java().major,
        "kafka": next(jar.version for jar in read_lock() if jar.name.startswith("kafka_")),
        "librdkafka": confluent_kafka.libversion()[0],
        "warren": warren.__version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
        # settings that the environment changes for the Warren under test
        "environment": {
            key: value for key, value in sorted(os.environ.items()) if key.startswith("BURROW_SPARK_")
        },
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
