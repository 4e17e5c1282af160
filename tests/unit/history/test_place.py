"""Which history is meant."""

from __future__ import annotations

import pytest

from warren.config import Settings
from warren.config.modules import KafkaSink, ParquetSink
from warren.history.place import PlaceError, place

KAFKA = KafkaSink(servers=("localhost:9092",), topic="lag")


def test_the_only_parquet_sink_is_meant() -> None:
    settings = Settings(sink={"out": KAFKA, "history": ParquetSink(path="/data/history")})
    assert place(settings, None) == place(settings, "history") == "/data/history"


def test_of_several_one_is_named() -> None:
    settings = Settings(sink={"short": ParquetSink(path="a"), "long": ParquetSink(path="b")})
    assert place(settings, "long") == "b"
    with pytest.raises(PlaceError, match=r"several parquet sinks \(short, long\)"):
        place(settings, None)
    with pytest.raises(PlaceError, match="did you mean short"):
        place(settings, "shorty")


def test_without_a_parquet_sink_there_is_no_history() -> None:
    with pytest.raises(PlaceError, match="no sink of class parquet"):
        place(Settings(sink={"out": KAFKA}), None)
