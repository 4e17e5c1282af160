"""Messages as mails, delivered to one mail server."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from email import policy
from email.message import EmailMessage
from typing import Any, Final

from warren.config.modules import EmailNotifier
from warren.notifier.message import Kind, Message
from warren.notifier.senders.cut_off import CutOff
from warren.notifier.senders.delivery import DeliveryError, Draft
from warren.notifier.senders.mail import addresses, mail, printable
from warren.notifier.templates import Template, TemplateError
from warren.tls import certificate_error

# mail servers on this port use TLS from the first byte
_TLS_PORT: Final = 465
# as in Burrow; looking up our own name could take longer than sending
_OWN_NAME: Final = "localhost"
# Go sends a password unencrypted to these only, and so did Burrow
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# auth-type: name in SMTP
_MECHANISMS: Final = {"plain": "PLAIN", "login": "LOGIN", "crammd5": "CRAM-MD5"}
# what to do about a reply, which replaces {}
_REFUSED_MAIL: Final = "refused the mail: {}; see its log"
_REFUSALS: Final[Mapping[type[smtplib.SMTPException], str]] = {
    smtplib.SMTPAuthenticationError: "refused the login: {}; check username, password and auth-type",
    smtplib.SMTPSenderRefused: "refused the sender: {}; check from, or log in with auth-type",
    smtplib.SMTPConnectError: "accepts no mail now: {}; see its log",
}


class EmailSender:
    """[notifier.N] with class-name "email": a connection for every mail, as Burrow."""

    def __init__(
        self, module: EmailNotifier, context: ssl.SSLContext, texts: Mapping[Kind, Template]
    ) -> None:
        self._module = module
        self._context = context
        self._texts = texts
        self._from = addresses(module.from_, "from")[0]
        self._to = addresses(module.to, "to")
        self._where = f"{module.server}:{module.port}"

    def send(self, message: Message, timeout_s: float) -> str:
        """The server's reply, and the refused recipients."""
        made = self._mail(message)
        limit_s = min(timeout_s, self._module.timeout)
        client = _Client(limit_s, self._context if self._tls == "tls" else None)
        cut_off = CutOff(limit_s, client.sockets)
        try:
            with cut_off, self._connected(client):
                self._log_in(client)
                return self._deliver(client, made)
        except (OSError, smtplib.SMTPException) as error:
            if _timed_out(error, cut_off):
                raise self._timed_out(limit_s) from None
            if isinstance(error, smtplib.SMTPException):
                raise self._protocol_error(error) from None
            raise DeliveryError(self._connection_error(error), retriable=True) from None

    def draft(self, message: Message) -> Draft:
        """The mail."""
        made = self._mail(message)
        head = (f"{name}: {value}" for name, value in made.items())
        return Draft((f"mail to {self._where}", *head), made.get_content())

    def close(self) -> None:
        """Every mail has a connection of its own."""

    def _mail(self, message: Message) -> EmailMessage:
        try:
            text = self._texts[message.kind].render(printable(message), self._module.extras)
        except TemplateError as error:
            raise DeliveryError(str(error), retriable=False) from error
        return mail(text, message, self._from, self._to)

    @property
    def _tls(self) -> str:
        tls = self._module.tls
        return "tls" if tls == "auto" and self._module.port == _TLS_PORT else tls

    @contextlib.contextmanager
    def _connected(self, client: _Client) -> Iterator[None]:
        """A connection, secured as configured."""
        tls = self._tls
        try:
            code, answer = client.connect(self._module.server, self._module.port)
            if code != 220:
                raise smtplib.SMTPConnectError(code, answer)
            client.ehlo_or_helo_if_needed()
            if tls == "starttls" or (tls == "auto" and client.has_extn("starttls")):
                if not client.has_extn("starttls"):
                    raise DeliveryError(
                        f"The mail server {self._where} does not offer STARTTLS; change port or tls",
                        retriable=False,
                    )
                client.starttls(context=self._context)
                client.ehlo_or_helo_if_needed()
            yield
            with contextlib.suppress(OSError, smtplib.SMTPException):
                # the mail is accepted already
                client.quit()
        finally:
            client.close()

    def _log_in(self, client: _Client) -> None:
        mechanism = _MECHANISMS.get(self._module.auth_type)
        # if the server offers none, Burrow sends without a login, and the server may refuse the mail
        if mechanism is None or not client.has_extn("auth"):
            return
        offered = client.esmtp_features["auth"].upper().split()
        if mechanism not in offered:
            raise DeliveryError(
                f"The mail server {self._where} accepts {', '.join(offered)}, but not {mechanism}; change auth-type",
                retriable=False,
            )
        if mechanism != "CRAM-MD5" and not (client.secured or self._may_be_unencrypted()):
            raise DeliveryError(
                f"The password would go to {self._where} unencrypted; use a port with TLS or STARTTLS, "
                'or allow it with tls = "none"',
                retriable=False,
            )
        client.log_in(mechanism, self._module.username, self._module.password.get_secret_value())

    def _may_be_unencrypted(self) -> bool:
        return self._module.tls == "none" or self._module.server.strip("[]").lower() in _LOCAL

    def _deliver(self, client: _Client, made: EmailMessage) -> str:
        recipients = [address.addr_spec for address in self._to]
        international = not (self._from.addr_spec + "".join(recipients)).isascii()
        if international and not client.has_extn("smtputf8"):
            raise DeliveryError(
                f"The mail server {self._where} accepts only ASCII addresses; use others in from and to",
                retriable=False,
            )
        wire = made.as_bytes(policy=policy.SMTPUTF8 if international else policy.SMTP)
        options = ["SMTPUTF8", "BODY=8BITMIME"] if international else []
        refused = client.sendmail(self._from.addr_spec, recipients, wire, options)
        # the accepted recipients have the mail: a retry would be their second
        return f"accepted by {self._where}" + (f", but not for {_refusals(refused)}" if refused else "")

    def _protocol_error(self, error: smtplib.SMTPException) -> DeliveryError:
        """4xx is retriable, 5xx is not, and a lost connection is."""
        if isinstance(error, smtplib.SMTPServerDisconnected):
            return self._disconnected()
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            what = f"refused every recipient: {_refusals(error.recipients)}; correct to"
            retriable = any(code < 500 for code, _ in error.recipients.values())
        elif isinstance(error, smtplib.SMTPResponseException):
            what = f"{_REFUSALS.get(type(error), _REFUSED_MAIL).format(_answer(error))}"
            retriable = error.smtp_code < 500
        else:
            what, retriable = f"did not accept the mail: {error}; see its log", False
        return DeliveryError(f"The mail server {self._where} {what}", retriable=retriable)

    def _timed_out(self, limit_s: float) -> DeliveryError:
        return DeliveryError(
            f"The mail server {self._where} did not answer within {limit_s:g} s; "
            "see whether it is up and reachable from here, or raise timeout",
            retriable=True,
        )

    def _disconnected(self) -> DeliveryError:
        return DeliveryError(
            f"The mail server {self._where} closed the connection; see its log, and whether port and tls match",
            retriable=True,
        )

    def _connection_error(self, error: OSError) -> str:
        if untrusted := certificate_error(f"The mail server {self._where}", error):
            return untrusted
        if isinstance(error, ssl.SSLError):
            reason = (error.reason or str(error)).lower().replace("_", " ")
            return f"No TLS with the mail server {self._where} ({reason}); see whether port and tls match"
        return (
            f"No connection to the mail server {self._where}: {error.strerror or error}; "
            "check server and port, and that it runs"
        )


class _Client(smtplib.SMTP):
    """smtplib's client with one time limit for all of its steps, and optionally TLS from the first byte."""

    def __init__(self, limit_s: float, context: ssl.SSLContext | None) -> None:
        self._deadline = time.monotonic() + limit_s
        self._context = context
        super().__init__(local_hostname=_OWN_NAME, timeout=limit_s)

    @property
    def secured(self) -> bool:
        return isinstance(self.sock, ssl.SSLSocket)

    def sockets(self) -> tuple[socket.socket, ...]:
        return () if self.sock is None else (self.sock,)

    def log_in(self, mechanism: str, user: str, password: str) -> None:
        """With this mechanism only: smtplib's own login would try others."""
        self.user, self.password = user, password
        steps: Mapping[str, Any] = {
            "PLAIN": self.auth_plain,
            "LOGIN": self.auth_login,
            "CRAM-MD5": self.auth_cram_md5,
        }
        self.auth(mechanism, steps[mechanism])

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # the name that STARTTLS checks the certificate against
        self._host = host
        plain = socket.create_connection((host, port), timeout)
        if self._context is None:
            return plain
        try:
            return self._context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    def getreply(self) -> tuple[int, bytes]:
        self._limit()
        return super().getreply()

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self.sock is not None:
            self.sock.settimeout(left)


def _timed_out(error: Exception, cut_off: CutOff) -> bool:
    match error:
        case smtplib.SMTPServerDisconnected():
            # smtplib has no other indication of it
            return cut_off.passed or "timed out" in str(error)
        case smtplib.SMTPException():
            # an answer came
            return False
    return cut_off.passed or isinstance(error, TimeoutError)


def _answer(error: smtplib.SMTPResponseException) -> str:
    return _reply(error.smtp_code, error.smtp_error)


def _refusals(refused: Mapping[str, tuple[int, bytes]]) -> str:
    return ", ".join(f"{address} ({_reply(code, text)})" for address, (code, text) in refused.items())


def _reply(code: int, text: bytes | str) -> str:
    line = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(line.split())}"[:200].strip()
