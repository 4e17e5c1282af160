"""What Spark says is kept from start to start, and never grows for ever."""

from __future__ import annotations

import os
from pathlib import Path

from warren.config.sections import Spark
from warren.pipeline.output import aside, bound, opened
from warren.pipeline.session import configuration


def test_a_start_does_not_empty_what_the_one_before_said(tmp_path: Path) -> None:
    log = tmp_path / "made" / "spark.log"
    for word in (b"why it ended\n", b"a new start\n"):
        descriptor = opened(log)
        os.write(descriptor, word)
        os.close(descriptor)
    assert log.read_text() == "why it ended\na new start\n"
    # what Spark says may name hosts and paths
    assert log.stat().st_mode & 0o007 == 0


def test_a_file_that_is_too_large_is_put_aside_under_those_who_write_to_it(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    descriptor = opened(log)
    for number in range(5):
        os.write(descriptor, b"%d " % number * 100)
        bound(log, max_bytes=150)
    os.write(descriptor, b"the end")
    os.close(descriptor)
    assert log.read_text() == "the end"
    assert aside(log).read_text() == "4 " * 100
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_is_not_there_is_no_fault(tmp_path: Path) -> None:
    bound(tmp_path / "spark.log")
    assert list(tmp_path.iterdir()) == []


def test_sparks_ports_on_this_machine_want_a_secret_unless_the_configuration_says_otherwise() -> None:
    assert configuration(Spark(master="local[2]"), 1)["spark.authenticate"] == "true"
    told = Spark(master="local[2]", conf={"spark.authenticate": "false"})
    assert configuration(told, 1)["spark.authenticate"] == "false"
    # elsewhere a secret has to be agreed upon first
    assert "spark.authenticate" not in configuration(Spark(master="spark://host:7077"), 1)
