"""Documents in Elasticsearch or OpenSearch, as Telegraf writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from warren import secrecy
from warren.sinks.documents import Document, documents_of
from warren.sinks.index_template import index_template, is_current, template_name
from warren.sinks.search_clients import (
    Address,
    ElasticsearchClient,
    OpenSearchClient,
    OtherProductError,
    RefusedError,
    SearchClient,
    SearchError,
    UnansweredError,
)
from warren.sinks.writer import Batch, PlainKind, TryAgainError, Written
from warren.tls import certificate_error, tls_context

if TYPE_CHECKING:
    from warren.config import Settings
    from warren.config.modules import ElasticsearchSink

_MOST_QUOTED: Final = 200
_CONFLICT: Final = 409
# Elasticsearch's names for what is wrong with a document, and stays wrong. Other refusals of documents are about the
# index: it cannot be made, is read-only, or may not be written to
_ABOUT_DOCUMENT: Final = frozenset(
    {
        "document_parsing_exception",
        "illegal_argument_exception",
        "mapper_parsing_exception",
        "max_bytes_length_exceeded_exception",
        "strict_dynamic_mapping_exception",
    }
)
_CLIENTS: Final[dict[str, Callable[[Address], SearchClient]]] = {
    "elasticsearch": ElasticsearchClient,
    "opensearch": OpenSearchClient,
}
_OTHER_SERVER: Final = 'for OpenSearch set server = "opensearch"'
# Elasticsearch's name for an error: what to do
_REMEDIES_BY_KIND: Final = {
    "cluster_block_exception": "see whether its disks are full; when there is space, remove the block (index.blocks)",
    # no more shards: the index of a new day cannot be made
    "validation_exception": "remove old indices, or raise its limit",
}
# HTTP status: what to do
_REMEDIES: Final = {
    404: "check urls and index, and that indices may be created automatically",
    413: "make batch-bytes smaller",
    429: "write less often with interval, or less with level, or give it more machines",
}


@dataclass(frozen=True)
class ElasticsearchKind(PlainKind):
    """Where to write and how."""

    server: str
    urls: tuple[str, ...]
    index: str
    # of the index template; empty: none is put
    template: str
    username: str
    timeout_s: float
    batch_size: int
    batch_bytes: int
    compressed: bool
    extra_ca: str
    noverify: bool
    certfile: str
    keyfile: str
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    tags: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, sink: ElasticsearchSink, settings: Settings) -> ElasticsearchKind:
        def located(path: str) -> str:
            return str(settings.path(path)) if path else ""

        return cls(
            server=sink.server,
            urls=sink.urls,
            index=sink.index,
            template=(sink.template_name or template_name(sink.index)) if sink.manage_template else "",
            username=sink.username,
            timeout_s=sink.timeout,
            batch_size=sink.batch_size,
            batch_bytes=sink.batch_bytes,
            compressed=sink.compression == "gzip",
            extra_ca=located(sink.extra_ca),
            noverify=sink.noverify,
            certfile=located(sink.certfile),
            keyfile=located(sink.keyfile),
            password=sink.password.get_secret_value(),
            api_key=sink.api_key.get_secret_value(),
            tags=tuple(sorted(sink.tags.items())),
        )

    def writer(self) -> ElasticsearchWriter:
        return ElasticsearchWriter(self)


class ElasticsearchWriter:
    """Keeps a client from sample to sample. A document that is there already stays as it is."""

    def __init__(self, kind: ElasticsearchKind) -> None:
        self._kind = kind
        product = "OpenSearch" if kind.server == "opensearch" else "Elasticsearch"
        self._server = f"{product} at {', '.join(_host(url) for url in kind.urls)}"
        self._client = self._connected(kind)

    def write(self, batch: Batch) -> Written:
        sent = rejected = 0
        reason = ""

        def counted() -> Iterator[Document]:
            nonlocal sent
            for document in documents_of(batch.tables, self._kind.index, dict(self._kind.tags)):
                sent += 1
                yield document

        try:
            self._ensure_template()
            for failed in self._client.create(counted(), self._kind.batch_size, self._kind.batch_bytes):
                if failed.get("status") == _CONFLICT:
                    # written before
                    continue
                error = _refusal(failed)
                if error.kind not in _ABOUT_DOCUMENT:
                    raise error
                rejected += 1
                reason = reason or self._quoted(error.reason)
        except SearchError as error:
            raise self._try_again(error) from error
        return Written(sent - rejected, rejected, reason)

    def try_out(self) -> str:
        """Write nothing, to see whether it could be: a sentence. TryAgainError when not."""
        try:
            version = self._client.version()
            if not self._kind.template:
                return version
            there = self._client.template(self._kind.template)
        except SearchError as error:
            raise self._try_again(error) from error
        if there is None:
            return f"{version}, index template {self._kind.template} is put with the first sample"
        return f"{version}, index template {self._kind.template} is there"

    def _connected(self, kind: ElasticsearchKind) -> SearchClient:
        tls = None
        if any(url.startswith("https:") for url in kind.urls):
            tls = tls_context(Path(kind.extra_ca) if kind.extra_ca else None, noverify=kind.noverify)
            if kind.certfile:
                tls.load_cert_chain(kind.certfile, kind.keyfile)
        address = Address(
            kind.urls, kind.username, kind.password, kind.api_key, kind.timeout_s, kind.compressed, tls
        )
        return _CLIENTS[kind.server](address)

    def _ensure_template(self) -> None:
        """Put the index template unless one of that name is there that is not ours. Before every sample: the index of
        a new day is made with the template that is there then, and somebody may have emptied the server."""
        if not self._kind.template:
            return
        name, wanted = self._kind.template, index_template(self._kind.index)
        try:
            there = self._client.template(name)
            if there is None or not is_current(there, wanted):
                self._client.put_template(name, wanted)
        except RefusedError as error:
            if error.status in {400, 403}:
                raise TryAgainError(
                    f"{self._server} does not take the index template {name} ({self._said(error)}); give the user "
                    "the right manage_index_templates, or put a template yourself and set manage-template = false"
                ) from error
            raise

    def _try_again(self, error: SearchError) -> TryAgainError:
        match error:
            case RefusedError():
                # whoever stands before a server may answer for it, and then it is the template again
                return TryAgainError(f"{self._server} {self._said(error)}; {self._remedy(error)}")
            case UnansweredError(timed_out=True):
                return TryAgainError(
                    f"{self._server} did not answer within {self._kind.timeout_s:g} s; "
                    "see whether it is up and reachable from here, or raise timeout"
                )
            case UnansweredError():
                untrusted = certificate_error(self._server, error)
                return TryAgainError(
                    untrusted
                    or f"No answer from {self._server}: {self._quoted(str(error))}; check urls and that it runs"
                )
            case OtherProductError():
                return TryAgainError(f"{self._server} {error}; {_OTHER_SERVER}")
            case _:
                return TryAgainError(str(error))

    def _remedy(self, error: RefusedError) -> str:
        if remedy := _REMEDIES_BY_KIND.get(error.kind):
            return remedy
        if error.status == 401:
            return "check api-key" if self._kind.api_key else "check username and password"
        if error.status == 403:
            return f"give the user the right to create {self._kind.index} and documents in it"
        if error.status == 406:
            return (
                _OTHER_SERVER
                if self._kind.server == "elasticsearch"
                else "see which versions docs/sinks.md names"
            )
        return _REMEDIES.get(error.status, "see its log" if error.status >= 500 else "check urls and index")

    def _said(self, error: RefusedError) -> str:
        reason = self._quoted(error.reason)
        return f"answered {error.status}" + (f": {reason}" if reason else "")

    def _quoted(self, said: str) -> str:
        """The server's own words, on one line, without secrets."""
        hidden = [secret for secret in (self._kind.password, self._kind.api_key) if len(secret) > 3]
        text = secrecy.without(" ".join(said.split()), hidden)
        return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED].rstrip() + "…"


def _refusal(failed: dict[str, Any]) -> RefusedError:
    """What was said of one document; the cause says what the outermost does not."""
    error = failed.get("error") or {}
    reason = str(error.get("reason") or "")
    cause = str((error.get("caused_by") or {}).get("reason") or "")
    return RefusedError(
        int(failed.get("status") or 500),
        str(error.get("type") or ""),
        f"{reason}: {cause}" if cause and cause not in reason else reason,
    )


def _host(url: str) -> str:
    return urlsplit(url).netloc
