"""`warren notify-test` against real receivers: what a person sees, and what arrived."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.configurations import SMALLEST
from tests.receivers.http import HttpReceiver, Reply
from tests.receivers.mail import MailReceiver
from tests.receivers.slack import SlackReceiver

from warren.cli.main import main

GOOD = SMALLEST + '[httpserver.default]\naddress = ":8000"\n'


class Ended(NamedTuple):
    """How the command ended, and all it said."""

    code: int
    said: str


class Command:
    """`warren notify-test` with a configuration."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys

    def __call__(self, notifiers: str, *arguments: str) -> Ended:
        (self.directory / "burrow.toml").write_text(GOOD + notifiers)
        with pytest.raises(SystemExit) as ended:
            main(["notify-test", "--config-dir", str(self.directory), *arguments])
        told = self._capsys.readouterr()
        # lines are as long as the terminal is wide: words alone are compared
        return Ended(int(ended.value.code or 0), " ".join((told.out + told.err).replace("│", " ").split()))


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return Command(tmp_path, capsys)


@pytest.fixture
def receivers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def receiver(receivers: ExitStack) -> HttpReceiver:
    return receivers.enter_context(HttpReceiver())


def hook(receiver: HttpReceiver, more: str = "") -> str:
    return f"""
[notifier.hook]
class-name = "http"
url-open = "{receiver.url}/open?group={{{{.Group}}}}&token=s3cret"
url-close = "{receiver.url}/close"
method-close = "DELETE"
send-close = true
{more}
"""


def test_a_sample_is_sent_and_shown(receiver: HttpReceiver, command: Command) -> None:
    login = 'username = "ada"\npassword = "hunter22"\nheaders = { X-Key = "abc123" }\n'
    ended = command(hook(receiver, login), "hook")
    (request,) = receiver.received
    assert ended.code == 0
    assert (request.method, request.path.partition("?")[0]) == ("POST", "/open")
    assert request.header("X-Key") == "abc123"
    assert "notifier.hook http open message" in ended.said
    assert "is WARN" in ended.said
    assert f"POST {receiver.url}/open?group=" in ended.said
    assert "Authorization: REDACTED" in ended.said
    assert "✓ sent after " in ended.said
    assert ended.said.endswith("ms HTTP 200")
    assert [secret for secret in ("s3cret", "hunter22", "abc123") if secret in ended.said] == []
    # the body that arrived is the body that is shown
    assert json.dumps(json.loads(request.body), ensure_ascii=False, indent=2).split() == (
        ended.said[ended.said.index("{") : ended.said.rindex("}") + 1].split()
    )


def test_group_status_and_kind_are_as_asked_for(receiver: HttpReceiver, command: Command) -> None:
    assert command(hook(receiver), "hook", "--status", "ERR", "--group", "payments").code == 0
    assert "group=payments" in receiver.received[0].path
    ended = command(hook(receiver), "hook", "--status", "OK")
    assert "close message" in ended.said
    assert (receiver.received[1].method, receiver.received[1].path) == ("DELETE", "/close")
    assert command(hook(receiver), "hook", "--kind", "close").code == 0
    assert receiver.received[2].method == "DELETE"


def test_a_dry_run_sends_nothing(receiver: HttpReceiver, command: Command) -> None:
    ended = command(hook(receiver), "hook", "--dry-run")
    assert ended.code == 0
    assert f"POST {receiver.url}/open" in ended.said
    assert ended.said.endswith("· not sent --dry-run")
    assert receiver.received == []


class Refused(NamedTuple):
    """An answer, and what a person is told."""

    name: str
    reply: Reply
    said: str


REFUSED = [
    Refused("gone", Reply(404), "The receiver answered HTTP 404; check the URL It would not be retried."),
    Refused("down", Reply(503), "The receiver answered HTTP 503; see its log It would be retried."),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_not_delivered(receiver: HttpReceiver, command: Command, case: Refused) -> None:
    receiver.answer(case.reply)
    ended = command(hook(receiver), "hook")
    assert ended.code == 1
    assert "✗ not delivered after " in ended.said
    assert ended.said.endswith(case.said)
    # one attempt, whatever it came to
    assert len(receiver.received) == 1


def test_a_mail(receivers: ExitStack, command: Command) -> None:
    receiver = receivers.enter_context(MailReceiver())
    ended = command(
        f"""
[notifier.mail]
class-name = "email"
server = "{receiver.host}"
port = {receiver.port}
from = "Warren <warren@example.com>"
to = "ops@example.com"
""",
        "mail",
    )
    assert ended.code == 0
    (mail,) = receiver.received
    assert mail.rcpt_to == ("ops@example.com",)
    assert f"mail to {receiver.host}:{receiver.port}" in ended.said
    assert f"Subject: {mail.subject}" in ended.said
    assert mail.message.get_content().split()[0] in ended.said


def test_slack(receivers: ExitStack, command: Command) -> None:
    receiver = receivers.enter_context(SlackReceiver())
    ended = command(
        f'[notifier.chat]\nclass-name = "slack"\nwebhook-url = "{receiver.webhook_url}"\n', "chat"
    )
    assert ended.code == 0
    assert len(receiver.posts) == 1
    assert f"POST {receiver.http.url}/REDACTED" in ended.said
    assert "s3cretwebhook" not in ended.said
    assert "/clusters/local/groups/" in receiver.posts[0].shown
    assert "/incidents/" in receiver.posts[0].shown


def test_null_says_that_nothing_leaves(command: Command) -> None:
    ended = command('[notifier.none]\nclass-name = "null"\n', "none")
    assert ended.code == 0
    assert "not sent: null" in ended.said


def test_an_unknown_name_names_the_known_ones(receiver: HttpReceiver, command: Command) -> None:
    assert command(hook(receiver), "hokk") == (
        2,
        "Error: there is no notifier hokk; did you mean hook? there are: hook",
    )
    assert command(hook(receiver), "pager") == (2, "Error: there is no notifier pager; there are: hook")
    assert command("", "pager") == (
        2,
        "Error: there is no notifier pager; there is none: add a section [notifier.NAME]",
    )


def test_a_mistake_in_a_template_is_named_and_nothing_sent(receiver: HttpReceiver, command: Command) -> None:
    (command.directory / "open.tmpl").write_text("fine\n{{.Gruop}}\n")
    ended = command(hook(receiver, 'template-open = "open.tmpl"\n'), "hook")
    assert ended.code == 2
    assert "open.tmpl" in ended.said
    assert "line 2" in ended.said
    assert "Gruop" in ended.said
    assert receiver.received == []


def test_a_mistake_of_another_module_does_not_matter(receiver: HttpReceiver, command: Command) -> None:
    (command.directory / "bad.tmpl").write_text("{{.Gruop}}\n")
    other = '[notifier.other]\nclass-name = "null"\ntemplate-open = "bad.tmpl"\n'
    assert command(hook(receiver) + other, "hook").code == 0


def test_a_wrong_configuration(command: Command) -> None:
    assert command('[notifier.n]\nclass-name = "http"\n', "n").code == 2


def test_the_help_names_the_section(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["notify-test", "--help"])
    assert "[notifier.N]" in capsys.readouterr().out
