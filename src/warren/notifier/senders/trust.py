"""Whom a sender trusts: the system's authorities, further ones from a file, or anybody."""

from __future__ import annotations

import ssl
from pathlib import Path

from warren.errors import ConfigError


def trust(extra_ca: Path | None, *, noverify: bool) -> ssl.SSLContext:
    """What TLS connections are made with; ConfigError when the file holds no certificates."""
    context = ssl.create_default_context()
    if noverify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif extra_ca is not None:
        try:
            context.load_verify_locations(cafile=extra_ca)
        except (ssl.SSLError, OSError) as error:
            what = "holds no certificates" if isinstance(error, ssl.SSLError) else f"{error.strerror}"
            raise ConfigError(
                [f"extra-ca {extra_ca}: {what}; name a file with certificates in PEM form"]
            ) from None
    return context


def certificate_fault(who: str, error: BaseException) -> str:
    """What to say of a certificate that is not trusted, found among the causes of an error; "": it is not that."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"{who} shows a certificate that is not trusted ({cause.verify_message or 'not valid'}); "
                "name the certificate of its authority in extra-ca, or set noverify"
            )
        cause = cause.__cause__ or cause.__context__
    return ""
