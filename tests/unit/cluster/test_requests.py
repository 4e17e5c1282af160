"""Wishes of the API: none is lost, none is carried out twice, numbers go on upwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from warren.cluster.requests import Requests
from warren.common.request import Request


def groups(found: bytes | None) -> list[str]:
    return [] if found is None else [each["group"] for each in json.loads(found)]


def test_nothing_was_asked_for(tmp_path: Path) -> None:
    requests = Requests(tmp_path / "none")
    assert requests.newest(at_least=7) == 7
    assert requests.between(0, 7) is None
    requests.forget(7)


def test_requests_are_taken_in_their_order_and_once(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    for group in "abc":
        requests.add(Request(group))
    newest = requests.newest(at_least=0)
    assert groups(requests.between(0, newest)) == ["a", "b", "c"]
    assert groups(requests.between(newest, newest)) == []
    requests.add(Request("d", "topic"))
    found = requests.between(newest, requests.newest(at_least=newest))
    assert found is not None
    assert json.loads(found) == [{"group": "d", "topic": "topic"}]


def test_a_trigger_that_is_repeated_repeats_its_requests(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    requests.add(Request("a"))
    first = requests.between(0, 1)
    assert Requests(tmp_path).between(0, 1) == first


def test_numbers_go_on_upwards_when_all_were_carried_out(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    for group in "ab":
        requests.add(Request(group))
    requests.forget(2)
    assert list(tmp_path.glob("*.json")) == []
    # another process, after a restart
    later = Requests(tmp_path)
    later.add(Request("c"))
    assert later.newest(at_least=2) == 3
    assert groups(later.between(2, 3)) == ["c"]


def test_those_that_came_meanwhile_are_not_forgotten(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    for group in "abc":
        requests.add(Request(group))
    requests.forget(2)
    assert groups(requests.between(0, 9)) == ["c"]


def test_a_request_that_is_being_written_is_not_seen(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    (tmp_path / "1.json.draft").write_text('{"group"')
    assert requests.newest(at_least=0) == 0
    assert requests.between(0, 1) is None


@pytest.mark.parametrize("left", [b"", b'{"group"', b"\0" * 20, b'{"topic": "t"}'])
def test_a_request_that_a_power_cut_left_half_written_stops_no_planning(tmp_path: Path, left: bytes) -> None:
    requests = Requests(tmp_path)
    for group in "ab":
        requests.add(Request(group))
    (tmp_path / "1.json").write_bytes(left)
    assert groups(requests.between(0, 2)) == ["b"]
    assert not (tmp_path / "1.json").exists()
    # it is gone for good, and the number is not given again
    assert groups(requests.between(0, 2)) == ["b"]
    requests.add(Request("c"))
    assert groups(requests.between(2, 3)) == ["c"]


def test_a_file_of_another_name_stops_no_planning(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    requests.add(Request("a"))
    (tmp_path / "copy of 1.json").write_text("{}")
    assert requests.newest(at_least=0) == 1
    assert groups(requests.between(0, 1)) == ["a"]


@pytest.mark.parametrize("left", ["", "\0\0", "7 and more"])
def test_a_number_that_a_power_cut_left_half_written_stops_no_request(tmp_path: Path, left: str) -> None:
    requests = Requests(tmp_path)
    requests.add(Request("a"))
    requests.forget(1)
    (tmp_path / "taken").write_text(left)
    for number in (1, 2):
        requests.add(Request(f"later-{number}"))
    # beyond the number that Spark's offsets have
    assert groups(requests.between(1, requests.newest(at_least=1))) == ["later-1", "later-2"]
    requests.forget(requests.newest(at_least=1))
    requests.add(Request("last"))
    assert groups(requests.between(0, requests.newest(at_least=0))) == ["last"]


def test_what_is_written_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[list[str]] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(sorted(path.name for path in tmp_path.iterdir()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    Requests(tmp_path).add(Request("a"))
    # the file, then its name in the directory
    assert synced == [["1.json.draft"], ["1.json"]]
