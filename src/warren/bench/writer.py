"""A process that writes commits: many at once, then so many a second."""

from __future__ import annotations

from typing import Final

from warren.bench.line import Parent, as_child
from warren.demo.commit_records import Shape
from warren.demo.commit_writer import CommitWriter

# interval of progress reports, in commits
_STEP: Final = 100_000


def main(parent: Parent) -> None:
    """Commands: `write` so many commits; `run` at a rate until `stop`."""
    task = parent.task
    commits = CommitWriter(task["servers"], Shape(**task["shape"]), interval_ms=task["interval_ms"])
    commits.prepare()

    def progress(done: int) -> None:
        if done % _STEP == 0:
            parent.tell("writing", done=done)

    while (metadata := parent.told()) is not None:
        if metadata["do"] == "write":
            written = commits.write(metadata["commits"], progress, parent.stop)
            parent.tell("written", commits=written.commits, seconds=written.seconds)
        elif metadata["do"] == "run":
            written = commits.run(metadata["rate"], None, advance_heads=True, stop=parent.stop)
            parent.tell("ran", commits=written.commits, seconds=written.seconds)


if __name__ == "__main__":
    as_child(main)
