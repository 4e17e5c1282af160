"""Limits the memory of responses that clients have not read yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from warren.httpserver import reply as replies

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

    def begin(self, body: Sequence[bytes]) -> bool:
        """Whether these pieces are within the limit; those of a single response always are."""
        new = {id(piece): len(piece) for piece in _large(body) if id(piece) not in self._holders}
        size = sum(new.values())
        if self.bytes and size and self.bytes + size > self._most:
            return False
        self.bytes += size
        for piece in _large(body):
            self._holders[id(piece)] = self._holders.get(id(piece), 0) + 1
        return True

    def end(self, body: Sequence[bytes]) -> None:
        """They were sent, or the client has disconnected."""
        for piece in _large(body):
            self._holders[id(piece)] -= 1
            if not self._holders[id(piece)]:
                del self._holders[id(piece)]
                self.bytes -= len(piece)


def _large(body: Sequence[bytes]) -> list[bytes]:
    return [piece for piece in body if len(piece) >= SMALL]
