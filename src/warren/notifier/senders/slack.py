"""Messages in Slack, by an incoming webhook or by a bot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from warren import secrecy
from warren.config.modules import SlackNotifier
from warren.notifier.links import Page
from warren.notifier.message import Kind, Message
from warren.notifier.senders.delivery import DeliveryError, Draft
from warren.notifier.senders.http_client import HttpClient, Response
from warren.notifier.senders.slack_message import payload
from warren.notifier.templates import Template, TemplateError
from warren.secrecy import HIDDEN

# Slack cuts longer texts
_MOST_TEXT: Final = 40000
# Slack's error code: what to do about it
_REMEDIES: Final = {
    "account_inactive": "the bot was removed: install it again and use its new token",
    "action_prohibited": "an administrator has forbidden it: request permission",
    "channel_is_archived": "unarchive the channel, or use another one",
    "channel_not_found": "check channel, and invite the bot to it",
    "invalid_auth": "check token",
    "invalid_blocks": "check the template's JSON against Slack's Block Kit",
    "invalid_payload": "check the template's JSON",
    "invalid_token": "create a new incoming webhook and put its URL into webhook-url",
    "is_archived": "unarchive the channel, or use another one",
    "missing_scope": "give the bot the scope chat:write",
    "no_active_hooks": "the webhook was switched off: create a new one and put its URL into webhook-url",
    "no_service": "the webhook was removed: create a new one and put its URL into webhook-url",
    "no_service_id": "check webhook-url",
    "no_team": "check webhook-url",
    "no_text": "the template's text is empty: correct it",
    "not_authed": "check token",
    "not_in_channel": "invite the bot to the channel",
    "team_disabled": "the workspace is switched off: use another one",
    "token_expired": "create a new token",
    "token_revoked": "create a new token",
}
_LATER: Final = frozenset(
    {"fatal_error", "internal_error", "ratelimited", "rate_limited", "request_timeout", "service_unavailable"}
)


class SlackSender:
    """[notifier.N] with class-name "slack"."""

    def __init__(
        self,
        module: SlackNotifier,
        client: HttpClient,
        page: Page,
        texts: Mapping[Kind, Template],
    ) -> None:
        """`texts` holds the configured templates only; without one the message is Warren's own."""
        self._module = module
        self._client = client
        self._page = page
        self._texts = texts
        self._token = module.token.get_secret_value()
        self._webhook = module.webhook_url.get_secret_value()
        self._api = f"{module.api_url.rstrip('/')}/chat.postMessage"
        known = (self._token, self._webhook, *secrecy.parts(self._webhook))
        known += tuple(secrecy.secret_extras(module.extras))
        self._secrets = tuple(secret for secret in known if len(secret) > 3)

    def send(self, message: Message, timeout_s: float) -> str:
        """ "accepted by Slack", with the message's timestamp id when a bot sent it."""
        body, headers = self._payload(message), _headers(message)
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        url, keys = (self._api, "api-url") if self._token else (self._webhook, "webhook-url")
        answer = self._client.request(
            "POST",
            url,
            headers,
            json.dumps(body).encode(),
            timeout_s=min(timeout_s, self._module.timeout),
            keys=keys,
        )
        if not answer.accepted:
            raise self._refusal(answer, answer.quoted(self._secrets))
        if not self._token:
            return f"HTTP {answer.status}: accepted by Slack"
        return self._posted(answer)

    def draft(self, message: Message) -> Draft:
        """The request; a webhook's path is a credential."""
        url = self._api if self._token else secrecy.origin(self._webhook)
        headers = _headers(message) | ({"Authorization": HIDDEN} if self._token else {})
        shown = (f"{name}: {value}" for name, value in headers.items())
        return Draft((f"POST {url}", *shown), json.dumps(self._payload(message), ensure_ascii=False))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _payload(self, message: Message) -> dict[str, Any]:
        made = self._own_or_given(message)
        if self._token:
            made.setdefault("channel", self._module.channel)
        return made

    def _own_or_given(self, message: Message) -> dict[str, Any]:
        text = self._texts.get(message.kind)
        if text is None:
            return payload(message, self._page(message.result.cluster, message.result.group))
        try:
            rendered = text.render(message, self._module.extras)
        except TemplateError as error:
            raise DeliveryError(str(error), retriable=False) from error
        try:
            given = json.loads(rendered)
        except ValueError:
            given = None
        return given if isinstance(given, dict) else {"text": rendered[:_MOST_TEXT]}

    def _posted(self, answer: Response) -> str:
        """The API reports in the body whether it accepted the message."""
        try:
            response = json.loads(answer.text)
        except ValueError:
            response = None
        if not isinstance(response, dict) or "ok" not in response:
            raise DeliveryError("The answer is not Slack's; check api-url and proxies", retriable=True)
        if not response["ok"]:
            raise self._refusal(answer, secrecy.without(str(response.get("error", "")), self._secrets))
        return f"HTTP {answer.status}: accepted by Slack (ts {response.get('ts', 'unknown')})"

    def _refusal(self, answer: Response, reason: str) -> DeliveryError:
        code = f": {reason}" if reason else ""
        if answer.status == 429 or reason in {"ratelimited", "rate_limited"}:
            remedy = "send less often with send-interval, or spread the groups over several notifiers"
        else:
            remedy = _REMEDIES.get(
                reason, "see Slack's documentation of that error" if reason else "see its status page"
            )
        return DeliveryError(
            f"Slack answered HTTP {answer.status}{code}; {remedy}",
            retriable=answer.retriable or reason in _LATER,
            wait_s=answer.wait_s,
        )


def _headers(message: Message) -> dict[str, str]:
    return {"Content-Type": "application/json; charset=utf-8", "Idempotency-Key": message.id}
