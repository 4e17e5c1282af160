"""The official clients of Elasticsearch and of OpenSearch behind one face.

Elasticsearch's refuses to talk to OpenSearch. Both have the same bulk helpers, and errors of their own.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from warren.errors import WarrenError
from warren.sinks.documents import Document

# of what the server says about each document, what we look at
_FILTER: Final = "errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by"
_NO_JSON: Final = "its answer is no JSON"


class SearchError(WarrenError):
    """What a server says to a whole request, or why it says nothing."""


class RefusedError(SearchError):
    """The server answered, with an error."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        # Elasticsearch's name for it
        self.kind = kind
        self.reason = reason


class UnansweredError(SearchError):
    """No answer."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class OtherProductError(SearchError):
    """The server is not one that the client works with."""


class MissingClientError(SearchError):
    """The client is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The clients of Elasticsearch and OpenSearch are not installed: pip install 'warren[elasticsearch]'"
        )


@dataclass(frozen=True)
class Address:
    """Where the servers are, and how to talk to them; never printed."""

    urls: tuple[str, ...]
    username: str
    password: str = field(repr=False)
    api_key: str = field(repr=False)
    timeout_s: float
    compressed: bool
    tls: ssl.SSLContext | None

    @property
    def complete_urls(self) -> list[str]:
        """With the port that the scheme has."""
        return [_with_port(url) for url in self.urls]

    @property
    def attempts_elsewhere(self) -> int:
        """Of a request whose server does not answer: once at each of the others."""
        return len(self.urls) - 1


class SearchClient(Protocol):
    """What the sink asks of a server. Every method raises SearchError."""

    def create(
        self, documents: Iterable[Document], most_documents: int, most_bytes: int
    ) -> Iterator[dict[str, Any]]:
        """Create the documents; those that failed: `status`, and `error` with its `type` and `reason`."""

    def template(self, name: str) -> dict[str, Any] | None:
        """An index template, None when there is none of that name."""

    def put_template(self, name: str, body: dict[str, Any]) -> None: ...

    def version(self) -> str:
        """The product and its version."""


class ElasticsearchClient:
    """For Elasticsearch: 7.17, 8 and later."""

    def __init__(self, address: Address) -> None:
        try:
            import elasticsearch  # noqa: PLC0415
            import elasticsearch.helpers  # noqa: PLC0415
        except ImportError:
            raise MissingClientError from None
        _quiet("elastic_transport", "elasticsearch")
        self._library = elasticsearch
        options: dict[str, Any] = {}
        if address.tls is not None:
            verified = address.tls.verify_mode != ssl.CERT_NONE
            options = {"ssl_context": address.tls, "verify_certs": verified, "ssl_show_warn": False}
        if address.api_key:
            options["api_key"] = address.api_key
        elif address.username:
            options["basic_auth"] = (address.username, address.password)
        self._client = elasticsearch.Elasticsearch(
            address.complete_urls,
            request_timeout=address.timeout_s,
            http_compress=address.compressed,
            max_retries=address.attempts_elsewhere,
            retry_on_status=(),
            connections_per_node=1,
            **options,
        )

    def create(
        self, documents: Iterable[Document], most_documents: int, most_bytes: int
    ) -> Iterator[dict[str, Any]]:
        with self._errors():
            yield from _failures(
                self._library.helpers.streaming_bulk(
                    self._client,
                    documents,  # type: ignore[arg-type] # what `_action` makes of them is an action
                    chunk_size=most_documents,
                    max_chunk_bytes=most_bytes,
                    expand_action_callback=_action,  # type: ignore[arg-type]
                    raise_on_error=False,
                    yield_ok=False,
                    filter_path=_FILTER,
                )
            )

    def template(self, name: str) -> dict[str, Any] | None:
        with self._errors():
            try:
                return _first_template(self._client.indices.get_index_template(name=name).body)
            except self._library.NotFoundError:
                return None

    def put_template(self, name: str, body: dict[str, Any]) -> None:
        with self._errors():
            self._client.indices.put_index_template(name=name, body=body)

    def version(self) -> str:
        with self._errors():
            return f"Elasticsearch {self._client.info().body['version']['number']}"

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        library = self._library
        try:
            yield
        except library.UnsupportedProductError:
            raise OtherProductError("answers, and not as Elasticsearch does") from None
        except library.ApiError as error:
            raise _refusal(error.status_code, error.body) from None
        except library.ConnectionTimeout as error:
            raise UnansweredError("it took too long", timed_out=True) from error
        except library.SerializationError as error:
            raise UnansweredError(_NO_JSON) from error
        except library.TransportError as error:
            raise UnansweredError(_reason(error)) from error


class OpenSearchClient:
    """For OpenSearch; it asks no server what it is, and works with Elasticsearch 7, too."""

    def __init__(self, address: Address) -> None:
        try:
            import opensearchpy  # noqa: PLC0415
            import opensearchpy.helpers  # noqa: PLC0415
            import urllib3  # noqa: PLC0415
        except ImportError:
            raise MissingClientError from None
        _quiet("opensearch", "opensearchpy")
        if address.tls is not None and address.tls.verify_mode == ssl.CERT_NONE:
            # it is what was asked for
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._library = opensearchpy
        options: dict[str, Any] = {}
        if address.tls is not None:
            options["ssl_context"] = address.tls
        if address.api_key:
            options["headers"] = {"Authorization": f"ApiKey {address.api_key}"}
        elif address.username:
            options["http_auth"] = (address.username, address.password)
        self._client = opensearchpy.OpenSearch(
            address.complete_urls,
            timeout=address.timeout_s,
            http_compress=address.compressed,
            max_retries=address.attempts_elsewhere,
            retry_on_status=(),
            pool_maxsize=1,
            **options,
        )

    def create(
        self, documents: Iterable[Document], most_documents: int, most_bytes: int
    ) -> Iterator[dict[str, Any]]:
        with self._errors():
            yield from _failures(
                self._library.helpers.streaming_bulk(
                    self._client,
                    documents,
                    chunk_size=most_documents,
                    max_chunk_bytes=most_bytes,
                    expand_action_callback=_text_action,
                    raise_on_error=False,
                    yield_ok=False,
                    filter_path=_FILTER,
                )
            )

    def template(self, name: str) -> dict[str, Any] | None:
        with self._errors():
            try:
                return _first_template(self._client.indices.get_index_template(name=name))
            except self._library.NotFoundError:
                return None

    def put_template(self, name: str, body: dict[str, Any]) -> None:
        with self._errors():
            self._client.indices.put_index_template(name=name, body=body)

    def version(self) -> str:
        with self._errors():
            found = self._client.info()["version"]
        product = "OpenSearch" if found.get("distribution") == "opensearch" else "Elasticsearch"
        return f"{product} {found['number']}"

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        library = self._library
        try:
            yield
        except library.ConnectionTimeout as error:
            raise UnansweredError("it took too long", timed_out=True) from error
        except library.ConnectionError as error:
            raise UnansweredError(_reason(error)) from error
        except library.TransportError as error:
            raise _refusal(int(error.status_code), error.info) from None
        except library.SerializationError as error:
            raise UnansweredError(_NO_JSON) from error


def _action(document: Document) -> tuple[dict[str, Any], bytes]:
    return {"create": {"_index": document.index_name, "_id": document.id}}, document.source


def _text_action(document: Document) -> tuple[dict[str, Any], str]:
    """OpenSearch's helpers count the bytes of texts only."""
    action, source = _action(document)
    return action, source.decode()


def _failures(results: Iterable[tuple[bool, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for done, item in results:
        if not done:
            # {"create": {...}}
            yield next(iter(item.values()))


def _first_template(found: dict[str, Any]) -> dict[str, Any] | None:
    for template in found["index_templates"]:
        return dict(template["index_template"])
    return None


def _refusal(status: int, body: Any) -> RefusedError:
    """From the JSON of an error; what a proxy says is a page."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return RefusedError(status, str(error.get("type") or ""), str(error.get("reason") or ""))
    return RefusedError(status, "", error if isinstance(error, str) else "")


def _reason(error: BaseException) -> str:
    """The innermost, which is the system's: "[Errno 111] Connection refused"."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return str(error).split("] ", 1)[-1] or type(error).__name__


def _with_port(url: str) -> str:
    split = urlsplit(url)
    if split.port is None:
        split = split._replace(netloc=f"{split.netloc}:{443 if split.scheme == 'https' else 80}")
    return split.geturl()


def _quiet(*loggers: str) -> None:
    """Clients log each failed request; the sink says it once, and in words."""
    for name in loggers:
        logging.getLogger(name).setLevel(logging.CRITICAL)
