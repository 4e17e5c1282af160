"""Messages to a real mail server."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.receivers.mail import MailReceiver
from tests.receivers.messages import FixedText, message

from warren.config.modules import EmailNotifier
from warren.demo.certificates import Certificates
from warren.notifier.message import Message
from warren.notifier.senders.delivery import DeliveryError
from warren.notifier.senders.email import EmailSender
from warren.tls import tls_context

LIMIT_S = 20.0
TEXT = (
    "Subject: [ERR] billing on prod — grøn\nContent-Type: text/plain; charset=utf-8\n\nbilling has trouble\n"
)


def sender_to(
    receiver: MailReceiver, text: str | Callable[[Message], str] = TEXT, **keys: Any
) -> EmailSender:
    values: dict[str, Any] = {
        "server": receiver.host,
        "port": receiver.port,
        "from_": "Burrow <burrow@example.com>",
        "to": "ops@example.com,Second Shift <second@example.com>",
    }
    return made(EmailNotifier(**values | keys), text)


def made(module: EmailNotifier, text: str | Callable[[Message], str] = TEXT) -> EmailSender:
    context = tls_context(Path(module.extra_ca) if module.extra_ca else None, noverify=module.noverify)
    return EmailSender(module, context, {"open": FixedText(text), "close": FixedText(text)})


def fault(sender: EmailSender, limit_s: float = LIMIT_S) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        sender.send(message(), limit_s)
    return caught.value


@pytest.fixture
def receiver() -> Iterator[MailReceiver]:
    with MailReceiver() as running:
        yield running


def test_a_mail_arrives(receiver: MailReceiver) -> None:
    assert sender_to(receiver).send(message(), LIMIT_S) == f"accepted by 127.0.0.1:{receiver.port}"
    (mail,) = receiver.received
    assert mail.ehlo == "localhost"
    assert mail.mail_from == "burrow@example.com"
    assert mail.rcpt_to == ("ops@example.com", "second@example.com")
    assert (mail.tls, mail.mechanism) == (False, "")
    assert mail.subject == "[ERR] billing on prod — grøn"
    assert mail.message["From"] == "Burrow <burrow@example.com>"
    assert mail.message["To"] == "ops@example.com, Second Shift <second@example.com>"
    assert mail.message["Message-ID"] == f"<{message().id}@example.com>"
    assert mail.message.get_content() == "\r\nbilling has trouble\r\n\r\n"
    assert mail.data.isascii()


def test_a_repeat_can_be_told(receiver: MailReceiver) -> None:
    sender = sender_to(receiver)
    sender.send(message(), LIMIT_S)
    sender.send(message(), LIMIT_S)
    first, second = receiver.received
    assert first.data == second.data


def test_lines_that_begin_with_a_dot_arrive(receiver: MailReceiver) -> None:
    sender_to(receiver, text="Subject: s\n\n.\n..\n.end\n").send(message(), LIMIT_S)
    assert receiver.received[0].message.get_content() == "\r\n.\r\n..\r\n.end\r\n\r\n"


@dataclass(frozen=True)
class Way:
    """How the server is secured and logged in to, and the configuration that goes with it."""

    tls: Literal["none", "starttls", "tls"]
    mechanism: str = ""
    auth_type: str = ""
    setting: str = "auto"

    @property
    def name(self) -> str:
        return f"{self.tls} {self.setting} {self.auth_type or 'no login'}"


WAYS = [
    Way("none", "PLAIN", "plain"),
    Way("none", "LOGIN", "login"),
    Way("none", "CRAM-MD5", "crammd5"),
    Way("starttls"),
    Way("starttls", "PLAIN", "plain"),
    Way("starttls", "LOGIN", "login", setting="starttls"),
    Way("tls", setting="tls"),
    Way("tls", "PLAIN", "plain", setting="tls"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_mail_arrives_by(way: Way, certificates: Certificates) -> None:
    mechanisms = (way.mechanism,) if way.mechanism else ()
    login = {"username": "mailuser", "password": "mailpass"} if way.mechanism else {}
    with MailReceiver(certificates, tls=way.tls, mechanisms=mechanisms) as receiver:
        sender = sender_to(
            receiver, auth_type=way.auth_type, tls=way.setting, extra_ca=str(certificates.ca), **login
        )
        sender.send(message(), LIMIT_S)
        (mail,) = receiver.received
    assert mail.tls is (way.tls != "none")
    assert mail.mechanism == way.mechanism
    assert mail.login == ("mailuser" if way.mechanism else "")


def test_port_465_speaks_tls_from_the_first_byte(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may listen on that port here, so the connection is led to another one."""
    with MailReceiver(certificates, tls="tls") as receiver:
        connect = socket.create_connection

        def led(address: tuple[str, int], *rest: Any, **more: Any) -> socket.socket:
            assert address == ("127.0.0.1", 465)
            return connect((receiver.host, receiver.port), *rest, **more)

        monkeypatch.setattr(socket, "create_connection", led)
        sender_to(receiver, port=465, extra_ca=str(certificates.ca)).send(message(), LIMIT_S)
        assert receiver.received[0].tls


def test_starttls_is_left_alone_when_told_so(certificates: Certificates) -> None:
    with MailReceiver(certificates, tls="starttls") as receiver:
        sender_to(receiver, tls="none").send(message(), LIMIT_S)
        assert not receiver.received[0].tls


def test_a_server_without_starttls_gets_nothing_when_it_is_a_must(receiver: MailReceiver) -> None:
    error = fault(sender_to(receiver, tls="starttls"))
    assert "does not offer STARTTLS; change port or tls" in str(error)
    assert not error.retriable
    assert receiver.received == []


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_certificate_of_a_stranger_is_not_trusted(
    tls: Literal["starttls", "tls"], certificates: Certificates, others: Certificates
) -> None:
    with MailReceiver(certificates, tls=tls) as receiver:
        error = str(fault(sender_to(receiver, tls=tls, extra_ca=str(others.ca))))
        assert "has a certificate that is not trusted (unable to get local issuer certificate)" in error
        assert "extra-ca, or set noverify" in error
        assert receiver.received == []
        sender_to(receiver, tls=tls, noverify=True).send(message(), LIMIT_S)
        assert receiver.received[0].tls


def test_a_wrong_password_is_said_and_not_shown() -> None:
    with MailReceiver(mechanisms=("PLAIN",)) as receiver:
        sender = sender_to(receiver, auth_type="plain", username="mailuser", password="wr0ngpass")
        error = fault(sender)
    assert "refused the login: 535" in str(error)
    assert "check username, password and auth-type" in str(error)
    assert "wr0ngpass" not in str(error)
    assert not error.retriable


def test_a_login_that_the_server_does_not_know_is_named() -> None:
    with MailReceiver(mechanisms=("LOGIN",)) as receiver:
        error = fault(sender_to(receiver, auth_type="plain", username="mailuser", password="mailpass"))
    assert "accepts LOGIN, but not PLAIN; change auth-type" in str(error)


def test_a_server_that_wants_a_login_says_so() -> None:
    with MailReceiver(mechanisms=("PLAIN",)) as receiver:
        error = fault(sender_to(receiver))
    assert "refused the sender: 530" in str(error)
    assert "log in with auth-type" in str(error)


def test_a_password_does_not_travel_openly(monkeypatch: pytest.MonkeyPatch) -> None:
    with MailReceiver(mechanisms=("PLAIN",)) as receiver:
        connect = socket.create_connection
        monkeypatch.setattr(
            socket, "create_connection", lambda address, *rest: connect((receiver.host, receiver.port), *rest)
        )
        far = {"server": "mail.example.com", "username": "mailuser", "password": "mailpass"}
        error = fault(sender_to(receiver, auth_type="plain", **far))
        assert "The password would go to mail.example.com" in str(error)
        assert 'allow it with tls = "none"' in str(error)
        sender_to(receiver, auth_type="plain", tls="none", **far).send(message(), LIMIT_S)
        assert receiver.received[0].login == "mailuser"


def test_whom_the_server_refuses_is_named_while_others_get_their_mail(receiver: MailReceiver) -> None:
    receiver.refused["second@example.com"] = "550 5.1.1 no such user"
    answer = sender_to(receiver).send(message(), LIMIT_S)
    assert answer.endswith(", but not for second@example.com (550 5.1.1 no such user)")
    assert receiver.received[0].rcpt_to == ("ops@example.com",)


@dataclass(frozen=True)
class Refusal:
    name: str
    ops: str
    second: str
    retriable: bool


@pytest.mark.parametrize(
    "case",
    [
        Refusal("for ever", "550 no such user", "550 no such user", retriable=False),
        Refusal("one of them for now", "550 no such user", "450 come back later", retriable=True),
    ],
    ids=lambda case: case.name,
)
def test_when_everybody_is_refused(receiver: MailReceiver, case: Refusal) -> None:
    receiver.refused |= {"ops@example.com": case.ops, "second@example.com": case.second}
    error = fault(sender_to(receiver))
    assert error.retriable is case.retriable
    assert (
        f"refused every recipient: ops@example.com ({case.ops}), second@example.com ({case.second})"
        in str(error)
    )


@pytest.mark.parametrize(("answer", "retriable"), [("554 spam", False), ("452 disk is full", True)])
def test_a_mail_that_is_refused(receiver: MailReceiver, answer: str, retriable: bool) -> None:
    receiver.content_answer = answer
    error = fault(sender_to(receiver))
    assert f"refused the mail: {answer}; see its log" in str(error)
    assert error.retriable is retriable


def test_who_hangs_is_left_within_the_time(receiver: MailReceiver) -> None:
    receiver.content_answer = "hang"
    began = time.monotonic()
    error = fault(sender_to(receiver), limit_s=0.3)
    assert time.monotonic() - began < 5
    assert error.retriable
    assert "did not answer within 0.3 s" in str(error)


@pytest.mark.parametrize("tls", ["auto", "tls"])
def test_who_never_greets_is_left_within_the_time(tls: Literal["auto", "tls"]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        module = EmailNotifier(
            server="127.0.0.1",
            port=silent.getsockname()[1],
            from_="a@example.com",
            to="b@example.com",
            tls=tls,
        )
        error = fault(made(module), limit_s=0.3)
    assert error.retriable
    assert "did not answer within 0.3 s" in str(error)


def test_nobody_there() -> None:
    with MailReceiver() as gone:
        sender = sender_to(gone)
    error = fault(sender)
    assert error.retriable
    assert "Connection refused; check server and port, and that it runs" in str(error)


def test_who_breaks_off_is_asked_again_later() -> None:
    """The server hangs up instead of greeting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        module = EmailNotifier(
            server="127.0.0.1", port=server.getsockname()[1], from_="a@example.com", to="b@example.com"
        )

        def hang_up() -> None:
            server.accept()[0].close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        error = fault(made(module))
        thread.join()
    assert error.retriable
    assert "closed the connection; see its log" in str(error)


def test_who_is_slow_at_every_step_is_left_within_the_time() -> None:
    """Each answer comes in time, all of them together do not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        module = EmailNotifier(
            server="127.0.0.1", port=server.getsockname()[1], from_="a@example.com", to="b@example.com"
        )
        asked: list[bytes] = []

        def answer_slowly() -> None:
            connection = server.accept()[0]
            with connection, connection.makefile("rwb", buffering=0) as wire, contextlib.suppress(OSError):
                for answer in (b"220 hello", b"250 hello", b"250 OK", b"250 OK", b"354 go on"):
                    time.sleep(0.3)
                    wire.write(answer + b"\r\n")
                    asked.append(wire.readline())

        thread = threading.Thread(target=answer_slowly, daemon=True)
        thread.start()
        error = fault(made(module), limit_s=0.8)
        thread.join()
    assert "did not answer within 0.8 s" in str(error)
    assert not any(line.startswith(b"DATA") for line in asked)


@pytest.mark.parametrize("greeting", [b"220-hello\r\n" * 5, b"220 " + b"h" * 60])
def test_who_greets_without_end_is_left_within_the_time(greeting: bytes) -> None:
    """Each byte comes in time, all of them together do not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        module = EmailNotifier(
            server="127.0.0.1", port=server.getsockname()[1], from_="a@example.com", to="b@example.com"
        )

        sent: list[int] = []

        def trickle() -> None:
            connection = server.accept()[0]
            with connection, contextlib.suppress(OSError):
                for letter in greeting:
                    time.sleep(0.1)
                    connection.sendall(bytes([letter]))
                    sent.append(letter)

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        error = fault(made(module), limit_s=0.5)
        thread.join()
    assert len(sent) < len(greeting)
    assert error.retriable
    assert "did not answer within 0.5 s" in str(error)


def test_a_group_named_like_a_head_stays_in_the_subject(receiver: MailReceiver) -> None:
    sender = sender_to(receiver, text=lambda about: f"Subject: {about.result.group}\n\nx\n")
    sender.send(message(group="evil\nContent-Type: text/html\r\nBcc: all@example.com"), LIMIT_S)
    (mail,) = receiver.received
    assert mail.subject == "evil Content-Type: text/html  Bcc: all@example.com"
    assert mail.message.get_content_type() == "text/plain"
    assert mail.message["Bcc"] is None


def test_tls_with_a_server_that_has_none(receiver: MailReceiver) -> None:
    error = fault(sender_to(receiver, tls="tls"))
    assert "see whether port and tls match" in str(error)
    assert error.retriable


def test_a_text_without_subject_is_not_sent(receiver: MailReceiver) -> None:
    error = fault(sender_to(receiver, text="hello billing\n"))
    assert "make its first line “Subject: …”" in str(error)
    assert receiver.received == []


def test_addresses_beyond_ascii_arrive_where_the_server_takes_them(receiver: MailReceiver) -> None:
    sender_to(receiver, to="öps@example.com").send(message(), LIMIT_S)
    assert receiver.received[0].rcpt_to == ("öps@example.com",)
