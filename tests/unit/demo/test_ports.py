"""Free ports are free, and taken ones are seen as taken."""

from __future__ import annotations

import socket

import pytest

from warren.demo.ports import free_port, is_free


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_port("127.0.0.1"))):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_that_somebody_listens_on_is_not_free(host: str) -> None:
    with socket.create_server((host, 0)) as server:
        assert not is_free("127.0.0.1", server.getsockname()[1])


def test_a_port_whose_connections_are_still_closing_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
    accepted.close()
    client.close()
    assert is_free("127.0.0.1", port)
