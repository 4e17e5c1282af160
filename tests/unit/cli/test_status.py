"""`warren status` against Warren's own pages, a Burrow's, and servers that are neither."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client import CollectorRegistry
from rich.console import Console
from tests.unit.httpserver.asgi import ask
from tests.unit.httpserver.captures import usual_snapshot
from tests.unit.httpserver.memory import MemoryAnswers, MemoryLogLevel, MemoryProgress, MemorySnapshot
from typer.testing import CliRunner, Result

from warren.cli import status as command
from warren.cli import status_source
from warren.cli.main import app as warren_app
from warren.cli.main import main
from warren.common.status import Status
from warren.config import Settings
from warren.config.sections import HttpServer
from warren.httpserver.app import App
from warren.httpserver.asgi import AsgiApp
from warren.httpserver.guard import Guard
from warren.snapshot.model import GroupStatus

Respond = Callable[[httpx.Request], httpx.Response]
WIDE = {"COLUMNS": "200"}


def group(name: str, status: Status = Status.OK, lag: int = 0) -> GroupStatus:
    return GroupStatus("local", name, status, 1.0, (), 0, None, lag)


def snapshot(*groups: GroupStatus) -> MemorySnapshot:
    return MemorySnapshot(number=7, statuses={each.group: each for each in groups}, details={})


@pytest.fixture
def answers() -> MemoryAnswers:
    return MemoryAnswers(snapshots={"local": replace(usual_snapshot(), details={}, number=7)})


def responding(app: AsgiApp, *, like_burrow: bool = False) -> Respond:
    """A server without a network; like Burrow, it has no /v4."""

    def respond(request: httpx.Request) -> httpx.Response:
        target = request.url.raw_path.decode()
        if like_burrow and target.startswith("/v4"):
            target = "/nothing"
        answered = ask(app, target, headers=dict(request.headers), role=None)
        return httpx.Response(answered.status, headers=answered.headers, content=answered.body)

    return respond


def app_of(answers: MemoryAnswers) -> App:
    return App(Settings(), answers, MemoryLogLevel(), CollectorRegistry(), host="here")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Respond], None]:
    """Puts a server in the place of the network."""

    def put(respond: Respond) -> None:
        class Here(status_source.JsonClient):
            def __init__(self, url: str, token: str = "") -> None:
                super().__init__(url, token, httpx.MockTransport(respond))

        monkeypatch.setattr(command, "JsonClient", Here)

    return put


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warren_app, ["status", *arguments], env=WIDE)


def names_in(text: str, *names: str) -> list[str]:
    """The names in the order in which their lines come."""
    lines = [line.split()[0] for line in text.splitlines() if line.strip()]
    return [line for line in lines if line in names]


@pytest.mark.parametrize("like_burrow", [False, True], ids=["Warren", "Burrow"])
def test_worst_first_and_not_ok(
    answers: MemoryAnswers, serve: Callable[[Respond], None], like_burrow: bool
) -> None:
    answers.snapshots["local"] = snapshot(
        group("calm"),
        group("slow", Status.WARN, 9),
        group("dead", Status.ERR, 4),
        group("worse", Status.ERR, 5),
    )
    serve(responding(app_of(answers), like_burrow=like_burrow))
    result = run()
    assert result.exit_code == 1
    assert names_in(result.output, "calm", "slow", "dead", "worse") == ["worse", "dead", "slow", "calm"]
    assert "1 OK, 1 WARN, 2 ERR" in result.output


@pytest.mark.parametrize("like_burrow", [False, True], ids=["Warren", "Burrow"])
def test_all_is_ok(answers: MemoryAnswers, serve: Callable[[Respond], None], like_burrow: bool) -> None:
    answers.snapshots["local"] = snapshot(group("a"), group("b", lag=3))
    serve(responding(app_of(answers), like_burrow=like_burrow))
    result = run()
    assert result.exit_code == 0
    assert "2 OK" in result.output


@pytest.mark.parametrize("like_burrow", [False, True], ids=["Warren", "Burrow"])
@pytest.mark.parametrize("name", ["stuck", "healthy", "pay.ments-grøup"])
def test_one_group_with_its_partitions(
    answers: MemoryAnswers, serve: Callable[[Respond], None], name: str, like_burrow: bool
) -> None:
    serve(responding(app_of(answers), like_burrow=like_burrow))
    status = usual_snapshot().statuses[name]
    result = run("local", name)
    assert result.exit_code == (0 if status.status is Status.OK else 1)
    assert f"lag {status.totallag:,}" in result.output
    for part in status.partitions:
        assert part.topic in result.output
        assert part.end is None or f"{part.end.offset:,}" in result.output
    shown = json.loads(run("local", name, "--json").output)["clusters"][0]
    assert len(shown["partitions"]) == status.partition_count
    assert sum(part["current_lag"] for part in shown["partitions"]) == status.totallag


@pytest.mark.parametrize("columns", ["80", "200"])
def test_a_group_in_trouble_says_why(
    answers: MemoryAnswers, serve: Callable[[Respond], None], columns: str
) -> None:
    serve(responding(app_of(answers)))
    bad = [part for part in usual_snapshot().statuses["stuck"].partitions if part.status is not Status.OK]
    output = CliRunner().invoke(warren_app, ["status", "local", "stuck"], env={"COLUMNS": columns}).output
    assert max(map(len, output.splitlines())) <= int(columns)
    for part in bad:
        assert f"{part.topic}/{part.partition}  {part.status.name}  rule stopped" in output
        assert f"{part.topic}/{part.partition} is silent. What would change it: One commit." in output
    shown = json.loads(run("local", "stuck", "--json").output)["clusters"][0]["partitions"]
    assert {part["because"] for part in shown if part["status"] != "OK"} == {
        f"{part.topic}/{part.partition} is silent." for part in bad
    }


def test_of_many_partitions_in_trouble_ten_say_why(
    answers: MemoryAnswers, serve: Callable[[Respond], None]
) -> None:
    one = next(p for p in usual_snapshot().statuses["stuck"].partitions if p.status is not Status.OK)
    many = tuple(msgspec.structs.replace(one, partition=number) for number in range(25))
    status = GroupStatus("local", "wide", Status.ERR, 1.0, many, 25, one, 0)
    answers.snapshots["local"] = snapshot(status)
    serve(responding(app_of(answers)))
    output = run("local", "wide").output
    assert output.count("is silent.") == 10
    assert "… and why 15 more are not OK: --json" in output


@pytest.mark.parametrize("height", [24, 30, 50])
def test_the_reasons_and_the_partitions_fit_on_the_screen_that_is_watched(
    answers: MemoryAnswers, height: int
) -> None:
    one = next(p for p in usual_snapshot().statuses["stuck"].partitions if p.status is not Status.OK)
    many = tuple(msgspec.structs.replace(one, partition=number) for number in range(60))
    answers.snapshots["local"] = snapshot(GroupStatus("local", "wide", Status.ERR, 1.0, many, 60, one, 0))
    transport = httpx.MockTransport(responding(app_of(answers)))
    client = status_source.JsonClient("http://warren.example.com", transport=transport)
    states = status_source.source(client).states("local", "wide")
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, height=height, record=True)
    screen.print(command._picture(states, command._room(screen, states, 100), 0))
    output = screen.export_text()
    assert "is silent." in output
    assert len(output.splitlines()) <= height


def test_both_servers_are_shown_alike(answers: MemoryAnswers, serve: Callable[[Respond], None]) -> None:
    serve(responding(app_of(answers)))
    ours = json.loads(run("--json").output)
    serve(responding(app_of(answers), like_burrow=True))
    theirs = json.loads(run("--json").output)

    def told(shown: dict[str, Any]) -> list[tuple[Any, ...]]:
        (cluster,) = shown["clusters"]
        fields = ("group", "status", "totallag", "maxlag", "partition_count")
        return [tuple(line[field] for field in fields) for line in cluster["groups"]]

    assert told(ours) == told(theirs)
    assert len(told(ours)) == len(usual_snapshot().statuses)
    assert (ours["ok"], theirs["ok"]) == (False, False)


def test_several_clusters_and_one_of_them(answers: MemoryAnswers, serve: Callable[[Respond], None]) -> None:
    answers.names = ["local", "other"]
    answers.snapshots = {"local": snapshot(group("a")), "other": snapshot(group("b", Status.ERR))}
    serve(responding(app_of(answers)))
    assert names_in(run().output, "local", "other") == ["other", "local"]
    assert run().exit_code == 1
    assert run("local").exit_code == 0
    assert "other" not in run("local").output


def test_a_cluster_that_catches_up_is_not_ok(
    answers: MemoryAnswers, serve: Callable[[Respond], None]
) -> None:
    answers.snapshots["local"] = snapshot(group("a"))
    answers.is_ready = False
    answers.queries["local"] = MemoryProgress(caught_up=False, records=1000, left=3000)
    serve(responding(app_of(answers)))
    result = run()
    assert result.exit_code == 1
    assert "catching up: 25% read, 3,000 records left" in result.output


def test_a_cluster_that_does_not_answer(answers: MemoryAnswers, serve: Callable[[Respond], None]) -> None:
    answers.snapshots.clear()
    answers.queries["local"] = MemoryProgress(caught_up=False, blind=True, error="no brokers")
    serve(responding(app_of(answers)))
    result = run()
    assert result.exit_code == 1
    assert "does not respond: no brokers" in result.output


def test_more_groups_than_rows(answers: MemoryAnswers, serve: Callable[[Respond], None]) -> None:
    answers.snapshots["local"] = snapshot(*(group(f"g{number:04}") for number in range(30)))
    serve(responding(app_of(answers)))
    result = run("--limit", "10")
    assert "g0009" in result.output
    assert "g0010" not in result.output
    assert "… and 20 more: 20 OK" in result.output


def test_more_groups_than_a_page(
    answers: MemoryAnswers, serve: Callable[[Respond], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_source, "_PAGE", 7)
    answers.snapshots["local"] = snapshot(*(group(f"g{number:04}") for number in range(30)))
    serve(responding(app_of(answers)))
    shown = json.loads(run("--json").output)["clusters"][0]["groups"]
    assert [line["group"] for line in shown] == [f"g{number:04}" for number in range(30)]


def test_a_name_cannot_speak_to_the_terminal(
    answers: MemoryAnswers, serve: Callable[[Respond], None]
) -> None:
    answers.snapshots["local"] = snapshot(group("a\x1b[2Jb"), group("[red]c[/red]"))
    serve(responding(app_of(answers)))
    output = run().output
    assert "\x1b[2J" not in output
    assert "[red]c[/red]" in output


def test_a_token(answers: MemoryAnswers, serve: Callable[[Respond], None]) -> None:
    answers.snapshots["local"] = snapshot(group("a"))
    guard = Guard(HttpServer.model_validate({"read-token": "r34d"}), app_of(answers))
    serve(responding(guard))
    assert run("--token", "r34d").exit_code == 0
    assert CliRunner().invoke(warren_app, ["status"], env={**WIDE, "WARREN_TOKEN": "r34d"}).exit_code == 0


def not_found(_: httpx.Request) -> httpx.Response:
    return httpx.Response(404, text="<html>")


def html(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text="<html>")


def broken(_: httpx.Request) -> httpx.Response:
    return httpx.Response(500, text="oh no")


def locked(_: httpx.Request) -> httpx.Response:
    return httpx.Response(401)


def gone(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


def slow(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("", request=request)


@pytest.mark.parametrize(
    ("respond", "words"),
    [
        (not_found, "neither Warren nor Burrow"),
        (html, "neither Warren nor Burrow"),
        (broken, "answered 500: oh no"),
        (locked, "requires credentials"),
        (gone, "cannot be reached: connection refused"),
        (slow, "cannot be reached: ReadTimeout"),
    ],
    ids=["nothing there", "a web site", "a fault", "locked", "gone", "slow"],
)
def test_no_answer_is_one_sentence_and_2(
    respond: Respond, words: str, serve: Callable[[Respond], None], capsys: pytest.CaptureFixture[str]
) -> None:
    serve(respond)
    with pytest.raises(SystemExit) as ended:
        main(["status", "--url", "http://ada:S3CRET@kafka01:8000"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert "S3CRET" not in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("like_burrow", [False, True], ids=["Warren", "Burrow"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "there is no cluster nosuch; there are: local"),
        (["locale"], "there is no cluster locale; did you mean local?"),
        (["local", "nosuch"], "cluster local has no group nosuch; `warren status local` shows its "),
        (["local", "stock"], "cluster local has no group stock; did you mean stuck?"),
    ],
)
def test_unknown_names(
    answers: MemoryAnswers,
    serve: Callable[[Respond], None],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
    *,
    like_burrow: bool,
) -> None:
    serve(responding(app_of(answers), like_burrow=like_burrow))
    with pytest.raises(SystemExit) as ended:
        main(["status", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


class Asked:
    """A person who stops the watching after some looks, between which things change."""

    def __init__(self, *between: Callable[[], object]) -> None:
        self._between = list(between)

    def wait(self, _: float) -> bool:
        if not self._between:
            return True
        self._between.pop(0)()
        return False


def test_watching_shows_what_becomes_of_the_groups(
    answers: MemoryAnswers, serve: Callable[[Respond], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.snapshots["local"] = snapshot(group("a", Status.ERR))

    def heal() -> None:
        answers.snapshots["local"] = snapshot(group("a", Status.OK))

    monkeypatch.setattr(command, "stop_signal", lambda: Asked(heal))
    serve(responding(app_of(answers)))
    result = run("--watch", "--json")
    assert [json.loads(line)["ok"] for line in result.output.splitlines()] == [False, True]
    # the end counts
    assert result.exit_code == 0


def test_watching_outlives_a_server_that_goes_away(
    answers: MemoryAnswers, serve: Callable[[Respond], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.snapshots["local"] = snapshot(group("a"))
    there = responding(app_of(answers))
    looks: list[Respond] = [there]

    def respond(request: httpx.Request) -> httpx.Response:
        return looks[-1](request)

    serve(respond)
    monkeypatch.setattr(command, "stop_signal", lambda: Asked(lambda: looks.append(gone), lambda: None))
    result = run("--watch")
    assert result.exit_code == 0
    assert "cannot be reached" in result.output


def test_help_has_examples() -> None:
    output = run("--help").output
    assert "warren status local payments" in output
    assert "--watch" in output
