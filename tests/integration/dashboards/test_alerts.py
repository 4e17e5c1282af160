"""Every alert rule fires when it should, and not when it should not: Prometheus' own test tool says so."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tools.dashboards.__main__ import ROOT
from tools.dashboards.alert_files import prometheus_rules, written_out
from tools.dashboards.alerts import ALL

RULES = {rule.name: rule for group in ALL for rule in group.rules}
# of one group, in promtool's notation: a value, then how it changes from minute to minute and how often
LABELS = '{cluster="east", consumer_group="orders", instance="a:8000", job="warren"}'
STATUS, LAG = f"burrow_kafka_consumer_status{LABELS}", f"burrow_kafka_consumer_lag_total{LABELS}"
GROUP = {"cluster": "east", "consumer_group": "orders"}


class Case(NamedTuple):
    """`at`: minutes; `labels`: of the alert; `summary`: what it says, None: it does not fire."""

    rule: str
    series: dict[str, str]
    at: int
    labels: dict[str, str] = GROUP
    summary: str | None = None


CASES = {
    "a group that is in trouble for eleven minutes": Case(
        "ConsumerGroupNotOk", {STATUS: "1x5 2x15"}, 17, summary="east/orders has not been OK for 10 minutes"
    ),
    "a group that is in trouble for a while only": Case("ConsumerGroupNotOk", {STATUS: "1x5 2x6 1x20"}, 20),
    "a group in error": Case(
        "ConsumerGroupInError",
        {STATUS: "1x5 3x15"},
        12,
        summary="east/orders has been in error for 5 minutes",
    ),
    "a group with a warning is not in error": Case("ConsumerGroupInError", {STATUS: "2x30"}, 20),
    "lag that rises": Case(
        "ConsumerGroupLagRising",
        {LAG: "200+50x40"},
        25,
        summary="The lag of east/orders has been rising for 15 minutes",
    ),
    "lag that stays rising for the alert while it rests for a moment": Case(
        "ConsumerGroupLagRising",
        {LAG: "200+50x25 1450+0x20"},
        34,
        summary="The lag of east/orders has been rising for 15 minutes",
    ),
    "lag that is great and falls": Case("ConsumerGroupLagRising", {LAG: "90000-50x40"}, 25),
    "lag that rises from 1 to 40": Case("ConsumerGroupLagRising", {LAG: "1+1x40"}, 35),
    "a great lag": Case(
        "ConsumerGroupLagHigh", {LAG: "250000x10"}, 8, summary="east/orders is 250k records behind"
    ),
    "a lag below the threshold": Case("ConsumerGroupLagHigh", {LAG: "99999x10"}, 8),
    "not OK for nine minutes of an hour, and still": Case(
        "ConsumerGroupBurnsBudgetFast",
        {STATUS: "1x60 3x9"},
        69,
        summary="east/orders was not OK for 15% of the last 1h",
    ),
    "not OK for nine minutes of an hour, half an hour ago": Case(
        "ConsumerGroupBurnsBudgetFast", {STATUS: "1x20 3x8 1x40"}, 60
    ),
    "a group that has only just appeared, in trouble": Case(
        "ConsumerGroupBurnsBudgetFast", {STATUS: "3x5"}, 4
    ),
    "not OK for half an hour of six": Case(
        "ConsumerGroupBurnsBudget",
        {STATUS: "1x5 2x29"},
        35,
        summary="east/orders was not OK for 8.333% of the last 6h",
    ),
    "not OK for ten minutes of six hours": Case("ConsumerGroupBurnsBudget", {STATUS: "1x5 2x10"}, 16),
    "not OK for an hour of a day": Case(
        "ConsumerGroupBurnsBudgetSlowly",
        {STATUS: "1x5 2x60"},
        66,
        summary="east/orders was not OK for 4.236% of the last 1d",
    ),
    "not OK for an hour of a day, three hours ago": Case(
        "ConsumerGroupBurnsBudgetSlowly", {STATUS: "2x60 1x240"}, 200
    ),
    "an instance that is not ready": Case(
        "WarrenNotReady",
        {'warren_ready{instance="a:8000"}': "0x10", 'warren_ready{instance="b:8000"}': "1x10"},
        8,
        {"instance": "a:8000"},
        "Warren on a:8000 is not ready",
    ),
    "an instance that starts": Case("WarrenNotReady", {'warren_ready{instance="a:8000"}': "0x3 1x10"}, 8, {}),
    "no instance at all": Case("WarrenGone", {"up": "0x10"}, 8, {}, "No Warren answers"),
    "one instance of two": Case("WarrenGone", {'warren_ready{instance="b:8000"}': "1x10"}, 8, {}),
    "a cluster that no instance sees": Case(
        "WarrenClusterDown",
        {'warren_cluster_up{cluster="east", instance="a:8000"}': "0x10"},
        8,
        {"cluster": "east"},
        "Warren cannot see the cluster east",
    ),
    "a cluster that one of two instances sees": Case(
        "WarrenClusterDown",
        {
            f'warren_cluster_up{{cluster="east", instance="{each}:8000"}}': f"{up}x10"
            for each, up in (("a", 0), ("b", 1))
        },
        8,
        {},
    ),
    "a sink that is far behind": Case(
        "WarrenSinkBehind",
        {'warren_sink_behind_seconds{sink="es", instance="a:8000"}': "0+60x20"},
        14,
        {"sink": "es", "instance": "a:8000"},
        "The sink es is 14m 0s behind",
    ),
    "a sink that is ten seconds behind": Case(
        "WarrenSinkBehind", {'warren_sink_behind_seconds{sink="es", instance="a:8000"}': "10x20"}, 14, {}
    ),
    "samples that were dropped": Case(
        "WarrenSinkDropsSamples",
        {'warren_sink_samples_dropped_total{sink="es", instance="a:8000"}': "0x5 4x10"},
        10,
        {"sink": "es", "instance": "a:8000"},
        "The sink es loses samples",
    ),
    "samples that were dropped long ago": Case(
        "WarrenSinkDropsSamples",
        {'warren_sink_samples_dropped_total{sink="es", instance="a:8000"}': "4x30"},
        25,
        {},
    ),
    "two instances, neither of which leads": Case(
        "WarrenNobodyNotifies",
        {f'warren_notifier_leader{{job="warren", instance="{each}:8000"}}': "0x10" for each in "ab"},
        8,
        {"job": "warren"},
        "No instance of Warren sends messages",
    ),
    "two instances, one of which leads": Case(
        "WarrenNobodyNotifies",
        {
            'warren_notifier_leader{job="warren", instance="a:8000"}': "0x10",
            'warren_notifier_leader{job="warren", instance="b:8000"}': "1x10",
        },
        8,
        {},
    ),
    "no notifiers at all": Case("WarrenNobodyNotifies", {"warren_ready": "1x10"}, 8, {}),
}


def test_every_rule_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    for fires in (True, False):
        assert {case.rule for case in CASES.values() if (case.summary is not None) == fires} == set(RULES)


def test_the_rules_are_well_formed(tmp_path: Path) -> None:
    _promtool(tmp_path, "check", "rules", "--lint-fatal", str(ROOT / "prometheus" / "alerts.yml"))


@pytest.mark.parametrize("evaluated_by", ["prometheus", "grafana"])
def test_rules_fire_and_do_not_fire(evaluated_by: str, tmp_path: Path) -> None:
    """All cases in one run of promtool. Grafana's expressions, which have no recorded series, get the same cases."""
    rules: dict[str, Any] = yaml.safe_load(prometheus_rules())
    if evaluated_by == "grafana":
        for group in rules["groups"]:
            group["rules"] = [
                each | {"expr": written_out(each["expr"])} for each in group["rules"] if "alert" in each
            ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    tests = {
        "rule_files": [str(tmp_path / "rules.yml")],
        "evaluation_interval": "1m",
        # without it they are evaluated in any order, and one reads what another has recorded
        "group_eval_order": [group.name for group in ALL],
        "tests": [_tested(name, case) for name, case in CASES.items()],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests))
    _promtool(tmp_path, "test", "rules", str(tmp_path / "tests.yml"))


def _tested(name: str, case: Case) -> dict[str, Any]:
    rule = RULES[case.rule]
    expected = {
        "exp_labels": {"severity": rule.severity, **case.labels},
        "exp_annotations": {"summary": case.summary, "description": rule.description},
    }
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{case.at}m",
                "alertname": case.rule,
                "exp_alerts": [expected] if case.summary is not None else [],
            }
        ],
    }


def _promtool(directory: Path, *arguments: str) -> None:
    ended = subprocess.run(
        ["promtool", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
