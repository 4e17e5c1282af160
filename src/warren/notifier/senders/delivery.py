"""What every sender is, and how it says that a message did not get through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from warren.errors import WarrenError
from warren.notifier.message import Message


class DeliveryError(WarrenError):
    """A message was not taken: what happened and what to do, without secrets."""

    def __init__(self, what: str, *, retriable: bool, wait_s: float | None = None) -> None:
        super().__init__(what)
        # may the same message get through later, without anybody changing anything here?
        self.retriable = retriable
        # the other side asked to be left alone for so long; None: it did not say
        self.wait_s = wait_s


@dataclass(frozen=True)
class Draft:
    """What a sender makes of a message, to be looked at: without secrets."""

    # where it goes, then headers, a line each
    head: tuple[str, ...]
    body: str = ""


class Sender(Protocol):
    """One [notifier.N]'s way out; used by one thread, never tries twice by itself."""

    def send(self, message: Message, timeout_s: float) -> str:
        """One line on what the other side said; DeliveryError when it did not take the message."""

    def draft(self, message: Message) -> Draft:
        """What `send` would send; DeliveryError when a template cannot say it."""

    def close(self) -> None:
        """Let connections go; nothing is sent afterwards."""
