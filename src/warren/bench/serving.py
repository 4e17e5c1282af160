"""Warren with a watch thread: what the measured process does once it has been started."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from warren.bench.figures import percentiles
from warren.bench.line import BenchError, Parent, Words
from warren.bench.watch import Watch, described, recent_triggers
from warren.bench.workload import CLUSTER
from warren.config import Settings
from warren.pipeline.engine import Engine
from warren.pipeline.query import query_name
from warren.service import Service

# a replay that takes longer hangs
_TIMEOUT_S: Final = 600.0
# how long to wait for commits to become visible after the measured time
_LATE_S: Final = 60.0


class PausedEngine(Engine):
    """An engine whose queries can be stopped while Spark and its workers keep running."""

    def end_queries(self) -> None:
        for query in self._queries.values():
            query.stop()


def serve(parent: Parent, settings: Settings) -> None:
    """Run as a service until `stop`, and answer questions."""
    with Service(settings) as service:
        watch = Watch(service.engine, CLUSTER)
        watch.start()
        parent.tell("started", urls=list(service.urls.values()))
        writing = Writing(service, settings)
        while (command := parent.told()) is not None and command["do"] != "stop":
            answer = writing.answer(command) or _answer(parent, watch, command)
            parent.tell(command["do"], **answer)
        writing.turn(on=False)
        watch.end()


class Writing:
    """Turns the sinks on and off while the rest runs."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._engine = service.engine
        self._settings = settings
        # the service's own write already
        self._sinks = service.sinks

    def answer(self, command: Words) -> dict[str, Any]:
        """Empty for a command that is not about sinks."""
        match command["do"]:
            case "sinks":
                self.turn(on=command["writing"])
                return {"writing": command["writing"]}
            case "written":
                states = [] if self._sinks is None else self._sinks.states()
                return {
                    "rows": sum(state.progress.rows for state in states),
                    "dropped": sum(state.dropped for state in states),
                    "error": next((state.progress.error for state in states if state.progress.error), ""),
                }
            case "sample":
                return self._sampled(Path(command["path"]))
            case _:
                return {}

    def turn(self, *, on: bool) -> None:
        if self._sinks is not None:
            self._sinks.stop()
        self._sinks = None
        if on:
            # as late as in the service: a measured start without sinks does not import them
            from warren.sinks.coordinator import Sinks  # noqa: PLC0415

            self._sinks = Sinks(self._settings, self._engine, lambda: self._engine.session)
            self._sinks.start()

    def _sampled(self, path: Path) -> dict[str, Any]:
        view = self._engine.snapshot(CLUSTER)
        if view is None:
            raise BenchError("there is no snapshot yet")
        from warren.sinks import sample  # noqa: PLC0415
        from warren.sinks.tables import Tabulator  # noqa: PLC0415

        tables = Tabulator().tables(view)
        return {"bytes": sample.write(path, tables), "rows": tables.rows}


def _answer(parent: Parent, watch: Watch, command: Words) -> dict[str, Any]:
    if command["do"] == "complete":
        sight = watch.complete(command["windows"], command["records"], _TIMEOUT_S, parent.stop)
        return {"at": sight.at, "number": sight.number, "windows": sight.windows}
    if command["do"] == "sights":
        return {"at": [each.at for each in watch.sights if command["begin"] <= each.at <= command["end"]]}
    if command["do"] == "triggers":
        wanted = {query_name(cluster) for cluster in command.get("clusters", ())}
        whole = [
            each.ms
            for each in recent_triggers()
            if command["begin"] <= each.began and each.began + each.ms / 1000 <= command["end"]
            if not wanted or each.query in wanted
        ]
        return {"ms": whole}
    if command["do"] == "processor":
        return {"seconds": time.process_time()}
    if command["do"] == "next":
        return {"number": watch.next(_TIMEOUT_S, parent.stop).number}
    return _measured(parent, watch, command["begin"], command["end"])


def _measured(parent: Parent, watch: Watch, begin: float, end: float) -> dict[str, Any]:
    """The delays of the commits between two times; waits until all of them are visible."""
    all_seen = watch.shows(int(end * 1000), _LATE_S, parent.stop)
    sights = list(watch.sights)
    delays = [each.delays_ms[each.made_between(begin, end)] for each in sights]
    triggers = [each for each in recent_triggers() if begin <= each.began < end]
    phases = {phase for each in triggers for phase in each.phases}
    return {
        "all_seen": all_seen,
        "visible_ms": percentiles(np.concatenate(delays), 50, 95, 99),
        "trigger_ms": percentiles([each.ms for each in triggers], 50, 95, 99),
        "phases_ms": {
            phase: percentiles([each.phases.get(phase, 0) for each in triggers], 50, 95)
            for phase in sorted(phases)
        },
        "snapshots": sum(begin <= each.at < end for each in sights),
    }


def replay(parent: Parent, settings: Settings) -> None:
    """Replay the same commits with new checkpoints: from the second run on Spark and Python are warm."""
    task = parent.task
    checkpoints = Path(settings.spark.checkpoint_dir)
    for run in range(task["runs"]):
        spark = settings.spark.model_copy(update={"checkpoint_dir": str(checkpoints / str(run))})
        engine = PausedEngine(settings.model_copy(update={"spark": spark}))
        began = time.time()
        engine.start()
        watch = Watch(engine, CLUSTER)
        watch.start()
        try:
            sight = watch.complete(task["windows"], task["records"], _TIMEOUT_S, parent.stop)
            triggers = [each for each in recent_triggers(sight.number) if each.number <= sight.number]
        finally:
            watch.end()
            engine.end_queries()
        parent.tell(
            "replayed",
            began=began,
            at=sight.at,
            planned=min((each.began for each in triggers), default=began),
            triggers=described(triggers),
        )
    engine.stop()
