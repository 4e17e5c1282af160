"""The messages of a configuration that names no templates."""

from __future__ import annotations

import json
from typing import Literal

import msgspec
import pytest
from tests.unit.notifier.templates.messages import EXAMPLE, EXTRAS, zone

from warren.common.status import Status
from warren.gotemplate.checker import KnownKeys, faults
from warren.gotemplate.parser import parse
from warren.notifier.message import Message
from warren.notifier.templates import load_template, sample
from warren.notifier.templates.binding import EXTRAS as EXTRAS_TYPE
from warren.notifier.templates.binding import SUBJECT
from warren.notifier.templates.examination import has_subject
from warren.notifier.templates.helpers import FUNCTIONS
from warren.notifier.templates.samples import sparse
from warren.notifier.templates.template import template_source
from warren.snapshot.model import GroupStatus

NAMES = ("http-open", "http-close", "email-open", "email-close")


@pytest.mark.parametrize("name", NAMES)
def test_they_have_no_mistakes(name: str) -> None:
    tree = parse(name, template_source("", name)[1], FUNCTIONS)
    assert tree.faults == []
    assert faults(tree, FUNCTIONS, SUBJECT, {EXTRAS_TYPE: KnownKeys("extras", ())}) == []


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", ["open", "close"])
def test_http_is_json_whatever_the_names(status: Status, kind: Literal["open", "close"]) -> None:
    message = sample(status, "m", kind)
    linked = msgspec.structs.replace(message, link='https://w/"x"')
    for variant in (message, linked, sparse(message), EXAMPLE):
        said = json.loads(load_template("", f"http-{kind}").render(variant, {'q"': "</script>\n"}))
        result = variant.result
        assert (said["event"], said["id"], said["link"]) == (kind, variant.incident, variant.link)
        assert (said["cluster"], said["group"], said["status"]) == (
            result.cluster,
            result.group,
            result.status.name,
        )
        assert (said["total_lag"], said["partition_count"]) == (result.totallag, result.partition_count)
        assert said["extras"] == {'q"': "</script>\n"}
        if kind == "open":
            assert [one["topic"] for one in said["partitions"]] == [one.topic for one in result.partitions]
            assert [(one["rule"], one["because"]) for one in said["partitions"]] == [
                (one.rule or "", one.because or "") for one in result.partitions
            ]


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("kind", ["open", "close"])
def test_mails_begin_with_a_subject(status: Status, kind: Literal["open", "close"]) -> None:
    message = sample(status, "m", kind)
    for variant in (message, sparse(message)):
        text = load_template("", f"email-{kind}").render(variant, EXTRAS)
        assert has_subject(text)
        assert "<no value>" not in text
        assert "<nil>" not in text
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


def test_a_mail_about_a_cluster_names_no_group() -> None:
    cluster = GroupStatus("east", "", Status.ERR, 1.0, (), 0, None, 0)
    opened = Message("m", "ops", "open", "i", 1_767_366_245_000, 1_767_366_245_000, cluster)
    closed = Message("m", "ops", "close", "i", 1_767_366_245_000, 1_767_366_245_000, cluster)
    with zone("UTC"):
        assert load_template("", "email-open").render(opened, {}).splitlines() == [
            "Subject: [ERR] cluster east is unreachable",
            "Content-Type: text/plain; charset=utf-8",
            "",
            "Cluster east is unreachable: the status of its groups is unknown meanwhile.",
            "",
            "Since      Friday, 2 January 2026, 15:04:05 UTC",
            "",
            "Incident i",
        ]
        assert "Cluster east is reachable again." in load_template("", "email-close").render(closed, {})


def test_a_mail_as_a_person_reads_it() -> None:
    with zone("UTC"):
        text = load_template("", "email-open").render(sample(Status.ERR, "m", "open"), {"team": "payments"})
    assert text.splitlines() == [
        "Subject: [ERR] payments on sample",
        "Content-Type: text/plain; charset=utf-8",
        "",
        "Consumer group payments on cluster sample is ERR.",
        "",
        "Since      Friday, 2 January 2026, 14:57:05 UTC",
        "Total lag  5852",
        "Worst      orders, partition 0: 4812 behind",
        "Monitored  12 partitions",
        "",
        "Partitions that are not OK (3):",
        "",
        "  STOP    orders 0  lag 4812  client payments-worker-2  at /10.0.4.17  last commit 2026-01-02 14:49:05 UTC",
        (
            "          The last commit is 900 s old, longer than the 540 s from the first to the last of the 10 "
            "commits in the window, and the lag is 4812; the lowest stored head 1250012 is above the last committed "
            "offset 1250000, so the consumer was not at the head a moment ago either."
        ),
        "  STALL   orders 3  lag 977  client payments-worker-2  at /10.0.4.17  last commit 2026-01-02 15:03:35 UTC",
        "          All 10 commits have offset 1250000, and the lag is 977: the consumer commits but does not move.",
        "  REWIND  refunds 1  lag 63  client payments-worker-2  at /10.0.4.17  last commit 2026-01-02 15:03:35 UTC",
        (
            "          The offset fell from 1262000 to 1249100 at commit 2 of 10 and no later commit has come back to "
            "1262000; the last is 1250000, the lag 63."
        ),
        "",
        "team: payments",
        "",
        "Incident 7f3c9a52-4f0e-4b7e-9d0c-2f8a51c6e3b1",
    ]


@pytest.mark.parametrize("kind", ["open", "close"])
def test_a_mail_ends_with_the_link_to_its_incident(kind: Literal["open", "close"]) -> None:
    message = msgspec.structs.replace(sample(Status.ERR, "m", kind), link="https://w/incidents/7f3c")
    text = load_template("", f"email-{kind}").render(message, {})
    assert text.splitlines()[-2:] == [f"Incident {message.incident}", "https://w/incidents/7f3c"]
