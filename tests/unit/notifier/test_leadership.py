"""The election, as far as no ZooKeeper is needed."""

from __future__ import annotations

import pytest
from kazoo.exceptions import ConnectionClosedError
from kazoo.protocol.states import KazooState
from tests.processes import eventually

from warren.config.sections import ZooKeeper
from warren.notifier import leadership
from warren.notifier.leadership import Election


class LockAfterAnError:
    """Implements what is used of `NotifierLock`: the connection is closed at first."""

    node = "it-lock-0000000001"
    acquired = 0

    def __init__(self, *_: object) -> None: ...

    def acquire(self) -> bool:
        LockAfterAnError.acquired += 1
        if self.acquired == 1:
            raise ConnectionClosedError
        return True

    def cancel(self) -> None: ...


def test_an_instance_that_had_no_descriptor_to_connect_again_never_led_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leadership, "NotifierLock", LockAfterAnError)
    monkeypatch.setattr(leadership, "_AGAIN_S", 0.01)
    election = Election(ZooKeeper(servers=("127.0.0.1:1",)), "it")
    starts: list[str] = []

    def start() -> None:
        starts.append("")
        if len(starts) == 2:
            raise OSError(24, "Too many open files")
        election._on_state(KazooState.CONNECTED)

    monkeypatch.setattr(election.client, "start_async", start)
    election.start()
    try:
        assert eventually(lambda: election.leadership().state == "leading", 10)
        assert len(starts) == 2
    finally:
        election.stop()
