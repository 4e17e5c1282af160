"""`warren status`: the groups of a running server in the terminal, worst first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from warren.cli.colours import coloured
from warren.cli.signals import stop_signal
from warren.cli.status_source import ClusterState, JsonClient, Line, PartitionLine, UnreachableError, source
from warren.common.status import Status

# requests the states
Look = Callable[[], list[ClusterState]]

_REFRESH_S: Final = 2.0
# partitions whose reason is shown under the table
_MOST_REASONS: Final = 10
# lines that a reason takes on a screen of 80 columns
_REASON_LINES: Final = 5
# below so many columns the table leaves out what can be spared
_WIDE: Final = 110
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def status(
    cluster: Annotated[str | None, typer.Argument(help="Only this cluster.", metavar="CLUSTER")] = None,
    group: Annotated[
        str | None, typer.Argument(help="Only this group, with its partitions.", metavar="GROUP")
    ] = None,
    *,
    url: Annotated[
        str, typer.Option(envvar="WARREN_URL", help="Where the server is.", show_default=True)
    ] = "http://localhost:8000",
    token: Annotated[
        str, typer.Option(envvar="WARREN_TOKEN", help="Bearer token, where the server requires one.")
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most; --json shows all.")] = 100,
) -> None:
    """Show the groups of a running server, worst first.

    Works with Warren and with Burrow. Exit code: 0 when all is OK, 1 when something is not, 2 when there is no answer.

    [bold]Examples[/bold]

    [cyan]warren status[/cyan]                                 all groups of all clusters

    [cyan]warren status local payments[/cyan]                  one group with its partitions, and why they are not OK

    [cyan]warren status --watch --url http://kafka01:8000[/cyan]

    [cyan]warren status local payments || page-somebody[/cyan]  in a script

    [cyan]warren status --json | jq '.clusters[].groups[] | select(.status != "OK") | .group'[/cyan]
    """
    console = Console()
    with closing(JsonClient(url, token)) as client:
        found = source(client)
        if watch:
            states = _watched(console, lambda: found.states(cluster, group), as_json=as_json, limit=limit)
        else:
            states = found.states(cluster, group)
            _show(console, states, as_json=as_json, limit=limit)
    if not all(state.ok for state in states):
        raise typer.Exit(1)


def _watched(console: Console, look: Look, *, as_json: bool, limit: int) -> list[ClusterState]:
    stopping = stop_signal()
    states = look()
    if as_json:
        while True:
            _show(console, states, as_json=True, limit=limit)
            if stopping.wait(_REFRESH_S):
                return states
            states = look()
    with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
        trouble = ""
        while True:
            room = _room(console, states, limit)
            live.update(_picture(states, room, _now_ms(), trouble), refresh=True)
            if stopping.wait(_REFRESH_S):
                return states
            try:
                states, trouble = look(), ""
            except UnreachableError as error:
                # keep the last states on the screen
                trouble = str(error)


def _show(console: Console, states: list[ClusterState], *, as_json: bool, limit: int) -> None:
    if as_json:
        ok = all(state.ok for state in states)
        typer.echo(msgspec.json.encode({"ok": ok, "clusters": states}).decode())
    else:
        room = _Room(limit, _MOST_REASONS, wide=console.width >= _WIDE)
        console.print(_picture(states, room, _now_ms()))


@dataclass(frozen=True, slots=True)
class _Room:
    """How much can be shown."""

    rows: int
    reasons: int
    wide: bool


def _room(console: Console, states: list[ClusterState], limit: int) -> _Room:
    """What fits on a screen that is written over again and again."""
    if not console.is_terminal:
        return _Room(limit, _MOST_REASONS, wide=console.width >= _WIDE)
    lines = max(console.height - 8, 3)
    troubled = sum(part.because is not None for state in states for part in state.partitions or ())
    reasons = min(troubled, lines // (2 * _REASON_LINES), _MOST_REASONS)
    return _Room(min(limit, max(lines - reasons * _REASON_LINES, 3)), reasons, wide=console.width >= _WIDE)


def _picture(states: list[ClusterState], room: _Room, now_ms: int, trouble: str = "") -> RenderableType:
    parts: list[RenderableType] = []
    if len(states) == 1 and states[0].partitions is not None:
        parts.append(_partition_table(states[0], states[0].partitions, room))
        parts += _reasons(states[0].partitions, room.reasons)
    else:
        parts.append(_group_table(states, room.rows, now_ms))
    parts += [_foot(state) for state in states]
    if trouble:
        parts.append(Text(trouble, "bold red"))
    return Group(*parts)


def _group_table(states: list[ClusterState], limit: int, now_ms: int) -> RenderableType:
    lines = [(state.cluster, line) for state in states for line in state.groups]
    lines.sort(key=lambda each: (each[1].rank, each[0]))
    if not lines:
        return Text("no groups", "dim")
    table = Table(box=None, pad_edge=False, header_style="dim")
    several = len(states) > 1
    if several:
        table.add_column("cluster")
    table.add_column("group", style="bold", overflow="fold")
    for heading in ("status", "since"):
        table.add_column(heading)
    for heading in ("lag", "worst partition", "complete", "partitions", "last commit"):
        table.add_column(heading, justify="right")
    for cluster, line in lines[:limit]:
        table.add_row(*([printable(cluster)] if several else []), *_cells(line, now_ms))
    return Group(table, _more([line for _, line in lines[limit:]]))


def _cells(line: Line, now_ms: int) -> list[RenderableType]:
    return [
        printable(line.group),
        coloured(Status[line.status]),
        _ago(line.status_since, now_ms),
        f"{line.totallag:,}",
        f"{line.maxlag:,}",
        f"{line.complete:.0%}",
        f"{line.partition_count:,}",
        _ago(line.last_commit, now_ms),
    ]


def _partition_table(state: ClusterState, partitions: Sequence[PartitionLine], room: _Room) -> RenderableType:
    line = state.groups[0]
    title = Text.assemble(
        (printable(line.group).plain, "bold"),
        "  ",
        coloured(Status[line.status]),
        f"  lag {line.totallag:,}\n",
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("topic", overflow="fold")
    table.add_column("partition", justify="right")
    table.add_column("status")
    for heading in ("lag", "committed", "head", *(("tail", "complete") if room.wide else ())):
        table.add_column(heading, justify="right")
    table.add_column("owner", overflow="fold")
    for part in partitions[: room.rows]:
        more = (_offset(part.tail), f"{part.complete:.0%}") if room.wide else ()
        table.add_row(
            printable(part.topic),
            str(part.partition),
            coloured(Status[part.status]),
            f"{part.current_lag:,}",
            _offset(part.committed),
            _offset(part.head),
            *more,
            printable(" ".join(filter(None, (part.owner, part.client_id)))),
        )
    return Group(title, table, _more(partitions[room.rows :]))


def _reasons(partitions: Sequence[PartitionLine], most: int) -> Iterator[RenderableType]:
    """Why those partitions are not OK, the worst of them; a Burrow does not say."""
    explained = [part for part in partitions if part.because is not None]
    for part in explained[:most]:
        where = f"{printable(part.topic).plain}/{part.partition}"
        yield Text.assemble((where, "bold"), "  ", coloured(Status[part.status]), f"  rule {part.rule}")
        change = f" What would change it: {part.would_change}" if part.would_change else ""
        yield Padding(printable(f"{part.because}{change}"), (0, 0, 1, 2), expand=False)
    if explained[most:]:
        yield Text(f"… and why {len(explained) - most:,} more are not OK: --json\n", "dim")


def _more(hidden: Sequence[Line | PartitionLine]) -> Text:
    """A summary of the rows that are not shown."""
    if not hidden:
        return Text()
    statuses = Counter(each.status for each in hidden)
    counts = ", ".join(f"{count:,} {name}" for name, count in statuses.most_common())
    return Text(f"… and {len(hidden):,} more: {counts}", "dim")


def _foot(state: ClusterState) -> Text:
    statuses = Counter(line.status for line in state.groups)
    counts = ", ".join(f"{statuses[each.name]:,} {each.name}" for each in Status if statuses[each.name])
    parts = [counts or "no groups"]
    if state.snapshot is not None and state.age_ms is not None:
        parts.append(f"snapshot {state.snapshot}, {state.age_ms / 1000:.1f} s old")
    foot = Text.assemble((f"{printable(state.cluster).plain}: ", "bold"), (" · ".join(parts), "dim"))
    if state.trouble:
        foot.append(f" · {printable(state.trouble).plain}", "bold red")
    return foot


def printable(name: str) -> Text:
    """A name without control characters: others choose it, and could put terminal escape sequences into it."""
    return Text("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name))


def _offset(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _ago(moment_ms: int | None, now_ms: int) -> str:
    if moment_ms is None:
        return ""
    passed = max(now_ms - moment_ms, 0)
    size, unit = next((each for each in _UNITS if passed >= each[0]), _UNITS[-1])
    return f"{passed // size} {unit}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
