"""Turns client properties from plain data into arguments of a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# properties that are ours, not librdkafka's; `with_login` turns them into a callback
IAM_PREFIX: Final = "warren.iam."

Property = str | int | bool


def with_login(properties: Mapping[str, Property]) -> dict[str, Any]:
    """The arguments of a client: with the callback that signs AWS tokens where one is needed."""
    own = {key: value for key, value in properties.items() if not key.startswith(IAM_PREFIX)}
    iam = {key.removeprefix(IAM_PREFIX): str(value) for key, value in properties.items() if key not in own}
    if iam:
        # few clusters need it, and the import costs time in every worker
        from warren.kafka.iam import TokenSource  # noqa: PLC0415

        return own | {"oauth_cb": TokenSource(iam["region"], iam["role-arn"], iam["profile"])}
    return own
