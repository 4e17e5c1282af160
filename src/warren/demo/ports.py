"""Free ports on this machine."""

from __future__ import annotations

import random
import socket
from typing import Final

# Below Linux's ephemeral ports: a port that is free now stays free while its server restarts. Random, so that two
# processes seldom choose the same.
CHOICES: Final = range(20_000, 32_000)


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as trial:
        # as servers do: connections in TIME_WAIT do not count
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
            trial.listen(1)
        except OSError:
            return False
    return True


def free_port(host: str) -> int:
    """A free port."""
    chooser = random.SystemRandom()
    return next(port for port in iter(lambda: chooser.choice(CHOICES), None) if is_free(host, port))
