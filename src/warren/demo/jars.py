"""Java archives by name: fetched with PySpark's Ivy, checked against a lock file, kept in a cache."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from warren.cache import cache_directory, locked
from warren.errors import WarrenError
from warren.java import Java, find_java

KAFKA_LOCK: Final = Path(__file__).with_name("kafka-4.1.1.lock")

# An Ivy settings file for machines that use a mirror instead of Maven Central.
SETTINGS_VARIABLE: Final = "WARREN_IVY_SETTINGS"

# Every archive is named in the lock file, so no POM is read: one request per archive instead of five.
SETTINGS: Final = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""

PLACE: Final = "[organisation]/[artifact]-[revision].[ext]"

# called with the number of archives fetched and the total
OnProgress = Callable[[int, int], None]


class JarError(WarrenError):
    """An archive could not be fetched, or is not the one in the lock file."""


@dataclass(frozen=True)
class Jar:
    """One archive: its Maven coordinates and the checksum of its bytes."""

    sha256: str
    organisation: str
    name: str
    version: str
    # the end of its file name: jar, or zip for a whole distribution
    kind: str = "jar"

    @property
    def relative_path(self) -> Path:
        """Its path below the cache's `jars`."""
        return Path(self.organisation, f"{self.name}-{self.version}.{self.kind}")

    @property
    def coordinates(self) -> str:
        """organisation:name:version."""
        return f"{self.organisation}:{self.name}:{self.version}"


def read_lock(path: Path = KAFKA_LOCK) -> tuple[Jar, ...]:
    """The archives of a lock file: lines of `sha256  organisation:name:version`, with `:zip` behind for a zip."""
    rows = (
        line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")
    )
    return tuple(Jar(sha256, *coordinates.split(":")) for sha256, coordinates in rows)


def ensure_jars(
    java: Java, jars: Sequence[Jar], console: Console | None = None, *, what: str = "Kafka"
) -> tuple[Path, ...]:
    """The archives' paths in the cache, each verified; fetches what is missing or damaged, showing progress.

    Safe to call from many processes at once: one fetches, the others wait for it.
    """
    console = console or Console(stderr=True)
    directory = cache_directory() / "jars"
    if _damaged(directory, jars):

        def print_waiting() -> None:
            console.print(f"Another process is fetching the {what} jars: waiting for it.")

        with locked(directory.with_name("jars.lock"), print_waiting):
            if damaged := _damaged(directory, jars):
                _fetch_with_progress(java, damaged, directory, console, what)
    return tuple(directory / jar.relative_path for jar in jars)


def _damaged(directory: Path, jars: Iterable[Jar]) -> tuple[Jar, ...]:
    """Those that are not in the directory with the right bytes."""
    return tuple(jar for jar in jars if _sha256(directory / jar.relative_path) != jar.sha256)


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _fetch_with_progress(
    java: Java, jars: Sequence[Jar], directory: Path, console: Console, what: str
) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jars"),
        TimeElapsedColumn(),
    )
    if not console.is_terminal:
        # in a log file the bar is one line at the end: print the reason of the wait before it
        console.print(f"Fetching {what}: {len(jars)} jars, once.")
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"Fetching {what}, once", total=len(jars))
        fetch_jars(
            java, jars, directory, lambda done, total: progress.update(task, completed=done, total=total)
        )


def fetch_jars(java: Java, jars: Sequence[Jar], directory: Path, on_progress: OnProgress) -> None:
    """Fetch the archives with Ivy, verify them, and move each into the directory in one step."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
        work = Path(scratch)
        output = _run_ivy(java, jars, work, on_progress)
        for jar in jars:
            fetched = work / "got" / jar.relative_path
            actual = _sha256(fetched)
            if actual is None:
                raise JarError(
                    f"{jar.coordinates} could not be fetched from Maven Central: check the network"
                    f" (for a mirror, set {SETTINGS_VARIABLE} to an Ivy settings file).{_reason(output)}"
                )
            if actual != jar.sha256:
                raise JarError(
                    f"{jar.coordinates} has the checksum {actual} where {jar.sha256} was expected, so it was"
                    " not used: it is damaged or not the original; try again from another network."
                )
            target = directory / jar.relative_path
            target.parent.mkdir(parents=True, exist_ok=True)
            fetched.replace(target)


def _run_ivy(java: Java, jars: Sequence[Jar], work: Path, on_progress: OnProgress) -> str:
    settings = os.environ.get(SETTINGS_VARIABLE)
    if not settings:
        settings = str(work / "settings.xml")
        Path(settings).write_text(SETTINGS)
    (work / "ivy.xml").write_text(_wanted(jars))
    command: list[str] = [
        *(str(java.path), *_proxy_options(os.environ), f"-Divy.default.ivy.user.dir={work}/user"),
        *(
            "-jar",
            str(ivy()),
            "-settings",
            settings,
            "-cache",
            str(work / "cache"),
            "-ivy",
            str(work / "ivy.xml"),
        ),
        *("-confs", "default", "-retrieve", f"{work}/got/{PLACE}"),
    ]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as fetching:
        done = 0
        for line in fetching.stdout or ():
            lines.append(line)
            if "[SUCCESSFUL ]" in line:
                done += 1
                on_progress(done, len(jars))
    return "".join(lines)


def _wanted(jars: Iterable[Jar]) -> str:
    """The Ivy file that lists what to fetch: exactly these, without dependencies."""
    rows = "\n".join(
        f"    <dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)}"
        f' rev={quoteattr(jar.version)} transitive="false">'
        f"<artifact name={quoteattr(jar.name)} type={quoteattr(jar.kind)} ext={quoteattr(jar.kind)}/></dependency>"
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="warren" module="jars"/>\n'
        f"  <dependencies>\n{rows}\n  </dependencies>\n</ivy-module>\n"
    )


def ivy() -> Path:
    """The Ivy inside PySpark."""
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise JarError("The Ivy jar is missing from PySpark: install pyspark again from its wheel.")
    return found[-1]


def _proxy_options(environ: Mapping[str, str]) -> list[str]:
    """HTTPS_PROXY as Java options; Java does not read the variable."""
    proxy = urlsplit(environ.get("HTTPS_PROXY") or environ.get("https_proxy") or "")
    if not proxy.hostname:
        return []
    return [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}"]


def _reason(output: str) -> str:
    """The line of Ivy's output with the cause, if there is one."""
    match = re.search(
        r"^.*(?:UnknownHost|Connect|SSL|Socket|timed out|Server access Error).*$", output, re.MULTILINE
    )
    return f" Ivy reports: {match.group(0).strip()}" if match else ""


if __name__ == "__main__":
    # for tools/setup: fetch everything while there is a network; arguments: lock files of servers that tests need
    try:
        ensure_jars(find_java(), read_lock())
        for each in sys.argv[1:]:
            ensure_jars(find_java(), read_lock(Path(each)), what="servers for the tests")
    except WarrenError as problem:
        sys.exit(str(problem))
