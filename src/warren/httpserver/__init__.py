"""The doors for people and programs: Burrow's HTTP API and `/metrics`, answered from the latest snapshot."""

from warren.httpserver.server import Server
from warren.httpserver.state import Answers

__all__ = ["Answers", "Server"]
