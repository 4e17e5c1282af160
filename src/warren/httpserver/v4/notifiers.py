"""`/v4/notifiers`: how each notifier is doing, why its last message failed, and a sample through it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec
import structlog

from warren.common.status import Status
from warren.config import Settings
from warren.httpserver.names import module_named
from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Notifying
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import NOTIFIER_TEST, NOTIFIERS
from warren.httpserver.v4.parameters import ParameterError, values
from warren.notifier.record import DeliveryRecord, ModuleCounts, ModuleRecord

# seconds between two samples through one notifier, which people receive
BETWEEN_S: Final = 10.0
# samples under way at the same time, of all notifiers: each takes a thread
_AT_ONCE: Final = 2

_NO_NOTIFIER: Final = refused(404, "notifier not found")
_NOT_JSON: Final = refused(415, "the content type must be application/json")
_TOO_SOON: Final = refused(
    429, "a sample was sent a moment ago; try again in 10 seconds", (b"retry-after", b"10")
)

_log = structlog.get_logger(__name__)


class NotifierPages:
    """Without notifiers there are none."""

    def __init__(
        self,
        settings: Settings,
        notifying: Notifying | None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._modules = settings.notifier
        self._notifying = notifying
        self._monotonic_s = monotonic_s
        # notifier: when its last sample was begun
        self._tried_s: dict[str, float] = {}
        self._under_way: set[str] = set()

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            ("GET", NOTIFIERS.route): self.notifiers,
            ("POST", NOTIFIER_TEST.route): self.test,
        }

    def notifiers(self, request: Request) -> Reply:
        try:
            values(request.query, NOTIFIERS.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        counts = self._notifying.counts() if self._notifying else {}
        outcomes = self._notifying.outcomes() if self._notifying else {}
        return as_json(
            shapes.Notifiers(
                [
                    _notifier(
                        name,
                        self._modules[name].class_name if name in self._modules else "",
                        counts.get(name, ModuleCounts()),
                        outcomes.get(name, ModuleRecord()),
                    )
                    for name in sorted({*self._modules, *counts})
                ]
            )
        )

    async def test(self, request: Request) -> Reply:
        """The application has made sure that an administrator asks."""
        # a form of another site cannot send this type, and its scripts are stopped by the browser
        given = dict(request.headers).get(b"content-type", b"").partition(b";")[0].strip().lower()
        if given != b"application/json":
            return _NOT_JSON
        try:
            values(request.query, NOTIFIER_TEST.parameters)
            wanted = msgspec.json.decode(request.body or b"{}", type=shapes.NotifierTest)
        except (ParameterError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            return refused(400, str(error))
        name = module_named(request.names[0], self._modules)
        if name is None or self._notifying is None:
            return _NO_NOTIFIER
        now_s = self._monotonic_s()
        soon = now_s - self._tried_s.get(name, -BETWEEN_S) < BETWEEN_S
        if soon or name in self._under_way or len(self._under_way) >= _AT_ONCE:
            return _TOO_SOON
        self._tried_s[name] = now_s
        self._under_way.add(name)
        kind: Literal["open", "close"] = wanted.kind or ("close" if wanted.status == "OK" else "open")
        try:
            trial = await asyncio.to_thread(self._notifying.try_module, name, Status[wanted.status], kind)
        finally:
            self._under_way.discard(name)
        _log.info("sample sent on request", module=name, kind=kind, sent=trial.sent, answer=trial.answer)
        fields = msgspec.structs.asdict(trial)
        return as_json(shapes.NotifierTried(name, **fields | {"head": list(trial.head)}))


def _notifier(name: str, class_name: str, counts: ModuleCounts, record: ModuleRecord) -> shapes.Notifier:
    return shapes.Notifier(
        name,
        class_name,
        counts.owed,
        counts.sent,
        counts.failed,
        counts.retried,
        _delivery(record.sent),
        _delivery(record.failed),
    )


def _delivery(found: DeliveryRecord | None) -> shapes.Delivery | None:
    if found is None:
        return None
    return shapes.Delivery(
        found.message,
        found.incident,
        found.cluster,
        found.group,
        found.kind,
        found.status.name,  # type: ignore[arg-type] # of a group
        found.state,
        found.attempts,
        found.at_ms,
        found.answer,
    )
