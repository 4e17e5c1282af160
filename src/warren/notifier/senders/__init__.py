"""Senders of messages: one per [notifier.N] section."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from warren.config.modules import EmailNotifier, HttpNotifier, SlackNotifier
from warren.config.settings import AnyNotifier
from warren.notifier.links import Page
from warren.notifier.message import Kind
from warren.notifier.senders.delivery import DeliveryError, Draft, Sender
from warren.notifier.senders.email import EmailSender
from warren.notifier.senders.http import HttpSender
from warren.notifier.senders.http_client import HttpClient
from warren.notifier.senders.null import NullSender
from warren.notifier.senders.slack import SlackSender
from warren.notifier.templates import Template, load_template, text_template
from warren.tls import tls_context

__all__ = ["DeliveryError", "Draft", "Sender", "sender"]

# Slack's messages are few; a connection is kept for the next group of the same round
_SLACK_KEEPALIVE_S: Final = 60


def sender(
    name: str,
    module: AnyNotifier,
    page: Page,
    located: Callable[[str], Path] = Path,
) -> Sender:
    """The sender of [notifier.<name>]; `located` finds the files that it names (Settings.path).

    TemplateError or ConfigError when a file cannot be used.
    """
    match module:
        case HttpNotifier():
            context = tls_context(_file(module.extra_ca, located), noverify=module.noverify)
            client = HttpClient(
                context, keepalive_s=module.keepalive, reuse=not module.disable_http_keepalive
            )
            urls: dict[Kind, Template] = {
                "open": text_template(module.url_open, f"notifier.{name}: url-open")
            }
            if module.url_close:
                urls["close"] = text_template(module.url_close, f"notifier.{name}: url-close")
            return HttpSender(module, client, urls, _texts(module, located, "http"))
        case EmailNotifier():
            context = tls_context(_file(module.extra_ca, located), noverify=module.noverify)
            return EmailSender(module, context, _texts(module, located, "email"))
        case SlackNotifier():
            client = HttpClient(tls_context(None, noverify=False), keepalive_s=_SLACK_KEEPALIVE_S, reuse=True)
            return SlackSender(module, client, page, _texts(module, located, ""))
        case _:
            return NullSender()


def _texts(module: AnyNotifier, located: Callable[[str], Path], own: str) -> dict[Kind, Template]:
    """The configured templates, or Warren's own where there are some (`own`-open, `own`-close)."""
    files: dict[Kind, str] = {"open": module.template_open, "close": module.template_close}
    return {
        kind: load_template(str(located(file)) if file else "", f"{own}-{kind}")
        for kind, file in files.items()
        if file or own
    }


def _file(name: str, located: Callable[[str], Path]) -> Path | None:
    return located(name) if name else None
