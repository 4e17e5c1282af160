"""Spark's home and class archive, created once in the user's cache: they halve the time of a start.

Spark puts a zip of its Python half before the installed package, and Python compiles a zip's modules again in each of
the dozen processes that a query starts: a home without the zips saves about 0.7 s in each. Java reads and checks
15,000 classes at each start: an archive of them, made by Java itself, halves the time to the first job.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pyspark

from warren.cache import cache_directory, locked
from warren.java import find_java

# what a home must have; not `python`, where the zips are
_PARTS: Final = ("bin", "jars", "sbin")


def spark_home() -> Path:
    """A home for Spark: links to the installed package's parts."""
    installed = Path(pyspark.__file__).parent
    home = cache_directory() / f"spark-{pyspark.__version__}-{_digest(str(installed))}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=home.parent, prefix="spark-home-"))
        # who installs and who runs Warren may be two users
        draft.chmod(0o755)
        for part in _PARTS:
            (draft / part).symlink_to(installed / part)
        try:
            draft.rename(home)
        except OSError:
            # another process created it first
            for part in _PARTS:
                (draft / part).unlink()
            draft.rmdir()
    return home


def java_options() -> str:
    """Options that make Java use the archive of classes; none while there is no archive."""
    archive = archive_path()
    # a Java that cannot use the archive starts without it
    return f"-Xshare:auto -XX:SharedArchiveFile={archive}" if archive.exists() else ""


def archive_path() -> Path:
    """The archive for this Java and this Spark."""
    java = find_java()
    stamp = f"{java.path.resolve()} {java.path.resolve().stat().st_mtime_ns} {spark_home()}"
    return cache_directory() / f"classes-{pyspark.__version__}-{_digest(stamp)}.jsa"


def make_archive() -> None:
    """Make the archive by running a small query of the kind that Warren runs; takes half a minute, once."""
    archive = archive_path()
    with locked(archive.with_suffix(".lock")):
        if archive.exists():
            return
        with tempfile.TemporaryDirectory(prefix="warren-classes-", dir=archive.parent) as directory:
            draft = Path(directory, "classes.jsa")
            subprocess.run(
                [sys.executable, "-m", "warren.pipeline.rehearsal", str(draft)],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=300,
            )
            draft.rename(archive)


def environment(environ: Any) -> None:
    """Set Spark's environment variables, unless they are set already."""
    environ.setdefault("SPARK_HOME", str(spark_home()))
    # the workers run the same Python as this process
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # glibc gives each of Java's 260 threads a heap of its own; with two for all of them everything together takes
    # 1.07 GiB instead of 1.14 with 100,000 windows
    environ.setdefault("MALLOC_ARENA_MAX", "2")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    # for the set-up; a start without the archive is only slower
    environment(os.environ)
    if not archive_path().exists():
        sys.stderr.write("Preparing Spark, once: about half a minute.\n")
        make_archive()
