"""What every sender is, and how it says that a message did not get through."""

from __future__ import annotations

from collections.abc import Mapping
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


class Text(Protocol):
    """A template, as senders see it."""

    def render(self, message: Message, extras: Mapping[str, str]) -> str:
        """The text for this message; TemplateError when there is none."""


class Sender(Protocol):
    """One [notifier.N]'s way out; used by one thread, never tries twice by itself."""

    def send(self, message: Message, timeout_s: float) -> str:
        """One line on what the other side said; DeliveryError when it did not take the message."""

    def close(self) -> None:
        """Let connections go; nothing is sent afterwards."""
