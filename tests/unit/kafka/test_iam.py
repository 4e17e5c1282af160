"""Tokens for AWS MSK: what is in them, where the credentials come from, and what is said when there are none."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from warren.kafka import iam
from warren.kafka.iam import AwsLoginError, TokenSource

SOURCE = TokenSource("eu-west-1")
ROLE = "arn:aws:iam::123456789012:role/lag"


class Aws(HTTPServer):
    """The token service and the metadata of an instance, as far as botocore asks them."""

    refuses = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: list[dict[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Aws

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        pass

    def _answer(self, text: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self) -> None:  # a token for the metadata
        self._answer("metadata-token")

    def do_GET(self) -> None:
        if self.path.endswith("/security-credentials/"):
            self._answer("instance-role")
        else:
            until = (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ")
            own = {"AccessKeyId": "INSTANCE", "SecretAccessKey": "IS", "Token": "IT", "Expiration": until}
            self._answer(json.dumps({"Code": "Success", **own}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        query = {key: values[0] for key, values in parse_qs(body).items()}
        self.server.asked.append(query)
        if self.server.refuses:
            code = "<Error><Code>AccessDenied</Code><Message>not you</Message></Error>"
            self._answer(f"<ErrorResponse>{code}</ErrorResponse>", 403)
            return
        action = query["Action"]
        own = "<AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>RS</SecretAccessKey><SessionToken>RT</SessionToken>"
        until = "<Expiration>2099-01-01T00:00:00Z</Expiration>"
        result = f"<{action}Result><Credentials>{own}{until}</Credentials></{action}Result>"
        self._answer(f"<{action}Response>{result}</{action}Response>")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Aws]:
    """No credentials anywhere, and an AWS that is asked for them."""
    with Aws() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setattr(iam, "_tokens", {})
        yield server
        server.shutdown()


@pytest.fixture
def static(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    return aws


def decoded(token: str) -> tuple[str, dict[str, str]]:
    assert "=" not in token
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = {key: values[0] for key, values in parse_qs(url.query).items()}
    return f"{url.scheme}://{url.netloc}{url.path}", query


def key_of(token: str) -> str:
    return decoded(token)[1]["X-Amz-Credential"].partition("/")[0]


def signature(secret: str, region: str, query: dict[str, str]) -> str:
    """AWS Signature Version 4, worked out once more."""
    scope = query["X-Amz-Credential"].partition("/")[2]
    canonical = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
    empty = hashlib.sha256(b"").hexdigest()
    request = f"GET\n/\n{canonical}\nhost:kafka.{region}.amazonaws.com\n\nhost\n{empty}"
    signed = hashlib.sha256(request.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(
        key, f"AWS4-HMAC-SHA256\n{query['X-Amz-Date']}\n{scope}\n{signed}".encode(), "sha256"
    ).hex()


@pytest.mark.usefixtures("static")
def test_a_token_is_a_signed_request_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "SESSION")
    began = time.time()
    token, until_s = SOURCE("")
    address, query = decoded(token)
    assert address == "https://kafka.eu-west-1.amazonaws.com/"
    assert query.pop("User-Agent").startswith("aws-msk-iam-sasl-signer-python/")
    given = query.pop("X-Amz-Signature")
    date = query["X-Amz-Date"]
    assert query == {
        "Action": "kafka-cluster:Connect",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"KEY/{date[:8]}/eu-west-1/kafka-cluster/aws4_request",
        "X-Amz-Date": date,
        "X-Amz-Expires": "900",
        "X-Amz-Security-Token": "SESSION",
        "X-Amz-SignedHeaders": "host",
    }
    assert given == signature("SECRET", "eu-west-1", query)
    assert given != signature("another", "eu-west-1", query)
    signed_s = datetime.strptime(date + "+0000", "%Y%m%dT%H%M%SZ%z").timestamp()
    assert -1 < signed_s - began < 10
    assert until_s == signed_s + 900


@pytest.mark.usefixtures("static")
def test_clients_of_a_process_share_a_token_until_half_of_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = SOURCE("")
    # tokens of one second and one key are alike: another key tells a new one
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "LATER")
    assert pickle.loads(pickle.dumps(SOURCE))("") == first
    monkeypatch.setattr("warren.kafka.iam.time.time", lambda: first[1] - 449)
    assert key_of(SOURCE("")[0]) == "LATER"


@pytest.mark.usefixtures("static")
def test_regions_and_profiles_have_tokens_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[ops]\naws_access_key_id = OPS\naws_secret_access_key = O%S\n")
    assert key_of(SOURCE("")[0]) == "KEY"
    assert key_of(TokenSource("eu-west-1", profile="ops")("")[0]) == "OPS"
    assert decoded(TokenSource("us-east-1")("")[0])[0] == "https://kafka.us-east-1.amazonaws.com/"


def test_a_role_is_assumed(static: Aws) -> None:
    assert key_of(TokenSource("eu-west-1", role_arn=ROLE)("")[0]) == "ROLE"
    (asked,) = static.asked
    assert (asked["Action"], asked["RoleArn"]) == ("AssumeRole", ROLE)


def test_a_pod_of_kubernetes_logs_in_with_its_web_identity(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "identity").write_text("signed-by-the-cluster")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert key_of(SOURCE("")[0]) == "ROLE"
    (asked,) = aws.asked
    assert (asked["Action"], asked["WebIdentityToken"]) == (
        "AssumeRoleWithWebIdentity",
        "signed-by-the-cluster",
    )


@pytest.mark.usefixtures("aws")
def test_an_instance_logs_in_with_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
    assert key_of(SOURCE("")[0]) == "INSTANCE"


@pytest.mark.usefixtures("aws")
def test_no_credentials_says_where_to_put_them() -> None:
    with pytest.raises(
        AwsLoginError, match=r"set AWS_ACCESS_KEY_ID .*, name a profile .*instance role or IRSA"
    ):
        SOURCE("")


@pytest.mark.usefixtures("aws")
def test_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(AwsLoginError, match=r"\(ops\) could not be found"):
        TokenSource("eu-west-1", profile="ops")("")


def test_a_role_that_is_refused_says_what_to_correct(static: Aws) -> None:
    static.refuses = True
    with pytest.raises(
        AwsLoginError, match=rf"give out the role {ROLE} .*not you.*; correct \[iam"
    ) as caught:
        TokenSource("eu-west-1", role_arn=ROLE)("")
    assert "SECRET" not in str(caught.value)


@pytest.mark.usefixtures("static")
def test_without_the_signer_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "warren.kafka.msk", raising=False)
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(
        AwsLoginError, match=r"aws_msk_iam_sasl_signer is not installed.*pip install 'warren\[aws\]'"
    ):
        SOURCE("")
