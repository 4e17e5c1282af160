"""Links in messages: the pages of the group and of the incident that a message is about."""

from __future__ import annotations

import socket
from typing import Protocol
from urllib.parse import quote

from warren.config.settings import Settings


class Page(Protocol):
    """The address of a page."""

    def __call__(self, cluster: str, group: str, incident: str = "") -> str:
        """Of the incident, without one of the group, without that of the state of all clusters; "": there is none."""


def pages(settings: Settings, port: int | None = None, host: str | None = None) -> Page:
    """The pages of this Warren.

    `port` is the one that the first listener got, where the configuration has port 0.
    """
    base = settings.general.public_url.rstrip("/") or _own_address(settings, port, host)

    def page(cluster: str, group: str, incident: str = "") -> str:
        if not base:
            return ""
        if incident:
            return f"{base}/incidents/{quote(incident, safe='')}"
        if not group:
            return f"{base}/about"
        return f"{base}/clusters/{quote(cluster, safe='')}/groups/{quote(group, safe='')}"

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
