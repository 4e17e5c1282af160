"""The setup of the benchmarks: a broker, millions of commits, and the configuration of the measured Warren."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from warren.bench.line import Child
from warren.demo.broker import Broker
from warren.demo.commit_records import Shape

CLUSTER: Final = "bench"
# entries of a window, the default of the configuration
INTERVALS: Final = 10
# triggers that Spark keeps the progress of: more than in any benchmark
_TRIGGERS: Final = 1_000

# the step, how much of it is done, of how much; None: not known
Tell = Callable[[str, float, float | None], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many groups commit for how many partitions, through how many partitions of the offsets topic."""

    groups: int = 2_000
    partitions: int = 50
    offsets_partitions: int = 50

    @property
    def windows(self) -> int:
        return self.groups * self.partitions

    @property
    def shape(self) -> Shape:
        return Shape(self.groups, self.partitions, offsets_partitions=self.offsets_partitions)

    def to_dict(self) -> dict[str, int]:
        return {**asdict(self), "windows": self.windows}


DEFAULT_SIZES: Final = Sizes()


@dataclass(frozen=True, slots=True)
class Site:
    """A running broker, and a temporary directory, deleted at the end of the benchmark."""

    servers: str
    directory: Path

    def warren_directory(
        self,
        min_distance_s: int | None = None,
        sinks: Mapping[str, Any] | None = None,
        clusters: int = 1,
        others: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Path:
        """A new directory with a configuration, without a checkpoint; `clusters`: the broker under so many names;
        `others`: further ones by name, each with its `servers`, and its `sasl` if it needs a login."""
        directory = Path(tempfile.mkdtemp(prefix="warren-", dir=self.directory))
        configuration = _configuration(self.servers, directory)
        for name in cluster_names(clusters)[1:]:
            configuration["cluster"][name] = configuration["cluster"][CLUSTER]
            configuration["consumer"][name] = {**configuration["consumer"][CLUSTER], "cluster": name}
        for name, other in (others or {}).items():
            profile = {}
            if "sasl" in other:
                configuration.setdefault("sasl", {})[name] = other["sasl"]
                configuration.setdefault("client-profile", {})[name] = {"sasl": name}
                profile = {"client-profile": name}
            module = {"class-name": "kafka", "servers": [other["servers"]], **profile}
            configuration["cluster"][name] = module
            configuration["consumer"][name] = {
                **configuration["consumer"][CLUSTER],
                **module,
                "cluster": name,
            }
        if min_distance_s is not None:
            configuration["storage"] = {"default": {"class-name": "inmemory", "min-distance": min_distance_s}}
        if sinks:
            configuration["sink"] = sinks
        (directory / "burrow.json").write_text(json.dumps(configuration))
        return directory


def cluster_names(count: int) -> list[str]:
    """What the broker is called when it stands for so many clusters."""
    return [CLUSTER, *(f"{CLUSTER}-{number}" for number in range(2, count + 1))]


@contextmanager
def site(tell: Tell) -> Iterator[Site]:
    """An empty broker."""
    directory = Path(tempfile.mkdtemp(prefix="warren-bench-"))
    try:
        tell("start Kafka", 0, None)
        # an ordinary topic holds the commits, so the broker's own needs one partition only
        with Broker(data=directory / "kafka", offsets_partitions=1, heap_mb=768, optimize=True) as broker:
            tell("start Kafka", 1, 1)
            yield Site(broker.bootstrap_servers, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def start_writer(where: Site, sizes: Sizes, interval_ms: int) -> Child:
    """A process that writes the commits; `interval_ms`: between two commits of a window."""
    task = {"servers": where.servers, "shape": asdict(sizes.shape), "interval_ms": interval_ms}
    return Child("warren.bench.writer", task, where.directory)


def fill(child: Child, commits: int, tell: Tell) -> float:
    """Write this number of commits; returns the seconds that it took."""
    child.ask("write", commits=commits)
    written = child.hear("written", other=lambda event: tell("write commits", event["done"], commits))
    tell("write commits", commits, commits)
    return float(written["seconds"])


def _configuration(servers: str, directory: Path) -> dict[str, Any]:
    return {
        "logging": {"level": "warn"},
        "httpserver": {"default": {"address": "127.0.0.1:0"}},
        # every commit gets its own slot, so that each commit changes a window
        "storage": {"default": {"class-name": "inmemory", "min-distance": 0}},
        "cluster": {CLUSTER: {"class-name": "kafka", "servers": [servers]}},
        "consumer": {
            CLUSTER: {
                "class-name": "kafka",
                "cluster": CLUSTER,
                "servers": [servers],
                "offsets-topic": Shape().offsets_topic,
            }
        },
        "spark": {
            "checkpoint-dir": str(directory / "checkpoint"),
            "conf": {"spark.sql.streaming.numRecentProgressUpdates": str(_TRIGGERS)},
        },
    }
