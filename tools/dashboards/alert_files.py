"""Alert rules as files: Prometheus' own form, and Grafana's provisioning with Slack as the contact point."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml
from grafana_foundation_sdk.builders import alerting, expr, prometheus
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.alerting import RelativeTimeRange
from tools.dashboards.alerts import ALL, NOT_OK, Rule

CONTACT_POINT: Final = "warren-slack"
# the uid of the data source in grafana/provisioning/datasources
DATA_SOURCE: Final = "warren-prometheus"
_HEADER: Final = "# Made by `make dashboards` from tools/dashboards/alerts.py: change it there.\n"


def prometheus_rules() -> str:
    groups = [
        {
            "name": group.name,
            "interval": group.interval,
            "rules": [
                *({"record": each.name, "expr": each.expression} for each in group.recordings),
                *map(_prometheus_rule, group.rules),
            ],
        }
        for group in ALL
    ]
    return _HEADER + _yaml({"groups": groups})


def _prometheus_rule(rule: Rule) -> dict[str, Any]:
    return {
        "alert": rule.name,
        "expr": rule.expression,
        **({"for": rule.for_} if rule.for_ != "0s" else {}),
        **({"keep_firing_for": rule.keep_firing_for} if rule.keep_firing_for else {}),
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.summary, "description": rule.description},
    }


def grafana_rules() -> str:
    """The same rules, evaluated by Grafana: it has no recording rules of Prometheus', so they are written out."""
    groups = [
        {
            "orgId": 1,
            "name": group.name,
            "folder": "Warren",
            "interval": group.interval,
            "rules": [_grafana_rule(rule) for rule in group.rules],
        }
        for group in ALL
    ]
    return (
        _HEADER + "# $$ is a $: Grafana puts variables of the environment into these files.\n"
        "# Grafana 11.6 does not know how long to keep an alert firing, so ConsumerGroupLagRising ends sooner than in "
        "Prometheus.\n" + _yaml({"apiVersion": 1, "groups": groups})
    )


def _grafana_rule(rule: Rule) -> dict[str, Any]:
    query = (
        alerting.Query("A")
        .datasource_uid(DATA_SOURCE)
        .relative_time_range(RelativeTimeRange(from_val=600, to=0))
        .model(prometheus.Dataquery().ref_id("A").expr(written_out(rule.expression)).instant())
    )
    # the expression has a value only where something is wrong, and never one below 0
    there = alerting.Query("C").datasource_uid("__expr__").model(_there_is_a_value("A"))
    made = (
        alerting.Rule(rule.name)
        .uid(f"warren-{rule.name.lower()}")
        .condition("C")
        .queries([query, there])
        .for_val(rule.for_)
        # no value: nothing is wrong
        .no_data_state("OK")
        .exec_err_state("Error")
        .labels({"severity": rule.severity})
        .annotations({"summary": _escaped(rule.summary), "description": _escaped(rule.description)})
    )
    content: dict[str, Any] = json.loads(json.dumps(made.build(), cls=JSONEncoder))
    # the file says these for the whole group
    return {key: value for key, value in content.items() if key not in {"folderUID", "orgID", "ruleGroup"}}


def _there_is_a_value(ref_id: str) -> expr.TypeThreshold:
    evaluator = expr.ExprTypeThresholdConditionsEvaluator().params([-1]).type("gt")
    return (
        expr.TypeThreshold()
        .ref_id("C")
        .expression(ref_id)
        .conditions([expr.ExprTypeThresholdConditions().evaluator(evaluator)])
    )


def _escaped(text: str) -> str:
    return text.replace("$value", "$values.A.Value").replace("$", "$$")


def written_out(expression: str) -> str:
    """Without recorded series: what they are made of stands in their place."""
    recorded = {each.name: each.expression for group in ALL for each in group.recordings}

    def meaning(match: re.Match[str]) -> str:
        name, window = match["name"], match["window"]
        if name == NOT_OK.name:
            return f"({recorded[name]})[{window}:1m]"
        return f"({written_out(recorded[name])})"

    return re.sub(r"(?P<name>cluster_consumer_group:\w+:\w+)(?:\[(?P<window>\w+)\])?", meaning, expression)


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(content), sort_keys=False, width=110, allow_unicode=True)
