"""Readers keep still while a snapshot is made, and not for ever."""

from __future__ import annotations

import threading

import pytest
from tests.processes import eventually

from warren.pipeline.making import Making


class Reader(threading.Thread):
    """Waits once."""

    def __init__(self, making: Making) -> None:
        super().__init__(daemon=True)
        self._making = making
        self.start()

    def run(self) -> None:
        self._making.wait_out()


def test_nobody_waits_when_nothing_is_made() -> None:
    # a clock that must not be asked
    Making(clock=lambda: 1 / 0).wait_out()


def test_readers_wait_until_the_last_one_is_done() -> None:
    making = Making(patience_s=3600.0)
    with making:
        with making:
            reader = Reader(making)
        reader.join(0.05)
        assert reader.is_alive()
    assert eventually(lambda: not reader.is_alive(), 10)


def test_patience_is_counted_from_the_beginning_of_the_making() -> None:
    now = [0.0]
    making = Making(clock=lambda: now[0])
    with making:
        now[0] = 1.0
        reader = Reader(making)
        assert eventually(lambda: not reader.is_alive(), 10)


def test_a_snapshot_that_fails_holds_nobody_up() -> None:
    making = Making(patience_s=3600.0)
    with pytest.raises(ValueError, match="broken"), making:
        raise ValueError("broken")
    reader = Reader(making)
    assert eventually(lambda: not reader.is_alive(), 10)
