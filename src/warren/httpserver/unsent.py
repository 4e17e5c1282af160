"""How much memory answers may hold that are made and not yet taken."""

from __future__ import annotations

from typing import Final

from warren.httpserver import reply as replies
from warren.httpserver.reply import Reply

# the key under which a request's listener says how much may be unsent
UNSENT: Final = "warren.unsent"
# bytes: smaller answers, and smaller pieces of large ones, are not counted
SMALL: Final = 64 * 1024

TOO_MUCH: Final = replies.refused(
    503, "too many large answers are on their way to slow readers", (b"retry-after", b"5")
)


class Unsent:
    """The large answers of one listener that are on their way; what several of them share counts once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0
        # id of a piece: how many answers hold it. Whoever holds one also holds the piece itself
        self._holders: dict[int, int] = {}

    def begin(self, reply: Reply) -> bool:
        """Whether there is room for the answer; the only one is welcome whatever its size."""
        new = {id(piece): len(piece) for piece in _large(reply) if id(piece) not in self._holders}
        size = sum(new.values())
        if self.bytes and size and self.bytes + size > self._most:
            return False
        self.bytes += size
        for piece in _large(reply):
            self._holders[id(piece)] = self._holders.get(id(piece), 0) + 1
        return True

    def end(self, reply: Reply) -> None:
        """The answer is out, or its reader is gone."""
        for piece in _large(reply):
            self._holders[id(piece)] -= 1
            if not self._holders[id(piece)]:
                del self._holders[id(piece)]
                self.bytes -= len(piece)


def _large(reply: Reply) -> list[bytes]:
    return [piece for piece in reply.body if len(piece) >= SMALL]
