"""`/v4/…/history`: the last hours of groups, from samples in memory."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from warren.clock import now_ms as wall_ms
from warren.common.status import Status
from warren.httpserver.names import first_found, module_named
from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Answer, Handler, Request
from warren.httpserver.state import Answers
from warren.httpserver.v4 import recent_file, shapes
from warren.httpserver.v4.operations import CLUSTER_HISTORY, GROUP_HISTORY, Operation
from warren.httpserver.v4.parameters import ParameterError, values
from warren.snapshot.model import ClusterSnapshot
from warren.snapshot.recent import MISSING, GroupLine, Recent

# of all clusters together: 10,000 groups have four hours, 100 a whole day
MAX_BYTES: Final = 32 * 1024 * 1024
# numbers in one answer: a page has fewer groups when there are many steps
MOST_NUMBERS: Final = 1_000_000

_NO_CLUSTER: Final = refused(404, "cluster not found")
_NO_GROUP: Final = refused(404, "cluster or consumer not found")


class HistoryPages:
    """Takes samples of the snapshots that the server sees anyway; used by the server's thread."""

    def __init__(
        self, answers: Answers, path: Path | None = None, now_ms: Callable[[], int] = wall_ms
    ) -> None:
        """`path`: the file in which samples survive a restart; None: they do not."""
        self._answers = answers
        self._path = path
        self._now_ms = now_ms
        self._recent: dict[str, Recent] = {}
        # cluster: what was asked, and the answer
        self._last: dict[str, tuple[tuple[object, ...], Reply]] = {}

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            ("GET", GROUP_HISTORY.route): self._of_cluster(GROUP_HISTORY, self.group),
            ("GET", CLUSTER_HISTORY.route): self._of_cluster(CLUSTER_HISTORY, self.cluster),
        }

    def take(self, cluster: str, snapshot: ClusterSnapshot) -> None:
        """A sample, when it is time for one."""
        recent = self._of(cluster)
        if snapshot.as_of_ms // 10_000 != recent.last_ms // 10_000:
            recent.take(snapshot.as_of_ms, snapshot.group_table())

    async def load(self) -> None:
        """What was there before a restart."""
        held = await asyncio.to_thread(recent_file.read, self._path) if self._path else {}
        for cluster in self._answers.clusters():
            if cluster in held:
                self._of(cluster).restore(held[cluster])

    def store(self) -> None:
        """For the next start; may run in any thread."""
        if self._path is not None:
            recent_file.write(self._path, {name: held.samples() for name, held in [*self._recent.items()]})

    def group(self, cluster: str, request: Request, given: Mapping[str, Any]) -> Reply:
        now, recent = self._now_ms(), self._of(cluster)
        since = now - given["since"]
        snapshot = self._answers.snapshot(cluster)

        def known(name: str) -> str | None:
            there = snapshot is not None and snapshot.group(name) is not None
            return name if there or any(each.row(name) is not None for each in recent.samples()) else None

        group = first_found(request.names[1], known)
        if group is None:
            return _NO_GROUP
        line = recent.line(group, since)
        if given["step"]:
            line = _stepped(line, given["step"])
        return as_json(
            shapes.GroupHistory(
                cluster,
                group,
                since,
                now,
                list(line.times_ms),
                [Status(each).name for each in line.status],  # type: ignore[misc] # of a group
                list(line.lag),
                list(line.complete),
            )
        )

    async def cluster(self, cluster: str, request: Request, given: Mapping[str, Any]) -> Reply:
        recent, step = self._of(cluster), given["step"] or 60_000
        until = self._now_ms() // step * step + step
        steps = -(-given["since"] // step)
        # the same until the next sample, or the next step
        asked = (recent.last_ms, until, request.query)
        if cluster in self._last and self._last[cluster][0] == asked:
            return self._last[cluster][1]
        begin = until - steps * step
        # ten thousand groups take a tenth of a second: other requests are answered meanwhile
        answer = await asyncio.to_thread(_cluster_history, cluster, recent, (begin, step, steps), given)
        self._last[cluster] = asked, answer
        return answer

    def _of_cluster(
        self,
        operation: Operation,
        page: Callable[[str, Request, Mapping[str, Any]], Reply | Awaitable[Answer]],
    ) -> Handler:
        def handler(request: Request) -> Answer | Awaitable[Answer]:
            try:
                given = values(request.query, operation.parameters)
            except ParameterError as error:
                return refused(400, str(error))
            cluster = module_named(request.names[0], self._answers.clusters())
            return _NO_CLUSTER if cluster is None else page(cluster, request, given)

        return handler

    def _of(self, cluster: str) -> Recent:
        if cluster not in self._recent:
            self._recent[cluster] = Recent(MAX_BYTES // max(len(self._answers.clusters()), 1))
        return self._recent[cluster]


def _cluster_history(
    cluster: str, recent: Recent, over: tuple[int, int, int], given: Mapping[str, Any]
) -> Reply:
    begin, step, steps = over
    grid = recent.grid(begin, step, steps)
    chosen = range(len(grid.names))
    if given["groups"] is not None:
        wanted = frozenset(given["groups"])
        matching: Sequence[int] = [row for row in chosen if grid.names[row] in wanted]
    elif given["name"] is not None:
        pattern = re.compile(fnmatch.translate(given["name"]))
        matching = [row for row in chosen if pattern.match(grid.names[row])]
    else:
        matching = chosen
    page = matching[given["offset"] :][: min(given["limit"], MOST_NUMBERS // steps)]
    # row by row in memory, and below row by row to Python's numbers: the thread that serves gets its turn in between
    lag = np.ascontiguousarray(grid.lag[list(page)])
    gaps = (lag == MISSING).any(axis=1).tolist()
    names = {status.value: status.name for status in Status}
    lines = zip(page, grid.worst[list(page)].tolist(), lag, gaps, strict=True)
    return as_json(
        shapes.ClusterHistory(
            cluster,
            begin,
            begin + steps * step,
            step,
            [begin + number * step for number in range(steps)],
            len(matching),
            given["offset"],
            [
                shapes.GroupLags(
                    grid.names[row],
                    names[worst],  # type: ignore[arg-type] # of a group
                    [None if each == MISSING else each for each in line.tolist()] if gap else line.tolist(),
                )
                for row, worst, line, gap in lines
            ],
        )
    )


def _stepped(line: GroupLine, step_ms: int) -> GroupLine:
    """One position for each step with a sample: its beginning, the greatest lag, the worst status."""
    if not line.times_ms:
        return line
    steps = np.array(line.times_ms) // step_ms
    begins = np.flatnonzero(np.diff(steps, prepend=-1))
    return GroupLine(
        (steps[begins] * step_ms).tolist(),
        np.maximum.reduceat(line.lag, begins).tolist(),
        np.maximum.reduceat(line.status, begins).tolist(),
        np.minimum.reduceat(line.complete, begins).tolist(),
    )
