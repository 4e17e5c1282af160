"""The Warren that is measured is configured as its users would."""

from __future__ import annotations

from pathlib import Path

from warren.bench.workload import CLUSTER, INTERVALS, Site, Sizes
from warren.config import examine


def test_the_configuration_is_right_and_every_warren_has_its_own(tmp_path: Path) -> None:
    where = Site("127.0.0.1:9092", tmp_path)
    found = [examine(where.warren_directory(), {}) for _ in range(2)]
    assert [each.problems for each in found] == [(), ()]
    first, second = (each.settings for each in found)
    assert first is not None
    assert second is not None
    assert first.spark.checkpoint_dir != second.spark.checkpoint_dir
    assert first.window.intervals == INTERVALS
    assert list(first.consumers_of(CLUSTER)) == [CLUSTER]


def test_sizes_multiply_to_windows() -> None:
    sizes = Sizes(groups=20, partitions=5)
    assert sizes.windows == sizes.shape.windows == 100
