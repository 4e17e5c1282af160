"""The broker's user is read as people write it and told as Kafka wants it."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from warren.demo.credentials import Credentials, CredentialsError


def test_a_password_may_hold_colons() -> None:
    found = Credentials.parse("scram-sha-512:alice:se:cr:et")
    assert (found.mechanism, found.username, found.password) == ("SCRAM-SHA-512", "alice", "se:cr:et")


WRONG = {
    "no password": ("PLAIN:alice", "MECHANISM:USER:PASSWORD"),
    "unknown mechanism": ("GSSAPI:alice:x", "use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
    "user that would need quoting": ('PLAIN:al"ice:x', "letters, digits"),
    "empty password": ("PLAIN:alice:", "printable ASCII"),
    "password beyond ascii": ("PLAIN:alice:pässword", "printable ASCII"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_a_user_is_refused_with_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(CredentialsError, match=said) as caught:
        Credentials.parse(text)
    assert caught.value.exit_code == 2


def test_the_password_never_prints() -> None:
    assert "secret" not in repr(Credentials("PLAIN", "alice", "secret"))


def test_quotes_in_a_password_do_not_end_the_jaas_value() -> None:
    assert 'password="a\\"b\\\\c"' in Credentials("PLAIN", "alice", 'a"b\\c').jaas


def test_a_scram_record_holds_the_salted_password_and_not_the_password() -> None:
    user = Credentials("SCRAM-SHA-256", "alice", "secret")
    record = user.scram_record(b"salt")
    salted = base64.b64encode(hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 8192)).decode()
    assert f'saltedpassword="{salted}"' in record
    assert not re.search(r"\bsecret\b", record)


def test_a_scram_record_is_known_again_by_its_own_password_only() -> None:
    user = Credentials("SCRAM-SHA-512", "alice", "secret")
    record = user.scram_record()
    assert user.made(record)
    assert not Credentials("SCRAM-SHA-512", "alice", "Secret").made(record)
    assert not Credentials("SCRAM-SHA-512", "bob", "secret").made(record)
    assert not Credentials("SCRAM-SHA-256", "alice", "secret").made(record)
    assert not user.made("")
