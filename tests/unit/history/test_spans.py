"""How long a sample counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from warren.history.period import Grid, Period
from warren.history.spans import TIME, ends, intervals, moments_table, spans_table

DAY = 86_400_000


def times(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def moments(**clusters: list[int]) -> pa.Table:
    rows = [(cluster, at) for cluster, held in clusters.items() for at in held]
    return pa.table(
        {
            "cluster": pa.array([cluster for cluster, _ in rows]),
            "time": pa.array([at for _, at in rows], pa.int64()).cast(TIME),
        }
    )


def test_a_sample_counts_until_the_next_one() -> None:
    end, joined = ends(times(0, 10_000, 20_000), 25_000)
    assert end.tolist() == [10_000, 20_000, 25_000]
    assert joined.tolist() == [True, True, False]


def test_a_hole_counts_as_unknown_after_three_intervals() -> None:
    end, joined = ends(times(0, 10_000, 20_000, 600_000, 610_000), 1_000_000)
    assert end.tolist() == [10_000, 20_000, 50_000, 610_000, 640_000]
    assert joined.tolist() == [True, True, False, True, False]


def test_one_missing_sample_is_no_hole() -> None:
    end, joined = ends(times(0, 10_000, 30_000, 40_000), 50_000)
    assert end.tolist() == [10_000, 30_000, 40_000, 50_000]
    assert joined.tolist() == [True, True, True, False]


def test_a_single_sample_counts_for_three_default_intervals() -> None:
    end, _ = ends(times(5000), DAY)
    assert end.tolist() == [35_000]


def test_two_samples_days_apart_do_not_make_an_interval_of_days() -> None:
    end, _ = ends(times(0, 2 * DAY), 3 * DAY)
    assert end[0] == 3 * 3_600_000


def test_each_day_has_its_own_interval() -> None:
    """Somebody changed the sink's interval from 60 s to 10 s."""
    slow, fast = np.arange(0, DAY, 60_000), np.arange(DAY, 2 * DAY, 10_000)
    found = intervals(np.concatenate([slow, fast]))
    assert set(found[: len(slow)].tolist()) == {60_000}
    assert set(found[len(slow) :].tolist()) == {10_000}


def test_a_sample_is_divided_among_the_steps_that_it_reaches_into() -> None:
    table = spans_table(moments(east=[0, 10_000, 20_000]), Period(0, 24_000), Grid(0, 4000, 6))
    found = [(row["time"].timestamp(), row["step"], row["seconds"]) for row in table.to_pylist()]
    assert found == [
        (0, 0, 4),
        (0, 1, 4),
        (0, 2, 2),
        (10, 2, 2),
        (10, 3, 4),
        (10, 4, 4),
        (20, 5, 4),
    ]


def test_clusters_are_apart() -> None:
    held = moments(east=[0, 10_000], west=[5000, 15_000, 25_000])
    table = moments_table(held, Period(0, 30_000))
    found = [(row["cluster"], row["seconds"], row["next"] is None) for row in table.to_pylist()]
    assert found == [
        ("east", 10, False),
        ("east", 20, True),
        ("west", 10, False),
        ("west", 10, False),
        ("west", 5, True),
    ]


def test_a_moment_that_is_listed_twice_counts_once() -> None:
    table = moments_table(moments(east=[0, 0, 10_000]), Period(0, 20_000))
    assert table.column("seconds").to_pylist() == [10, 10]
