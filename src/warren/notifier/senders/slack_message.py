"""The layout of a message in Slack: one line for a phone, and the details below it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from warren.common.status import Status
from warren.notifier.message import Message
from warren.snapshot.model import GroupStatus, PartitionStatus

# Slack cuts or refuses longer texts
MOST_TEXT: Final = 3000
MOST_FALLBACK: Final = 4000
MOST_PARTITIONS: Final = 5
# two of them and their names fit into a text
_MOST_LINK: Final = 1400
# Kafka does not limit names; longer ones would fill a phone's screen
_MOST_NAME: Final = 120
# a window may have any number of lags to list
_MOST_REASON: Final = 350
# characters that Slack parses as markup
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# status: emoji and colour of the bar beside the details
_STYLES: Final = {
    Status.NOTFOUND: (":grey_question:", "#8d8d8d"),
    Status.OK: (":large_green_circle:", "#2eb67d"),
    Status.WARN: (":large_yellow_circle:", "#ecb22e"),
    Status.ERR: (":red_circle:", "#e01e5a"),
}
_CLOSED: Final = ":white_check_mark:"


def payload(message: Message, link: str) -> dict[str, Any]:
    """The message for Slack's API; `link` is the group's page, empty: there is none."""
    result = message.result
    emoji, colour = _STYLES.get(result.status, _STYLES[Status.ERR])
    heading = f"{_CLOSED if message.kind == 'close' else emoji} {_heading(message)}"
    details = [_section(fields=_facts(message))]
    if result.partitions and message.kind == "open":
        details.append(_section(_worst(result)))
    pages = [("incident", message.link if message.incident else ""), (_page_of(result), link)]
    links = [
        f"<{_escape_markup(url)}|Open the {page}>" for page, url in pages if url and len(url) < _MOST_LINK
    ]
    if links:
        details.append(_section(" · ".join(links)))
    return {
        "text": _cut(_fallback(message), MOST_FALLBACK),
        "blocks": [_section(heading)],
        "attachments": [{"color": colour, "blocks": details}],
        # the link needs no preview
        "unfurl_links": False,
    }


def _page_of(result: GroupStatus) -> str:
    return "group's page" if result.group else "state of all clusters"


def escaped(text: str) -> str:
    """Text that Slack shows as it is, on one line."""
    plain = _cut(_UNPRINTABLE.sub(" ", text), _MOST_NAME)
    return _escape_markup(plain)


def duration(seconds: float) -> str:
    """A duration with its two largest units."""
    whole = max(0, round(seconds))
    parts = [(whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s")]
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number) or "0 s"


def _heading(message: Message) -> str:
    result = message.result
    status = "OK again" if message.kind == "close" else result.status.name
    if not result.group:
        return f"*{status}*: {_of_cluster(message, '*')}"
    return f"*{status}*: *{escaped(result.group) or '(no name)'}* on {escaped(result.cluster)}"


def _fallback(message: Message) -> str:
    """What a phone shows before Slack is opened."""
    result = message.result
    if not result.group:
        return f"{'OK again' if message.kind == 'close' else result.status.name}: {_of_cluster(message)}"
    where = f"{escaped(result.group)} on {escaped(result.cluster)}"
    if message.kind == "close":
        lasted = _lasted(message)
        return f"OK again: {where}" + (f", after {lasted}" if lasted else "")
    return f"{result.status.name}: {where}, {_trouble(result)}, total lag {result.totallag:,}"


def _of_cluster(message: Message, around: str = "") -> str:
    """A message without a group is about the cluster itself."""
    can = "is reachable again" if message.kind == "close" else "is unreachable"
    return f"cluster {around}{escaped(message.result.cluster)}{around} {can}"


def _facts(message: Message) -> list[str]:
    """Label and value, in two columns where the screen is wide."""
    result = message.result
    facts = [("Total lag", f"{result.totallag:,}")] if result.group else []
    if message.kind == "open" and result.group:
        facts.append(("Partitions", _trouble(result)))
    if message.start_ms is not None:
        facts.append(("Since" if message.kind == "open" else "Started", _moment(message.start_ms)))
    if message.kind == "close":
        facts.append(("Ended", _moment(message.decided_ms)))
        lasted = _lasted(message)
        facts += [("Duration", lasted)] if lasted else []
    return [f"*{label}*\n{value}" for label, value in facts]


def _trouble(result: GroupStatus) -> str:
    return f"{len(result.partitions):,} of {result.partition_count:,} not OK"


def _worst(result: GroupStatus) -> str:
    ranked = sorted(result.partitions, key=lambda p: (-p.status, -p.current_lag, p.topic, p.partition))
    # names of nothing but markup are five times as long in Slack: then reasons go, and then lines
    drafts = [_listed(ranked, MOST_PARTITIONS, reasons=True)]
    drafts += [_listed(ranked, count, reasons=False) for count in range(MOST_PARTITIONS, 0, -1)]
    return next(draft for draft in drafts if len(draft) <= MOST_TEXT)


def _listed(ranked: list[PartitionStatus], most: int, *, reasons: bool) -> str:
    lines = [f"{_line(each)}{_reason(each) if reasons else ''}" for each in ranked[:most]]
    more = len(ranked) - len(lines)
    return "\n".join(["*Worst partitions*", *lines, *([f"and {more:,} more"] if more else [])])


def _line(partition: PartitionStatus) -> str:
    return (
        f"• {escaped(partition.topic)}/{partition.partition} "
        f"*{partition.status.name}* lag {partition.current_lag:,}"
    )


def _reason(partition: PartitionStatus) -> str:
    return f"\n_{_escape_markup(_cut(partition.because, _MOST_REASON))}_" if partition.because else ""


def _lasted(message: Message) -> str:
    if message.start_ms is None:
        return ""
    return duration((message.decided_ms - message.start_ms) / 1000)


def _moment(moment_ms: int) -> str:
    """In the reader's own time zone; UTC where Slack cannot."""
    utc = datetime.fromtimestamp(moment_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"<!date^{moment_ms // 1000}^{{date_short_pretty}} {{time_secs}}|{utc}>"


def _section(text: str = "", *, fields: list[str] | None = None) -> dict[str, Any]:
    if fields is not None:
        return {"type": "section", "fields": [_marked(field) for field in fields]}
    return {"type": "section", "text": _marked(text)}


def _marked(text: str) -> dict[str, Any]:
    # verbatim: a name like orders.example.com is no link
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _escape_markup(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
