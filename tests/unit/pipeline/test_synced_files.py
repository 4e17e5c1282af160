"""A power cut left files of Spark's empty that it does not sync, and no start after it succeeded."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.power_cut import power_cut

from warren import durable
from warren.pipeline import synced_files
from warren.pipeline.synced_files import SyncedFiles


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "cluster" / "query"


def trigger(checkpoint: Path, number: int, *, done: bool = True, content: str = "whole") -> None:
    """Files as a trigger writes them, in its order."""
    files = {"metadata": "id", f"offsets/{number}": content, f"state/0/0/{number + 1}.changelog": content}
    files |= {f"commits/{number}": content} if done else {}
    for name, text in files.items():
        path = checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name != "metadata" or not path.exists():
            path.write_text(text)


def found(checkpoint: Path) -> dict[str, str]:
    return {
        str(each.relative_to(checkpoint)): each.read_text()
        for each in checkpoint.rglob("*")
        if each.is_file()
    }


def restored(checkpoint: Path) -> dict[str, str]:
    """What another process has."""
    SyncedFiles(checkpoint).restore()
    return found(checkpoint)


def test_what_was_not_synced_goes_and_what_was_stays(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    files.restore()
    for number in (0, 1):
        trigger(checkpoint, number)
    assert files.sync() == 1
    synced = found(checkpoint)
    for number in (2, 3):
        trigger(checkpoint, number)
    # a snapshot of an earlier state, written later
    (checkpoint / "state/0/0/1.zip").write_text("whole")
    assert power_cut(checkpoint) == 7
    with capture_logs() as lines:
        assert restored(checkpoint) == synced
    assert [line["files"] for line in lines] == [7]


def test_a_trigger_that_is_not_done_is_there_to_be_repeated(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    trigger(checkpoint, 0)
    trigger(checkpoint, 1, done=False)
    assert files.sync() == 0
    (checkpoint / "commits/1").write_text("whole")
    power_cut(checkpoint)
    assert {"offsets/0", "offsets/1", "commits/0"} < restored(checkpoint).keys()
    assert not (checkpoint / "commits/1").exists()


def test_before_the_first_sync_nothing_stays(checkpoint: Path) -> None:
    SyncedFiles(checkpoint).restore()
    trigger(checkpoint, 0)
    power_cut(checkpoint)
    assert restored(checkpoint) == {}


def test_a_file_that_was_replaced_since_goes_when_it_is_not_whole(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    trigger(checkpoint, 0)
    trigger(checkpoint, 1, done=False)
    files.sync()
    # planned afresh after a restart
    (checkpoint / "offsets/1").unlink()
    (checkpoint / "offsets/1").write_text("longer than it was")
    power_cut(checkpoint)
    assert "offsets/1" not in restored(checkpoint)


def test_a_file_that_was_replaced_is_synced_again(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(durable, "sync", lambda path: synced.append(path.name))
    files = SyncedFiles(checkpoint)
    trigger(checkpoint, 0)
    files.sync()
    assert {"metadata", "0", "1.changelog", "commits", "state", "query", "cluster"} < set(synced)
    synced.clear()
    trigger(checkpoint, 1)
    replaced = checkpoint / "state/0/0/1.changelog"
    replaced.unlink()
    replaced.write_text("other")
    files.sync()
    # and nothing else that was on the disk already, but the list
    assert sorted(set(synced)) == [
        "0",
        "1",
        "1.changelog",
        "2.changelog",
        "cluster",
        "commits",
        "offsets",
        "synced.draft",
    ]


def test_all_files_stay_after_a_crash_of_warren_alone(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    files.restore()
    trigger(checkpoint, 0)
    files.sync()
    trigger(checkpoint, 1)
    assert "commits/1" in restored(checkpoint)


def test_where_the_system_does_not_tell_its_start_every_start_may_follow_a_power_cut(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(synced_files, "_BOOT", tmp_path / "none")
    files = SyncedFiles(checkpoint)
    trigger(checkpoint, 0)
    files.sync()
    trigger(checkpoint, 1)
    assert "commits/1" not in restored(checkpoint)


def test_what_a_kill_left_half_written_is_removed_at_the_next_start(checkpoint: Path) -> None:
    trigger(checkpoint, 0)
    draft = checkpoint / "state/0/0/.1.changelog.c9.TID4.tmp"
    draft.write_text("half")
    SyncedFiles(checkpoint).sync()
    assert draft.name not in (checkpoint.parent / "synced").read_text()
    assert restored(checkpoint).keys() == {"metadata", "offsets/0", "state/0/0/1.changelog", "commits/0"}


def test_a_trigger_is_synced_once(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    assert files.sync() is None
    trigger(checkpoint, 7)
    assert files.sync() == 7
    assert files.sync() is None
    trigger(checkpoint, 8)
    # by then Spark has removed what it does not need any more
    (checkpoint / "offsets/7").unlink()
    assert files.sync() == 8
    assert "offsets/7" not in (checkpoint.parent / "synced").read_text()


@pytest.mark.parametrize("listed", [None, "", '{"boot"', '{"boot": "x"}'])
def test_a_checkpoint_without_a_list_stays_as_it_is(checkpoint: Path, listed: str | None) -> None:
    trigger(checkpoint, 0)
    if listed is not None:
        (checkpoint.parent / "synced").write_text(listed)
    assert "commits/0" in restored(checkpoint)


def test_a_list_of_long_ago_says_nothing(checkpoint: Path) -> None:
    files = SyncedFiles(checkpoint)
    trigger(checkpoint, 0)
    files.sync()
    # an earlier version ran since, which knows of no list
    for name in ("offsets/0", "commits/0", "state/0/0/1.changelog"):
        (checkpoint / name).unlink()
    for number in (7, 8):
        trigger(checkpoint, number)
    before = found(checkpoint)
    listed = checkpoint.parent / "synced"
    listed.write_text(listed.read_text().replace(synced_files.boot(), "the one before"))
    assert restored(checkpoint) == before
