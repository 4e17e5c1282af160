"""Limits the memory of responses that clients have not read yet."""

from __future__ import annotations

from typing import Final

from warren.httpserver import reply as replies
from warren.httpserver.reply import Reply

# scope key of the listener's limit
UNSENT: Final = "warren.unsent"
# bytes: smaller responses, and smaller pieces of large ones, are not counted
SMALL: Final = 64 * 1024

TOO_MANY_UNSENT: Final = replies.refused(
    503, "too many large responses are being sent to slow clients", (b"retry-after", b"5")
)


class Unsent:
    """The large responses of one listener that are being sent; pieces that several of them share count once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0
        # id of a piece: number of responses that contain it, and so keep it alive
        self._holders: dict[int, int] = {}

    def begin(self, reply: Reply) -> bool:
        """Whether the response is within the limit; a single one always is."""
        new = {id(piece): len(piece) for piece in _large(reply) if id(piece) not in self._holders}
        size = sum(new.values())
        if self.bytes and size and self.bytes + size > self._most:
            return False
        self.bytes += size
        for piece in _large(reply):
            self._holders[id(piece)] = self._holders.get(id(piece), 0) + 1
        return True

    def end(self, reply: Reply) -> None:
        """The response was sent, or its client has disconnected."""
        for piece in _large(reply):
            self._holders[id(piece)] -= 1
            if not self._holders[id(piece)]:
                del self._holders[id(piece)]
                self.bytes -= len(piece)


def _large(reply: Reply) -> list[bytes]:
    return [piece for piece in reply.body if len(piece) >= SMALL]
