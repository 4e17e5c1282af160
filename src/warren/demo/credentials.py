"""The one user of a broker with SASL, in the formats of the broker and of its clients."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import Final

from warren.errors import WarrenError

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

# Kafka's default for new SCRAM users is 4096, its minimum
ITERATIONS: Final = 8192


class CredentialsError(WarrenError):
    """Invalid credentials for a user of the broker."""

    exit_code = 2


@dataclass(frozen=True)
class Credentials:
    """A mechanism, a user and a password, which `repr` hides."""

    mechanism: str
    username: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise CredentialsError(
                f"The SASL mechanism {self.mechanism!r} is not known: use one of {', '.join(MECHANISMS)}."
            )
        if not re.fullmatch(r"[\w.@-]+", self.username, re.ASCII):
            raise CredentialsError(
                f"The SASL user {self.username!r} may only contain letters, digits and . _ @ -."
            )
        if not self.password.isascii() or not self.password.isprintable() or not self.password:
            raise CredentialsError("The SASL password must consist of printable ASCII characters.")

    @classmethod
    def parse(cls, text: str) -> Credentials:
        """`MECHANISM:USER:PASSWORD`, where the password may contain colons."""
        parts = text.split(":", 2)
        if len(parts) != 3:
            raise CredentialsError("Write SASL as MECHANISM:USER:PASSWORD, such as PLAIN:alice:secret.")
        return cls(parts[0].upper(), parts[1], parts[2])

    @property
    def is_scram(self) -> bool:
        """SCRAM users are in the broker's metadata, PLAIN ones in its settings."""
        return self.mechanism != "PLAIN"

    @property
    def jaas(self) -> str:
        """The login module's line for the broker, which is also its own client."""
        password = self.password.replace("\\", "\\\\").replace('"', '\\"')
        if self.is_scram:
            module, users = "scram.ScramLoginModule", ""
        else:
            module, users = "plain.PlainLoginModule", f' user_{self.username}="{password}"'
        return (
            f"org.apache.kafka.common.security.{module} required"
            f' username="{self.username}" password="{password}"{users};'
        )

    def scram_record(self, salt: bytes | None = None) -> str:
        """The SCRAM record for the format tool: salted, so that no password shows in a process list."""
        salt = os.urandom(24) if salt is None else salt
        digest = self.mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        salted = hashlib.pbkdf2_hmac(digest, self.password.encode(), salt, ITERATIONS)
        return (
            f"{self.mechanism}=[name={self.username},iterations={ITERATIONS},"
            f'salt="{_base64(salt)}",saltedpassword="{_base64(salted)}"]'
        )

    def made(self, record: str) -> bool:
        """Is the stored SCRAM record this user with this password?"""
        match = re.search(r'salt="([^"]+)"', record)
        return match is not None and self.scram_record(base64.b64decode(match.group(1))) == record

    def client_settings(self) -> dict[str, str]:
        """For librdkafka."""
        return {
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.username,
            "sasl.password": self.password,
        }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
