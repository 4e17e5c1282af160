"""Three receivers for three notifiers, and what came to them in one form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.receivers.http import HttpReceiver
from tests.receivers.mail import MailReceiver
from tests.receivers.slack import SlackReceiver

HTTP_TEMPLATE = '{"group": {{jsonencoder .Group}}, "incident": "{{.ID}}", "status": "{{.Result.Status}}"}\n'


@dataclass(frozen=True)
class Heard:
    """One message as it came in."""

    at_ms: int
    module: str
    # open or close
    kind: str
    group: str
    # id of the incident; "" where the message does not say it
    incident: str
    # the message's own
    id: str


class Listening:
    """Runs between `with` and its end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.http = HttpReceiver()
        self.mail = MailReceiver()
        self.slack = SlackReceiver()

    def notifiers(self, groups: Sequence[str], *, send_interval: int) -> str:
        """Three modules that tell of groups whose windows are full; the file `hook` holds HTTP_TEMPLATE."""
        common = f"""
interval = 1
send-interval = {send_interval}
send-close = true
minimum-complete = 1.0
group-allowlist = '^({"|".join(groups)})$'
"""
        return f"""
[notifier.hook]
class-name = "http"
url-open = "{self.http.url}/open"
url-close = "{self.http.url}/close"
template-open = "hook"
template-close = "hook"
{common}
[notifier.mail]
class-name = "email"
server = "{self.mail.host}"
port = {self.mail.port}
from = "warren@example.com"
to = "ops@example.com"
{common}
[notifier.chat]
class-name = "slack"
webhook-url = "{self.slack.webhook_url}"
{common}
"""

    def heard(self, groups: Sequence[str]) -> list[Heard]:
        """Everything that came, module by module, each in order."""
        return [*self._requests(), *self._mails(groups), *self._posts(groups)]

    def _requests(self) -> list[Heard]:
        found = []
        for each in self.http.received:
            told = json.loads(each.body)
            key = each.header("Idempotency-Key") or ""
            found.append(Heard(each.at_ms, "hook", each.path[1:], told["group"], told["incident"], key))
        return found

    def _mails(self, groups: Sequence[str]) -> list[Heard]:
        found = []
        for each in self.mail.received:
            # Warren's own words
            kind = "close" if each.subject.startswith("[OK]") else "open"
            incident = str(each.message["References"]).strip("<>").partition("@")[0]
            number = str(each.message["Message-ID"]).strip("<>").partition("@")[0]
            found.append(Heard(each.at_ms, "mail", kind, _named(groups, each.subject), incident, number))
        return found

    def _posts(self, groups: Sequence[str]) -> list[Heard]:
        found = []
        for each in self.slack.http.received:
            text = json.loads(each.body)["text"]
            kind = "close" if text.startswith("OK again") else "open"
            key = each.header("Idempotency-Key") or ""
            found.append(Heard(each.at_ms, "chat", kind, _named(groups, text), "", key))
        return found

    def __enter__(self) -> Self:
        for receiver in (self.http, self.mail, self.slack):
            self._stack.enter_context(receiver)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _named(groups: Sequence[str], text: str) -> str:
    """The group that a text names."""
    (group,) = [each for each in groups if each in text]
    return group
