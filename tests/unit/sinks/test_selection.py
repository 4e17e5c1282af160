"""Which tables and rows a sink gets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.sinks.samples import example_tables

from warren.config.modules import ParquetSink
from warren.sinks.selection import Selection
from warren.sinks.tables import Tables, joined

BOTH = joined([example_tables("east"), example_tables("west")])


def selected(**keys: Any) -> Tables:
    given = {key.replace("_", "-"): value for key, value in keys.items()}
    return Selection.of(ParquetSink.model_validate({"path": "x", **given})).applied(BOTH)


@pytest.mark.parametrize(
    ("level", "rows"),
    [("group", (4, 0, 0)), ("topic", (4, 8, 0)), ("partition", (4, 8, 6))],
)
def test_the_level_says_which_tables(level: str, rows: tuple[int, int, int]) -> None:
    assert tuple(table.num_rows for table in selected(level=level).named().values()) == (*rows, 0)


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        ({"cluster_allowlist": "^east$"}, (2, 4, 3)),
        ({"cluster_denylist": "east"}, (2, 4, 3)),
        ({"clusters_include": ["e*"]}, (2, 4, 3)),
        ({"clusters_exclude": ["e*", "x"]}, (2, 4, 3)),
        ({"group_allowlist": "^slow$"}, (2, 8, 4)),
        ({"group_denylist": "slow"}, (2, 8, 2)),
        ({"groups_include": ["s?ow"]}, (2, 8, 4)),
        ({"groups_include": ["slow", "fast"], "groups_exclude": ["f*"]}, (2, 8, 4)),
        ({"topic_allowlist": "clicks"}, (4, 2, 2)),
        ({"topic_denylist": "clicks"}, (4, 6, 4)),
        ({"topics_include": ["{clicks,views}"]}, (4, 2, 2)),
        ({"topics_exclude": ["[a-c]*"]}, (4, 6, 4)),
        ({"groups_include": ["nobody"]}, (0, 8, 0)),
    ],
    ids=str,
)
def test_lists_and_patterns_let_rows_through(keys: dict[str, Any], rows: tuple[int, int, int]) -> None:
    assert tuple(table.num_rows for table in selected(**keys).named().values()) == (*rows, 0)
