"""A server in a process that may open few files: prints its port, then tries to open a file for every line it reads."""

from __future__ import annotations

import resource
import sys
import tempfile

from prometheus_client import CollectorRegistry
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel

from warren.config import Settings
from warren.config.sections import HttpServer
from warren.httpserver import Server

FILES = 200


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    settings = Settings(httpserver={"a": HttpServer(address="127.0.0.1:0")})
    server = Server(settings, MemoryAnswers(), MemoryLogLevel(), registry=CollectorRegistry())
    server.start()
    tell(server.urls["a"])
    for _ in sys.stdin:
        try:
            with tempfile.TemporaryFile():
                tell("opened")
        except OSError as error:
            tell(str(error))
    server.stop()


if __name__ == "__main__":
    main()
