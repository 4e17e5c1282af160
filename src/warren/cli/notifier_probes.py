"""Probes of the servers that notifiers send to, without sending anything."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import httpx

from warren.cli.attempts import Probe, UnreachableError
from warren.config import AnyNotifier, Settings
from warren.config.modules import EmailNotifier, HttpNotifier, SlackNotifier
from warren.errors import ConfigError
from warren.tls import tls_context

MakeContext = Callable[[], ssl.SSLContext]

_PORTS: Final = {"http": 80, "https": 443}
# mail servers on this port use TLS from the first byte
_SMTPS_PORT: Final = 465
_ORIGIN: Final = re.compile(r"https?://[^/?#]+")


def notifier_probes(settings: Settings) -> Iterator[Probe]:
    """A probe for every host that a notifier sends to."""
    for name, module in settings.notifier.items():
        yield from _probes(settings, f"notifier.{name}", module)


def _probes(settings: Settings, key: str, module: AnyNotifier) -> Iterator[Probe]:
    match module:
        case HttpNotifier():
            make_context = _tls_context(settings, module)
            # open and close mostly go to the same host
            for origin in dict.fromkeys(_origin(url) for url in (module.url_open, module.url_close) if url):
                yield Probe(key, "HTTP", origin, partial(_web, origin, make_context))
        case EmailNotifier():
            where = f"{module.server}:{module.port}"
            yield Probe(key, "SMTP", where, partial(_mail, module, _tls_context(settings, module)))
        case SlackNotifier():
            webhook = module.webhook_url.get_secret_value()
            if webhook:
                # the path is a credential: it is not shown
                origin = _origin(webhook)
                yield Probe(key, "Slack", origin, partial(_web, origin, ssl.create_default_context))
            else:
                yield Probe(key, "Slack", module.api_url, partial(_slack, module))
        case _:
            return


def _tls_context(settings: Settings, module: HttpNotifier | EmailNotifier) -> MakeContext:
    """The sender's TLS context; an unreadable file is reported by the probe."""
    extra_ca = settings.path(module.extra_ca) if module.extra_ca else None
    return partial(tls_context, extra_ca, noverify=module.noverify)


def _origin(url: str) -> str:
    """Scheme, host and port; a login is left out. The address itself where a template makes it."""
    found = _ORIGIN.match(url)
    if found is None or "{{" in found[0]:
        return url.partition("?")[0]
    scheme, _, host = found[0].partition("://")
    return f"{scheme}://{host.rpartition('@')[2]}"


def _context(make_context: MakeContext) -> ssl.SSLContext:
    try:
        return make_context()
    except ConfigError as error:
        raise UnreachableError(str(error)) from None


def _web(origin: str, make_context: MakeContext, limit_s: float) -> str:
    """Connects only: a request would be a message."""
    if "{{" in origin:
        return "not tried: its host comes from a template"
    address = urlsplit(origin)
    host = address.hostname or ""
    context = _context(make_context) if address.scheme == "https" else None
    try:
        port = address.port or _PORTS[address.scheme]
        with socket.create_connection((host, port), timeout=limit_s) as plain:
            if context is None:
                return "connected"
            with context.wrap_socket(plain, server_hostname=host) as secured:
                return f"connected with {secured.version()}"
    except (OSError, ValueError) as error:
        raise UnreachableError(_reason(error)) from None


def _mail(module: EmailNotifier, make_context: MakeContext, limit_s: float) -> str:
    """Sends EHLO only."""
    context = _context(make_context)
    from_the_start = module.tls == "tls" or (module.tls == "auto" and module.port == _SMTPS_PORT)
    try:
        if from_the_start:
            client: smtplib.SMTP = smtplib.SMTP_SSL(
                module.server, module.port, timeout=limit_s, context=context
            )
        else:
            client = smtplib.SMTP(module.server, module.port, timeout=limit_s)
        with client:
            client.ehlo()
            secured = "TLS" if from_the_start else ""
            if module.tls == "starttls" and not client.has_extn("starttls"):
                raise UnreachableError("does not offer STARTTLS; change port or tls")
            if module.tls != "none" and client.has_extn("starttls"):
                client.starttls(context=context)
                client.ehlo()
                secured = "STARTTLS"
            offered = client.esmtp_features.get("auth", "").upper().split()
    except (OSError, smtplib.SMTPException) as error:
        raise UnreachableError(_reason(error)) from None
    _check_login(module, offered)
    greeting = "connected" + (f" with {secured}" if secured else " without TLS")
    return f"{greeting}, accepts {', '.join(offered)}" if offered else f"{greeting}, accepts no login"


def _check_login(module: EmailNotifier, offered: list[str]) -> None:
    wanted = {"plain": "PLAIN", "login": "LOGIN", "crammd5": "CRAM-MD5"}.get(module.auth_type)
    # where the server accepts no login mails are sent without one, as Burrow does
    if wanted is not None and offered and wanted not in offered:
        raise UnreachableError(
            f"accepts only {', '.join(offered)}: auth-type {module.auth_type} will fail; change auth-type, "
            "or the port to one that accepts logins (587)"
        )


def _slack(module: SlackNotifier, limit_s: float) -> str:
    """Verifies the token; nothing is posted."""
    headers = {"Authorization": f"Bearer {module.token.get_secret_value()}"}
    try:
        answer = httpx.post(f"{module.api_url.rstrip('/')}/auth.test", headers=headers, timeout=limit_s)
        reply = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise UnreachableError(_reason(error)) from None
    if not isinstance(reply, dict) or not reply.get("ok"):
        why = reply.get("error", "") if isinstance(reply, dict) else ""
        raise UnreachableError(f"refuses the token: {why or f'HTTP {answer.status_code}'}")
    return f"token of {reply.get('user', 'a bot')} in {reply.get('team', 'a team')}"


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
