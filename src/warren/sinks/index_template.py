"""The index template of the elasticsearch sink: what Telegraf's template does, with numbers that stay exact."""

from __future__ import annotations

from typing import Any, Final

from warren.sinks.documents import GROUP, PARTITION, TOPIC

# raise it with every change: templates of older versions are replaced then
VERSION: Final = 1
MANAGER: Final = "warren"

# Some dashboards ask for `tag.group`, as mapped by Telegraf's template; others, made without a template, for
# `tag.group.keyword`: both are there
_KEYWORD: Final = {
    "type": "keyword",
    "ignore_above": 512,
    "fields": {"keyword": {"type": "keyword", "ignore_above": 512}},
}
_TEXT: Final = {
    "type": "text",
    "norms": False,
    "fields": {"keyword": {"type": "keyword", "ignore_above": 256}},
}
_NUMBER: Final = {"type": "long"}
# nobody looks for a value of these
_COUNTER: Final = {"type": "long", "index": False}
_STATUS: Final = {"status": _TEXT, "status_code": _NUMBER}


def index_pattern(index: str) -> str:
    """The indices of a name with strftime directives; empty when its beginning is not fixed."""
    fixed, directive, _ = index.partition("%")
    return f"{fixed}*" if directive and fixed else fixed


def template_name(index: str) -> str:
    """The name of the template when none is given: what stands before the date."""
    return index.partition("%")[0].rstrip("-._") or index


def index_template(index: str) -> dict[str, Any]:
    """For the indices of a name with strftime directives."""
    pattern = index_pattern(index)
    return {
        "index_patterns": [pattern],
        # of two that fit, the one that says more: two of the same priority may not overlap
        "priority": 100 + len(pattern),
        "version": VERSION,
        "_meta": {"managed_by": MANAGER},
        "template": {
            "settings": {
                "index": {
                    "refresh_interval": "10s",
                    "mapping.total_fields.limit": 5000,
                    "auto_expand_replicas": "0-1",
                    "codec": "best_compression",
                }
            },
            "mappings": {
                "dynamic_templates": [
                    {
                        "tags": {
                            "path_match": "tag.*",
                            "match_mapping_type": "string",
                            "mapping": _KEYWORD,
                        }
                    },
                    {"texts": {"match_mapping_type": "string", "mapping": _TEXT}},
                ],
                "properties": {
                    "@timestamp": {"type": "date"},
                    "measurement_name": _KEYWORD,
                    "tag": {
                        "properties": dict.fromkeys(
                            ("cluster", "group", "topic", "partition", "owner"), _KEYWORD
                        )
                    },
                    GROUP: {
                        "properties": {
                            **_STATUS,
                            "partition_count": _NUMBER,
                            "total_lag": _NUMBER,
                            "lag": _NUMBER,
                            "offset": _COUNTER,
                            "timestamp": _COUNTER,
                        }
                    },
                    PARTITION: {
                        "properties": {
                            **_STATUS,
                            "lag": _NUMBER,
                            "offset": _COUNTER,
                            "timestamp": _COUNTER,
                        }
                    },
                    TOPIC: {"properties": {"offset": _COUNTER}},
                },
            },
        },
    }


def is_current(there: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a template may stay: it is not Warren's, or it is this one."""
    managed = (there.get("_meta") or {}).get("managed_by") == MANAGER
    return not managed or all(
        there.get(key) == wanted[key] for key in ("index_patterns", "priority", "version")
    )
