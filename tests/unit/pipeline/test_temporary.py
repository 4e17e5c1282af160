"""A killed Java leaves its temporary files: the next start removes them, and nothing else."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from warren.pipeline import temporary
from warren.pipeline.temporary import TemporaryDirectoryError, temporary_directory


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_is_removed_by_the_next_start(parent: Path) -> None:
    left, lock = temporary_directory()
    child = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
    os.close(lock)
    (left / "blockmgr").mkdir()
    (left / "blockmgr" / "librocksdbjni.so").write_bytes(b"large")
    # the child has the lock, though the process that took it is done
    beside, its_lock = temporary_directory()
    assert {left, beside} == set(parent.iterdir())
    child.send_signal(signal.SIGKILL)
    child.wait()
    new, new_lock = temporary_directory()
    assert {beside, new} == set(parent.iterdir())
    os.close(its_lock)
    os.close(new_lock)


def test_one_that_was_removed_and_made_again_is_not_in_use(parent: Path) -> None:
    path, lock = temporary_directory()
    assert temporary.is_in_use(path)
    path.rmdir()
    assert not temporary.is_in_use(path)
    path.mkdir()
    assert not temporary.is_in_use(path)
    # the question takes no lock of its own
    assert not temporary.is_in_use(path)
    os.close(lock)


def test_without_descriptors_nothing_is_called_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    path, lock = temporary_directory()

    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", full)
    assert temporary.is_in_use(path)
    os.close(lock)


def test_one_that_was_never_locked_is_removed(parent: Path) -> None:
    (parent / "warren-java-killed").mkdir()
    path, lock = temporary_directory()
    os.close(lock)
    assert list(parent.iterdir()) == [path]


def test_what_is_not_a_directory_of_ours_stays(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (parent / "warren-java-link").symlink_to(elsewhere)
    (parent / "warren-java-file").touch()
    others = parent / "warren-java-others"
    others.mkdir()
    uid = os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: uid + 1)
        temporary._remove_unused(parent)
    assert others.is_dir()
    os.close(temporary_directory()[1])
    assert not others.exists()
    assert (parent / "warren-java-link").is_symlink()
    assert (parent / "warren-java-file").exists()
    assert (elsewhere / "kept").exists()


@pytest.mark.parametrize("when", ["before it is locked", "while it is locked"])
def test_two_starts_at_once_do_not_take_each_others_directory(
    parent: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The other start looks for unused directories at the worst moments."""
    make, flock = tempfile.mkdtemp, fcntl.flock
    removals = [temporary._remove_unused]

    def once() -> None:
        if removals:
            removals.pop()(parent)

    def made(prefix: str, dir: Path) -> str:  # noqa: A002 - as its own
        path = make(prefix=prefix, dir=dir)
        if when == "before it is locked":
            once()
        return path

    def locking(lock: int, operation: int) -> None:
        if when == "while it is locked":
            monkeypatch.setattr(fcntl, "flock", flock)
            once()
        flock(lock, operation)

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    monkeypatch.setattr(fcntl, "flock", locking)
    path, lock = temporary_directory()
    assert not removals
    assert list(parent.iterdir()) == [path]
    assert os.fstat(lock).st_ino == path.stat().st_ino
    os.close(lock)


def test_without_a_place_the_error_says_what_to_do(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(parent / "gone"))
    with pytest.raises(
        TemporaryDirectoryError, match=r"No such file or directory\. Free space there, or set TMPDIR to"
    ):
        temporary_directory()


def test_while_it_is_in_use_systemd_tmpfiles_cannot_lock_it_and_leaves_it_alone() -> None:
    path, lock = temporary_directory()
    cleaner = os.open(path, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(cleaner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)
    fcntl.flock(cleaner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(cleaner)
