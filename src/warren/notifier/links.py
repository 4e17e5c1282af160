"""Links in messages: the page of the group that a message is about."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import quote

from warren.config.settings import Settings


def pages(settings: Settings, port: int | None = None, host: str | None = None) -> Callable[[str, str], str]:
    """page(cluster, group) -> URL of the group's page, or of the health page without a group; "": there is none.

    `port` is the one that the first listener got, where the configuration has port 0.
    """
    base = settings.general.public_url.rstrip("/") or _own_address(settings, port, host)

    def page(cluster: str, group: str) -> str:
        if not base:
            return ""
        if not group:
            return f"{base}/v4/health"
        return f"{base}/v4/clusters/{quote(cluster, safe='')}/groups/{quote(group, safe='')}"

    return page


def _own_address(settings: Settings, port: int | None, host: str | None) -> str:
    """The first listener, under this host's name."""
    listener = next(iter(settings.httpserver.values()), None)
    if listener is None:
        return ""
    number = port or listener.port
    if not number:
        return ""
    name = host or socket.gethostname()
    scheme = "https" if listener.tls else "http"
    return f"{scheme}://{name}:{number}"
