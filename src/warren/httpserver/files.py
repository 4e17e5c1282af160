"""The web pages: their files, from memory. What they show comes from `/v4`."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from warren import pages
from warren.httpserver.metrics import accepts_gzip
from warren.httpserver.reply import NOT_FOUND, Headers, Reply
from warren.httpserver.router import Handler, Request

# the addresses that a person sees; the page in the browser reads the address and shows what belongs there
ADDRESSES: Final = (
    "/",
    "/clusters/{}/groups/{}",
    "/clusters/{}/topics/{}",
    "/incidents",
    "/incidents/{}",
    "/notifiers/{}",
    "/about",
    "/rules",
)
# where the files are; the first name is the fingerprint of all of them
_FILES: Final = ("/pages/{}/{}", "/pages/{}/{}/{}")
# first segments of both: these need no credentials, since the page itself asks for them and nothing in it is secret
_OPEN: Final = frozenset(path.split("/")[1].encode() for path in (*ADDRESSES, *_FILES)) - {b""}

# no script, style or picture but our own files; nothing inline; no text becomes markup; no frame around it
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFETY: Final[Headers] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_FOR_EVER: Final = b"public, max-age=31536000, immutable"
_ASK_AGAIN: Final = b"no-cache"


@dataclass(frozen=True, slots=True)
class File:
    """One file, as it is sent."""

    kind: bytes
    etag: bytes
    plain: bytes
    packed: bytes

    def reply(self, request: Request, caching: bytes) -> Reply:
        given = dict(request.headers)
        headers: Headers = (
            *_SAFETY,
            (b"content-type", self.kind),
            (b"cache-control", caching),
            (b"etag", self.etag),
            (b"vary", b"Accept-Encoding"),
        )
        if self.etag in given.get(b"if-none-match", b""):
            return Reply(304, headers)
        if accepts_gzip(request.headers):
            return Reply(200, (*headers, (b"content-encoding", b"gzip")), (self.packed,))
        return Reply(200, headers, (self.plain,))


def is_open(method: str, raw_path: bytes) -> bool:
    """Whether the request is for a file of the pages, which need no credentials."""
    first = raw_path[1:].partition(b"/")[0]
    return method in {"GET", "HEAD"} and (raw_path == b"/" or first in _OPEN)


class FilePages:
    """Every file by its path, and the one page that all addresses have."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self._fingerprint, self._indexes, self._files = _made() if files is None else _make(files)

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        return {
            **{("GET", address): self._index(address.count("/") - 1) for address in ADDRESSES},
            **{("GET", path): self.file for path in _FILES},
        }

    def _index(self, depth: int) -> Handler:
        index = self._indexes[depth]
        return lambda request: index.reply(request, _ASK_AGAIN)

    def file(self, request: Request) -> Reply:
        fingerprint, *path = request.names
        found = self._files.get("/".join(path))
        if found is None:
            return NOT_FOUND
        # a page that was opened before an update asks under the old fingerprint
        return found.reply(request, _FOR_EVER if fingerprint == self._fingerprint else _ASK_AGAIN)


@cache
def _made() -> tuple[str, Mapping[int, File], Mapping[str, File]]:
    return _make(pages.read())


def _make(contents: Mapping[str, bytes]) -> tuple[str, Mapping[int, File], Mapping[str, File]]:
    """The fingerprint, the page by the depth of its address, and the other files."""
    whole = hashlib.sha256()
    for path, content in contents.items():
        whole.update(path.encode() + b"\0" + content)
    fingerprint = whole.hexdigest()[:16]
    # all are named in the page, so that the browser fetches them at once and not import by import
    links = [
        f'<link rel="stylesheet" href="./{path}" />'
        for path in sorted(contents, key=_rank)
        if path.endswith(".css")
    ]
    links += [f'<link rel="modulepreload" href="./{path}" />' for path in contents if path.endswith(".js")]
    index = contents["index.html"].decode().replace("<!-- files -->", "\n    ".join(links))
    depths = {address.count("/") - 1 for address in ADDRESSES}
    # relative, so that a proxy may serve Warren below any path
    indexes = {depth: index.replace('="./', f'="./{"../" * depth}pages/{fingerprint}/') for depth in depths}
    files = {path: _file(path, content) for path, content in contents.items() if path != "index.html"}
    return fingerprint, {depth: _file("index.html", text.encode()) for depth, text in indexes.items()}, files


def _rank(path: str) -> tuple[bool, str]:
    """Styles that all pages share come before those of one page."""
    return not path.startswith("styles/"), path


def _file(path: str, content: bytes) -> File:
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    kind = pages.TYPES[path.rpartition(".")[2]]
    return File(kind.encode(), etag.encode(), content, gzip.compress(content, 9, mtime=0))
