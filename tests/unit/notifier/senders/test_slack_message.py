"""A message in Slack."""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.receivers.messages import DECIDED_MS, START_MS, message, partition
from tests.receivers.slack import Post, fault

from warren.common.status import Status
from warren.notifier.message import Message
from warren.notifier.senders.slack_message import MOST_PARTITIONS, duration, payload

LINK = "https://warren.example.com/v4/clusters/prod/groups/billing"
names = st.text(max_size=400)


def shown(about: Message, link: str = LINK) -> str:
    return Post(0, "webhook", "", payload(about, link)).shown


def test_trouble_can_be_read_on_a_phone() -> None:
    worst = (
        partition("orders", 3, Status.STALL, 900_000),
        partition("orders", 4, Status.WARN, 2_000_000),
        partition("orders", 5, Status.STOP, 70),
        partition("orders", 6, Status.STALL, 5),
        partition("returns", 0, Status.WARN, 40),
        partition("returns", 1, Status.WARN, 30),
        partition("returns", 2, Status.WARN, 20),
    )
    assert shown(message(partitions=worst)).splitlines() == [
        "ERR: billing on prod, 7 of 12 not OK, total lag 2,900,165",
        ":red_circle: *ERR*: *billing* on prod",
        "*Total lag*",
        "2,900,165",
        "*Partitions*",
        "7 of 12 not OK",
        "*Since*",
        f"<!date^{START_MS // 1000}^{{date_short_pretty}} {{time_secs}}|2026-11-15 08:10:46 UTC>",
        "*Worst partitions*",
        "• orders/3 *STALL* lag 900,000",
        "• orders/6 *STALL* lag 5",
        "• orders/5 *STOP* lag 70",
        "• orders/4 *WARN* lag 2,000,000",
        "• returns/0 *WARN* lag 40",
        "and 2 more",
        f"<{LINK}|Open the group's page>",
    ]


def test_the_end_says_what_is_over_and_how_long_it_took() -> None:
    assert shown(message("close")).splitlines() == [
        "OK again: billing on prod, after 25 s",
        ":white_check_mark: *OK again*: *billing* on prod",
        "*Total lag*",
        "0",
        "*Started*",
        f"<!date^{START_MS // 1000}^{{date_short_pretty}} {{time_secs}}|2026-11-15 08:10:46 UTC>",
        "*Ended*",
        f"<!date^{DECIDED_MS // 1000}^{{date_short_pretty}} {{time_secs}}|2026-11-15 08:11:11 UTC>",
        "*Duration*",
        "25 s",
        f"<{LINK}|Open the group's page>",
    ]


def test_without_an_incident_there_is_no_since() -> None:
    text = shown(message(status=Status.OK, partitions=(), incident="", start_ms=None))
    assert "Since" not in text
    assert text.startswith("OK: billing on prod, 0 of 12 not OK")


def test_without_an_address_there_is_no_link() -> None:
    assert "Open the group" not in shown(message(), link="")
    assert "Open the group" not in shown(message(), link="https://w/" + "x" * 3000)


def test_a_message_links_to_its_incident_and_to_the_group() -> None:
    told = msgspec.structs.replace(message(), link="https://w/incidents/1&2")
    assert shown(told).splitlines()[-1] == (
        f"<https://w/incidents/1&amp;2|Open the incident> · <{LINK}|Open the group's page>"
    )


@dataclass(frozen=True)
class Look:
    status: Status
    emoji: str
    colour: str


@pytest.mark.parametrize(
    "look",
    [
        Look(Status.OK, ":large_green_circle:", "#2eb67d"),
        Look(Status.WARN, ":large_yellow_circle:", "#ecb22e"),
        Look(Status.ERR, ":red_circle:", "#e01e5a"),
    ],
    ids=lambda look: look.status.name,
)
def test_a_status_has_its_colour(look: Look) -> None:
    made = payload(message(status=look.status), LINK)
    assert made["blocks"][0]["text"]["text"].startswith(look.emoji)
    assert [part["color"] for part in made["attachments"]] == [look.colour]


# a busy machine is no fault
@settings(deadline=None)
@given(names, names, names, st.sampled_from(["open", "close"]))
def test_any_names_keep_to_slack_s_limits_and_make_no_markup(
    cluster: str, group: str, topic: str, kind: str
) -> None:
    partitions = tuple(partition(topic, number, lag=2**63) for number in range(300))
    about = message(
        "close" if kind == "close" else "open", cluster=cluster, group=group, partitions=partitions
    )
    made = payload(about, LINK + "?a=1&b=<2>")
    assert fault(json.loads(json.dumps(made))) == ""


def test_a_group_named_like_a_mention_calls_nobody() -> None:
    text = shown(message(group="<!channel> & <@U1>\n<https://evil|click>"))
    assert "<!channel>" not in text
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt; &lt;https://evil|click&gt;" in text


def test_each_partition_says_why() -> None:
    because = "All 10 commits have offset 5, and the lag is 365: the consumer commits but does not move."
    one = msgspec.structs.replace(partition("orders", 3), rule="stalled", because=because)
    assert f"• orders/3 *STALL* lag 365\n_{because}_" in shown(message(partitions=(one,)))


def test_a_reason_is_no_markup() -> None:
    one = msgspec.structs.replace(partition("orders", 3), rule="stalled", because="5 < 6 & <!channel>")
    assert "_5 &lt; 6 &amp; &lt;!channel&gt;_" in shown(message(partitions=(one,)))


def test_long_reasons_and_names_of_markup_keep_to_slack_s_limits() -> None:
    long = tuple(
        msgspec.structs.replace(partition("&" * 249, number), rule="stalled", because="1, " * 3_000)
        for number in range(5)
    )
    assert fault(json.loads(json.dumps(payload(message(partitions=long), LINK)))) == ""
    short = tuple(msgspec.structs.replace(each, topic="orders") for each in long)
    made = payload(message(partitions=short), LINK)
    assert fault(json.loads(json.dumps(made))) == ""
    assert json.dumps(made).count("1, 1, ") >= 5


def test_a_hundred_partitions_are_five_lines() -> None:
    many = tuple(partition("orders", number) for number in range(100))
    text = shown(message(partitions=many, partition_count=100))
    assert text.count("• ") == MOST_PARTITIONS
    assert "and 95 more" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3725, "1 h 2 min"),
        (86405, "1 d"),
        (93784, "1 d 2 h"),
    ],
)
def test_a_time_as_a_person_says_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words
