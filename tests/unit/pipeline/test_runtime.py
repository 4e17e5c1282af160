"""What Spark runs from: a home without zips, and an archive only when there is one."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from warren.pipeline import runtime


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARREN_CACHE", str(tmp_path / "cache"))


def test_the_home_has_spark_and_no_zips() -> None:
    home = runtime.spark_home()
    assert (home / "bin/spark-submit").exists()
    assert list((home / "jars").glob("spark-sql_*.jar"))
    assert not list(home.rglob("pyspark.zip"))
    assert runtime.spark_home() == home


def test_a_home_that_root_has_made_can_be_used_by_others() -> None:
    assert runtime.spark_home().stat().st_mode & 0o055 == 0o055


def test_two_processes_may_make_the_home_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    home = runtime.spark_home()
    # as if it had not been there when this one looked
    monkeypatch.setattr(Path, "exists", lambda self: self != home and self.is_file())
    assert runtime.spark_home() == home
    assert sorted(path.name for path in home.parent.iterdir()) == [home.name]


def test_java_gets_the_archive_only_when_there_is_one() -> None:
    assert runtime.java_options() == ""
    runtime.archive_path().write_bytes(b"")
    assert f"-XX:SharedArchiveFile={runtime.archive_path()}" in runtime.java_options()


def test_another_spark_has_another_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    before = runtime.archive_path()
    monkeypatch.setattr(pyspark, "__version__", "9.9.9")
    assert runtime.archive_path() != before


def test_what_somebody_has_set_stays() -> None:
    environ = {"SPARK_HOME": "elsewhere"}
    runtime.environment(environ)
    assert environ["SPARK_HOME"] == "elsewhere"
    assert environ["PYSPARK_PYTHON"]
