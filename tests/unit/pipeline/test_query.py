"""What a query says of itself: failures in a sentence, progress before there is any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warren.consumer.plan import LogEnds, advance, first_position
from warren.pipeline.query import _first_reads, _identifier, said

TRACEBACK = """[STREAM_FAILED] Query [id = 1] terminated with exception: Traceback (most recent call last):
  File "source.py", line 1, in read
    raise StalledError("no record")
warren.consumer.drain.StalledError: no record for 30 s though 5 are to be read
 SQLSTATE: 38000
=== Streaming Query ===
+- LocalRelation <empty>
"""


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        pytest.param(
            TRACEBACK, "no record for 30 s though 5 are to be read", id="the last exception of Python"
        ),
        pytest.param(
            "[NO_SPACE] The disk is full.\n  more", "[NO_SPACE] The disk is full.", id="the first line"
        ),
        pytest.param("  \n", "unknown", id="nothing"),
    ],
)
def test_a_failure_in_a_sentence(reason: str, sentence: str) -> None:
    assert said(reason) == sentence


def test_the_first_trigger_tells_how_much_it_reads(tmp_path: Path) -> None:
    assert _first_reads(tmp_path) == 0
    ends = LogEnds((0, 0), (900, 100), 1, 2)
    position = advance(first_position(ends, start_latest=False, backfill=False), ends, limit=400)
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "0").write_text('v1\n{"conf":{}}\n{"at": 1}\n-\n')
    (offsets / "10").write_text(
        "\n".join(["v1", '{"conf":{}}', '{"at": 1}', json.dumps(position.to_offset())])
    )
    (offsets / ".11.tmp").write_text("half")
    assert _first_reads(tmp_path) == 1_000


def test_any_cluster_name_is_a_name_for_spark() -> None:
    assert _identifier("local") == "local"
    assert _identifier("a-b") != _identifier("a.b")
    assert _identifier("größe/1").replace("_", "").isalnum()
