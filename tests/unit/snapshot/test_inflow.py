"""How fast messages come in, from the heads of the last minutes."""

from __future__ import annotations

import numpy as np

from warren.snapshot.inflow import SPAN_MS, STEP_MS, Inflow
from warren.snapshot.tables import HeadTable

T0 = 1_700_000_000_000


def heads(**by_topic: list[int]) -> HeadTable:
    rows = [(topic, number, head) for topic, values in by_topic.items() for number, head in enumerate(values)]
    # in no order
    rows.reverse()
    return HeadTable(
        [topic for topic, _, _ in rows],
        np.array([number for _, number, _ in rows], dtype=np.int32),
        np.array([head for _, _, head in rows], dtype=np.int64),
        np.ones(len(rows), dtype=np.bool_),
    )


def test_the_rate_is_that_of_each_partition_and_of_all() -> None:
    inflow = Inflow()
    inflow.take(T0, heads(orders=[100, 0, 50], other=[5]))
    rate = inflow.rate("orders", T0 + 20_000, heads(other=[500], orders=[300, 0, 60]))
    assert rate.by_partition == (10.0, 0.0, 0.5)
    assert (rate.total, rate.over_ms) == (10.5, 20_000)


def test_what_is_not_known_has_no_rate() -> None:
    inflow = Inflow()
    assert inflow.rate("orders", T0, heads(orders=[5])).by_partition == (None,)
    inflow.take(T0, heads(orders=[-1, 100, 7]))
    # a head that was not known, a topic that was made again, one that is not known now, a partition that is new
    rate = inflow.rate("orders", T0 + 10_000, heads(orders=[50, 20, -1, 9]))
    assert rate.by_partition == (None, None, None, None)
    assert rate.total is None
    # too soon for a rate
    assert inflow.rate("orders", T0 + 1000, heads(orders=[50, 200, 7])).total is None
    assert inflow.rate("unknown", T0 + 10_000, heads(orders=[1])).by_partition == ()


def test_the_rate_is_that_of_the_last_minutes_and_memory_is_bounded() -> None:
    inflow = Inflow()
    for number in range(100):
        at = T0 + number * 10_000
        if inflow.is_due(at):
            # the first half fast, the second slow
            inflow.take(at, heads(orders=[number * 1000 if number < 50 else 50_000 + number]))
    rate = inflow.rate("orders", T0 + 990_000, heads(orders=[50_099]))
    assert SPAN_MS - STEP_MS <= rate.over_ms <= SPAN_MS
    assert rate.total is not None
    assert 0 < rate.total < 0.2
    assert len(inflow._samples) <= SPAN_MS // STEP_MS + 1


def test_a_clock_that_was_set_back_begins_anew() -> None:
    inflow = Inflow()
    inflow.take(T0, heads(orders=[100]))
    assert inflow.is_due(T0 - 3_600_000)
    inflow.take(T0 - 3_600_000, heads(orders=[100]))
    assert inflow.rate("orders", T0 - 3_590_000, heads(orders=[200])).total == 10.0
