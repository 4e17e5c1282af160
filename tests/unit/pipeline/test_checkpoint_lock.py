"""One instance in a checkpoint directory: a second one waits, then says what to do."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from warren.pipeline.checkpoint_lock import CheckpointLockError, lock_checkpoint


def test_a_second_instance_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "made" / "checkpoint"
    first = lock_checkpoint(directory, threading.Event())
    with first, capture_logs() as logged, pytest.raises(CheckpointLockError) as error:
        lock_checkpoint(directory, threading.Event(), patience_s=0)
    assert str(error.value) == (
        f"The checkpoint directory {directory} is in use by another instance of Warren: stop that one, or give this"
        " one a spark.checkpoint-dir of its own."
    )
    assert [line["event"] for line in logged] == [
        "waiting for another instance that uses the checkpoint directory"
    ]


def test_a_second_instance_takes_over_when_the_first_one_ends(tmp_path: Path) -> None:
    first = lock_checkpoint(tmp_path, threading.Event())
    threading.Timer(0.3, first.close).start()
    with lock_checkpoint(tmp_path, threading.Event()):
        assert first.closed


def test_a_killed_instance_leaves_no_lock(tmp_path: Path) -> None:
    program = f"""
import os, pathlib, threading
from warren.pipeline.checkpoint_lock import lock_checkpoint
lock = lock_checkpoint(pathlib.Path({str(tmp_path)!r}), threading.Event())
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    with capture_logs() as logged:
        lock_checkpoint(tmp_path, threading.Event(), patience_s=0).close()
    assert logged == []


def test_who_waits_can_be_stopped(tmp_path: Path) -> None:
    stopping = threading.Event()
    with lock_checkpoint(tmp_path, stopping):
        threading.Timer(0.3, stopping.set).start()
        lock_checkpoint(tmp_path, stopping).close()
        assert stopping.is_set()


def test_a_file_system_without_locks_is_no_reason_not_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with capture_logs() as logged:
        lock_checkpoint(tmp_path, threading.Event()).close()
    assert "cannot be locked" in logged[0]["event"]


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        CheckpointLockError, match=r"cannot be stored in .*/file/c: Not a directory\. Make it writable"
    ):
        lock_checkpoint(tmp_path / "file" / "c", threading.Event())
