"""Checkpoints that are kept with the tests, each with what it held: later versions read them or refuse them.

This makes one anew, in the format that is current:

    .venv/bin/python -m tests.integration.pipeline.stored
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.conftest import OFFSETS_PARTITIONS
from tests.integration.pipeline.hands import (
    Hands,
    await_view,
    commit,
    group_metadata,
    later,
    pipeline_settings,
    running,
    watched,
)

from warren.config import Settings
from warren.config.sections import KafkaConsumer
from warren.demo.broker import Broker
from warren.pipeline import source
from warren.snapshot.view import ClusterView

DIRECTORY: Final = Path(__file__).parents[2] / "data" / "checkpoints"

CLUSTER: Final = "stored"
# the consumer module, and a plain topic that it takes for an offsets topic
CONSUMER: Final = "raw"
OFFSETS: Final = "stored-offsets"
TOPICS: Final = {"orders": 3, "payments": 12}
GROUPS: Final = 4
# stands for the directory that the checkpoint was in
_ANYWHERE: Final = "/CHECKPOINT"
# seconds: nothing expires, however old the checkpoint is when it is read
_CENTURY: Final = 100 * 365 * 86_400


def stored_settings(directory: Path, servers: str) -> Settings:
    """The configuration of the run that is kept; the brokers may be others, or none."""
    consumer = KafkaConsumer(cluster=CLUSTER, servers=(servers,), offsets_topic=OFFSETS)
    return pipeline_settings(
        directory, {CLUSTER: watched(servers)}, {CONSUMER: consumer}, expire_group=_CENTURY
    )


def contents(view: ClusterView) -> dict[str, Any]:
    """What the state holds, as JSON: every entry of every window, owners, heads and tails."""
    windows: dict[str, Any] = {}
    for group in view.groups():
        for topic, partitions in (view.detail(group) or {}).items():
            windows.setdefault(group, {})[topic] = [
                {
                    "owner": each.owner,
                    "client_id": each.client_id,
                    "entries": [
                        [entry.offset, entry.timestamp, entry.observed_at, entry.lag, floor]
                        for entry, floor in zip(each.offsets, each.floors, strict=True)
                        if entry
                    ],
                }
                for each in partitions
            ]
    heads = {topic: [[each.head, each.tail] for each in view.topic(topic) or ()] for topic in TOPICS}
    return {"windows": windows, "heads": heads}


def unpacked(archive: Path, directory: Path) -> Path:
    """A checkpoint as it was when it was kept."""
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="data")
    _replace_paths(directory, _ANYWHERE, str(directory))
    return directory


def main() -> None:
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        checkpoint = Path(temporary, "checkpoint")
        with Broker(offsets_partitions=OFFSETS_PARTITIONS) as broker:
            found = contents(_run(checkpoint, broker))
        offset = source.planned_last(checkpoint / CLUSTER / "query") or {}
        name = f"format-{offset['version']}"
        (DIRECTORY / f"{name}.json").write_text(json.dumps(found) + "\n")
        keep(checkpoint, DIRECTORY / f"{name}.tar.xz")


def keep(checkpoint: Path, archive: Path) -> None:
    _replace_paths(checkpoint, str(checkpoint), _ANYWHERE)
    # it says where the checkpoint was made: one without it may be anywhere
    (checkpoint / CLUSTER / "location").unlink()
    with tarfile.open(archive, "w:xz") as file:
        file.add(checkpoint / CLUSTER, CLUSTER, filter=_anonymous)


def _replace_paths(checkpoint: Path, old: str, new: str) -> None:
    """Spark keeps the path of its checkpoint in it."""
    for path in (checkpoint / CLUSTER / "query" / "state" / "0" / "_metadata" / "v2").glob("[0-9]*"):
        path.write_text(path.read_text().replace(f"file:{old}/", f"file:{new}/"))


def _run(checkpoint: Path, broker: Broker) -> ClusterView:
    """Some triggers with commits, of which the first writes bases and the others journals."""
    hands = Hands(broker)
    hands.make(OFFSETS, 2)
    for topic, partitions in TOPICS.items():
        hands.make(topic, partitions)
        for partition in range(partitions):
            hands.fill(topic, 50 + partition, partition)
    with running(stored_settings(checkpoint, broker.bootstrap_servers)) as engine:
        for round_ in range(3):
            hands.write(OFFSETS, [group_metadata("group-0", "orders", 0, 1)])
            for group in range(GROUPS):
                commits = [
                    commit(f"group-{group}", topic, 10 * round_ + group, partition=partition)
                    for topic, partitions in TOPICS.items()
                    for partition in range(partitions)
                ]
                hands.write(OFFSETS, commits, partition=group % 2)
            later(engine, CLUSTER)
        return await_view(engine, CLUSTER, _is_whole)


def _is_whole(view: ClusterView) -> bool:
    """Everything was read, and the lags are known."""
    windows = contents(view)["windows"]
    entries = [each["entries"] for topics in windows.values() for found in topics.values() for each in found]
    return (
        len(entries) == GROUPS * sum(TOPICS.values())
        and all(len(each) == 3 for each in entries)
        and windows["group-0"]["orders"][1]["owner"] != ""
    )


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without a word of who made it, and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
