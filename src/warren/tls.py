"""TLS contexts of HTTP and mail clients: the system's CAs, additional ones from a file, or no verification."""

from __future__ import annotations

import ssl
from pathlib import Path

from warren.errors import ConfigError


def tls_context(extra_ca: Path | None, *, noverify: bool) -> ssl.SSLContext:
    """The TLS context; ConfigError when the file contains no certificates."""
    context = ssl.create_default_context()
    if noverify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif extra_ca is not None:
        try:
            context.load_verify_locations(cafile=extra_ca)
        except (ssl.SSLError, OSError) as error:
            what = "contains no certificates" if isinstance(error, ssl.SSLError) else f"{error.strerror}"
            raise ConfigError(
                [f"extra-ca {extra_ca}: {what}; name a file with certificates in PEM form"]
            ) from None
    return context


def certificate_error(who: str, error: BaseException) -> str:
    """The message for an untrusted certificate, if that is among the causes of an error; else ""."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"{who} has a certificate that is not trusted ({cause.verify_message or 'not valid'}); "
                "name the certificate of its CA in extra-ca, or set noverify"
            )
        cause = cause.__cause__ or cause.__context__
    return ""
