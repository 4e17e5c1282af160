"""The demo from the outside, as a person stops it; that it judges every group is tested with the README's commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from tests.processes import alive, eventually

WARREN = [sys.executable, "-m", "warren.cli.main"]
# a machine that does other things too
PATIENCE_S = 240.0


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output:
        demo = subprocess.Popen(
            [*WARREN, "demo", "--port", "0"],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_wide(),
            start_new_session=True,
        )
    shown = tmp_path / "output"
    assert eventually(lambda: b"http://127.0.0.1:" in shown.read_bytes(), PATIENCE_S), shown.read_text()
    started = psutil.Process(demo.pid).children(recursive=True)
    assert any("java" in each.name() for each in started)
    # a terminal sends it to all processes of the group
    os.killpg(demo.pid, signal.SIGINT)
    # seconds on an idle machine
    demo.wait(timeout=60)
    assert demo.returncode == 0
    assert eventually(lambda: not any(alive(each.pid) for each in started), 10)
    assert "Traceback" not in shown.read_text()


def _wide() -> dict[str, str]:
    return os.environ | {"COLUMNS": "160", "PYTHONUNBUFFERED": "1"}
