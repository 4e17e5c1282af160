"""What a query does after each trigger."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException

from warren.cluster.source import HeadsSettings
from warren.pipeline.query import ClusterQuery, QuerySettings
from warren.pipeline.source import SourceSettings
from warren.storage.bucket import WindowSettings


class CutOff:
    """A trigger's frames whose job was cancelled."""

    def toArrow(self) -> Any:
        raise PySparkException("Job was cancelled")


@pytest.mark.parametrize("stopping", [False, True])
def test_a_trigger_that_is_cut_off_is_never_called_done(stopping: bool) -> None:
    settings = QuerySettings(
        "c",
        SourceSettings(HeadsSettings({"bootstrap.servers": "nowhere"}, 1, Path()), ()),
        WindowSettings(1, 0, 1, 1),
        Path(),
        1.0,
    )
    query = ClusterQuery(cast("Any", None), settings, cast("Any", None))
    if stopping:
        query._stopping.set()
    # a return would let Spark write it down as done, and its windows would be missing for ever
    with pytest.raises(PySparkException):
        query._take(cast("Any", CutOff()), 7)
