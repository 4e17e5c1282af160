"""The JSON Schema of the kafka sink's records: python -m warren.sinks.kafka_schema docs/kafka-records.schema.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from warren.sinks.changes import GroupChange, PartitionChange
from warren.sinks.kafka_records import Group, Partition, Topic


def schema() -> dict[str, Any]:
    """Of every value, but for tombstones, which have none."""
    kinds = (Group, Topic, Partition, GroupChange, PartitionChange)
    _, found = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Records of Warren's kafka sink",
        "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds],
        "$defs": found,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(schema(), indent=1) + "\n")
