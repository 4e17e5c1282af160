"""Several questions in one process, as `warren check --connect` has one for each directory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path


def test_spark_kept_files_where_a_question_before_had_its_own(tmp_path: Path) -> None:
    """Nobody had locked that directory any more: another start could remove it at any moment."""
    script = """
        import sys
        from pathlib import Path

        from warren.config.sections import Spark
        from warren.history.session import history_session
        from warren.pipeline import temporary
        from warren.pipeline.session import spark_session, stop

        def work(session):
            # what any other start does
            temporary._remove_unused(parent)
            assert session.range(100).repartition(2).groupBy().count().first()[0] == 100

        parent = Path(sys.argv[1])
        for _ in range(2):
            with history_session({}) as session:
                # Java's and ours
                assert len(list(parent.glob("warren-java-*"))) == 2, list(parent.glob("warren-java-*/*"))
                work(session)
        session = spark_session(Spark(checkpoint_dir=sys.argv[2]), clusters=1)
        work(session)
        stop(session)
        print("done")
    """
    temporary, checkpoints = tmp_path / "temporary", tmp_path / "checkpoints"
    temporary.mkdir()
    checkpoints.mkdir()
    asked = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), temporary, checkpoints],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert asked.stdout == "done\n", asked.stderr[-2000:]
