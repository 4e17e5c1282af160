"""A process that writes commits: many at once, then at a rate."""

from __future__ import annotations

from typing import Final

from warren.bench.line import Parent, as_child
from warren.demo.commit_records import Shape
from warren.demo.commit_writer import CommitWriter

# interval of progress reports, in commits
_STEP: Final = 100_000


def main(parent: Parent) -> None:
    """Commands: `write` a number of commits; `run` at a rate until `stop`."""
    task = parent.task
    commits = CommitWriter(task["servers"], Shape(**task["shape"]), interval_ms=task["interval_ms"])
    commits.prepare()

    def progress(done: int) -> None:
        if done % _STEP == 0:
            parent.tell("writing", done=done)

    while (command := parent.told()) is not None:
        if command["do"] == "write":
            written = commits.write(command["commits"], progress, parent.stop)
            parent.tell("written", commits=written.commits, seconds=written.seconds)
        elif command["do"] == "run":
            written = commits.run(command["rate"], None, advance_heads=True, stop=parent.stop)
            parent.tell("ran", commits=written.commits, seconds=written.seconds)


if __name__ == "__main__":
    as_child(main)
