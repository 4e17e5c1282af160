"""Frames: the rows between source, operator and driver: few and large, since each row costs Spark time.

A row is (bucket, kind, payload): one bucket's share of a batch in Arrow's format. Topic partitions and their
windows are in the first buckets, by hash of topic and partition; the owners of a group's partitions are in the
buckets after those, by hash of the group.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from warren.common.checkpoint import BUCKET_MULTIPLIER, OWNER_BUCKETS, WINDOW_BUCKETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

# kinds of input frames
COMMITS: Final = "commits"
HEADS: Final = "heads"
TOMBSTONES: Final = "tombstones"
REQUESTS: Final = "requests"
GROUPS: Final = "groups"
LISTED: Final = "listed"
SKIPPED: Final = "skipped"
LOOK: Final = "look"
# kinds of output frames (skipped and look are passed through)
WINDOWS: Final = "windows"
SAMPLES: Final = "samples"
OWNERS: Final = "owners"

# bucket, kind, payload
Frame = tuple[int, str, bytes]

_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="lz4")
# bytes from which on compression saves more than it costs
_WORTH_IT: Final = 16_384


def bucket_of(topic: pa.StringArray, partition: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """The bucket of each topic partition: the same on every machine and in every run."""
    encoded = topic.dictionary_encode()
    # by topic: topics repeat, so each is hashed once
    hashes = np.fromiter(
        (zlib.crc32(name.encode()) * BUCKET_MULTIPLIER for name in encoded.dictionary.to_pylist()),
        dtype=np.uint64,
        count=len(encoded.dictionary),
    )
    mixed = hashes[np.asarray(encoded.indices)] + partition.astype(np.uint64) * np.uint64(BUCKET_MULTIPLIER)
    bucket: NDArray[np.int32] = ((mixed >> np.uint64(7)) % np.uint64(WINDOW_BUCKETS)).astype(np.int32)
    return bucket


def owner_bucket_of(group: str) -> int:
    """The bucket of a group's owners."""
    return WINDOW_BUCKETS + zlib.crc32(group.encode()) % OWNER_BUCKETS


def rows(found: Sequence[Frame]) -> pa.RecordBatch:
    """Frames as the rows that Spark moves."""
    buckets, kinds, payloads = zip(*found, strict=True)
    return pa.record_batch(
        {
            "bucket": pa.array(buckets, pa.int32()),
            "kind": pa.array(kinds, pa.string()),
            "payload": pa.array(payloads, pa.binary()),
        }
    )


def pack(
    columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None, *, compress: bool = False
) -> bytes:
    """Columns (Arrow or numpy arrays, all of one length) and their metadata, as bytes.

    `compress`: with lz4, where it is worth it: windows shrink to about a third, and Spark copies a payload many times.
    """
    batch = pa.record_batch(dict(columns)) if columns else pa.record_batch({}, schema=pa.schema([]))
    if metadata:
        batch = batch.replace_schema_metadata(metadata)
    return pack_batch(batch, compress=compress)


def pack_batch(batch: pa.RecordBatch, *, compress: bool = False) -> bytes:
    """As `pack`, for a record batch."""
    sink = pa.BufferOutputStream()
    options = _COMPRESSED if compress and batch.nbytes > _WORTH_IT else None
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack(payload: bytes | pa.Buffer) -> pa.RecordBatch:
    """The record batch that `pack` packed; its arrays are views on the payload."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_next_batch()


def metadata(batch: pa.RecordBatch) -> dict[str, str]:
    """The metadata of a frame."""
    return {key.decode(): value.decode() for key, value in (batch.schema.metadata or {}).items()}


def ints(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    """An integer column without nulls as a (read-only) array."""
    return batch.column(name).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
