"""Write the lock file of a Kafka version: every jar that its broker needs, with the checksum of its bytes.

.venv/bin/python tools/lock_jars.py 4.1.1
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

# Kafka logs through SLF4J 1.7 and leaves the binding to whoever runs it
LOGGING: Final = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")

WANTED: Final = """<ivy-module version="2.0">
  <info organisation="warren" module="lock"/>
  <dependencies defaultconfmapping="*->default">
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="{logging[0]}" name="{logging[1]}" rev="{logging[2]}" transitive="false"/>
  </dependencies>
</ivy-module>
"""


def lock(version: str) -> str:
    """Lines of `sha256  organisation:name:version`, sorted by name."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        (work / "ivy.xml").write_text(WANTED.format(version=version, logging=LOGGING))
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
    target = Path(jars.__file__).with_name(f"kafka-{sys.argv[1]}.lock")
    target.write_text(lock(sys.argv[1]))
