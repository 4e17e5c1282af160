"""A sample through one notifier: of no real group, one attempt, and no incident is changed."""

from __future__ import annotations

import time
import uuid
from typing import Final

import msgspec

from warren import secrecy
from warren.clock import now_ms
from warren.common.status import Status
from warren.config import AnyNotifier, Settings
from warren.errors import ConfigError
from warren.notifier.links import Page
from warren.notifier.message import Kind, Message
from warren.notifier.record import Trial
from warren.notifier.senders import DeliveryError, Draft, Sender, sender
from warren.notifier.templates import TemplateError, examine, sample

# receivers should see that it is a test; `warren notify-test` has the same
SAMPLE_GROUP: Final = "warren-notify-test"
# longer than any module's own limit, so that that one applies
LIMIT_S: Final = 120.0


def check_templates(settings: Settings, name: str) -> None:
    """ConfigError with the errors in the templates of one module; those of others do not matter."""
    only = settings.model_copy(update={"notifier": {name: settings.notifier[name]}})
    mistakes = [str(each) for each in examine(only) if each.severity == "error"]
    if mistakes:
        raise ConfigError(mistakes)


def sample_message(
    settings: Settings, name: str, status: Status, kind: Kind, *, group: str, page: Page
) -> Message:
    """A sample for the module, of its cluster."""
    message = sample(status, name, kind, now_ms())
    cluster = settings.notifier[name].cluster or next(iter(settings.cluster), message.result.cluster)
    result = msgspec.structs.replace(message.result, cluster=cluster, group=group)
    # new ids: a receiver would treat a second sample as a duplicate
    incident = message.incident and str(uuid.uuid4())
    link = page(cluster, group, incident)
    return msgspec.structs.replace(message, id=str(uuid.uuid4()), incident=incident, result=result, link=link)


def shown_head(draft: Draft) -> list[str]:
    """Where a message goes and its headers, a line each; the path of a URL may be a credential."""
    where, *headers = draft.head
    words = [secrecy.origin(word) if "://" in word else word for word in where.split(" ")]
    return [" ".join(words), *headers]


def tried(settings: Settings, name: str, status: Status, kind: Kind, page: Page) -> Trial:
    """Send the sample and say what happened; may take as long as the module's timeout."""
    begun_s = time.monotonic()
    head: list[str] = []
    body = ""

    def trial(*, sent: bool, answer: str, retriable: bool = False) -> Trial:
        return Trial(sent, answer, retriable, round((time.monotonic() - begun_s) * 1000), tuple(head), body)

    try:
        message = sample_message(settings, name, status, kind, group=SAMPLE_GROUP, page=page)
        made = _sender(settings, name, settings.notifier[name], page)
    except (ConfigError, TemplateError) as error:
        return trial(sent=False, answer=str(error))
    try:
        draft = made.draft(message)
        if draft is not None:
            head, body = shown_head(draft), draft.body
        return trial(sent=True, answer=made.send(message, LIMIT_S))
    except DeliveryError as error:
        return trial(sent=False, answer=str(error), retriable=error.retriable)
    finally:
        made.close()


def _sender(settings: Settings, name: str, module: AnyNotifier, page: Page) -> Sender:
    """One of its own: that of the module is used by the module's thread."""
    check_templates(settings, name)
    return sender(name, module, page, settings.path)
