"""The certificates verify a server on this machine, and are made only once."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

from warren.demo.certificates import ensure_certificates


def test_a_client_that_trusts_the_authority_trusts_the_server_and_is_trusted(tmp_path: Path) -> None:
    made = ensure_certificates(tmp_path, "127.0.0.1")
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=made.ca)
    server.load_cert_chain(made.server)
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=made.ca)
    client.load_cert_chain(made.client, made.client_key)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with server.wrap_socket(theirs, server_side=True) as channel:
            channel.sendall(channel.recv(4))

    serving = threading.Thread(target=serve)
    serving.start()
    with client.wrap_socket(ours, server_hostname="127.0.0.1") as channel:
        channel.sendall(b"echo")
        assert channel.recv(4) == b"echo"
    serving.join(10)


def test_the_keys_are_in_the_form_that_kafka_reads_and_for_our_eyes_only(tmp_path: Path) -> None:
    made = ensure_certificates(tmp_path, "127.0.0.1")
    for key in (made.server, made.client_key):
        assert key.read_text().startswith("-----BEGIN PRIVATE KEY-----")
        assert key.stat().st_mode & 0o077 == 0


def test_a_restart_keeps_the_certificates(tmp_path: Path) -> None:
    first = ensure_certificates(tmp_path, "127.0.0.1").ca.read_bytes()
    assert ensure_certificates(tmp_path, "127.0.0.1").ca.read_bytes() == first
