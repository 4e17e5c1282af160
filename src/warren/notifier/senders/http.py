"""Messages as HTTP requests, as Burrow sends them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from warren import secrecy
from warren.config.modules import HttpNotifier
from warren.notifier.message import Kind, Message
from warren.notifier.senders.delivery import DeliveryError, Draft
from warren.notifier.senders.http_client import HttpClient, Response
from warren.notifier.templates import Template, TemplateError
from warren.secrecy import HIDDEN

# status: what to do about it
_REMEDIES: Final = {
    401: "check username, password and headers",
    403: "check username, password and headers",
    404: "check the URL",
    405: "check the method",
    413: "make the template's text shorter",
    429: "send less often with send-interval, or raise the receiver's limit",
}


class HttpSender:
    """[notifier.N] with class-name "http"."""

    def __init__(
        self,
        module: HttpNotifier,
        client: HttpClient,
        urls: Mapping[Kind, Template],
        bodies: Mapping[Kind, Template],
    ) -> None:
        self._module = module
        self._client = client
        self._urls = urls
        self._bodies = bodies
        self._methods: Mapping[Kind, str] = {"open": module.method_open, "close": module.method_close}
        self._headers = _headers(module)
        self._secrets = _secrets(module, self._headers)

    def send(self, message: Message, timeout_s: float) -> str:
        """ "HTTP 200" or another success."""
        url, body = self._rendered(message)
        answer = self._client.request(
            self._methods[message.kind],
            url,
            # receivers can detect duplicates
            {"Idempotency-Key": message.id} | self._headers,
            body.encode("utf-8", "replace"),
            timeout_s=min(timeout_s, self._module.timeout),
            keys=f"url-{message.kind}",
        )
        if not answer.accepted:
            raise DeliveryError(self._refusal(answer, url), retriable=answer.retriable, wait_s=answer.wait_s)
        return f"HTTP {answer.status}"

    def draft(self, message: Message) -> Draft:
        """The request; configured headers may be secrets."""
        url, body = self._rendered(message)
        given = {name.lower() for name in self._module.headers} | {"authorization"}
        headers = {"Idempotency-Key": message.id} | self._headers
        shown = (f"{name}: {HIDDEN if name.lower() in given else value}" for name, value in headers.items())
        return Draft((f"{self._methods[message.kind]} {url}", *shown), body)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _rendered(self, message: Message) -> tuple[str, str]:
        """URL and body."""
        try:
            return (
                self._urls[message.kind].render(message, self._module.extras),
                self._bodies[message.kind].render(message, self._module.extras),
            )
        except TemplateError as error:
            raise DeliveryError(str(error), retriable=False) from error
        except KeyError:
            raise DeliveryError(
                f"There is no url-{message.kind}; add it to send {message.kind} messages", retriable=False
            ) from None

    def _refusal(self, answer: Response, url: str) -> str:
        # many receivers repeat the path of the request, which may be a credential
        quoted = answer.quoted((*self._secrets, *secrecy.parts(url)))
        what = f"The receiver answered HTTP {answer.status}" + (f': "{quoted}"' if quoted else "")
        return f"{what}; {_REMEDIES.get(answer.status, 'see its log')}"


def _headers(module: HttpNotifier) -> dict[str, str]:
    """Defaults, unless configured."""
    headers = {"Content-Type": "application/json"}
    if module.username:
        login = f"{module.username}:{module.password.get_secret_value()}"
        headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
    given = {name.lower(): value.get_secret_value() for name, value in module.headers.items()}
    return {name: value for name, value in headers.items() if name.lower() not in given} | given


def _secrets(module: HttpNotifier, headers: Mapping[str, str]) -> tuple[str, ...]:
    values = [module.password.get_secret_value(), *headers.values()]
    values += [value.partition(" ")[2] for value in headers.values()]
    values += secrecy.secret_extras(module.extras)
    return tuple(value for value in values if len(value) > 3 and value != "application/json")
