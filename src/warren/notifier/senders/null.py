"""Sends nothing, for tests."""

from __future__ import annotations

from warren.notifier.message import Message
from warren.notifier.senders.delivery import Draft


class NullSender:
    """[notifier.N] with class-name "null"."""

    def send(self, message: Message, timeout_s: float) -> str:
        """Always succeeds."""
        return "not sent: null"

    def draft(self, message: Message) -> Draft:
        """An empty draft."""
        return Draft(("not sent",))

    def close(self) -> None:
        """There is nothing to close."""
