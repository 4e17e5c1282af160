"""Checkpoints that earlier runs of Warren wrote: those of this format are read, others refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.pipeline.hands import await_view, running
from tests.integration.pipeline.stored import (
    CLUSTER,
    CONSUMER,
    DIRECTORY,
    contents,
    stored_settings,
    unpacked,
)
from tests.processes import eventually

from warren.common.checkpoint import FINGERPRINT, VERSION
from warren.pipeline import source

ARCHIVES = {int(path.name.split(".")[0].split("-")[1]): path for path in DIRECTORY.glob("*.tar.xz")}
# nobody listens there: all that a view shows comes from the checkpoint
NOWHERE = "127.0.0.1:1"
WHAT_TO_DO = "start the version that wrote it, or remove the checkpoint directory to begin afresh."


def test_windows_of_a_stored_checkpoint_are_all_there(tmp_path: Path) -> None:
    unpacked(ARCHIVES[VERSION], tmp_path)
    offset = source.planned_last(tmp_path / CLUSTER / "query")
    assert offset is not None
    with running(stored_settings(tmp_path, NOWHERE)) as engine:
        found = contents(await_view(engine, CLUSTER, lambda _: True))
        assert engine.progress(CLUSTER).records == 0
    assert found == json.loads((DIRECTORY / f"format-{VERSION}.json").read_text())
    # and the positions, so that nothing is read twice
    after = source.planned_last(tmp_path / CLUSTER / "query")
    assert after is not None
    assert after["consumers"][CONSUMER]["next"] == offset["consumers"][CONSUMER]["next"]
    assert after["look"]["number"] > offset["look"]["number"]


@pytest.mark.parametrize("version", sorted(ARCHIVES.keys() - {VERSION}))
def test_a_stored_checkpoint_of_another_format_is_refused_with_what_to_do(
    version: int, tmp_path: Path
) -> None:
    unpacked(ARCHIVES[version], tmp_path)
    assert _refusal(tmp_path) == (
        f"The checkpoint {tmp_path / CLUSTER / 'query'} is in format {version}, this version of Warren reads format "
        f"{VERSION}: {WHAT_TO_DO}"
    )


def test_a_stored_checkpoint_of_another_layout_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """As a build would write it whose author changed the layout and not the version."""
    unpacked(ARCHIVES[VERSION], tmp_path)
    other = FINGERPRINT[::-1]
    for path in (tmp_path / CLUSTER / "query" / "offsets").glob("[0-9]*"):
        path.write_text(path.read_text().replace(FINGERPRINT, other))
    assert _refusal(tmp_path) == (
        f"The checkpoint {tmp_path / CLUSTER / 'query'} is in format {VERSION} with the layout {other}, this version "
        f"of Warren reads format {VERSION} with the layout {FINGERPRINT}: {WHAT_TO_DO}"
    )


def _refusal(directory: Path) -> str:
    with running(stored_settings(directory, NOWHERE), ready=()) as engine:
        assert eventually(lambda: engine.progress(CLUSTER).error != "", 90)
        assert engine.snapshot(CLUSTER) is None
        return engine.progress(CLUSTER).error
