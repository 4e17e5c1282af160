"""Tokens for AWS MSK: AWS's own published example, and the shape that the brokers expect."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from warren.kafka.iam import (
    AwsLoginError,
    Credentials,
    Target,
    TokenSource,
    assumed,
    credentials,
    presigned,
    token,
)

# the example that AWS's documentation works through
EXAMPLE = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
NOW = datetime(2013, 5, 24, tzinfo=UTC)


def test_the_published_example_has_its_signature() -> None:
    url = presigned(
        Target("us-east-1", "s3", "examplebucket.s3.amazonaws.com", "/test.txt"),
        {},
        EXAMPLE,
        NOW,
        expires_s=86400,
        payload_hash="UNSIGNED-PAYLOAD",
    )
    assert url.endswith("&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


def decoded(text: str) -> tuple[str, dict[str, str]]:
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    return f"{url.scheme}://{url.netloc}{url.path}", {
        key: values[0] for key, values in parse_qs(url.query).items()
    }


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("eu-west-1", "https://kafka.eu-west-1.amazonaws.com/"),
        ("cn-north-1", "https://kafka.cn-north-1.amazonaws.com.cn/"),
    ],
)
def test_a_token_is_a_signed_request_to_connect(region: str, address: str) -> None:
    text = token(region, Credentials("KEY", "SECRET", "SESSION"), NOW)
    assert "=" not in text
    place, query = decoded(text)
    assert place == address
    signature = query.pop("X-Amz-Signature")
    assert len(bytes.fromhex(signature)) == 32
    assert query == {
        "Action": "kafka-cluster:Connect",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"KEY/20130524/{region}/kafka-cluster/aws4_request",
        "X-Amz-Date": "20130524T000000Z",
        "X-Amz-Expires": "900",
        "X-Amz-Security-Token": "SESSION",
        "X-Amz-SignedHeaders": "host",
        "User-Agent": "warren",
    }
    assert "SECRET" not in text


def test_the_signature_is_of_the_key_the_time_and_the_region() -> None:
    def signature(region: str, own: Credentials, now: datetime) -> str:
        return decoded(token(region, own, now))[1]["X-Amz-Signature"]

    one = signature("eu-west-1", EXAMPLE, NOW)
    others = {
        signature("eu-west-2", EXAMPLE, NOW),
        signature("eu-west-1", Credentials(EXAMPLE.key_id, "other"), NOW),
        signature("eu-west-1", EXAMPLE, datetime(2013, 5, 25, tzinfo=UTC)),
    }
    assert len(others | {one}) == 4
    assert one == signature("eu-west-1", EXAMPLE, NOW)


def test_credentials_of_the_environment() -> None:
    environ = {"AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"}
    assert credentials("", environ) == Credentials("K", "S", "T")


def test_credentials_of_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text(
        "[default]\naws_access_key_id = D\naws_secret_access_key = DS\n"
        "[ops]\naws_access_key_id = O\naws_secret_access_key = O%S\naws_session_token = OT\n"
    )
    environ = {
        "AWS_SHARED_CREDENTIALS_FILE": str(path),
        "AWS_ACCESS_KEY_ID": "K",
        "AWS_SECRET_ACCESS_KEY": "S",
    }
    assert credentials("ops", environ) == Credentials("O", "O%S", "OT")
    assert credentials("", {"AWS_SHARED_CREDENTIALS_FILE": str(path)}) == Credentials("D", "DS")
    assert credentials("", {"AWS_SHARED_CREDENTIALS_FILE": str(path), "AWS_PROFILE": "ops"}).key_id == "O"


def test_no_credentials_says_where_to_put_them(tmp_path: Path) -> None:
    with pytest.raises(
        AwsLoginError, match=r"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write .* under \[x\]"
    ):
        credentials("x", {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none")})


def test_a_role_is_assumed_with_a_signed_request() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        given = {"AccessKeyId": "R", "SecretAccessKey": "RS", "SessionToken": "RT"}
        return json.dumps({"AssumeRoleResponse": {"AssumeRoleResult": {"Credentials": given}}}).encode()

    role = assumed("eu-west-1", "arn:aws:iam::1:role/lag", EXAMPLE, NOW, fetch)
    assert role == Credentials("R", "RS", "RT")
    url = urlsplit(asked[0])
    query = parse_qs(url.query)
    assert (url.netloc, query["Action"], query["RoleArn"]) == (
        "sts.eu-west-1.amazonaws.com",
        ["AssumeRole"],
        ["arn:aws:iam::1:role/lag"],
    )
    assert "X-Amz-Signature" in query


@pytest.mark.parametrize("answer", [b"<html>", b"{}", b"[]"])
def test_a_role_that_is_refused_says_what_to_check(answer: bytes) -> None:
    with pytest.raises(
        AwsLoginError, match=r"AWS did not give out the role arn:x .*; check role-arn"
    ) as caught:
        assumed("eu-west-1", "arn:x", EXAMPLE, NOW, lambda _url: answer)
    assert EXAMPLE.secret not in str(caught.value)


def test_the_callback_gives_a_token_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "K")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "S")
    text, until_s = TokenSource("eu-west-1")("")
    signed_at = datetime.strptime(decoded(text)[1]["X-Amz-Date"] + "+0000", "%Y%m%dT%H%M%SZ%z").timestamp()
    assert 0 <= until_s - signed_at - 900 < 2


def test_credentials_do_not_print() -> None:
    assert "SECRET" not in repr(Credentials("K", "SECRET", "SECRET"))
