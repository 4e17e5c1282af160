"""Requests that need no broker to be answered."""

from __future__ import annotations

import pytest

from warren.kafka.brokers import Brokers, Limit


@pytest.mark.parametrize("name", ["", "\0name", "a\0b", "a name", "\ufffd"])
def test_one_name_that_kafka_does_not_allow_ended_the_query_for_good(name: str) -> None:
    # the client library raises for some of these, and the file of missing partitions has them again at every start
    brokers = Brokers({"bootstrap.servers": "127.0.0.1:1"})
    assert brokers.described([name], Limit(1.0)) == {name: ()}
