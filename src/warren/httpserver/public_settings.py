"""The configuration for people to read: what is set, under the names of the file, and no secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import SecretStr

from warren import secrecy
from warren.config import Settings
from warren.config.patterns import Pattern

# sections whose addresses may be credentials themselves: of those nobody sees more than scheme and host
_SENT_TO: Final = frozenset({"notifier", "sink"})
# names that only look like those of secrets
_NO_SECRET: Final = frozenset({"auth-type"})

Shown = Callable[[str], str]


def public_settings(settings: Settings) -> dict[str, Any]:
    """Section: its values."""
    given: Mapping[str, Any] = settings.model_dump(by_alias=True, exclude_unset=True)
    return {
        section: _shown("", value, secrecy.origin if section in _SENT_TO else secrecy.address)
        for section, value in given.items()
    }


def _shown(name: str, value: Any, address: Shown) -> Any:  # noqa: PLR0911 - one kind of value each
    match value:
        case SecretStr():
            return secrecy.HIDDEN if value.get_secret_value() else ""
        case Mapping():
            return {str(key): _shown(str(key), item, address) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_shown(name, item, address) for item in value]
        case None | bool() | int() | float():
            return value
        case Pattern():
            return value.source
    text = str(value)
    secret = secrecy.is_secret_name(name) and name not in _NO_SECRET
    if text and (secret or secrecy.is_secret_value(text)):
        return secrecy.HIDDEN
    text = secrecy.without_assigned(text)
    return address(text) if "://" in text else text
