"""The process that is measured: Warren, and a watch beside it."""

from __future__ import annotations

import importlib
import os
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from warren import logs
from warren.bench.figures import percentiles
from warren.bench.line import Parent, Words, as_child
from warren.bench.watch import Watch, described, recent_triggers
from warren.bench.workload import CLUSTER
from warren.config import Settings, load
from warren.pipeline.engine import Engine
from warren.service import Service

# a replay that takes longer does not come to an end at all
_TIMEOUT_S: Final = 600.0
# how long to wait for commits to become visible after the measured time
_LATE_S: Final = 60.0


class PausedEngine(Engine):
    """An engine whose queries can be ended while Spark and its workers stay."""

    def end_queries(self) -> None:
        for query in self._queries.values():
            query.stop()


def main(parent: Parent) -> None:
    """`runs` in the task: replay so often in one process; otherwise run as a service until told to stop."""
    # `warren run` reads these too before it starts
    for module in ("warren.cli.main", "warren.cli.run"):
        importlib.import_module(module)
    settings = load(parent.task["directory"], os.environ)
    logs.begin(settings, logs.utc())
    if "runs" in parent.task:
        _replay(parent, settings)
    else:
        _serve(parent, settings)


def _serve(parent: Parent, settings: Settings) -> None:
    with Service(settings) as service:
        watch = Watch(service.engine, CLUSTER)
        watch.start()
        parent.tell("started", urls=list(service.urls.values()))
        while (metadata := parent.told()) is not None and metadata["do"] != "stop":
            parent.tell(metadata["do"], **_answer(parent, watch, metadata))
        watch.end()


def _answer(parent: Parent, watch: Watch, metadata: Words) -> dict[str, Any]:
    if metadata["do"] == "complete":
        sight = watch.complete(metadata["windows"], metadata["records"], _TIMEOUT_S, parent.stop)
        return {"at": sight.at, "number": sight.number, "windows": sight.windows}
    if metadata["do"] == "sights":
        return {"at": [each.at for each in watch.sights if metadata["begin"] <= each.at <= metadata["end"]]}
    if metadata["do"] == "triggers":
        whole = [
            each.ms
            for each in recent_triggers()
            if metadata["begin"] <= each.began and each.began + each.ms / 1000 <= metadata["end"]
        ]
        return {"ms": whole}
    if metadata["do"] == "next":
        return {"number": watch.next(_TIMEOUT_S, parent.stop).number}
    return _measured(parent, watch, metadata["begin"], metadata["end"])


def _measured(parent: Parent, watch: Watch, begin: float, end: float) -> dict[str, Any]:
    """What happened to the commits between two moments; those that show later are waited for."""
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


def _replay(parent: Parent, settings: Settings) -> None:
    """The same commits again and again in fresh checkpoints: from the second time on Spark and Python are warm."""
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


if __name__ == "__main__":
    as_child(main)
