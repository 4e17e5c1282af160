"""What the elasticsearch sink sends, and what it says when a server does not take it; with both clients."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.receivers.http import HOST, Reply
from tests.receivers.search import SearchReceiver, item_refused, refused
from tests.unit.sinks.samples import example_tables

from warren.config import Settings
from warren.config.modules import ElasticsearchSink
from warren.demo.certificates import ensure_certificates
from warren.sinks.kinds import kind_of
from warren.sinks.writer import Batch, TryAgainError, Writer, Written

SERVERS = ("elasticsearch", "opensearch")
PASSWORD = "not-for-your-eyes"
LOGIN = {"username": "warren", "password": SecretStr(PASSWORD)}
ROWS = 9
HTML = (("Content-Type", "text/html"),)


def writer(server: str, url: str, **keys: Any) -> Writer:
    sink = ElasticsearchSink.model_validate({"server": server, "urls": [url]} | keys)
    kind = kind_of(sink, Settings())
    assert PASSWORD not in repr(kind)
    return kind.writer()


def write(server: str, url: str, **keys: Any) -> Written:
    return writer(server, url, **keys).write(Batch(1, 0, example_tables()))


def refusal(server: str, url: str, **keys: Any) -> str:
    with pytest.raises(TryAgainError) as caught:
        write(server, url, **keys)
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("server", SERVERS)
def test_a_sample_is_one_request_with_ids(server: str) -> None:
    with SearchReceiver() as receiver:
        assert write(server, receiver.url) == Written(ROWS)
        (lines,) = receiver.bulks
    actions, documents = lines[::2], lines[1::2]
    assert len({action["create"]["_id"] for action in actions}) == ROWS
    assert all(action["create"]["_index"].startswith("burrow-20") for action in actions)
    assert {document["measurement_name"] for document in documents} == {
        "burrow_group",
        "burrow_topic",
        "burrow_partition",
    }


@pytest.mark.parametrize("server", SERVERS)
def test_requests_are_bounded_in_documents_and_in_bytes(server: str) -> None:
    with SearchReceiver() as receiver:
        assert write(server, receiver.url, **{"batch-size": 4}).rows == ROWS
        assert [len(lines) // 2 for lines in receiver.bulks] == [4, 4, 1]
        receiver.forget()
        assert write(server, receiver.url, **{"batch-bytes": 1500, "compression": "none"}).rows == ROWS
        sizes = [len(request.body) for request in receiver.received if "/_bulk" in request.path]
    assert len(sizes) == 2
    assert max(sizes) <= 1500


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_requests_are_compressed_as_asked(server: str, compression: str) -> None:
    with SearchReceiver() as receiver:
        write(server, receiver.url, compression=compression)
        (bulk,) = [request for request in receiver.received if request.path.startswith("/_bulk")]
    assert bulk.header("Content-Encoding") == (None if compression == "none" else "gzip")


def _asked(receiver: SearchReceiver) -> list[str]:
    return [each.method for each in receiver.received if each.path.startswith("/_index_template")]


@pytest.mark.parametrize("server", SERVERS)
def test_the_template_is_put_when_it_is_not_there_and_only_when_asked(server: str) -> None:
    with SearchReceiver() as receiver:
        one = writer(server, receiver.url, index="lag-%Y")
        one.write(Batch(1, 0, example_tables()))
        one.write(Batch(2, 0, example_tables()))
        assert _asked(receiver) == ["GET", "PUT", "GET"]
        assert receiver.templates["lag"]["index_patterns"] == ["lag-*"]
        # another writer finds it
        write(server, receiver.url, index="lag-%Y")
        assert _asked(receiver) == ["GET", "PUT", "GET", "GET"]
        # somebody has emptied the server
        receiver.templates.clear()
        one.write(Batch(3, 0, example_tables()))
        assert _asked(receiver) == ["GET", "PUT", "GET", "GET", "GET", "PUT"]
        write(server, receiver.url, **{"index": "other-%Y", "manage-template": False})
        assert list(receiver.templates) == ["lag"]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(
    ("login", "header"),
    [
        (LOGIN, "Basic d2FycmVuOm5vdC1mb3IteW91ci1leWVz"),
        ({"api-key": SecretStr(PASSWORD)}, f"ApiKey {PASSWORD}"),
    ],
)
def test_a_login_goes_along_and_is_in_no_text(server: str, login: dict[str, Any], header: str) -> None:
    with SearchReceiver() as receiver:
        write(server, receiver.url, **login)
        assert {request.header("Authorization") for request in receiver.received} == {header}
        # a server that repeats it
        receiver.answer(refused(401, "security_exception", f"unable to authenticate with {PASSWORD}"))
        said = refusal(server, receiver.url, **login)
    assert "answered 401: unable to authenticate with" in said
    assert said.endswith("check api-key" if "api-key" in login else "check username and password")


REFUSALS = {
    "disk full": (
        refused(429, "cluster_block_exception", "disk usage exceeded flood-stage watermark"),
        "disk usage exceeded flood-stage watermark; see whether its disks are full",
    ),
    "too much at once": (
        refused(429, "es_rejected_execution_exception", "rejected execution"),
        "answered 429: rejected execution; write less often with interval",
    ),
    "may not write": (
        refused(403, "security_exception", "action is unauthorized"),
        "action is unauthorized; give the user the right to create burrow-%Y.%m.%d",
    ),
    "too large": (Reply(413, b"<html>too large</html>", HTML), "answered 413; make batch-bytes smaller"),
    "a proxy without a server": (Reply(502, b"<html>bad gateway</html>", HTML), "answered 502; see its log"),
    "unavailable": (
        refused(503, "unavailable_shards_exception", "primary shard is not active"),
        "answered 503: primary shard is not active; see its log",
    ),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("case", REFUSALS)
def test_a_request_that_is_refused_is_a_sentence(server: str, case: str) -> None:
    reply, sentence = REFUSALS[case]
    with SearchReceiver() as receiver:
        receiver.answer(reply)
        assert sentence in refusal(server, receiver.url, **{"manage-template": False})


ITEMS = {
    "disk full": (429, "cluster_block_exception", "index has read-only-allow-delete block"),
    "no more shards": (400, "validation_exception", "this cluster currently has 1000 shards open"),
    "too much at once": (429, "es_rejected_execution_exception", "rejected execution"),
    "no such index": (404, "index_not_found_exception", "no such index and auto_create is off"),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("case", ITEMS)
def test_a_document_that_is_refused_for_its_index_comes_again(server: str, case: str) -> None:
    with SearchReceiver() as receiver:
        receiver.answer(item_refused(*ITEMS[case]))
        said = refusal(server, receiver.url, **{"manage-template": False, "batch-size": 2})
        assert f"answered {ITEMS[case][0]}: {ITEMS[case][2]}; " in said
        # nothing more of this sample for now
        assert len(receiver.received) == 1


@pytest.mark.parametrize("server", SERVERS)
def test_a_document_that_no_server_takes_is_counted_and_the_rest_goes_on(server: str) -> None:
    with SearchReceiver() as receiver:
        receiver.answer_next(item_refused(400, "mapper_parsing_exception", "failed to parse"))
        written = write(server, receiver.url, **{"manage-template": False, "batch-size": 2})
        assert len(receiver.bulks) == 5
    assert written == Written(ROWS - 1, 1, "failed to parse")


@pytest.mark.parametrize("server", SERVERS)
def test_a_document_that_is_there_already_is_written(server: str) -> None:
    with SearchReceiver() as receiver:
        receiver.answer_next(item_refused(409, "version_conflict_engine_exception", "exists already"))
        written = write(server, receiver.url, **{"manage-template": False, "batch-size": 2})
    assert written == Written(ROWS)


@pytest.mark.parametrize("server", SERVERS)
def test_a_user_that_may_not_put_templates_is_told_what_to_do(server: str) -> None:
    with SearchReceiver() as receiver:
        receiver.answer(refused(403, "security_exception", "action is unauthorized"))
        said = refusal(server, receiver.url)
    assert "does not take the index template burrow (answered 403: action is unauthorized)" in said
    assert "set manage-template = false" in said


@pytest.mark.parametrize("server", SERVERS)
def test_no_server_and_one_that_hangs(server: str) -> None:
    with SearchReceiver() as receiver:
        receiver.answer(Reply(fault="hang"))
        said = refusal(server, receiver.url, timeout=1)
        assert "did not answer within 1 s; see whether it is up" in said
    said = refusal(server, receiver.url)
    assert said.startswith("No answer from ")
    assert f" at {HOST}:{receiver.port}: Connection refused; check urls and that it runs" in said


@pytest.mark.parametrize("server", SERVERS)
def test_one_of_two_servers_is_enough(server: str) -> None:
    with SearchReceiver() as gone:
        pass
    with SearchReceiver() as receiver:
        for _ in range(4):
            assert write(server, gone.url, urls=[gone.url, receiver.url]).rows == ROWS


@pytest.mark.parametrize("server", SERVERS)
def test_a_certificate_is_checked_unless_told_otherwise(server: str, tmp_path: Path) -> None:
    certificates = ensure_certificates(tmp_path, HOST)
    with SearchReceiver(certificates) as receiver:
        said = refusal(server, receiver.url)
        assert "has a certificate that is not trusted" in said
        assert said.endswith("name the certificate of its CA in extra-ca, or set noverify")
        assert write(server, receiver.url, noverify=True).rows == ROWS
        assert write(server, receiver.url, **{"extra-ca": str(certificates.ca)}).rows == ROWS


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_wants_a_certificate_gets_it(server: str, tmp_path: Path) -> None:
    certificates = ensure_certificates(tmp_path, HOST)
    with SearchReceiver(certificates) as receiver:
        context = receiver.tls
        assert context is not None
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates.ca)
        own = {"certfile": str(certificates.client), "keyfile": str(certificates.client_key)}
        trusted = {"extra-ca": str(certificates.ca)}
        assert write(server, receiver.url, **trusted, **own).rows == ROWS
        assert "No answer from" in refusal(server, receiver.url, **trusted)


def test_a_server_that_is_no_elasticsearch_is_named() -> None:
    with SearchReceiver() as receiver:
        receiver.answer(Reply(200, b'{"items": []}', (("Content-Type", "application/json"),)))
        said = refusal("elasticsearch", receiver.url, **{"manage-template": False})
        assert said.endswith('for OpenSearch set server = "opensearch"')
        receiver.answer(refused(406, "", "Content-Type header is not supported"))
        said = refusal("elasticsearch", receiver.url)
        assert said.endswith('for OpenSearch set server = "opensearch"')
