"""What is understood and not done yet is said, module by module, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from tests.configurations import SMALLEST

from warren.config import load
from warren.config.limitations import limitations

TEXT = f"""
{SMALLEST}
[consumer.old]
class-name = "kafka_zk"
cluster = "local"
servers = ["localhost:2181"]

[notifier.nobody]
class-name = "null"

[sink.history]
class-name = "parquet"
path = "history"
"""


def test_each_module_that_is_not_served_is_named(tmp_path: Path) -> None:
    (tmp_path / "burrow.toml").write_text(TEXT)
    assert [sentence.split(":")[0] for sentence in limitations(load(tmp_path, {}))] == [
        "consumer.old",
        "sink.history",
    ]
