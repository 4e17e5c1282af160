"""A configuration with hooks that a receiver reads back, and notifiers that run from it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.receivers.http import HttpReceiver, Received

from warren.common.status import Status
from warren.config import Settings, load

_TEMPLATE: Final = "{{.ID}} {{.Start.Unix}} {{.Group}} {{.Result.Status}}"
_ROOT: Final = Path(__file__).parents[3]


class Stage:
    """A directory with `burrow.toml`, templates and a scene; `hooks`: module: its further settings."""

    def __init__(
        self,
        folder: Path,
        receivers: Mapping[str, HttpReceiver],
        hooks: Mapping[str, str] | None = None,
        *,
        zookeeper: str = "",
        session_s: int = 2,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.receivers = receivers
        (folder / "open.tmpl").write_text(f"open {_TEMPLATE}")
        (folder / "close.tmpl").write_text(f"close {_TEMPLATE}")
        lines = [
            '[cluster.local]\nservers = ["127.0.0.1:9"]',
            f'[spark]\ncheckpoint-dir = "{folder}/checkpoint"',
            *(self._hook(name, (hooks or {}).get(name, "")) for name in receivers),
        ]
        if zookeeper:
            lines.append(f'[zookeeper]\nservers = ["{zookeeper}"]\ntimeout = {session_s}\nroot-path = "/w"')
        self.file = folder / "burrow.toml"
        self.file.write_text("\n".join(lines))
        self.scene = folder / "scene.json"
        self.show()

    def settings(self) -> Settings:
        return load(self.file, {})

    def show(self, **statuses: Status) -> None:
        """What children see from now on."""
        new = self.scene.with_suffix(".new")
        new.write_text(json.dumps({name: status.name for name, status in statuses.items()}))
        new.replace(self.scene)

    def child(self, name: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{name}.log").open("wb")
        with log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.integration.notifier.child",
                    str(self.file),
                    str(self.scene),
                    name,
                ],
                cwd=_ROOT,
                stdout=log,
                stderr=log,
            )

    def _hook(self, name: str, further: str) -> str:
        return f"""
[notifier.{name}]
class-name = "http"
interval = 1
send-interval = 3600
send-close = true
timeout = 1
url-open = "{self.receivers[name].url}/{name}"
url-close = "{self.receivers[name].url}/{name}"
template-open = "{self.folder}/open.tmpl"
template-close = "{self.folder}/close.tmpl"
{further}
"""


def words(requests: Sequence[Received]) -> list[str]:
    """What was told, without the incident: `open payments ERR`."""
    return [
        " ".join(part for at, part in enumerate(each.text.split()) if at not in {1, 2}) for each in requests
    ]


def incidents(requests: Sequence[Received]) -> set[str]:
    """The incidents that were told of: id and start."""
    return {" ".join(each.text.split()[1:3]) for each in requests}
