"""What a checkpoint holds: the layout of Spark's state and of its offsets, and the version of the two.

A query is not started on a checkpoint that has another version, or another fingerprint of the layout: windows in other
buckets than those where they are looked for would be lost without notice. Whoever changes what is declared here raises
VERSION. Tests compare the declarations with what is written, and hold the fingerprint of each version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from warren.errors import WarrenError

VERSION: Final = 4

# Buckets, the keys of the state. Topic partitions and their windows are in the first ones, the owners of groups'
# partitions in those after them. Enough to spread one million windows over the cores of a cluster, few enough to
# be cheap when idle
WINDOW_BUCKETS: Final = 8
OWNER_BUCKETS: Final = 4

# spreads neighbouring partitions of one topic (Knuth's multiplier)
BUCKET_MULTIPLIER: Final = 2654435761
# as the functions in `frames` compute it
_BUCKET_OF: Final = {
    "topic partition": "((crc32(topic) + partition) * multiplier mod 2**64 >> 7) mod window buckets",
    "group": "window buckets + crc32(group) mod owner buckets",
}

# State variables of each bucket: Spark's name: its schema. `entries` is a list, what triggers changed since the base
HEADER: Final = "version int, fingerprint string, token string, entries int"
BASE: Final = "topic_partitions binary, windows binary, owners binary"
ENTRIES: Final = "topic_partitions binary, changed_windows binary"

# What the binary columns hold. Arrow record batches: column: type, where [n] is a list of so many
_ENTRY: Final = dict.fromkeys(
    ("offset", "timestamp", "observed_at", "lag", "floor", "order"), "int64[intervals]"
)
_DICTIONARY: Final = "dictionary<values=string, indices=int32>"
TOPIC_PARTITIONS: Final[Mapping[str, str]] = {
    "topic": "string",
    "partition": "int32",
    "topic_id": "string",
    "tail": "int64",
    "missing": "int64",
    "look_offset": "int64[3]",
    "look_at_ms": "int64[3]",
    "sample_offset": "int64[intervals]",
    "sample_at_ms": "int64[intervals]",
}
WINDOWS: Final[Mapping[str, str]] = {
    "group": _DICTIONARY,
    "consumer": _DICTIONARY,
    # row of the topic partition
    "topic_partition": "int32",
} | _ENTRY
CHANGED_WINDOWS: Final[Mapping[str, str]] = {
    "row": "int32",
    # group and topic of windows that are new
    "group": _DICTIONARY,
    "topic": _DICTIONARY,
    "consumer": _DICTIONARY,
    "partition": "int32",
    "topic_partition": "int32",
} | _ENTRY
# what goes with the columns of a batch
METADATA: Final = {"topic partitions": ("intervals",), "windows": (), "changed windows": ("known", "rows")}
# MessagePack: a map of group: GROUP_OWNERS; both structs are arrays of their fields
GROUP_OWNERS: Final[Mapping[str, str]] = {
    "members": "dict[str, Member]",
    "newest": "dict[str, int]",
    "seen_ms": "int",
}
MEMBER: Final[Mapping[str, str]] = {
    "client_id": "str",
    "client_host": "str",
    "held": "dict[str, tuple[int, ...]]",
}

# Spark's offsets: one JSON object per trigger, with these members
OFFSET: Final = ("version", "fingerprint", "look", "consumers")
LOOK: Final = ("number", "at", "steady", "expiry", "jumped", "request")
# Of each consumer module, by its name. `numbers` is a text "1,2", one for each partition; `spans` is a text "1-2,3-4"
POSITION: Final[Mapping[str, str]] = {
    "next": "numbers",
    "shift": "numbers",
    "back": "spans",
    "asked": "number",
    "at": "number",
    "live": "boolean",
    "left": "number",
    "error": "text",
    "id": "text",
    "begin": "numbers",
    "grown": "boolean",
    "reads": "number",
    "as_of": "number",
    "goal": "numbers",
    "goal_at": "number",
    "silent": "boolean",
    "uncommitted": "numbers",
}
# of a consumer that is polled
POLLED_POSITION: Final[Mapping[str, str]] = {
    "order": "number",
    "at": "number",
    "as_of": "number",
    "error": "text",
    "silent": "boolean",
}


def layout() -> dict[str, Any]:
    """All of it."""
    return {
        "window buckets": WINDOW_BUCKETS,
        "owner buckets": OWNER_BUCKETS,
        "multiplier": BUCKET_MULTIPLIER,
        "bucket of": _BUCKET_OF,
        "state": {"header": HEADER, "base": BASE, "entries": ENTRIES},
        "topic partitions": TOPIC_PARTITIONS,
        "windows": WINDOWS,
        "changed windows": CHANGED_WINDOWS,
        "metadata": METADATA,
        # in their order
        "owners": {"group": [*GROUP_OWNERS.items()], "member": [*MEMBER.items()]},
        "offset": {"all": OFFSET, "look": LOOK, "position": POSITION, "polled": POLLED_POSITION},
    }


def fingerprint() -> str:
    """Another one for each layout."""
    return hashlib.sha256(json.dumps(layout(), sort_keys=True).encode()).hexdigest()[:12]


FINGERPRINT: Final = fingerprint()


class CheckpointFormatError(WarrenError):
    """The checkpoint was written by a version of Warren that has another layout."""


def check(version: object, found: object, where: str) -> None:
    """Refuse what was written in another format; `where` is what it was found in."""
    if (version, found) == (VERSION, FINGERPRINT):
        return
    if version == VERSION:
        written = f"format {version} with the layout {found}"
        wanted = f"format {VERSION} with the layout {FINGERPRINT}"
    else:
        written = "a format that is not known" if version is None else f"format {version}"
        wanted = f"format {VERSION}"
    raise CheckpointFormatError(
        f"{where} is in {written}, this version of Warren reads {wanted}: start the version that wrote it, or remove "
        "the checkpoint directory to begin afresh."
    )
