"""What a real Burrow made of single records (`records.jsonl`), and where Warren differs from it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parents[2] / "data" / "records" / "records.jsonl"

# (group, topic, partition): (offset, timestamp) of each commit, oldest first
Windows = dict[tuple[str, str, int], list[tuple[int, int]]]
# (group, topic, partition): (owner, client id)
Owners = dict[tuple[str, str, int], tuple[str, str]]

TOPIC: Final = "rec-data"
PARTITIONS: Final = 3
NOW_MS: Final = 1794729999370
EXPIRE_MS: Final = 604800 * 1000


@dataclass(frozen=True, slots=True)
class Probe:
    """Records written one after the other, and Burrow's answers after them."""

    name: str
    group: str
    records: list[tuple[bytes | None, bytes | None]]
    # the whole line of the file
    burrow: dict[str, Any]

    def windows(self) -> Windows:
        """Burrow's windows, the ones with a commit."""
        return {
            (self.group, topic, partition): [(each["offset"], each["timestamp"]) for each in entries]
            for topic, partition, answer in self._partitions()
            if (entries := [each for each in answer["offsets"] if each is not None])
        }

    def owners(self) -> Owners:
        """Burrow's owners, the partitions that have one."""
        return {
            (self.group, topic, partition): (answer["owner"], answer["client_id"])
            for topic, partition, answer in self._partitions()
            if answer["owner"] or answer["client_id"]
        }

    def _partitions(self) -> list[tuple[str, int, dict[str, Any]]]:
        return [
            (topic, partition, answer)
            for topic, answers in self.burrow.get("topics", {}).items()
            for partition, answer in enumerate(answers)
        ]


def probes() -> list[Probe]:
    """All probes of the file."""
    lines = [json.loads(line) for line in FILE.read_text().splitlines()]
    return [
        Probe(
            each["probe"],
            each["group"],
            [(_bytes(record["key"]), _bytes(record["value"])) for record in each["records"]],
            each,
        )
        for each in lines[1:]
    ]


def _bytes(text: str | None) -> bytes | None:
    """Hex; a long run of the same byte is written as `..n bytes..` before eight more of it."""
    if text is None:
        return None
    return bytes.fromhex(re.sub(r"\.\.(\d+) bytes\.\.(?=(..))", lambda run: run[2] * int(run[1]), text))


@dataclass(frozen=True, slots=True)
class Difference:
    """Where Warren is right and Burrow is not: what Warren makes of the probe, and why."""

    reason: str
    windows: Windows | None = None
    owners: Owners | None = None


def _first(group: str, offset: int = 40, partition: int = 0) -> Windows:
    return {(group, TOPIC, partition): [(offset, NOW_MS)]}


# probe: what Warren says instead; None in a difference: as Burrow
DIFFERENCES: Final[dict[str, Difference]] = {
    "value-v2": Difference("Kafka defines value version 2; Burrow refuses it", windows=_first("r-value-v2")),
    **{
        f"value-v4-metadata-{length}": Difference(
            "a compact length takes two bytes from 127 on; Burrow reads one, and a wrong timestamp after it",
            windows=_first(f"r-value-v4-metadata-{length}"),
        )
        for length in (127, 128, 254, 255, 300)
    },
    "tombstone-after-commit": Difference("a null value deletes the commit; Burrow ignores it", windows={}),
    "group-empty-name": Difference(
        "the API has no path for the empty name, so Burrow's answer shows nothing", windows=_first("")
    ),
    "group-null-name": Difference(
        "a null name reads as the empty one, as in Burrow, whose answer shows nothing",
        windows=_first("", 41, partition=1),
    ),
    "group-slash": Difference(
        "Burrow has the commit and lists the group, but its API cannot find a name with a slash",
        windows=_first("r/group"),
    ),
    "meta-shrinks": Difference(
        "who was given fewer partitions does not own the others any more; Burrow leaves the old owners",
        owners={("r-meta-shrinks", TOPIC, 0): ("/10.0.0.1", "client-2")},
    ),
    "meta-before-commits": Difference(
        "owners are kept for the commits to come; Burrow lists the group and loses it at the first look",
        owners={
            ("r-meta-before-commits", TOPIC, 0): ("/10.0.0.1", "client-1"),
            ("r-meta-before-commits", TOPIC, 2): ("/10.0.0.1", "client-1"),
        },
    ),
}
