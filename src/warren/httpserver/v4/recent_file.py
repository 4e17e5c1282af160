"""The recent samples in a file, so that a restart does not empty the pages' charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import structlog

from warren import durable
from warren.snapshot.recent import RecentSample

_log = structlog.get_logger(__name__)
_VERSION: Final = 1


class _Sample(msgspec.Struct, array_like=True, frozen=True):
    time_ms: int
    # which of the tuples of names
    names: int
    lag: bytes
    status: bytes
    complete: bytes


class _Cluster(msgspec.Struct, array_like=True, frozen=True):
    names: list[tuple[str, ...]]
    samples: list[_Sample]


class _File(msgspec.Struct, array_like=True, frozen=True):
    version: int
    # by name
    clusters: dict[str, _Cluster]


def write(path: Path, clusters: Mapping[str, Sequence[RecentSample]]) -> None:
    """Replace the file. What cannot be written is logged: a chart is no reason to stop."""
    held = _File(_VERSION, {name: _packed(samples) for name, samples in clusters.items()})
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(msgspec.msgpack.encode(held))
    try:
        if path.parent.is_dir():
            durable.write(path, out.getvalue().to_pybytes())
    except OSError as error:
        _log.warning("recent samples cannot be stored", path=str(path), error=str(error))


def read(path: Path) -> dict[str, list[RecentSample]]:
    """Cluster: its samples; nothing when the file is missing or of no use."""
    try:
        with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
            held = msgspec.msgpack.decode(stream.read(), type=_File)
        if held.version != _VERSION:
            return {}
        return {name: _unpacked(cluster) for name, cluster in held.clusters.items()}
    except FileNotFoundError:
        return {}
    except (OSError, pa.ArrowException, msgspec.MsgspecError, ValueError, IndexError) as error:
        _log.warning("recent samples cannot be read: charts begin empty", path=str(path), error=str(error))
        return {}


def _packed(samples: Sequence[RecentSample]) -> _Cluster:
    numbers: dict[int, int] = {}
    names: list[tuple[str, ...]] = []
    packed = []
    for each in samples:
        if id(each.names) not in numbers:
            numbers[id(each.names)] = len(names)
            names.append(each.names)
        arrays = (each.lag.astype("<i8").tobytes(), each.status.tobytes(), each.complete.tobytes())
        packed.append(_Sample(each.time_ms, numbers[id(each.names)], *arrays))
    return _Cluster(names, packed)


def _unpacked(cluster: _Cluster) -> list[RecentSample]:
    found = []
    for each in cluster.samples:
        names = cluster.names[each.names]
        sample = RecentSample(
            each.time_ms,
            names,
            np.frombuffer(each.lag, "<i8").astype(np.int64),
            np.frombuffer(each.status, np.int8),
            np.frombuffer(each.complete, np.uint8),
        )
        if not len(names) == len(sample.lag) == len(sample.status) == len(sample.complete):
            raise ValueError("arrays of different lengths")
        found.append(sample)
    return found
