"""What the broker reads is what we meant, whatever characters are in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warren.demo.certificates import Certificates
from warren.demo.credentials import Credentials
from warren.demo.server_settings import listener_settings, properties, security_protocol


def unescaped(line: str) -> str:
    """The value of one line, as Java's Properties reads it."""
    units = bytearray()
    rest = line
    while rest:
        if rest.startswith("\\u"):
            units += int(rest[2:6], 16).to_bytes(2, "big")
            rest = rest[6:]
        else:
            assert rest[0] != "\\"
            units += ord(rest[0]).to_bytes(2, "big")
            rest = rest[1:]
    return units.decode("utf-16-be")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_value_survives_a_properties_file(value: str) -> None:
    text = properties({"key": value})
    assert text.isascii()
    assert text.count("\n") == 1
    key, escaped = text.rstrip("\n").split("=", 1)
    assert (key, unescaped(escaped)) == ("key", value)


USER = Credentials("PLAIN", "alice", "secret")
FILES = Certificates(Path("/tls"))


@pytest.mark.parametrize(
    ("user", "files", "protocol"),
    [
        (None, None, "PLAINTEXT"),
        (USER, None, "SASL_PLAINTEXT"),
        (None, FILES, "SSL"),
        (USER, FILES, "SASL_SSL"),
    ],
)
def test_the_protocol_follows_from_what_is_asked_for(
    user: Credentials | None, files: Certificates | None, protocol: str
) -> None:
    assert security_protocol(user, files) == protocol
    settings = listener_settings("127.0.0.1", 1, 2, user, files)
    assert settings["listener.security.protocol.map"] == f"CLIENT:{protocol},CONTROLLER:PLAINTEXT"
    assert ("sasl.enabled.mechanisms" in settings) == (user is not None)
    assert ("ssl.keystore.location" in settings) == (files is not None)


def test_the_broker_listens_on_this_machine_only() -> None:
    settings = listener_settings("127.0.0.1", 9092, 9093, None, None)
    assert settings["listeners"] == "CLIENT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
