"""A server shaped like Slack: one incoming webhook and chat.postMessage, with Slack's limits and its words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal, Self

from tests.receivers.http import HttpReceiver, Received, Reply

WEBHOOK_PATH: Final = "/services/T0000/B0000/s3cretwebhook"
API_PATH: Final = "/api/chat.postMessage"

# https://docs.slack.dev/reference/block-kit/blocks
MAX_BLOCKS: Final = 50
MAX_TEXT: Final = {"section": 3000, "header": 150, "field": 2000, "context": 3000, "message": 40000}
MAX_FIELDS: Final = 10
MAX_CONTEXT_ELEMENTS: Final = 10
MAX_BUTTON_TEXT: Final = 75
MAX_BUTTON_URL: Final = 3000
MAX_ATTACHMENTS: Final = 20


@dataclass(frozen=True)
class Post:
    """One message that Slack would show."""

    at_ms: int
    way: Literal["webhook", "bot"]
    channel: str
    payload: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What a phone's notification shows."""
        return str(self.payload.get("text", ""))

    @property
    def shown(self) -> str:
        """Every text of the message, one per line."""
        return "\n".join([self.text, *_texts(self.payload)])


class SlackReceiver:
    """Runs between `with` and its end."""

    def __init__(self, *, token: str = "xoxb-s3cret", channels: Sequence[str] = ("#kafka",)) -> None:
        self.token = token
        self.channels = tuple(channels)
        self._posts: list[Post] = []
        self.http = HttpReceiver(responder=self._reply)

    @property
    def webhook_url(self) -> str:
        return self.http.url + WEBHOOK_PATH

    @property
    def api_url(self) -> str:
        return self.http.url + "/api"

    @property
    def posts(self) -> list[Post]:
        """Every message that was taken, in order."""
        return list(self._posts)

    def limit_next(self, retry_after_s: int) -> None:
        """Say to the next request that there were too many."""
        body = json.dumps({"ok": False, "error": "ratelimited"}).encode()
        self.http.answer_next(Reply(429, body, (("Retry-After", str(retry_after_s)),)))

    def _reply(self, request: Received) -> Reply:
        if request.method == "POST" and request.path == WEBHOOK_PATH:
            return self._webhook(request)
        if request.method == "POST" and request.path == API_PATH:
            return self._api(request)
        if request.path.startswith("/services/"):
            return Reply(404, b"no_service")
        return _json({"ok": False, "error": "unknown_method"})

    def _webhook(self, request: Received) -> Reply:
        payload = _payload(request)
        if payload is None:
            return Reply(400, b"invalid_payload")
        reason = fault(payload)
        if reason:
            return Reply(400, reason.encode())
        self._posts.append(Post(request.at_ms, "webhook", "", payload))
        return Reply(200, b"ok", (("Content-Type", "text/html"),))

    def _api(self, request: Received) -> Reply:
        login = request.header("Authorization")
        if login != f"Bearer {self.token}":
            return _json({"ok": False, "error": "invalid_auth" if login else "not_authed"})
        payload = _payload(request)
        if payload is None:
            return _json({"ok": False, "error": "invalid_json"})
        channel = str(payload.get("channel", ""))
        if channel not in self.channels:
            return _json({"ok": False, "error": "channel_not_found"})
        reason = fault(payload)
        if reason:
            return _json({"ok": False, "error": reason})
        self._posts.append(Post(request.at_ms, "bot", channel, payload))
        return _json({"ok": True, "channel": "C0000", "ts": f"{request.at_ms / 1000:.6f}"})

    def __enter__(self) -> Self:
        self.http.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.__exit__(kind, error, trace)


def fault(payload: Mapping[str, Any]) -> str:
    """Slack's word for what is wrong with a message; "": nothing."""
    attachments = payload.get("attachments", [])
    block_lists = [payload.get("blocks", []), *(part.get("blocks", []) for part in attachments)]
    if not payload.get("text") and not any(block_lists) and not attachments:
        return "no_text"
    if len(str(payload.get("text", ""))) > MAX_TEXT["message"]:
        return "msg_too_long"
    if len(attachments) > MAX_ATTACHMENTS:
        return "too_many_attachments"
    if any(len(blocks) > MAX_BLOCKS for blocks in block_lists):
        return "invalid_blocks"
    sound = all(_sound(block) for blocks in block_lists for block in blocks)
    return "" if sound and not _raw_markup(payload) else "invalid_blocks"


def _sound(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind == "header":
        return _is_text(block.get("text"), MAX_TEXT["header"], ("plain_text",))
    if kind == "section":
        fields = block.get("fields", [])
        return (
            ("text" in block or bool(fields))
            and ("text" not in block or _is_text(block["text"], MAX_TEXT["section"]))
            and len(fields) <= MAX_FIELDS
            and all(_is_text(field, MAX_TEXT["field"]) for field in fields)
        )
    if kind == "context":
        elements = block.get("elements", [])
        return 1 <= len(elements) <= MAX_CONTEXT_ELEMENTS and all(
            _is_text(element, MAX_TEXT["context"]) for element in elements
        )
    if kind == "actions":
        return all(_is_button(element) for element in block.get("elements", []))
    return kind == "divider"


def _is_text(text: Any, limit: int, kinds: Sequence[str] = ("plain_text", "mrkdwn")) -> bool:
    return (
        isinstance(text, dict)
        and text.get("type") in kinds
        and isinstance(text.get("text"), str)
        and 1 <= len(text["text"]) <= limit
    )


def _is_button(element: Mapping[str, Any]) -> bool:
    return (
        element.get("type") == "button"
        and _is_text(element.get("text"), MAX_BUTTON_TEXT, ("plain_text",))
        and len(element.get("url", "")) <= MAX_BUTTON_URL
    )


def _raw_markup(payload: Mapping[str, Any]) -> bool:
    """Would a name be read as markup: a mention, or a lone < or &?"""
    return any(
        re.search(r"<!(?:here|channel|everyone)|<[@#]|&(?!amp;|lt;|gt;)", text) is not None
        for text in _marked_texts(payload)
    )


def _marked_texts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if part.get("type") == "mrkdwn":
            yield str(part.get("text", ""))
        for value in part.values():
            yield from _marked_texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from _marked_texts(value)


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("text"), str) and part.get("type") in {"mrkdwn", "plain_text"}:
            yield part["text"]
        for value in part.values():
            yield from _texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from _texts(value)


def _payload(request: Received) -> dict[str, Any] | None:
    if not (request.header("Content-Type") or "").startswith("application/json"):
        return None
    try:
        payload = json.loads(request.body)
    except ValueError:
        return None
    return payload if isinstance(payload, dict) else None


def _json(body: Mapping[str, Any]) -> Reply:
    return Reply(200, json.dumps(body).encode(), (("Content-Type", "application/json; charset=utf-8"),))
