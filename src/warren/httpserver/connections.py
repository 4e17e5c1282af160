"""Limits on the connections of a listener, with a reserve for health checks."""

from __future__ import annotations

import resource
from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol

# scope key of requests whose connection is beyond the limit
BEYOND: Final = "warren.beyond_limit"
# connections beyond the limit: reserved for health checks
RESERVE: Final = 16
# prefix length of an IPv6 client: providers assign one to each customer
_IPV6_CLIENT: Final = 64


class Held(Protocol):
    """The part of a connection that is used here."""

    def abort(self) -> None:
        """Close it at once."""


class Connections:
    """The connections of one listener, from the moment they are accepted.

    A connection beyond the limit, or beyond the limit of one client, is accepted into a small reserve: it is answered
    one health check and closed. When the reserve is full, too, its oldest connection is closed, so that a load
    balancer gets an answer while all other connections are in use.
    """

    def __init__(self, most: int, most_per_client: int, reserve: int = RESERVE) -> None:
        self.most = most
        self._most_per_client = most_per_client
        self._reserve_size = reserve
        # connection within the limit: its client
        self._held: dict[Held, str] = {}
        self._of_client: Counter[str] = Counter()
        # connections beyond the limit, oldest first
        self._reserve: dict[Held, None] = {}

    def __len__(self) -> int:
        return len(self._held) + len(self._reserve)

    def enter(self, connection: Held, address: str) -> bool:
        """Count a connection; False: it is beyond the limit."""
        client = _client(address)
        if len(self._held) < self.most and self._of_client[client] < self._most_per_client:
            self._held[connection] = client
            self._of_client[client] += 1
            return True
        if len(self._reserve) >= self._reserve_size:
            oldest = next(iter(self._reserve))
            del self._reserve[oldest]
            oldest.abort()
        self._reserve[connection] = None
        return False

    def leave(self, connection: Held) -> None:
        """The connection is closed; may be called twice."""
        self._reserve.pop(connection, None)
        client = self._held.pop(connection, None)
        if client is None:
            return
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]


def within_descriptors(most: int, listeners: int) -> int:
    """The limit of one of several listeners, so that connections use at most half of this process's descriptors.

    The other half is for Spark, for files, and for Kafka.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, soft // 2 // max(listeners, 1) - RESERVE))


@lru_cache(maxsize=1024)
def _client(address: str) -> str:
    """The client of an address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return f"{int(found) >> (128 - _IPV6_CLIENT):x}"
    return str(found)
