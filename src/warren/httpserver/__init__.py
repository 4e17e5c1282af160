"""The HTTP server: Burrow's API, `/v4` and `/metrics`, answered from the latest snapshot."""

from warren.httpserver.server import Server
from warren.httpserver.state import Answers

__all__ = ["Answers", "Server"]
