"""Where the Spark that answers questions keeps its files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warren.config.sections import Spark
from warren.history.session import history_session
from warren.pipeline import session as spark
from warren.pipeline.temporary import temporary_directory


def test_a_killed_question_left_its_directory_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def started(settings: Spark, clusters: int) -> Any:
        Path(settings.checkpoint_dir, "spark.log").touch()
        return SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None))

    monkeypatch.setattr(spark, "spark_session", started)
    monkeypatch.setattr(spark, "stop", lambda _: None)
    with history_session({}):
        (used,) = tmp_path.iterdir()
        # another start removes what nobody uses: what a kill leaves, but not this
        other, lock = temporary_directory()
        assert set(tmp_path.iterdir()) == {used, other}
        os.close(lock)
        other.rmdir()
    assert list(tmp_path.iterdir()) == []
