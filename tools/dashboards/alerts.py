"""The alert rules, once: Prometheus' and Grafana's files are both made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_GROUP: Final = "cluster, consumer_group"
# the share of time that a group should be OK, and what is left of it
OBJECTIVE: Final = 0.99
_BUDGET: Final = 1 - OBJECTIVE
# shown as "cluster/group" in messages
_NAME: Final = "{{ $labels.cluster }}/{{ $labels.consumer_group }}"


@dataclass(frozen=True)
class Rule:
    """An alert; it fires when the expression has a value for as long as `for_`."""

    name: str
    expression: str
    for_: str
    severity: str
    summary: str
    description: str
    keep_firing_for: str = ""


@dataclass(frozen=True)
class Recording:
    """An expression that Prometheus keeps the value of."""

    name: str
    expression: str


@dataclass(frozen=True)
class RuleGroup:
    name: str
    interval: str
    rules: tuple[Rule, ...] = ()
    recordings: tuple[Recording, ...] = field(default=())


def _status() -> str:
    return f"max by ({_GROUP}) (burrow_kafka_consumer_status)"


def _lag() -> str:
    return f"max by ({_GROUP}) (burrow_kafka_consumer_lag_total)"


# 1 for a minute in which a group was not OK
NOT_OK: Final = Recording("cluster_consumer_group:burrow_kafka_consumer_not_ok:bool", f"{_status()} > bool 1")
_MINUTES: Final = {"5m": 5, "30m": 30, "1h": 60, "2h": 120, "6h": 360, "1d": 1440}


def not_ok(window: str) -> Recording:
    """The share of the window in which a group was not OK; minutes without data count as OK, so that a group that
    has only just appeared, in trouble, has not used up a month's budget at once."""
    return Recording(
        f"cluster_consumer_group:burrow_kafka_consumer_not_ok:ratio{window}",
        f"clamp_max(sum_over_time({NOT_OK.name}[{window}]) / {_MINUTES[window]}, 1)",
    )


def _burning(name: str, windows: tuple[str, str], rate: float, severity: str, used: str) -> Rule:
    """Two windows: the long one says that it matters, the short one that it still goes on.

    `rate`: how many times as fast as the budget of 30 days allows.
    """
    long, short = windows
    threshold = f"{rate * _BUDGET:.4g}"
    return Rule(
        name,
        f"{not_ok(long).name} > {threshold} and {not_ok(short).name} > {threshold}",
        "0s",
        severity,
        f"{_NAME} was not OK for {{{{ $value | humanizePercentage }}}} of the last {long}",
        f"The group may be in trouble for {_BUDGET:.0%} of 30 days; {used}.",
    )


GROUPS: Final = RuleGroup(
    "warren-groups",
    "1m",
    (
        Rule(
            "ConsumerGroupNotOk",
            f"{_status()} >= 2",
            "10m",
            "warning",
            f"{_NAME} has not been OK for 10 minutes",
            "Warren says why: open the group in the dashboard, or ask /v4/clusters/CLUSTER/groups/GROUP.",
        ),
        Rule(
            "ConsumerGroupInError",
            f"{_status()} >= 3",
            "5m",
            "critical",
            f"{_NAME} has been in error for 5 minutes",
            "The group has stopped, is stuck or goes back on at least one partition.",
        ),
        Rule(
            "ConsumerGroupLagRising",
            f"max by ({_GROUP}) (delta(burrow_kafka_consumer_lag_total[5m])) > 0 and {_lag()} > 100",
            "15m",
            "warning",
            f"The lag of {_NAME} has been rising for 15 minutes",
            "The group reads more slowly than producers write. Small lags (100 records or less) do not count.",
            keep_firing_for="10m",
        ),
        Rule(
            "ConsumerGroupLagHigh",
            f"{_lag()} > 100000",
            "5m",
            "warning",
            f"{_NAME} is {{{{ $value | humanize }}}} records behind",
            "A threshold is wrong for most groups: change the number, or leave this rule out.",
        ),
    ),
)
SHARES: Final = RuleGroup(
    "warren-share-of-time-ok",
    "1m",
    (
        _burning(
            "ConsumerGroupBurnsBudgetFast",
            ("1h", "5m"),
            14.4,
            "critical",
            "2 % of that went in the last hour",
        ),
        _burning(
            "ConsumerGroupBurnsBudget",
            ("6h", "30m"),
            6,
            "critical",
            "5 % of that went in the last six hours",
        ),
    ),
    (NOT_OK, *map(not_ok, ("5m", "30m", "1h", "6h"))),
)
LONG_SHARES: Final = RuleGroup(
    "warren-share-of-day-ok",
    "5m",
    (
        _burning(
            "ConsumerGroupBurnsBudgetSlowly",
            ("1d", "2h"),
            3,
            "warning",
            "10 % of that went in the last day",
        ),
    ),
    tuple(map(not_ok, ("2h", "1d"))),
)
WARREN: Final = RuleGroup(
    "warren-itself",
    "1m",
    (
        Rule(
            "WarrenNotReady",
            "warren_ready == 0",
            "5m",
            "critical",
            "Warren on {{ $labels.instance }} is not ready",
            "It has not read all commits of a cluster yet, so that its verdicts are old or missing: see /v4/health.",
        ),
        Rule(
            "WarrenGone",
            "absent(warren_ready)",
            "5m",
            "critical",
            "No Warren answers",
            "Nobody watches the groups: no instance was scraped.",
        ),
        Rule(
            "WarrenClusterDown",
            "max by (cluster) (warren_cluster_up) == 0",
            "5m",
            "critical",
            "Warren cannot see the cluster {{ $labels.cluster }}",
            "Its brokers do not respond or the query fails; verdicts stay as they were. /v4/health says why.",
        ),
        Rule(
            "WarrenSinkBehind",
            "max by (sink, instance) (warren_sink_behind_seconds) > 300",
            "5m",
            "warning",
            "The sink {{ $labels.sink }} is {{ $value | humanizeDuration }} behind",
            "Samples wait in the outbox until the other side takes them: /v4/health says why it does not.",
        ),
        Rule(
            "WarrenSinkDropsSamples",
            "max by (sink, instance) (increase(warren_sink_samples_dropped_total[15m])) > 0",
            "0s",
            "critical",
            "The sink {{ $labels.sink }} loses samples",
            "They are older or more than the outbox may hold, or the disk is full.",
        ),
        Rule(
            "WarrenNobodyNotifies",
            "max by (job) (warren_notifier_leader) == 0",
            "5m",
            "critical",
            "No instance of Warren sends messages",
            "No instance holds the lease in ZooKeeper: incidents are noticed and nobody is told.",
        ),
    ),
)
ALL: Final = (GROUPS, SHARES, LONG_SHARES, WARREN)
