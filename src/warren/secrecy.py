"""Redaction: what a secret is and how it is hidden, for the log, the API, errors and drafts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

# replaces a secret
HIDDEN: Final = "REDACTED"

# names of secrets: settings, extras, headers, URL parameters
_SECRET_NAME: Final = re.compile(
    r"passw|passphrase|pass$|pwd|secret|token|credential|auth(?!or)|signature|bearer|webhook|cookie|"
    r"(?:^|[_.-]|api|access|private|routing|integration|service)(?:key|sig|sas|sid|pin|dsn)(?:$|[_.-])",
    re.IGNORECASE,
)
# more names in URLs only
_SECRET_PARAMETER: Final = re.compile(r"(?:^|[_.-])(?:code|sv|sp|k)$", re.IGNORECASE)
_SECRET_VALUE: Final = (
    re.compile(r"(?:bearer|basic|digest|token)\s+\S+", re.IGNORECASE),
    # prefixes of well-known tokens: JSON web tokens, Slack, GitHub, GitLab, AWS, Google, OpenAI, Grafana
    re.compile(r"eyJ[\w-]+\.[\w-]+\.|xox[a-z]-|gh[a-z]_|github_pat_|glpat-|AKIA|AIza|sk-|glsa_|glc_"),
    # long hexadecimal numbers, and random mixes of letters and digits
    re.compile(r"[0-9a-fA-F]{32,}$|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
    re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w+/=]{24,}$", re.ASCII),
)
# up to the last @: a password may contain others
_LOGIN: Final = re.compile(r"(?<=://)[^/?#\s]+(?=@)")
_PARAMETER: Final = re.compile(r"(?P<name>[^?&#=]+)=(?P<value>[^&#]*)")
# a word like -Djavax.net.ssl.keyStorePassword=changeit, or name="value", or one of several after a comma
_ASSIGNED: Final = re.compile(r"""(?<![^\s"',;=])(?P<name>[\w.-]+)=(?P<value>"[^"]*"|'[^']*'|\S+)""")
_ORIGIN: Final = re.compile(
    r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/?#]*@)?(?P<host>[^/?#]*)(?P<rest>.*)", re.DOTALL
)
# of anything else it may be part of a password, which contains a slash or the like
_HOST: Final = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*)(?::\d*)?")
# a URL that is only a template expression
_TEMPLATE: Final = re.compile(r"\s*\{\{[^{}]*\}\}\s*")
# URLs whose path is a credential (Slack, Teams, Discord and compatible ones)
_WEBHOOK_PATH: Final = re.compile(
    r"(?<=://)(?P<host>[^/?#]*(?:hooks?\.|webhook)[^/?#]*|[^/?#]+(?=/api/webhooks/))/[^?#]*", re.IGNORECASE
)
# shorter parts of a URL may occur anywhere in a text
_LEAST_PART: Final = 6
# what no encoding changes
_WORD: Final = re.compile(rf"[\w-]{{{_LEAST_PART},}}", re.ASCII)


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret."""
    return _SECRET_NAME.search(name) is not None


def is_secret_value(value: str) -> bool:
    """Whether the text looks like a key or a token, whatever its name."""
    return any(form.match(value) for form in _SECRET_VALUE)


def without_login(text: str) -> str:
    """The text with the login inside of any address hidden."""
    return _LOGIN.sub(HIDDEN, text)


def without_assigned(text: str) -> str:
    """The text with the values of words like password=x hidden, as in options for Java."""
    begin = 0
    while found := _ASSIGNED.search(text, begin):
        begin, end = found.span("value")
        # the value of another name may contain further ones; a password may contain commas
        if is_secret_name(found["name"]):
            text = text[:begin] + HIDDEN + text[end:]
            begin += len(HIDDEN)
    return text


def hidden(name: object, value: Any) -> Any:
    """A value of any kind with its secrets redacted, given its name."""
    if isinstance(value, SecretStr) or (value and isinstance(name, str) and is_secret_name(name)):
        return HIDDEN
    if isinstance(value, Mapping):
        return {inner: hidden(inner, item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(None, item) for item in value]
    if isinstance(value, str):
        return without_login(value)
    return value


def origin(address: str) -> str:
    """Scheme and host of a URL: its path may be a credential."""
    found = _ORIGIN.fullmatch(address)
    if found is None:
        return address if not address or _TEMPLATE.fullmatch(address) else HIDDEN
    if not _HOST.fullmatch(found["host"]):
        return HIDDEN
    rest = found["rest"]
    return f"{found['scheme']}{found['host']}" + (rest if rest in {"", "/"} else f"/{HIDDEN}")


def address(text: str) -> str:
    """A URL without login, secret parameters, or the path of a well-known webhook, for administrators."""
    if "://" not in text:
        return text
    shown = _WEBHOOK_PATH.sub(rf"\g<host>/{HIDDEN}", without_login(text))
    start, mark, query = shown.partition("?")
    return start + mark + _PARAMETER.sub(_parameter, query)


def extras(values: Mapping[str, str], *, everything: bool) -> dict[str, str]:
    """A notifier's extras by name, as Go orders a map; `everything`: for an administrator."""
    shown = address if everything else origin
    return {
        name: HIDDEN
        if _is_secret(name, values[name])
        else shown(values[name])
        if "://" in values[name]
        else values[name]
        for name in sorted(values)
    }


def secret_extras(values: Mapping[str, str]) -> list[str]:
    """The values among a notifier's extras that are secrets: templates may send them, and receivers repeat them."""
    return [value for name, value in values.items() if _is_secret(name, value)]


def parts(url: str) -> tuple[str, ...]:
    """The parts of a URL that a receiver may repeat in its response, in any encoding; longest first."""
    try:
        split = urlsplit(url)
    except ValueError:
        return ()
    query = [match["value"] for match in _PARAMETER.finditer(split.query)]
    whole = [f"{split.path}?{split.query}" if split.query else split.path, split.path, split.query]
    found = [*whole, *split.path.split("/"), *query, split.username or "", split.password or ""]
    found += [unquote(each) for each in found]
    found += [word for each in found for word in _WORD.findall(each)]
    return tuple(sorted({each for each in found if len(each) >= _LEAST_PART}, key=len, reverse=True))


def without(text: str, secrets: Collection[str]) -> str:
    """The text with these secrets hidden."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or is_secret_value(value)


def _parameter(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    secret = is_secret_name(name) or _SECRET_PARAMETER.search(name) or is_secret_value(value)
    return f"{name}={HIDDEN}" if secret and not value.startswith("{{") else match[0]
