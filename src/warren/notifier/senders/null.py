"""Nothing is sent: for trying out."""

from __future__ import annotations

from warren.notifier.message import Message
from warren.notifier.senders.delivery import Draft


class NullSender:
    """[notifier.N] with class-name "null"."""

    def send(self, message: Message, timeout_s: float) -> str:
        """Always well."""
        return "not sent: null"

    def draft(self, message: Message) -> Draft:
        """Nothing, to nobody."""
        return Draft(("to nobody",))

    def close(self) -> None:
        """There is nothing to let go."""
