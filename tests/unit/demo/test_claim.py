"""A data directory has one owner at a time, and an orphan in it is waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warren.demo.claim import ClaimedError, claim

# claims the directory, hands the claim to a child that lives a little longer, and says that it is done
OWNER = """
import subprocess, sys
from pathlib import Path
from warren.demo.claim import claim
held = claim(Path(sys.argv[1]), 0)
subprocess.Popen(["sleep", sys.argv[2]], pass_fds=(held.fileno(),), stdout=subprocess.DEVNULL)
print("claimed", flush=True)
sys.stdin.read()
"""


def start_owner(directory: Path, child_lives_s: str) -> subprocess.Popen[str]:
    """Another process that has the directory, until its standard input closes."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory), child_lives_s],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "claimed\n"
    return owner


def test_a_second_claim_is_refused_at_once_with_the_owner(tmp_path: Path) -> None:
    with start_owner(tmp_path, "0") as owner:
        with pytest.raises(ClaimedError, match=rf"in use by another broker \(of process {owner.pid}\)"):
            claim(tmp_path, patience_s=3600)
        owner.communicate()


def test_what_a_killed_owner_left_running_is_waited_for(tmp_path: Path) -> None:
    with start_owner(tmp_path, "1") as owner:
        owner.kill()
        owner.communicate()
    with claim(tmp_path, patience_s=60):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_patience_with_an_orphan_ends(tmp_path: Path) -> None:
    with start_owner(tmp_path, "1.5") as owner:
        owner.kill()
        owner.communicate()
    with pytest.raises(ClaimedError):
        claim(tmp_path, patience_s=0.05)


def test_a_claim_that_was_given_up_is_free(tmp_path: Path) -> None:
    claim(tmp_path, 0).close()
    claim(tmp_path, 0).close()
