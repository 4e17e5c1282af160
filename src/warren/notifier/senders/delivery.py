"""The interface of senders, and the error of a failed delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from warren.errors import WarrenError
from warren.notifier.message import Message


class DeliveryError(WarrenError):
    """A message was not delivered: what happened and what to do, without secrets."""

    def __init__(self, what: str, *, retriable: bool, wait_s: float | None = None) -> None:
        super().__init__(what)
        # whether the same message may succeed later without a change of configuration
        self.retriable = retriable
        # the receiver's Retry-After; None: it sent none
        self.wait_s = wait_s


@dataclass(frozen=True)
class Draft:
    """The request that a sender makes from a message, for display: without secrets."""

    # where it goes, then headers, a line each
    head: tuple[str, ...]
    body: str = ""


class Sender(Protocol):
    """Sends for one [notifier.N]; used by one thread, never retries by itself."""

    def send(self, message: Message, timeout_s: float) -> str:
        """One line on the receiver's response; DeliveryError when it did not accept the message."""

    def draft(self, message: Message) -> Draft:
        """What `send` would send; DeliveryError when a template cannot be rendered."""

    def close(self) -> None:
        """Close connections; nothing is sent afterwards."""
