"""Configurations that several tests begin with."""

from __future__ import annotations

# the least that can be run
SMALLEST = """\
[cluster.local]
servers = ["localhost:9092"]
[consumer.local]
class-name = "kafka"
cluster = "local"
servers = ["localhost:9092"]
"""


def watching(servers: str, prefix: str, intervals: int) -> str:
    """One cluster by Burrow's rules, of which only groups whose names begin so are watched."""
    return f"""
[general]
pidfile = ""
[storage.default]
intervals = {intervals}
group-allowlist = '^{prefix}'
[evaluator.default]
class-name = "caching"
[cluster.demo]
servers = ["{servers}"]
topic-refresh = 5
offset-refresh = 1
[consumer.demo]
class-name = "kafka"
cluster = "demo"
servers = ["{servers}"]
"""
