"""When samples are taken, and what is in them."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.processes import eventually
from tests.unit.pipeline_double import NOW
from tests.unit.sinks.samples import example_view

from warren.sinks import outbox as outbox_module
from warren.sinks import sample
from warren.sinks.outbox import Bounds, Outbox
from warren.sinks.sampler import Sampler
from warren.snapshot.view import ClusterView

# a multiple of a minute
MINUTE = NOW // 60_000 * 60_000


class Snapshots:
    """The latest views, put there by hand."""

    def __init__(self, *names: str) -> None:
        self.views: dict[str, ClusterView] = {}
        self._names = names

    def clusters(self) -> list[str]:
        return list(self._names)

    def snapshot(self, cluster: str) -> ClusterView | None:
        return self.views.get(cluster)

    def see(self, cluster: str, at_ms: int) -> None:
        self.views[cluster] = example_view(cluster, at_ms)


def made(tmp_path: Path, snapshots: Snapshots, *intervals: int) -> tuple[Outbox, Sampler]:
    box = Outbox(tmp_path, Bounds(3_600_000, 1_000_000_000))
    for interval in intervals:
        box.join(f"every {interval}", interval, None)
    return box, Sampler(snapshots, box, intervals)


def clusters(box: Outbox, number: int) -> list[str]:
    path = box.path(number)
    assert path is not None
    return sorted(set(sample.read(path).groups.column("cluster").to_pylist()))


def test_one_sample_in_every_interval_with_every_cluster(tmp_path: Path) -> None:
    snapshots = Snapshots("east", "west")
    box, sampler = made(tmp_path, snapshots, 10)
    # no snapshot yet: nothing to take
    assert sampler.take(MINUTE) == []
    for second in range(25):
        for cluster in ("east", "west"):
            snapshots.see(cluster, MINUTE + 60_000 + second * 1000)
        sampler.take(MINUTE + 60_000 + second * 1000)
    assert box.size[0] == 3
    assert [clusters(box, number) for number in (1, 2, 3)] == [["east", "west"]] * 3


def test_a_sample_waits_for_the_snapshots_of_the_triggers_that_begin_with_it(tmp_path: Path) -> None:
    snapshots = Snapshots("east", "west")
    box, sampler = made(tmp_path, snapshots, 10)
    for cluster in ("east", "west"):
        snapshots.see(cluster, MINUTE - 5_000)
    assert sampler.take(MINUTE) == []
    snapshots.see("east", MINUTE + 100)
    assert sampler.take(MINUTE + 900) == []
    snapshots.see("west", MINUTE + 200)
    assert sampler.take(MINUTE + 1_300) == [1]
    assert clusters(box, 1) == ["east", "west"]
    # one that does not come holds up nobody for long
    snapshots.see("west", MINUTE + 10_100)
    assert sampler.take(MINUTE + 14_900) == []
    assert sampler.take(MINUTE + 15_000) == [2]
    assert clusters(box, 2) == ["west"]


def test_a_cluster_that_is_not_seen_again_is_not_written_again(tmp_path: Path) -> None:
    snapshots = Snapshots("east", "west")
    box, sampler = made(tmp_path, snapshots, 10)
    snapshots.see("east", MINUTE)
    snapshots.see("west", MINUTE)
    sampler.take(MINUTE)
    snapshots.see("west", MINUTE + 10_000)
    assert sampler.take(MINUTE + 15_000) == [2]
    assert clusters(box, 2) == ["west"]
    # nobody has news
    assert sampler.take(MINUTE + 25_000) == []


def test_sinks_with_other_intervals_share_samples(tmp_path: Path) -> None:
    snapshots = Snapshots("east")
    box, sampler = made(tmp_path, snapshots, 10, 30)
    for second in range(0, 60, 10):
        snapshots.see("east", MINUTE + second * 1000)
        sampler.take(MINUTE + second * 1000)
    never = threading.Event().is_set
    assert box.await_samples("every 10", 0, never) == [1, 2, 3, 4, 5, 6]
    assert box.await_samples("every 30", 0, never) == [1, 4]


def test_a_full_disk_is_counted_and_said_once_and_then_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = Snapshots("east")
    box, sampler = made(tmp_path, snapshots, 10)
    with capture_logs() as told:
        monkeypatch.setattr(outbox_module, "RESERVE_BYTES", 1 << 60)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 5}))
        for second in (0, 10):
            snapshots.see("east", MINUTE + second * 1000)
            assert sampler.take(MINUTE + second * 1000) == []
        assert box.dropped("every 10") == 2
        assert "make room" in sampler.error
        monkeypatch.undo()
        snapshots.see("east", MINUTE + 20_000)
        assert sampler.take(MINUTE + 20_000) == [1]
    assert [each["event"] for each in told] == [
        "a sample cannot be written and is dropped",
        "samples are written again",
    ]
    assert sampler.error == ""


def test_a_fault_in_one_sample_does_not_end_the_others(tmp_path: Path) -> None:
    class Faulty(Snapshots):
        asked = 0

        def clusters(self) -> list[str]:
            self.asked += 1
            raise ValueError("a fault")

    snapshots, stopping = Faulty(), threading.Event()
    _, sampler = made(tmp_path, snapshots, 1)
    thread = threading.Thread(target=sampler.run, args=(stopping,))
    with capture_logs():
        thread.start()
        assert eventually(lambda: snapshots.asked >= 2, 10)
        stopping.set()
        thread.join(5)
    assert not thread.is_alive()
