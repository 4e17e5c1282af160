"""Logins at AWS MSK: the tokens that librdkafka asks for."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

from warren.errors import WarrenError

# a token holds for 900 s; one that holds for longer than this serves the next client of the process too
_REUSED_S: Final = 450

# source: its last token, and the time (s) until which it holds
_tokens: dict[TokenSource, tuple[str, float]] = {}
_lock: Final = threading.Lock()


class AwsLoginError(WarrenError):
    """There are no credentials of AWS to sign with, AWS refused them, or its signer is not installed."""


@dataclass(frozen=True, slots=True)
class TokenSource:
    """librdkafka's `oauth_cb`: called whenever the old token is about to expire; it can be pickled."""

    region: str
    role_arn: str = ""
    profile: str = ""

    def __call__(self, _config: str) -> tuple[str, float]:
        """A token and the time (s) until which it holds."""
        with _lock:
            known = _tokens.get(self)
            if known is None or known[1] - time.time() < _REUSED_S:
                known = _tokens[self] = self._signed()
            return known

    def _signed(self) -> tuple[str, float]:
        try:
            # only those who log in at MSK install it, and pay 140 ms and 26 MB a process for it
            from warren.kafka.msk import signed  # noqa: PLC0415
        except ImportError as error:
            raise AwsLoginError(
                f"[iam.N] needs AWS's signer ({error.name} is not installed): pip install 'warren[aws]'"
            ) from None
        return signed(self.region, self.role_arn, self.profile)
