"""Finds the Java that Spark and the broker run on, and checks its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warren.errors import WarrenError

# Spark 4 and Kafka 4 are both compiled for it
OLDEST: Final = 17

REMEDY: Final = (
    "install it (on Debian or Ubuntu: apt-get install openjdk-17-jre-headless) or point JAVA_HOME at one"
)


class JavaError(WarrenError):
    """There is no Java that Warren can use."""


@dataclass(frozen=True)
class Java:
    """One Java to run things with."""

    path: Path
    major: int


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """JAVA_HOME's Java, or else the first on the PATH; raises JavaError when it is not 17 or newer."""
    path = _java_path(os.environ if environ is None else environ)
    major = _major(path)
    if major < OLDEST:
        raise JavaError(f"Java {OLDEST} or newer is needed and {path} is Java {major}: {REMEDY}.")
    return Java(path, major)


def _java_path(environ: Mapping[str, str]) -> Path:
    home = environ.get("JAVA_HOME")
    if home:
        path = Path(home, "bin", "java")
        if not os.access(path, os.X_OK):
            raise JavaError(
                f"Java {OLDEST} or newer is needed and JAVA_HOME ({home}) has no bin/java: "
                "unset it, or point it at a Java that is installed."
            )
        return path
    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    if found is None:
        raise JavaError(f"Java {OLDEST} or newer is needed and none was found: {REMEDY}.")
    return Path(found)


def _major(path: Path) -> int:
    """17 of `version "17.0.15"`, 8 of `version "1.8.0_402"`."""
    try:
        asked = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=False)
        answer = asked.stderr + asked.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        answer = str(error)
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    if match is None:
        output = answer.strip().splitlines()
        raise JavaError(
            f"Java {OLDEST} or newer is needed and {path} does not print its version "
            f"({output[0] if output else 'no output'}): {REMEDY}."
        )
    return int(match.group(1))


if __name__ == "__main__":
    # for tools/setup, before anything else is installed
    try:
        find_java()
    except JavaError as error:
        sys.exit(str(error))
