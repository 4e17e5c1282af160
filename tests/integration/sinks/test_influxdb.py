"""Points in a real InfluxDB: complete, once, and a sentence for everything that can be wrong."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr
from tests.influxdb import ADMIN, InfluxServer
from tests.receivers.http import HOST, HttpReceiver, Reply
from tests.receivers.influxdb2 import ORG, TOKEN, Influx2Receiver
from tests.unit.sinks.samples import example_tables

from warren.cli.attempts import Outcome, run_probes
from warren.cli.probes import probes
from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import InfluxdbSink
from warren.demo.certificates import ensure_certificates
from warren.errors import ConfigError
from warren.sinks.kinds import kind_of
from warren.sinks.tables import SCHEMAS, Tables
from warren.sinks.writer import Batch, TryAgainError, Written

pytestmark = pytest.mark.xdist_group("influxdb")

MEASUREMENTS = ("burrow_group", "burrow_topic", "burrow_partition")
# far above what a key of InfluxDB may have
TOO_LONG = "x" * 70_000


def write(sink: InfluxdbSink, tables: Tables | None = None) -> Written:
    kind = kind_of(sink, Settings())
    return kind.writer().write(Batch(1, 0, tables or example_tables(at_ms=now_ms())))


def tried(sink: InfluxdbSink) -> Outcome:
    (outcome,) = run_probes(list(probes(Settings(sink={"s": sink}))), 5)
    return outcome


def refusal(sink: InfluxdbSink) -> str:
    with pytest.raises(TryAgainError) as caught:
        write(sink)
    return str(caught.value)


def named(tables: Tables, groups: Sequence[str]) -> Tables:
    """Only the two groups, with other names."""
    at = tables.groups.schema.get_field_index("group")
    column = pa.array(groups, pa.string()).dictionary_encode()
    field = tables.groups.schema.field("group")
    return Tables(
        tables.groups.set_column(at, field, column.cast(field.type)),
        SCHEMAS["topics"].empty_table(),
        SCHEMAS["partitions"].empty_table(),
    )


def stored(server: InfluxServer, database: str) -> dict[str, list[dict[str, Any]]]:
    return {name: server.rows(f"SELECT * FROM {name} GROUP BY *", database) for name in MEASUREMENTS}


@pytest.fixture
def database() -> str:
    return f"lag {uuid.uuid4().hex}"


@pytest.fixture
def buckets(influxdb: InfluxServer) -> list[str]:
    names = [f"bucket{uuid.uuid4().hex}" for _ in range(2)]
    for name in names:
        influxdb.query(f"CREATE DATABASE {name}")
    return names


@pytest.fixture
def second(influxdb: InfluxServer, buckets: list[str]) -> Iterator[Influx2Receiver]:
    """The form of version 2; the token may not write to the second bucket."""
    with Influx2Receiver(influxdb, buckets) as running:
        yield running


def v2(receiver: Influx2Receiver, bucket: str, **keys: Any) -> InfluxdbSink:
    given = {"url": receiver.url, "org": ORG, "bucket": bucket, "token": SecretStr(TOKEN)}
    return InfluxdbSink.model_validate(given | keys)


def test_what_is_written_is_there_once_however_often_it_comes(influxdb: InfluxServer, database: str) -> None:
    sink = InfluxdbSink(url=influxdb.url + "/", database=database, batch_size=2, tags={"usage": "log stash"})
    at_ms = now_ms()
    tables = example_tables(at_ms=at_ms)
    for _ in range(2):
        assert write(sink, tables) == Written(9)
        found = stored(influxdb, database)
        assert {name: len(rows) for name, rows in found.items()} == {
            "burrow_group": 2,
            "burrow_topic": 4,
            "burrow_partition": 3,
        }
    (slow,) = [row for row in found["burrow_group"] if row["group"] == "slow"]
    (row,) = [row for row in tables.groups.to_pylist() if row["group"] == "slow"]
    assert slow == {
        "time": at_ms,
        "cluster": "local",
        "group": "slow",
        "usage": "log stash",
        "status": row["status"],
        "status_code": row["status_code"],
        "partition_count": 3,
        "offset": 97,
        "total_lag": 10,
        "lag": 10,
        "timestamp": at_ms - 4_000,
    }


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_names_come_back_as_telegraf_would_have_written_them(
    influxdb: InfluxServer, database: str, compression: str
) -> None:
    names = {
        "a b,c=d": "a b,c=d",
        '"quoted" \\ in\\side': '"quoted" \\ in\\side',
        "two\nlines": r"two\nlines",
        "pay.ments-grøup": "pay.ments-grøup",
        "backslash\\": "backslash",
        "# no comment": "# no comment",
    }
    sink = InfluxdbSink.model_validate(
        {"url": influxdb.url, "database": database, "compression": compression}
    )
    tables = example_tables(at_ms=now_ms())
    given = list(names)
    for at in range(0, len(given), 2):
        assert write(sink, named(tables, given[at : at + 2])) == Written(2)
    found = {row["group"] for row in stored(influxdb, database)["burrow_group"]}
    assert found == set(names.values())


def test_a_field_of_another_type_costs_its_own_measurement_only(
    influxdb: InfluxServer, database: str
) -> None:
    sink = InfluxdbSink(url=influxdb.url, database=database)
    assert tried(sink).detail == f"{database} does not exist yet, it is made with the first sample"
    assert write(sink, named(example_tables(at_ms=now_ms()), ["a", "b"])) == Written(2)
    influxdb.query("DROP MEASUREMENT burrow_group", database)
    influxdb.client.post("/write", params={"db": database}, content="burrow_group lag=0.5").raise_for_status()
    written = write(sink)
    assert (written.rows, written.rejected) == (7, 2)
    assert "field type conflict" in written.reason
    assert [len(rows) for rows in stored(influxdb, database).values()] == [1, 4, 3]


def test_points_older_than_the_retention_are_counted(influxdb: InfluxServer, database: str) -> None:
    influxdb.query(f'CREATE DATABASE "{database}" WITH DURATION 1h')
    written = write(InfluxdbSink(url=influxdb.url, database=database), example_tables(at_ms=1_000_000))
    assert (written.rows, written.rejected) == (0, 9)
    assert "retention policy" in written.reason


def test_another_retention_policy_than_the_databases_own(influxdb: InfluxServer, database: str) -> None:
    sink = InfluxdbSink(url=influxdb.url, database=database, retention_policy="week")
    assert "retention policy not found: week; make it, or correct retention-policy" in refusal(sink)
    influxdb.query(f'CREATE RETENTION POLICY week ON "{database}" DURATION 7d REPLICATION 1')
    assert write(sink) == Written(9)
    assert len(influxdb.rows("SELECT * FROM week.burrow_topic", database)) == 4
    assert influxdb.rows("SELECT * FROM burrow_topic", database) == []


@pytest.mark.parametrize("version", [1, 2])
def test_a_line_that_is_refused_does_not_lose_the_others(
    influxdb: InfluxServer, database: str, second: Influx2Receiver, buckets: list[str], version: int
) -> None:
    first = InfluxdbSink(url=influxdb.url, database=database)
    sink, place = (first, database) if version == 1 else (v2(second, buckets[0]), buckets[0])
    tables = named(example_tables(at_ms=now_ms()), ["good", TOO_LONG])
    written = write(sink, replace(tables, topics=example_tables(at_ms=now_ms()).topics))
    assert (written.rows, written.rejected) == (5, 1)
    assert written.reason.startswith(("partial write: unable to parse", "unable to parse"))
    assert len(written.reason) < 250
    assert [row["group"] for row in stored(influxdb, place)["burrow_group"]] == ["good"]
    assert len(stored(influxdb, place)["burrow_topic"]) == 4


def test_a_request_that_is_too_large_is_made_smaller(influxdb: InfluxServer, database: str) -> None:
    with HttpReceiver() as receiver:
        too_large = Reply(413, b'{"error":"Request Entity Too Large"}')
        receiver.answer(lambda request: too_large if request.body.count(b"\n") > 2 else Reply(204))
        sink = InfluxdbSink.model_validate({"url": receiver.url, "database": "d", "compression": "none"})
        assert write(sink) == Written(9)
        lines = [
            line
            for request in receiver.received
            if request.body.count(b"\n") <= 2
            for line in request.body.splitlines()
        ]
    assert len(lines) == len(set(lines)) == 9


def test_a_server_that_refuses_every_line_is_not_asked_for_each_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("warren.sinks.influxdb._MOST_SEARCHES", 10)
    with HttpReceiver() as receiver:
        receiver.answer(Reply(400, b'{"error":"no"}'))
        tables = example_tables()
        many = replace(tables, partitions=pa.concat_tables([tables.partitions] * 20))
        written = write(InfluxdbSink(url=receiver.url, database="d"), many)
        assert (written.rows, written.rejected, written.reason) == (0, 66, "no")
        assert len(receiver.received) == 11


def test_who_may_not_is_told_so_and_the_password_is_not(tmp_path: Path) -> None:
    with InfluxServer(tmp_path, logins=True) as server:
        server.query("CREATE DATABASE lag")
        server.query("CREATE USER warren WITH PASSWORD 'pass-of-warren'")

        def sink(
            password: str = "pass-of-warren", database: str = "lag", user: str = "warren"
        ) -> InfluxdbSink:
            return InfluxdbSink(
                url=server.url, database=database, username=user, password=SecretStr(password)
            )

        said = {
            "nobody": refusal(InfluxdbSink(url=server.url, database="lag")),
            "wrong": refusal(sink("wrong-password")),
            "reader": refusal(sink()),
            "creator": refusal(sink(database="other")),
        }
        at = f"InfluxDB at {server.url.removeprefix('http://')}"
        assert said["wrong"] == f"{at} answered HTTP 401: authorization failed; check username and password"
        assert "HTTP 401" in said["nobody"]
        assert said["reader"].endswith("; give the user the right to write")
        assert said["creator"].startswith(f"{at} has no database other, and does not let us make it: ")
        assert not [text for text in said.values() if "password of" in text or "pass-of-warren" in text]
        assert (tried(sink()).reached, tried(sink()).detail) == (False, said["reader"])
        server.query("GRANT WRITE ON lag TO warren")
        assert (tried(sink()).reached, tried(sink()).detail) == (True, "lag can be written to")
        assert write(sink()) == Written(9)
        assert write(sink(ADMIN[1], "other", ADMIN[0])) == Written(9)
        assert "pass-of-warren" not in repr(kind_of(sink(), Settings()))


def test_version_2_has_organisations_buckets_and_tokens(
    influxdb: InfluxServer, second: Influx2Receiver, buckets: list[str]
) -> None:
    mine, forbidden = buckets
    for _ in range(2):
        assert write(v2(second, mine, batch_size=4)) == Written(9)
    assert tried(v2(second, mine)).detail == f"{mine} can be written to"
    assert len(influxdb.rows("SELECT * FROM burrow_topic GROUP BY *", mine)) == 8
    at = f"InfluxDB at {second.url.removeprefix('http://')} answered HTTP"
    assert refusal(v2(second, mine, token=SecretStr("wrong"))) == (
        f"{at} 401: unauthorized access; check token"
    )
    assert refusal(v2(second, "nosuch")) == f'{at} 404: bucket "nosuch" not found; check org, bucket and url'
    assert refusal(v2(second, mine, org="x")) == (
        f'{at} 404: organization name "x" not found; check org, bucket and url'
    )
    assert refusal(v2(second, forbidden)) == (
        f"{at} 403: insufficient permissions for write; give the token the right to write"
    )
    assert tried(v2(second, forbidden)).reached is False
    influxdb.query("DROP MEASUREMENT burrow_group", mine)
    influxdb.client.post("/write", params={"db": mine}, content="burrow_group lag=0.5").raise_for_status()
    written = write(v2(second, mine))
    assert (written.rows, written.rejected) == (7, 2)
    assert TOKEN not in repr(kind_of(v2(second, mine), Settings()))


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (
            Reply(429, b'{"code":"too many requests","message":"slow down"}'),
            "HTTP 429: slow down; write less often with interval, or less with level, or raise the server's limit",
        ),
        (Reply(503, b"<html>"), "HTTP 503; see its log"),
        (Reply(500, b'{"error":"timeout"}'), "HTTP 500: timeout; see its log"),
        # not InfluxDB's word on the lines: a web server that expects something else
        (Reply(400, b"<html>plain HTTP to HTTPS port</html>"), "HTTP 400; check url"),
        (Reply(302, b"", (("Location", "http://login.example.com"),)), "HTTP 302; check url"),
        (Reply(200, fault="close"), "check url and that it runs"),
        (Reply(200, fault="hang"), "did not answer within 1 s; see whether it is up"),
    ],
)
def test_what_may_be_better_later_is_tried_again(reply: Reply, sentence: str) -> None:
    with HttpReceiver() as receiver:
        receiver.answer(reply)
        assert sentence in refusal(InfluxdbSink(url=receiver.url, database="d", timeout=1))


def test_certificates(tmp_path: Path) -> None:
    certificates = ensure_certificates(tmp_path, HOST)
    with HttpReceiver(certificates) as receiver:
        receiver.answer(Reply(204))
        assert "has a certificate that is not trusted" in refusal(
            InfluxdbSink(url=receiver.url, database="d")
        )
        for keys in ({"extra_ca": str(certificates.ca)}, {"noverify": True}):
            assert write(
                InfluxdbSink.model_validate({"url": receiver.url, "database": "d"} | keys)
            ) == Written(9)
    (tmp_path / "empty").touch()
    with pytest.raises(ConfigError, match="contains no certificates"):
        write(InfluxdbSink(url="https://localhost", database="d", extra_ca=str(tmp_path / "empty")))
