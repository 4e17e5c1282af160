"""A real Elasticsearch or OpenSearch for tests, on a port of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from tests.processes import eventually, kill_session

from warren.demo import keeper
from warren.demo.jars import Jar, ensure_jars, read_lock
from warren.demo.ports import free_port
from warren.java import find_java

HOST: Final = "127.0.0.1"
LOCK: Final = Path(__file__).with_name("servers.lock")
PATIENCE_S: Final = 120.0
# both refuse to run as root
UNPRIVILEGED: Final = "nobody"
# the one user of an Elasticsearch; whoever gives no login at all may do everything, too
USER: Final = "warren"
PASSWORD: Final = "lag-of-the-day"
_USERS: Final = f"{USER}:$2a$10$KeHVz8wUZuPQqzHyXYRKlOSlXGSmj2yY.Ox4jrdHFsMKkRsDiAuDS\n"

_SETTINGS: Final = """
cluster.name: tests
discovery.type: single-node
http.host: {host}
http.port: {port}
transport.host: {host}
transport.port: 0
# tests run on disks of all kinds
cluster.routing.allocation.disk.threshold_enabled: false
"""
_LOGINS: Final = """
xpack.security.enabled: true
xpack.security.authc.anonymous.username: anybody
xpack.security.authc.anonymous.roles: superuser
"""


class SearchServer:
    """Runs between `with` and its end; can be stopped and started again, with the same address and data."""

    def __init__(self, jar: Jar) -> None:
        self.product, self.version = jar.name, jar.version
        port = free_port(HOST)
        self.url = f"http://{HOST}:{port}"
        self._folder = Path(tempfile.mkdtemp(prefix=f"warren-{jar.name}-"))
        self._process: subprocess.Popen[bytes] | None = None
        (archive,) = ensure_jars(find_java(), (jar,), what="servers for the tests")
        with zipfile.ZipFile(archive) as content:
            content.extractall(self._folder)
        (self._home,) = self._folder.iterdir()
        config = self._home / "config"
        settings = _SETTINGS.format(host=HOST, port=port)
        if self.product == "elasticsearch":
            settings += _LOGINS
            (config / "users").write_text(_USERS)
            (config / "users_roles").write_text(f"superuser:{USER}\n")
        (config / f"{self.product}.yml").write_text(settings)
        # small, and quick to start
        (config / "jvm.options").write_text(
            f"-Xms512m\n-Xmx512m\n-XX:+UseSerialGC\n-XX:TieredStopAtLevel=1\n-Djava.io.tmpdir={self._folder}/tmp\n"
        )
        for script in (self._home / "bin").iterdir():
            script.chmod(0o755)
        (self._folder / "tmp").mkdir()
        if os.geteuid() == 0:
            for path in (self._folder, *self._folder.rglob("*")):
                shutil.chown(path, UNPRIVILEGED)

    def start(self) -> None:
        """Returns when it answers."""
        drop: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam(UNPRIVILEGED)
            drop = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, keeper.__file__, str(os.getpid()), str(self._folder)),
                    *(*drop, str(self._home / "bin" / self.product)),
                ],
                env=self._environment(),
                cwd=self._home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )
        running = eventually(self._answers, PATIENCE_S, 0.1)
        assert running, f"{self.product} does not answer:\n{log.read_text()[-4000:]}"

    def stop(self) -> None:
        """At once, as when the machine fails; what it has confirmed is on its disk."""
        if self._process is not None:
            kill_session(self._process.pid)
            self._process.communicate()
            self._process = None

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """An answer's JSON; whatever goes wrong fails."""
        answer = httpx.request(method, f"{self.url}/{path}", json=body, timeout=60)
        assert answer.is_success, answer.text
        return answer.json()

    def documents(self, index: str, **query: Any) -> list[dict[str, Any]]:
        """Everything that was written to the indices (`*` may stand in their name) up to now, at most 10,000."""
        self.request("POST", f"{index}/_refresh")
        found = self.request("POST", f"{index}/_search", {"size": 10_000} | query)
        return [hit["_source"] for hit in found["hits"]["hits"]]

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError((self._folder / "log").read_text()[-4000:])
        try:
            # shards of a former run are there, too
            answer = httpx.get(f"{self.url}/_cluster/health?wait_for_status=yellow", timeout=30)
        except httpx.HTTPError:
            return False
        return answer.is_success

    def _environment(self) -> dict[str, str]:
        prefix = "ES" if self.product == "elasticsearch" else "OPENSEARCH"
        return {
            "PATH": os.environ["PATH"],
            f"{prefix}_JAVA_HOME": str(find_java().path.resolve().parent.parent),
            f"{prefix}_TMPDIR": str(self._folder / "tmp"),
        }

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def search_server(product: str) -> SearchServer:
    """`elasticsearch` or `opensearch`, in the version of the lock file."""
    return SearchServer(next(jar for jar in read_lock(LOCK) if jar.name == product))
