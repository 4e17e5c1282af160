"""Logins at AWS MSK: a request signed with AWS's version 4 signature serves as the token."""

import base64
import configparser
import hashlib
import hmac
import http.client
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from warren.errors import WarrenError

LIFETIME_S: Final = 900
NO_PAYLOAD: Final = hashlib.sha256(b"").hexdigest()
SESSION_NAME: Final = "burrow-session"


class AwsLoginError(WarrenError):
    """There are no credentials of AWS to sign with, or AWS refused them."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a signature is made with."""

    key_id: str
    # both never print
    secret: str
    session: str = ""

    def __repr__(self) -> str:
        return f"Credentials(key_id={self.key_id!r})"


@dataclass(frozen=True, slots=True)
class Target:
    """The service that a signed address is for."""

    region: str
    service: str
    host: str
    path: str = "/"


def presigned(
    target: Target,
    query: Mapping[str, str],
    credentials: Credentials,
    now: datetime,
    *,
    expires_s: int = LIFETIME_S,
    payload_hash: str = NO_PAYLOAD,
) -> str:
    """An address that carries its own signature (AWS Signature Version 4)."""
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{target.region}/{target.service}/aws4_request"
    signed = {
        **query,
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{credentials.key_id}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(expires_s),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session:
        signed["X-Amz-Security-Token"] = credentials.session
    canonical_query = urlencode(sorted(signed.items()), quote_via=quote, safe="-_.~")
    request = "\n".join(
        ("GET", target.path, canonical_query, f"host:{target.host}", "", "host", payload_hash)
    )
    to_sign = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return f"https://{target.host}{target.path}?{canonical_query}&X-Amz-Signature={signature}"


def token(region: str, credentials: Credentials, now: datetime) -> str:
    """What the brokers take for a password: a signed request to connect, in base 64."""
    url = presigned(
        Target(region, "kafka-cluster", f"kafka.{region}.{_domain(region)}"),
        {"Action": "kafka-cluster:Connect"},
        credentials,
        now,
    )
    return base64.urlsafe_b64encode(f"{url}&User-Agent=warren".encode()).decode().rstrip("=")


def credentials(profile: str, environ: Mapping[str, str]) -> Credentials:
    """The environment's credentials, or those of a profile in AWS's credentials file."""
    if not profile and environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
        return Credentials(
            environ["AWS_ACCESS_KEY_ID"],
            environ["AWS_SECRET_ACCESS_KEY"],
            environ.get("AWS_SESSION_TOKEN", ""),
        )
    name = profile or environ.get("AWS_PROFILE", "default")
    path = Path(environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
        section = parser[name]
        return Credentials(
            section["aws_access_key_id"],
            section["aws_secret_access_key"],
            section.get("aws_session_token", ""),
        )
    except (KeyError, configparser.Error):
        raise AwsLoginError(
            "No AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            f"or write aws_access_key_id and aws_secret_access_key under [{name}] in {path}"
        ) from None


def assumed(
    region: str, role_arn: str, own: Credentials, now: datetime, fetch: Callable[[str], bytes]
) -> Credentials:
    """The credentials of a role, from AWS's token service."""
    url = presigned(
        Target(region, "sts", f"sts.{region}.{_domain(region)}"),
        {
            "Action": "AssumeRole",
            "RoleArn": role_arn,
            "RoleSessionName": SESSION_NAME,
            "Version": "2011-06-15",
        },
        own,
        now,
    )
    try:
        answer = json.loads(fetch(url))
        role = answer["AssumeRoleResponse"]["AssumeRoleResult"]["Credentials"]
        return Credentials(role["AccessKeyId"], role["SecretAccessKey"], role["SessionToken"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise AwsLoginError(
            f"AWS did not give out the role {role_arn} ({type(error).__name__}: {error}); "
            "check role-arn and that these credentials may assume it"
        ) from None


def _domain(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _fetch(url: str) -> bytes:
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(parts.netloc, timeout=10)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != http.client.OK:
        # the address holds a signature and stays out of the message
        raise http.client.HTTPException(f"{parts.netloc} answered {answer.status}")
    return body


@dataclass(frozen=True, slots=True)
class TokenSource:
    """librdkafka's `oauth_cb`: called whenever the old token is about to expire; it can be pickled."""

    region: str
    role_arn: str = ""
    profile: str = ""

    def __call__(self, _config: str) -> tuple[str, float]:
        """A new token and the time (s) until which it holds."""
        now = datetime.now(UTC)
        login = credentials(self.profile, os.environ)
        if self.role_arn:
            login = assumed(self.region, self.role_arn, login, now, _fetch)
        return token(self.region, login, now), time.time() + LIFETIME_S
