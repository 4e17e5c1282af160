"""What Spark starts in place of Python: it has the seedling make the process that is wanted, and stands for it.

It needs nothing but Python itself and takes 20 ms to start. A process that loads what Spark's planning needs takes
twenty times that, and Spark starts half a dozen of them, one after the other, before its first trigger.
"""

import json
import os
import socket
import sys

# the variable that says where the seedling listens
ADDRESS = "WARREN_SEEDLING"


def main() -> int:
    # pathlib would take as long to load as all the rest
    words = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()  # noqa: PTH109
    with socket.socket(socket.AF_UNIX) as seedling:
        try:
            seedling.connect(os.environ[ADDRESS])
            socket.send_fds(seedling, [len(words).to_bytes(4, "big")], [0, 1, 2])
            seedling.sendall(words)
        except (OSError, KeyError):
            # no seedling: as it would be without all this
            os.execv(sys.executable, [sys.executable, *sys.argv[1:]])  # noqa: S606
        # these are the other process's now: who reads them waits for its end
        for stream in (0, 1, 2):
            os.close(stream)
        code = seedling.recv(1)
    return code[0] if code else 1


if __name__ == "__main__":
    # not sys.exit, which looks for the streams that are closed
    os._exit(main())
