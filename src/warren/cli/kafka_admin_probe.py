"""The probe of a consumer that polls the admin API: it sees the groups, and may ask for their offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

from warren.cli.attempts import UnreachableError
from warren.kafka.brokers import Limit
from warren.kafka.group_admin import Failure, GroupAdmin

# groups whose offsets are asked for
_TRIED = 20


def kafka_admin(properties: dict[str, Any], accepts: Callable[[str], bool], limit_s: float) -> str:
    """How many groups there are and how many are monitored; some are asked for."""
    try:
        client = GroupAdmin(properties, _TRIED)
    except KafkaException as error:
        raise UnreachableError(error.args[0].str()) from None
    limit = Limit(limit_s)
    listed = client.listed(limit)
    if listed.error:
        raise UnreachableError(f"not every broker lists its groups: {listed.error}")
    groups = sorted(filter(accepts, listed.empty))
    found = f"{len(listed.empty)} groups, {len(groups)} of them monitored"
    answers = dict(client.committed(groups[:_TRIED], limit))
    failed = {group: each for group, each in answers.items() if isinstance(each, Failure)}
    if not failed:
        return found
    group, failure = next(iter(failed.items()))
    remedy = f": {failure.remedy}" if failure.remedy else ""
    raise UnreachableError(
        f"{found}; of {len(answers)} that were asked for {len(failed)} gave no offsets, {group}: "
        f"{failure.reason}{remedy}"
    )
