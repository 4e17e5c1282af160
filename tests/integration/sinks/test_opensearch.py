"""Documents in a real OpenSearch, through its own client."""

from __future__ import annotations

import pytest
from tests.integration.sinks.test_elasticsearch import ROWS, name, refusal, sink, tried, write
from tests.search_server import SearchServer
from tests.unit.sinks.samples import example_tables

from warren.clock import now_ms
from warren.sinks.writer import Written

__all__ = ["name"]

pytestmark = pytest.mark.xdist_group("opensearch")


def test_a_sample_is_written_once(opensearch: SearchServer, name: str) -> None:
    settings = sink(opensearch, name, server="opensearch")
    assert tried(settings).detail == (
        f"OpenSearch 2.19.6, index template {name} is put with the first sample"
    )
    tables = example_tables(at_ms=now_ms())
    assert write(settings, tables) == write(settings, tables) == Written(ROWS)
    assert len(opensearch.documents(f"{name}*")) == ROWS
    fields = opensearch.request("GET", f"{name}*/_field_caps?fields=tag.group,burrow_group.lag")["fields"]
    assert [*fields["tag.group"], *fields["burrow_group.lag"]] == ["keyword", "long"]
    assert tried(settings).detail == f"OpenSearch 2.19.6, index template {name} is there"


def test_a_mapping_that_does_not_fit_rejects_those_documents_and_no_other(
    opensearch: SearchServer,
    name: str,
) -> None:
    other = {"properties": {"burrow_group": {"properties": {"status": {"type": "ip"}}}}}
    opensearch.request("PUT", name, {"mappings": other})
    written = write(sink(opensearch, name, server="opensearch", index=name))
    assert (written.rows, written.rejected) == (ROWS - 2, 2)
    assert "failed to parse field [burrow_group.status] of type [ip]" in written.reason


def test_the_client_of_elasticsearch_says_which_to_use(opensearch: SearchServer, name: str) -> None:
    assert refusal(sink(opensearch, name)).endswith('for OpenSearch set server = "opensearch"')
