"""Settings that may be shown: what looks like a secret is hidden, whoever put it there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "REDACTED"

# names under which people keep secrets in extras and in the query of an address
_SECRET_NAME: Final = re.compile(
    r"pass|secret|token|credential|auth|signature|(?:^|[_.-])(?:api|access|private|routing|integration|service)?"
    r"[_.-]?(?:key|sig|sid|pin|dsn)$",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(r"(?<=://)[^/?#@]*@")
_PARAMETER: Final = re.compile(r"(?P<name>[^?&#=]+)=(?P<value>[^&#]*)")
# addresses that are themselves the permission to send (Slack, Teams, Discord, and those that copy them)
_WEBHOOK_PATH: Final = re.compile(
    r"(?<=://)(?P<host>[^/?#]*(?:hooks?\.|webhook)[^/?#]*|[^/?#]+(?=/api/webhooks/))/[^?#]*", re.IGNORECASE
)


def extras(values: Mapping[str, str]) -> dict[str, str]:
    """A notifier's extras by name, as Go orders a map."""
    return {name: HIDDEN if _SECRET_NAME.search(name) else url(values[name]) for name in sorted(values)}


def url(address: str) -> str:
    """An address without passwords, tokens in its query, or the path of a webhook."""
    if "://" not in address:
        return address
    shown = _USER_INFO.sub(f"{HIDDEN}@", address)
    shown = _WEBHOOK_PATH.sub(rf"\g<host>/{HIDDEN}", shown)
    start, mark, query = shown.partition("?")
    return start + mark + _PARAMETER.sub(_parameter, query)


def _parameter(match: re.Match[str]) -> str:
    hidden = _SECRET_NAME.search(match["name"]) and not match["value"].startswith("{{")
    return f"{match['name']}={HIDDEN}" if hidden else match[0]
