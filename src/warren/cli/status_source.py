"""The sources of `warren status`: `/v4` of a Warren, `/v3` of a Burrow."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol
from urllib.parse import quote

import httpx
import msgspec

from warren.common.status import Status
from warren.errors import WarrenError
from warren.secrecy import address as shown_url
from warren.snapshot.model import PartitionFields
from warren.spelling import did_you_mean

_TIMEOUT_S: Final = 10.0
# parallel requests: Burrow needs one for each group
_AT_ONCE: Final = 8
_PAGE: Final = 5000


class UnreachableError(WarrenError):
    """The server gives no usable answer."""

    exit_code = 2


class Line(msgspec.Struct, frozen=True):
    """One group. Times in ms; None: not known."""

    group: str
    status: str
    totallag: int
    maxlag: int
    complete: float
    partition_count: int
    last_commit: int | None = None
    status_since: int | None = None

    @property
    def rank(self) -> tuple[int, int, str]:
        """Sorts the worst first."""
        return -Status[self.status], -self.totallag, self.group


class PartitionLine(PartitionFields[str, float], frozen=True, kw_only=True):
    """One partition of a group; a Burrow says nothing of head, tail, rule and reason."""

    # the last committed offset; None: no commit yet
    committed: int | None

    @property
    def rank(self) -> tuple[int, int, str, int]:
        """Sorts the worst first."""
        return -Status[self.status], -self.current_lag, self.topic, self.partition


class ClusterState(msgspec.Struct, frozen=True):
    """A cluster and the requested groups."""

    cluster: str
    # what is wrong with the answers themselves; empty when they can be trusted
    trouble: str
    groups: list[Line]
    # of the one group that was requested
    partitions: list[PartitionLine] | None = None
    # number of the snapshot and its age; None: a Burrow has none
    snapshot: int | None = None
    age_ms: int | None = None

    @property
    def ok(self) -> bool:
        return not self.trouble and all(line.status == "OK" for line in self.groups)


class Source(Protocol):
    """One kind of server."""

    def states(self, cluster: str | None, group: str | None) -> list[ClusterState]:
        """The requested clusters, worst group first."""


class JsonClient:
    """An HTTP client for JSON, with errors that a person can act on."""

    def __init__(self, url: str, token: str = "", transport: httpx.BaseTransport | None = None) -> None:
        self._url = shown_url(url)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._client = httpx.Client(
                base_url=url, headers=headers, timeout=_TIMEOUT_S, transport=transport
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise UnreachableError(f"{self._url} is not a valid URL: {error}") from error

    def close(self) -> None:
        self._client.close()

    def get(self, *segments: str, also: Sequence[int] = (), **query: object) -> Any:
        """The page's JSON, None when there is no such page; `also`: other statuses that have an answer."""
        path = "/" + "/".join(quote(segment, safe="") for segment in segments)
        params = {name: str(value) for name, value in query.items()}
        try:
            response = self._client.get(path, params=params)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            hint = "is Warren running there? --url chooses another server"
            raise UnreachableError(f"{self._url} cannot be reached: {reason}; {hint}") from error
        if response.status_code in {401, 403}:
            hint = "give --token, or a user as in http://user:password@host:8000"
            raise UnreachableError(f"{self._url} requires credentials, or other ones: {hint}")
        if response.status_code == 404:
            return None
        if response.status_code not in {200, *also}:
            raise UnreachableError(
                f"{self._url}{path} answered {response.status_code}: {response.text[:200]}"
            )
        try:
            return msgspec.json.decode(response.content)
        except msgspec.DecodeError as error:
            raise self.not_warren() from error

    def not_warren(self) -> UnreachableError:
        return UnreachableError(
            f"{self._url} answers, but is neither Warren nor Burrow; --url chooses another server"
        )


def source(client: JsonClient) -> Source:
    """The kind of server that answers."""
    if client.get("v4", "health", also=(503,)) is not None:
        return WarrenSource(client)
    if not isinstance(client.get("v3", "kafka"), dict):
        raise client.not_warren()
    return BurrowSource(client)


class WarrenSource:
    """One call per cluster, and one for the health of all."""

    def __init__(self, client: JsonClient) -> None:
        self._asker = client

    def states(self, cluster: str | None, group: str | None) -> list[ClusterState]:
        health = self._asker.get("v4", "health", also=(503,))
        clusters = {each["cluster"]: each for each in health["clusters"]}
        wanted = [_chosen(cluster, list(clusters))] if cluster is not None else sorted(clusters)
        return [self._state(name, clusters[name], group) for name in wanted]

    def _state(self, cluster: str, health: dict[str, Any], group: str | None) -> ClusterState:
        latest = health["snapshot"] or {}
        age = {"snapshot": latest.get("number"), "age_ms": latest.get("age_ms")}
        trouble = _trouble(health)
        if not latest:
            return ClusterState(cluster, trouble or "there is no snapshot yet", [], **age)
        if group is None:
            return ClusterState(cluster, trouble, self._groups(cluster), **age)
        page = self._asker.get("v4", "clusters", cluster, "groups", group)
        if page is None:
            raise _no_group(cluster, group, [line.group for line in self._groups(cluster)])
        return ClusterState(
            cluster,
            trouble,
            [_line(page["summary"])],
            sorted(map(_partition, page["partitions"]), key=lambda part: part.rank),
            **age,
        )

    def _groups(self, cluster: str) -> list[Line]:
        # group: its line; a group that moves from one page to the next must not show twice
        found: dict[str, Line] = {}
        offset, total = 0, 1
        while offset < total:
            page = self._asker.get(
                "v4", "clusters", cluster, "groups", limit=_PAGE, offset=offset, sort="group"
            )
            if page is None:
                break
            found |= {line["group"]: _line(line) for line in page["groups"]}
            offset, total = offset + _PAGE, page["total"]
        return sorted(found.values(), key=lambda line: line.rank)


class BurrowSource:
    """A call for every group."""

    def __init__(self, client: JsonClient) -> None:
        self._asker = client

    def states(self, cluster: str | None, group: str | None) -> list[ClusterState]:
        known = self._asker.get("v3", "kafka")["clusters"]
        wanted = [_chosen(cluster, known)] if cluster is not None else sorted(known)
        return [self._state(name, group) for name in wanted]

    def _state(self, cluster: str, group: str | None) -> ClusterState:
        if group is not None:
            page = self._asker.get("v3", "kafka", cluster, "consumer", group, "lag")
            if page is None:
                raise _no_group(cluster, group, self._names(cluster))
            parts = sorted(map(_partition, page["status"]["partitions"]), key=lambda part: part.rank)
            return ClusterState(cluster, "", [_line_of_burrow(page["status"])], parts)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            pages = pool.map(
                lambda name: self._asker.get("v3", "kafka", cluster, "consumer", name, "status"),
                self._names(cluster),
            )
            # a group that has gone since it was listed has no page
            lines = [_line_of_burrow(page["status"]) for page in pages if page is not None]
        return ClusterState(cluster, "", sorted(lines, key=lambda line: line.rank))

    def _names(self, cluster: str) -> list[str]:
        listed = self._asker.get("v3", "kafka", cluster, "consumer")
        return listed["consumers"] if listed else []


def _chosen(requested: str, known: Sequence[str]) -> str:
    if requested in known:
        return requested
    near = did_you_mean(requested, known, f"there are: {', '.join(sorted(known)) or 'none'}")
    raise UnreachableError(f"there is no cluster {requested}; {near}")


def _no_group(cluster: str, requested: str, known: Sequence[str]) -> UnreachableError:
    near = did_you_mean(requested, known, f"`warren status {cluster}` shows its {len(known):,} groups")
    return UnreachableError(f"cluster {cluster} has no group {requested}; {near}")


def _trouble(health: dict[str, Any]) -> str:
    if health["error"]:
        return f"does not respond: {health['error']}" if health["blind"] else health["error"]
    if not health["running"]:
        return "its query is not running"
    if not health["caught_up"]:
        return f"catching up: {health['read_share']:.0%} read, {health['left']:,} records left"
    return ""


def _line(shown: dict[str, Any]) -> Line:
    return msgspec.convert(shown, Line)


def _line_of_burrow(shown: dict[str, Any]) -> Line:
    worst = shown["maxlag"] or {}
    return Line(
        shown["group"],
        shown["status"],
        shown["totallag"],
        worst.get("current_lag", 0),
        shown["complete"],
        shown["partition_count"],
    )


def _partition(shown: dict[str, Any]) -> PartitionLine:
    committed = (shown["end"] or {}).get("offset")
    return msgspec.convert({"head": None, "tail": None, **shown, "committed": committed}, PartitionLine)
