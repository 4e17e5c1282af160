"""Samples in a Kafka topic: all of them, each once, whatever happens to the broker or to Warren."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from pydantic import SecretStr
from pyspark.sql import SparkSession
from tests.conftest import BrokerFactory
from tests.integration.pipeline.test_rights import enforcing
from tests.integration.sinks.frame import PATIENCE_S, running_sinks
from tests.processes import eventually
from tests.unit.sinks.samples import example_tables, example_view

from warren.cli.attempts import UnreachableError
from warren.cli.kafka_sink_probe import kafka_sink
from warren.clock import now_ms
from warren.config import Settings
from warren.config.modules import KafkaSink
from warren.config.sections import ClientProfile, Sasl, Spark
from warren.demo.broker import Broker
from warren.sinks.kafka import ChangesWriter, KafkaKind, KafkaWriter
from warren.sinks.kafka_schema import schema
from warren.sinks.selection import Selection
from warren.sinks.tables import Tabulator
from warren.sinks.writer import Batch, TryAgainError, Written


def made_topic(broker: Broker, *, partitions: int = 3, **config: str) -> str:
    name = f"lag-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(broker.client_settings)
    new = NewTopic(
        name, num_partitions=partitions, config={key.replace("_", "."): each for key, each in config.items()}
    )
    admin.create_topics([new])[name].result()
    return name


def kind(broker: Broker, directory: Path, topic: str, **keys: Any) -> KafkaKind:
    sink = KafkaSink.model_validate(
        {"servers": [broker.bootstrap_servers], "topic": topic, "timeout": 30} | keys
    )
    return KafkaKind.of(sink, Settings(sink={"k": sink}, spark=Spark(checkpoint_dir=str(directory))))


def batch(number: int, at_ms: int | None = None) -> Batch:
    moment = (now_ms() if at_ms is None else at_ms) // 1000 * 1000
    return Batch(number, moment, example_tables("east", moment))


def write(writer: KafkaWriter | ChangesWriter, given: Batch) -> Written:
    """As the sink's query does it: a broker that is busy is asked again."""
    for _ in range(4):
        try:
            return writer.write(given)
        except TryAgainError:
            time.sleep(1)
    return writer.write(given)


# a record: its key and value as JSON, None for a tombstone, and its time
Seen = tuple[Any, Any, int]


def committed(broker: Broker, topic: str) -> list[Seen]:
    """What a reader of committed records sees."""
    reader = Consumer(
        broker.client_settings
        | {
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    partitions = reader.list_topics(topic, 30).topics[topic].partitions
    reader.assign([TopicPartition(topic, each, 0) for each in partitions])
    found: list[Seen] = []
    ended: set[int | None] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < len(partitions) and time.monotonic() < deadline:
        message = reader.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            ended.discard(message.partition())
            value = message.value()
            found.append(
                (
                    json.loads(message.key() or b""),
                    None if value is None else json.loads(value),
                    message.timestamp()[1],
                )
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
    reader.close()
    return found


def samples(found: list[Seen]) -> Counter[int]:
    """Sample: its records."""
    return Counter(value["sample"] for _, value, _ in found if value is not None)


def test_every_row_is_a_record_with_its_key_and_its_time(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker)
    writer = kind(broker, tmp_path, topic, tags={"usage": "production"}).writer()
    given = batch(7)
    written = write(writer, given)
    assert (written.rows, written.rejected) == (9, 0)
    found = committed(broker, topic)
    slow = [
        (key, value) for key, value, _ in found if value["kind"] == "partition" and value["group"] == "slow"
    ]
    assert [key for key, _ in slow] == [{"cluster": "east", "group": "slow"}] * 2
    assert {(value["partition"], value["lag"], value["status"]) for _, value in slow} == {
        (0, 10, "STOP"),
        (2, 0, "OK"),
    }
    assert {value["tags"]["usage"] for _, value, _ in found} == {"production"}
    assert {at for *_, at in found} == {given.time_ms} == {value["time"] for _, value, _ in found}


def test_a_sample_that_comes_again_is_written_once(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker)
    made = kind(broker, tmp_path, topic)
    writer, given = made.writer(), [batch(number) for number in (1, 2, 3)]
    for each in (given[0], given[0], given[1], given[0]):
        assert writer.write(each).rows == 9
    # another process
    other = made.writer()
    for each in given:
        other.write(each)
    # and the first one again, whose producer the other has ended
    writer.write(given[2])
    writer.write(batch(4))
    assert samples(committed(broker, topic)) == {1: 9, 2: 9, 3: 9, 4: 9}


@pytest.mark.parametrize("after", ["the records", "the note", "the commit"])
def test_killed_between_two_steps_a_sample_is_there_once(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    topic = made_topic(broker)
    made = kind(broker, tmp_path, topic)
    made.writer().write(batch(1))

    class KilledError(BaseException):
        pass

    writer, given = made.writer(), batch(2)
    producer: Any = writer._producer
    if after == "the commit":
        begin = producer._begun

        def begun(position: Any) -> Any:
            found = begin(position)
            producer._producer = Cut(producer._producer, KilledError)
            return found

        monkeypatch.setattr(producer, "_begun", begun)
    else:
        note = producer._note

        def noted(*arguments: Any) -> None:
            if after == "the note":
                note(*arguments)
            raise KilledError

        monkeypatch.setattr(producer, "_note", noted)
    # whoever is killed throws nothing away
    monkeypatch.setattr(producer, "_discard", lambda: None)
    with pytest.raises(KilledError):
        writer.write(given)
    again = made.writer()
    assert again.write(given).rows == 9
    again.write(batch(3))
    assert samples(committed(broker, topic)) == {1: 9, 2: 9, 3: 9}


class Cut:
    """A producer whose process ends right after the commit."""

    def __init__(self, producer: Producer, error: type[BaseException]) -> None:
        self._producer = producer
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def commit_transaction(self, *arguments: Any) -> None:
        self._producer.commit_transaction(*arguments)
        raise self._error


def test_an_old_process_cannot_commit_what_a_new_one_has_written(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker)
    made = kind(broker, tmp_path, topic)
    old, given = made.writer(), batch(1)
    producer: Any = old._producer
    note = producer._note
    met, go_on = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> None:
        note(*arguments)
        met.set()
        go_on.wait(60)

    producer._note = slow
    failed: list[Exception] = []

    def run() -> None:
        try:
            old.write(given)
        except TryAgainError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert met.wait(60)
    made.writer().write(given)
    go_on.set()
    thread.join(60)
    assert len(failed) == 1
    assert samples(committed(broker, topic)) == {1: 9}


def test_without_transactions_samples_are_written_and_a_repeated_one_twice(
    broker: Broker, tmp_path: Path
) -> None:
    topic = made_topic(broker)
    writer = kind(broker, tmp_path, topic, transactions=False).writer()
    given = batch(1)
    for _ in range(2):
        writer.write(given)
    assert samples(committed(broker, topic)) == {1: 18}
    assert not (tmp_path / "sinks").exists()


def test_a_topic_that_is_missing_is_named_with_the_command_that_creates_it(
    broker: Broker, tmp_path: Path
) -> None:
    topic = f"missing-{uuid.uuid4().hex[:8]}"
    with pytest.raises(TryAgainError, match=f"--create --topic {topic}"):
        kind(broker, tmp_path, topic).writer().write(batch(1))
    assert topic not in AdminClient(broker.client_settings).list_topics(timeout=30).topics
    kind(broker, tmp_path, topic, create_topic=True).writer().write(batch(1))
    assert samples(committed(broker, topic)) == {1: 9}


def test_a_record_that_is_too_large_is_left_out_and_counted(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker, max_message_bytes="1500")
    made = kind(broker, tmp_path, topic)
    moment = now_ms()
    tables = example_tables("c" * 2000, moment)
    written = write(made.writer(), Batch(1, moment, tables))
    assert (written.rows, written.rejected) == (0, 9)
    assert "too large" in written.reason
    # the client's batches are no larger than what the topic takes
    assert write(made.writer(), batch(2)).rows == 9
    assert samples(committed(broker, topic)) == {2: 9}


def test_a_topic_that_takes_larger_records_from_now_on_gets_them(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker, max_message_bytes="1500")
    writer = kind(broker, tmp_path, topic).writer()
    moment = now_ms()
    large = example_tables("c" * 2000, moment)
    assert write(writer, Batch(1, moment, large)).rejected == 9
    resource = ConfigResource(ResourceType.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "100000", incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient(broker.client_settings)
    (changed,) = admin.incremental_alter_configs([resource]).values()
    changed.result(PATIENCE_S)
    assert write(writer, Batch(2, moment, large)).rows == 9
    assert samples(committed(broker, topic)) == {2: 9}


def test_a_user_without_rights_is_told_which_ones(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    """SASL through a client profile; what is missing is one right after the other."""
    broker = enforcing(broker_factory)
    topic = made_topic(broker)
    admin = AdminClient(broker.client_settings)

    def denied(resource: ResourceType, name: str, pattern: ResourcePatternType) -> AclBinding:
        return AclBinding(
            resource, name, pattern, "User:warren", "*", AclOperation.WRITE, AclPermissionType.DENY
        )

    def configured(password: str = "warren-secret") -> tuple[KafkaSink, Settings]:
        sink = KafkaSink(servers=(broker.bootstrap_servers,), topic=topic, client_profile="login", timeout=5)
        settings = Settings(
            sink={"k": sink},
            spark=Spark(checkpoint_dir=str(tmp_path)),
            client_profile={"login": ClientProfile(sasl="plain")},
            sasl={"plain": Sasl(username="warren", password=SecretStr(password), mechanism="PLAIN")},
        )
        return sink, settings

    def writer(password: str = "warren-secret") -> KafkaWriter | ChangesWriter:
        made = KafkaKind.of(*configured(password))
        assert password not in repr(made)
        return made.writer()

    assert writer().write(batch(1)).rows == 9
    with pytest.raises(TryAgainError, match="refuses the login") as refused:
        writer("wrong-secret").write(batch(2))
    assert "wrong-secret" not in str(refused.value)
    for acl, wanted in (
        (denied(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL), f"use the topic {topic}"),
        (denied(ResourceType.TRANSACTIONAL_ID, "warren-", ResourcePatternType.PREFIXED), "use transactions"),
    ):
        for future in admin.create_acls([acl]).values():
            future.result()
        with pytest.raises(TryAgainError, match=wanted):
            writer().write(batch(2))
        sink, settings = configured()
        with pytest.raises(UnreachableError, match=wanted):
            kafka_sink(settings, sink, 10)
        for future in admin.delete_acls([_everything()]).values():
            future.result()
    assert eventually(lambda: _written(writer, 2), 30)
    assert samples(committed(broker, topic)) == {1: 9, 2: 9}


def _everything() -> AclBindingFilter:
    anything: Any = None
    return AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def _written(writer: Callable[[], KafkaWriter | ChangesWriter], number: int) -> bool:
    try:
        return writer().write(batch(number)).rows == 9
    except TryAgainError:
        return False


def test_a_broker_that_stops_and_starts_misses_nothing_and_gets_nothing_twice(
    session: SparkSession, broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    broker = broker_factory()
    topic = made_topic(broker)
    sink = KafkaSink(servers=(broker.bootstrap_servers,), topic=topic, interval=1, timeout=2)
    with running_sinks(session, tmp_path, {"k": sink}, "east", "west") as running:
        running.wait("k", 2)
        broker.kill()
        assert eventually(lambda: "does not answer" in running.state("k").progress.error, PATIENCE_S)
        assert eventually(lambda: running.state("k").behind >= 3, PATIENCE_S)
        broker.start()
        before = running.state("k").progress.samples
        running.wait("k", before + 4)
        assert running.state("k").progress.error == ""
    found = samples(committed(broker, topic))
    assert found == dict.fromkeys(range(1, max(found) + 1), 18)


def test_the_check_says_what_is_wrong_with_the_topic(broker: Broker) -> None:
    topic, compacted = made_topic(broker), made_topic(broker, cleanup_policy="compact")

    def checked(**keys: Any) -> str:
        sink = KafkaSink.model_validate({"servers": [broker.bootstrap_servers]} | keys)
        return kafka_sink(Settings(sink={"k": sink}), sink, 20)

    assert checked(topic=topic) == f"may write to {topic}, 3 partitions"
    assert "set its cleanup.policy to delete" in checked(topic=compacted)
    assert "set its cleanup.policy to compact" in checked(topic=topic, level="changes")
    assert checked(topic=compacted, level="changes") == f"may write to {compacted}, 3 partitions"
    assert "will be created" in checked(topic="not-made", create_topic=True)
    with pytest.raises(UnreachableError, match="--create --topic not-made"):
        checked(topic="not-made")


def changes(found: list[Seen]) -> dict[str, tuple[str, str | None] | None]:
    """By key, the last record: status and the one before; None: it is gone."""
    return {
        json.dumps(key, separators=(",", ":")): None
        if value is None
        else (value["status"], value["status_before"])
        for key, value, _ in found
    }


def test_a_changelog_says_what_changed_and_why_whoever_writes_it(broker: Broker, tmp_path: Path) -> None:
    topic = made_topic(broker, cleanup_policy="compact")
    made = kind(broker, tmp_path, topic, level="changes")

    def written(writer: KafkaWriter | ChangesWriter, number: int, **heads: int) -> int:
        moment = now_ms() // 1000 * 1000
        given = {("orders", 0): 100, ("orders", 1): 50, ("orders", 2): 7, ("clicks", 0): 10}
        given |= {(name, 0): head for name, head in heads.items()}
        view = example_view("east", moment, heads=given)
        return writer.write(Batch(number, moment, Tabulator(with_reasons=True).tables(view))).rows

    first = made.writer()
    assert written(first, 1) == 5
    assert written(first, 2) == 0
    # a process that has seen nothing finds the state in the topic
    second = made.writer()
    assert written(second, 3) == 0
    assert written(second, 4, orders=90) == 2
    # one that had been there before reads on
    assert written(first, 5, clicks=20) == 4
    assert written(second, 6, clicks=20) == 0
    found = committed(broker, topic)
    slow, window = (
        f'{{"cluster":"east","group":"slow"{rest}}}' for rest in ("", ',"topic":"orders","partition":0')
    )
    assert changes(found)[slow] == ("ERR", "OK")
    assert changes(found)[window] == ("STOP", "OK")
    (opened,) = (
        value
        for key, value, _ in found
        if value["sample"] == 1 and value.get("partition") == 0 and value["group"] == "slow"
    )
    assert (opened["rule"], opened["status_before"]) == ("stopped", None)
    assert opened["because"].startswith("The only commit is 5 s old")
    assert [entry["offset"] for entry in opened["window"]] == [90]
    (group,) = (
        value
        for key, value, _ in found
        if value["sample"] == 1 and value["kind"] == "group_change" and value["group"] == "slow"
    )
    assert [(each["topic"], each["partition"], each["rule"]) for each in group["partitions"]] == [
        ("orders", 0, "stopped")
    ]
    validator = jsonschema_rs.validator_for(schema())
    for _, value, _ in found:
        validator.validate(value)
    # a group that has gone
    moment = now_ms()
    tables = example_tables("east", moment)
    keys = {"servers": ["b:9092"], "topic": "t", "group-denylist": "slow", "level": "changes"}
    only = Selection.of(KafkaSink.model_validate(keys))
    assert second.write(Batch(7, moment, only.applied(tables))).rows == 5
    assert changes(committed(broker, topic))[slow] is None


def test_changes_are_written_once_when_the_last_sample_comes_again(
    session: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = made_topic(broker, cleanup_policy="compact")
    sink = KafkaSink(servers=(broker.bootstrap_servers,), topic=topic, interval=1, level="changes")
    for _ in range(2):
        with running_sinks(session, tmp_path, {"k": sink}, "east") as running:
            running.wait("k", 2)
    found = committed(broker, topic)
    assert len(found) == 5
    reasons = [
        value["because"]
        for _, value, _ in found
        if value["kind"] == "partition_change" and value["status"] != "OK"
    ]
    assert reasons
    assert all(reasons)
