"""Requests about groups, as far as no broker is needed."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState

from warren.kafka.brokers import Limit
from warren.kafka.group_admin import GroupAdmin


@pytest.fixture
def admin() -> GroupAdmin:
    return GroupAdmin({"bootstrap.servers": "127.0.0.1:1"}, at_once=5)


def test_one_group_without_a_name_made_every_round_fail(
    admin: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(**_: object) -> Future[Any]:
        answer: Future[Any] = Future()
        groups = [SimpleNamespace(group_id=name, state=ConsumerGroupState.EMPTY) for name in ("", "good")]
        answer.set_result(SimpleNamespace(valid=groups, errors=[]))
        return answer

    monkeypatch.setattr(admin._client, "list_consumer_groups", listed)
    assert admin.listed(Limit(5)).empty == {"good": True}
    # why it is left out
    with pytest.raises(ValueError, match="group"):
        list(admin.committed([""], Limit(5)))


def test_a_group_without_a_name_is_not_taken_for_deleted(admin: GroupAdmin) -> None:
    assert admin.has_offsets("", Limit(1))
