"""What Spark's session says, and to whom."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from pyspark.accumulators import AccumulatorTCPServer, UpdateRequestHandler

from warren.pipeline import session


def test_java_that_hangs_up_in_the_middle_of_a_word_is_not_told_of(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccumulatorTCPServer, "handle_error", AccumulatorTCPServer.handle_error)
    session.quieten()
    with AccumulatorTCPServer(("127.0.0.1", 0), UpdateRequestHandler, "token") as server:
        with closing(socket.create_connection(("127.0.0.1", server.server_address[1]))) as java:
            java.sendall(b"token")
        server.handle_request()
    assert capfd.readouterr() == ("", "")
