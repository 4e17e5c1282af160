"""Pictures of answers: any name, any format, and a plain error where matplotlib is missing."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from warren.history import pictures
from warren.history.answers import Answer, Column, Kind, Strip
from warren.history.period import Grid, Period
from warren.history.pictures import PictureError

GRID = Grid(1_794_787_200_000, 60_000, 5)
PERIOD = Period(GRID.origin_ms, GRID.begin_ms(5))
HOSTILE = "$\\frac{$</text><script>alert(1)</script> & \x1b[31m" + "long" * 20
STATUSES = ("OK", None, "WARN", "ERR", "OK")
VALUES = (0, None, 10, 2000, 5)


def groups(*names: str) -> Answer:
    columns = [
        Column("group", Kind.TEXT),
        *(
            Column(name, Kind.SECONDS)
            for name in ("ok_seconds", "warn_seconds", "err_seconds", "unknown_seconds")
        ),
        Column("ok_share", Kind.SHARE),
    ]
    rows = [(name, 120.0, 60.0, 60.0, 60.0, 0.5) for name in names]
    strips = [Strip(name, VALUES, STATUSES) for name in names]
    return Answer(f"Title {names[0]}", columns, rows, PERIOD, GRID, strips)


def of_sql() -> Answer:
    columns = [Column("time", Kind.TIME), Column("lag", Kind.ANY), Column("note", Kind.ANY)]
    return Answer("", columns, [(GRID.begin_ms(n), n * 2, "text") for n in range(5)])


DRAWN: dict[str, Callable[[Path], None]] = {
    "worst": lambda path: pictures.worst(groups(HOSTILE, "b"), path),
    "availability": lambda path: pictures.availability(groups(HOSTILE, "b"), path),
    "group": lambda path: pictures.group(groups(HOSTILE), path),
    "topic": lambda path: pictures.topic(groups(HOSTILE), groups(HOSTILE, "b"), path),
    "sql": lambda path: pictures.sql(of_sql(), path),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_of_hostile_names_is_a_picture_and_nothing_more(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.svg"
    DRAWN[name](path)
    root = ET.parse(path).getroot()
    assert root.tag.endswith("svg")
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    before = path.read_bytes()
    DRAWN[name](path)
    assert path.read_bytes() == before


def test_the_status_of_every_known_step_is_in_the_picture(tmp_path: Path) -> None:
    path = tmp_path / "worst.svg"
    pictures.worst(groups("a"), path)
    drawn = path.read_text()
    for status in STATUSES:
        assert pictures._COLOURS[status or ""] in drawn
    pictures.worst(Answer("", groups("a").columns, [("a", 1.0, 0.0, 0.0, 0.0, 1.0)], PERIOD, GRID,
                          [Strip("a", (1,) * 5, ("OK",) * 5)]), path)  # fmt: skip
    assert path.read_text().count(pictures._COLOURS["ERR"]) < drawn.count(pictures._COLOURS["ERR"])


def test_a_png_is_one(tmp_path: Path) -> None:
    path = tmp_path / "worst.PNG"
    pictures.worst(groups("a"), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_bars_of_a_query_are_not_too_many_to_read(tmp_path: Path) -> None:
    columns = [Column("group", Kind.ANY), Column("lag", Kind.ANY)]
    pictures.sql(Answer("", columns, [("a", 1), ("b", None)]), tmp_path / "a.svg")
    with pytest.raises(PictureError, match="LIMIT 40"):
        pictures.sql(Answer("", columns, [("a", 1)] * 41), tmp_path / "b.svg")
    with pytest.raises(PictureError, match="nothing to draw"):
        pictures.sql(Answer("", columns[:1], [("a",)]), tmp_path / "b.svg")


def test_a_wrong_name_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match=r"must end in \.png or \.svg"):
        pictures.check(tmp_path / "worst.gif")
    with pytest.raises(PictureError, match="there is no directory"):
        pictures.check(tmp_path / "nowhere" / "worst.png")
    pictures.check(tmp_path / "worst.png")


def test_without_matplotlib_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PictureError, match=r"pip install 'warren\[plot\]'"):
        pictures.check(tmp_path / "worst.png")
