"""A real SMTP server on a port of its own that keeps every mail and answers as it is told."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Any, Final, Literal, Self, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from warren.demo.certificates import Certificates

HOST: Final = "127.0.0.1"
MECHANISMS: Final = ("PLAIN", "LOGIN", "CRAM-MD5")
_CHALLENGE: Final = b"<1896.697170952@127.0.0.1>"


@dataclass(frozen=True)
class Mail:
    """One mail as it came in."""

    at_ms: int
    ehlo: str
    tls: bool
    # how the client logged in and as whom; "" and "": not at all
    mechanism: str
    login: str
    mail_from: str
    mail_options: tuple[str, ...]
    rcpt_to: tuple[str, ...]
    # as on the wire
    data: bytes

    @property
    def message(self) -> EmailMessage:
        """The mail as Python's parser understands it."""
        return message_from_bytes(self.data, policy=policy.default)

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])


class MailReceiver:
    """Runs between `with` and its end."""

    def __init__(
        self,
        certificates: Certificates | None = None,
        *,
        tls: Literal["none", "starttls", "tls"] = "none",
        mechanisms: Sequence[str] = (),
        user: str = "mailuser",
        password: str = "mailpass",
        port: int = 0,
    ) -> None:
        """Without mechanisms nobody needs to log in; with some everybody must, as that user."""
        self._mails: list[Mail] = []
        self._arrived = threading.Condition()
        self.stopped = threading.Event()
        self.tls = tls
        self.mechanisms = tuple(mechanisms)
        self.user = user
        self.password = password
        # recipient: the line that refuses it
        self.refused: dict[str, str] = {}
        # the line that answers the mail's content; "": it is taken; "hang": none until the server stops
        self.content_answer = ""
        context: ssl.SSLContext | None = None
        if certificates is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.server)
        self._socket = socket.create_server((HOST, port))
        self._controller = _Controller(
            _Handler(self),
            self._socket,
            ssl_context=context if tls == "tls" else None,
            tls_context=context if tls == "starttls" else None,
            auth_require_tls=False,
            auth_exclude_mechanism=[name for name in MECHANISMS if name not in mechanisms],
            authenticator=self._authenticate,
        )

    @property
    def host(self) -> str:
        return HOST

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def received(self) -> list[Mail]:
        """Everything up to now, in order."""
        with self._arrived:
            return list(self._mails)

    def wait_for(self, count: int, within_s: float = 20.0) -> list[Mail]:
        """The mails, as soon as there are so many; fails when they do not come."""
        with self._arrived:
            came = self._arrived.wait_for(lambda: len(self._mails) >= count, within_s)
            assert came, f"{len(self._mails)} of {count} mails came within {within_s} s"
            return list(self._mails)

    def keep(self, mail: Mail) -> None:
        """One more has come."""
        with self._arrived:
            self._mails.append(mail)
            self._arrived.notify_all()

    def _authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        known = isinstance(data, LoginPassword) and data == (self.user.encode(), self.password.encode())
        return AuthResult(success=known, handled=False, auth_data=(mechanism, self.user))

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        self._controller.stop()
        self._socket.close()


class _Controller(Controller):
    """Listens on a socket that is bound already: its port is known before it runs."""

    def __init__(self, handler: Any, bound: socket.socket, **arguments: Any) -> None:
        super().__init__(handler, hostname=HOST, port=int(bound.getsockname()[1]), **arguments)
        self._bound = bound

    def _create_server(self) -> Awaitable[asyncio.AbstractServer]:
        return self.loop.create_server(self._factory_invoker, sock=self._bound, ssl=self.ssl_context)


class _Handler:
    """aiosmtpd's hooks; it asks for them by name."""

    def __init__(self, receiver: MailReceiver) -> None:
        self._receiver = receiver

    async def auth_CRAM__MD5(self, server: SMTP, arguments: list[str]) -> AuthResult:
        """Not among the mechanisms that aiosmtpd brings along."""
        answer = await server.challenge_auth(_CHALLENGE)
        user, _, digest = cast("bytes", answer).decode().rpartition(" ")
        right = hmac.new(self._receiver.password.encode(), _CHALLENGE, hashlib.md5).hexdigest()
        known = user == self._receiver.user and hmac.compare_digest(digest, right)
        return AuthResult(success=known, handled=False, auth_data=("CRAM-MD5", user))

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self._receiver.mechanisms and not session.authenticated:
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self._receiver.refused:
            return self._receiver.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        answer = self._receiver.content_answer
        while answer == "hang" and not self._receiver.stopped.is_set():
            await asyncio.sleep(0.02)
        if answer:
            return answer
        # (mechanism, user)
        login: tuple[str, str] = cast("Any", session.auth_data) if session.authenticated else ("", "")
        mail = Mail(
            at_ms=time.time_ns() // 1_000_000,
            ehlo=session.host_name or "",
            tls=session.ssl is not None or self._receiver.tls == "tls",
            mechanism=login[0],
            login=login[1],
            mail_from=envelope.mail_from or "",
            mail_options=tuple(envelope.mail_options),
            rcpt_to=tuple(address for address in envelope.rcpt_tos if address),
            data=cast("bytes", envelope.original_content),
        )
        self._receiver.keep(mail)
        return "250 OK kept"
