"""A process that reads a topic with librdkafka and discards it: the upper limit for Python."""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from warren.bench.line import BenchError, Parent, as_child

# records per call: the fastest of the sizes tried
_BATCH: Final = 10_000
# interval of progress reports, in records
_STEP: Final = 100_000
# timeout without a record
_SILENCE_S: Final = 30.0
_SETTINGS: Final[dict[str, Any]] = {
    "group.id": "warren-bench",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "check.crcs": False,
    "fetch.wait.max.ms": 10,
    "fetch.max.bytes": 52_428_800,
    "max.partition.fetch.bytes": 4_194_304,
    "queued.max.messages.kbytes": 131_072,
}


def main(parent: Parent) -> None:
    """Read all records of a topic `runs` times, with the key, value and offset of each."""
    task = parent.task
    for _ in range(task["runs"]):
        began = time.perf_counter()
        count = _drained(parent, task["servers"], task["topic"], task["partitions"], task["records"])
        parent.tell("drained", records=count, seconds=time.perf_counter() - began)


def _drained(parent: Parent, servers: str, topic: str, partitions: int, records: int) -> int:
    consumer = Consumer({**_SETTINGS, "bootstrap.servers": servers})
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        count, reported, last_read = 0, 0, time.monotonic()
        while count < records and not parent.stop.is_set():
            messages = consumer.consume(_BATCH, 0.1)
            for message in messages:
                if (error := message.error()) is not None:
                    raise BenchError(f"{topic} cannot be read: {error.str()}")
            keys = [message.key() for message in messages]
            values = [message.value() for message in messages]
            offsets = [message.offset() for message in messages]
            count += min(len(keys), len(values), len(offsets))
            if messages:
                last_read = time.monotonic()
            if count - reported >= _STEP:
                parent.tell("draining", done=count)
                reported = count
            if time.monotonic() - last_read > _SILENCE_S:
                raise BenchError(f"{topic} ends after {count:,} of {records:,} records")
    except KafkaException as error:
        raise BenchError(f"{topic} cannot be read: {error.args[0].str()}") from error
    finally:
        consumer.close()
    return count


if __name__ == "__main__":
    as_child(main)
