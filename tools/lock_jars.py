"""Write the lock file of a Kafka version: every jar that its broker needs, with the checksum of its bytes.

.venv/bin/python tools/lock_jars.py 4.1.1
.venv/bin/python tools/lock_jars.py 2.1.1 tests
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from warren.demo import jars
from warren.java import find_java

# Kafka logs through SLF4J 1.7 and leaves the binding to whoever runs it; before 1.0 it brings one
BINDING: Final = """    <dependency org="{0}" name="{1}" rev="{2}" transitive="false"/>
"""
LOG4J: Final = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")
SIMPLE: Final = ("org.slf4j", "slf4j-simple", "1.7.36")
# the next one, which Kafka 1.1 to 2.3 bring, connects to nobody on Java 14 and newer
OVERRIDE: Final = """  <override org="org.apache.zookeeper" module="zookeeper" matcher="exact" rev="3.4.12"/>
  """

WANTED: Final = """<ivy-module version="2.0">
  <info organisation="warren" module="lock"/>
  <dependencies defaultconfmapping="*->default">
    <dependency org="org.apache.kafka" name="kafka_{scala}" rev="{version}"/>
{binding}  {override}</dependencies>
</ivy-module>
"""


def release(version: str) -> tuple[int, ...]:
    """A version as numbers."""
    return tuple(int(part) for part in version.split("."))


def scala(version: str) -> str:
    """The newest Scala that all versions of a time were built with."""
    return "2.13" if release(version) >= (2, 4) else "2.11"


def binding(version: str) -> str:
    """The binding of SLF4J that a version needs, if any."""
    if release(version) < (1, 0):
        return ""
    return BINDING.format(*(LOG4J if release(version) >= (4, 0) else SIMPLE))


def override(version: str) -> str:
    """A ZooKeeper client that works, where the version's own does not."""
    return OVERRIDE if (1, 1) <= release(version) < (2, 4) else ""


def lock(version: str) -> str:
    """Lines of `sha256  organisation:name:version`, sorted by name."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        (work / "ivy.xml").write_text(
            WANTED.format(
                version=version, scala=scala(version), binding=binding(version), override=override(version)
            )
        )
        (work / "settings.xml").write_text(jars.SETTINGS.replace(' usepoms="false"', ""))
        subprocess.run(
            [
                *(
                    find_java().path,
                    "-jar",
                    jars.ivy(),
                    "-settings",
                    work / "settings.xml",
                    "-cache",
                    work / "cache",
                ),
                *("-ivy", work / "ivy.xml", "-confs", "default", "-types", "jar", "bundle"),
                *("-retrieve", f"{work}/got/[organisation]/[artifact]/[revision].[ext]"),
            ],
            check=True,
            stdout=sys.stderr,
        )
        rows = [
            (
                path.parent.parent.name,
                path.parent.name,
                path.stem,
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )
            for path in (work / "got").glob("*/*/*.jar")
        ]
    return "".join(f"{sha256}  {':'.join(name)}\n" for *name, sha256 in sorted(rows))


if __name__ == "__main__":
    directory = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(jars.__file__).parent
    target = directory / f"kafka-{sys.argv[1]}.lock"
    target.write_text(lock(sys.argv[1]))
