"""`/v4/about`: which Warren this is, how it is configured, and how long its triggers took."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping

import warren
from warren.clock import now_ms as wall_ms
from warren.config import Settings
from warren.httpserver.public_settings import public_settings
from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.state import Answers
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import ABOUT
from warren.httpserver.v4.parameters import ParameterError, values


class AboutPages:
    """The health of clusters, notifiers and sinks is on the health page."""

    def __init__(
        self, settings: Settings, answers: Answers, host: str, now_ms: Callable[[], int] = wall_ms
    ) -> None:
        self._answers = answers
        self._host = host
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._source = str(settings.source or "")
        self._settings = public_settings(settings)

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {("GET", ABOUT.route): self.about}

    def about(self, request: Request) -> Reply:
        try:
            values(request.query, ABOUT.parameters)
        except ParameterError as error:
            return refused(400, str(error))
        return as_json(
            shapes.About(
                warren.__version__,
                platform.python_version(),
                self._host,
                self._started_ms,
                max(self._now_ms() - self._started_ms, 0),
                self._source if request.admin else "",
                self._settings,
                [self._triggers(cluster) for cluster in sorted(self._answers.clusters())],
            )
        )

    def _triggers(self, cluster: str) -> shapes.Triggers:
        recent = self._answers.progress(cluster).recent_triggers
        return shapes.Triggers(cluster, [at for at, _ in recent], [took for _, took in recent])
