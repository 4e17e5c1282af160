"""A child for the tests of the line: says back what it is told, fails or ends when asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from warren.bench.line import Parent, as_child
from warren.errors import WarrenError


def main(parent: Parent) -> None:
    # whatever writes to standard output must not disturb the line
    print("noise", flush=True)  # noqa: T201
    parent.tell("task", task=parent.task)
    while (words := parent.told()) is not None:
        match words["do"]:
            case "say":
                parent.tell("said", text=words["text"])
            case "fail":
                raise WarrenError("it cannot be done")
            case "crash":
                sys.stderr.write("the last words\n")
                sys.stderr.flush()
                os._exit(3)
            case "beget":
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                parent.tell("begot", pid=child.pid)
            case "hang":
                parent.tell("hangs")
                time.sleep(600)


if __name__ == "__main__":
    as_child(main)
