"""Certificates for a broker on this machine: a CA, a server's and a client's, as PEM files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


@dataclass(frozen=True)
class Certificates:
    """The paths of the PEM files in one directory."""

    directory: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate: what clients must trust."""
        return self.directory / "ca.pem"

    @property
    def server(self) -> Path:
        """The broker's key and chain in one file, as Kafka reads them."""
        return self.directory / "server.pem"

    @property
    def client(self) -> Path:
        """A client's chain, for brokers that require one."""
        return self.directory / "client.pem"

    @property
    def client_key(self) -> Path:
        """That client's key."""
        return self.directory / "client.key"


def ensure_certificates(directory: Path, host: str) -> Certificates:
    """The directory's certificates, created once: they stay valid when the broker restarts."""
    made = Certificates(directory)
    # written last, so the others are complete if it exists
    if made.ca.exists():
        return made
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = trustme.CA(organization_name="Warren broker")
    server = authority.issue_cert(host, "localhost")
    client = authority.issue_cert("client@warren.local", common_name="warren-client")
    _write_secret(made.server, _pkcs8(server.private_key_pem.bytes()) + _chain(server))
    _write_secret(made.client_key, _pkcs8(client.private_key_pem.bytes()))
    made.client.write_bytes(_chain(client))
    made.ca.write_bytes(authority.cert_pem.bytes())
    return made


def _chain(leaf: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in leaf.cert_chain_pems)


def _pkcs8(key_pem: bytes) -> bytes:
    """Kafka reads private keys in this form only."""
    key = load_pem_private_key(key_pem, password=None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
