"""The engine: a query for each configured cluster, and the latest snapshot of each for the readers."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warren.clock import now_ms
from warren.cluster.missing_partitions import MissingPartitions
from warren.cluster.reaper import Reaper
from warren.cluster.requests import Requests
from warren.cluster.source import HeadsSettings
from warren.common.look import LookTaken
from warren.common.request import Request
from warren.config.sections import KafkaAdminConsumer, KafkaConsumer
from warren.consumer.admin import AdminSettings
from warren.consumer.polling import PolledSettings
from warren.consumer.source import OffsetsSettings
from warren.consumer.zookeeper import ZooKeeperSettings
from warren.evaluator.verdict import RULES, RuleSettings
from warren.kafka.brokers import Brokers
from warren.kafka.client import client_properties
from warren.memory import release_large_arrays
from warren.pipeline.lists import group_filter
from warren.pipeline.query import ClusterQuery, Progress, QuerySettings
from warren.pipeline.session import cores, log_path, spark_session, stop
from warren.pipeline.source import SourceSettings
from warren.pipeline.supervisor import stop_all
from warren.pipeline.warm_up import warm_up
from warren.snapshot.read_model import Counts, ReadModel
from warren.storage.bucket import WindowSettings
from warren.zookeeper import login_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from warren.common.frames import Frame
    from warren.config import Settings
    from warren.snapshot.view import ClusterView

_MS: Final = 1000


class Engine:
    """Implements `warren.httpserver.state.Answers`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._changed = threading.Condition()
        # cluster: its latest view
        self._views: dict[str, ClusterView] = {}
        self._models: dict[str, ReadModel] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._queries: dict[str, ClusterQuery] = {}
        self._missing: dict[str, MissingPartitions] = {}
        self._stopping = threading.Event()
        self._session: SparkSession | None = None

    def start(self) -> None:
        """Start Spark and every cluster's query; returns at once, snapshots come as they come."""
        release_large_arrays()
        settings = self._settings
        session = self._session = spark_session(settings.spark, len(settings.cluster), len(settings.sink))
        warm_up(session)
        rules = self._settings.rules
        for name in self._settings.cluster:
            book = RULES[rules.class_name]
            judged = RuleSettings(
                self._settings.window.intervals,
                book.allowed_lag if rules.allowed_lag is None else rules.allowed_lag,
                rules.minimum_complete,
                book,
            )
            self._models[name] = ReadModel(name, judged)
            self._locks[name] = threading.Lock()
            self._missing[name] = MissingPartitions(self._requests(name))
            query = ClusterQuery(session, self._query_settings(session, name), partial(self._take, name))
            self._queries[name] = query
            query.start()
            self._look_for_gone_groups(name)

    def expect_stop(self) -> None:
        """Spark's processes may have been told to stop, too: queries that fail because of it are not restarted."""
        for query in self._queries.values():
            query.expect_stop()

    def stop(self) -> None:
        """End all queries and Spark."""
        self._stopping.set()
        stop_all(self._queries.values())
        if self._session is not None:
            stop(self._session)

    @property
    def session(self) -> SparkSession | None:
        """Spark, once it has been started."""
        return self._session

    @property
    def log(self) -> Path:
        """Spark's log file."""
        return log_path(self._settings.spark)

    def lost(self) -> str:
        """Why there will be no new snapshots, because Spark is gone; empty: it is not."""
        return next((query.lost for query in self._queries.values() if query.lost), "")

    def clusters(self) -> list[str]:
        return sorted(self._settings.cluster)

    def snapshot(self, cluster: str) -> ClusterView | None:
        return self._views.get(cluster)

    def progress(self, cluster: str) -> Progress:
        query = self._queries.get(cluster)
        return query.current() if query else Progress()

    def ready(self) -> bool:
        return all(name in self._views and self.progress(name).caught_up for name in self._settings.cluster)

    def delete_group(self, cluster: str, group: str) -> None:
        self._request(cluster, Request(group))

    def delete_topic(self, cluster: str, group: str, topic: str) -> None:
        self._request(cluster, Request(group, topic))

    def await_view(
        self, cluster: str, found: Callable[[ClusterView], bool], timeout_s: float
    ) -> ClusterView | None:
        """The first view that matches, None when the time is up."""

        def fits() -> ClusterView | None:
            view = self._views.get(cluster)
            return view if view is not None and found(view) else None

        with self._changed:
            return self._changed.wait_for(fits, timeout_s)

    def _request(self, cluster: str, request: Request) -> None:
        if cluster not in self._models:
            return
        with self._locks[cluster]:
            # one at a time: each gets a number of its own
            Requests(self._requests(cluster)).add(request)
            self._models[cluster].hide(request)
            view = self._views.get(cluster)
            if view is not None:
                self._publish(cluster, self._models[cluster].view(view.number, now_ms()))

    def _take(
        self, cluster: str, batch: int, frames: list[Frame], count: Callable[[Counts], None]
    ) -> LookTaken:
        with self._locks[cluster]:
            model = self._models[cluster]
            model.take(frames)
            self._missing[cluster].write(model.missing)
            # who sees the view finds its records counted
            count(model.counts)
            if model.look.as_of_ms:
                # else there is no moment yet as of which groups could be evaluated
                self._publish(cluster, model.view(batch, now_ms()))
        return model.look

    def _look_for_gone_groups(self, name: str) -> None:
        refresh_s = self._settings.cluster[name].groups_reaper_refresh
        if not refresh_s:
            return
        cluster = self._settings.cluster[name]
        client = client_properties(self._settings, cluster.client_profile, cluster.servers)
        query = self._queries[name]
        reaper = Reaper(
            name,
            partial(Brokers, client),
            partial(self._groups, name),
            partial(self.delete_group, name),
            partial(setattr, query.progress, "groups_error"),
        )
        threading.Thread(
            target=reaper.run, args=(refresh_s, self._stopping), name=f"groups-{name}", daemon=True
        ).start()

    def _groups(self, cluster: str) -> list[str]:
        """Groups that are in Kafka only."""
        view = self._views.get(cluster)
        # the brokers do not list groups that commit elsewhere
        kafka = [
            module
            for module, consumer in self._settings.consumers_of(cluster).items()
            if isinstance(consumer, KafkaConsumer)
        ]
        return view.groups_of(kafka) if view else []

    def _publish(self, cluster: str, view: ClusterView) -> None:
        with self._changed:
            self._views[cluster] = view
            self._changed.notify_all()

    def _requests(self, cluster: str) -> Path:
        return self._checkpoint(cluster) / "requests"

    def _checkpoint(self, cluster: str) -> Path:
        return Path(self._settings.spark.checkpoint_dir).absolute() / cluster.replace("/", "%2F")

    def _query_settings(self, session: SparkSession, name: str) -> QuerySettings:
        settings = self._settings
        cluster, window = settings.cluster[name], settings.window
        client = client_properties(settings, cluster.client_profile, cluster.servers)
        offsets = tuple(
            OffsetsSettings(
                module,
                client_properties(settings, consumer.client_profile, consumer.servers),
                consumer.offsets_topic,
                consumer.start_latest,
                consumer.backfill_earliest,
                consumer.max_records_per_trigger,
                cores(session),
                window.intervals,
                settings.min_distance_s * _MS,
                group_filter(consumer, window),
            )
            for module, consumer in settings.consumers_of(name).items()
            if isinstance(consumer, KafkaConsumer)
        )
        return QuerySettings(
            name,
            SourceSettings(
                HeadsSettings(client, cluster.topic_refresh * _MS, self._requests(name)),
                offsets,
                tuple(self._polled(name)),
            ),
            WindowSettings(
                window.intervals,
                settings.min_distance_s * _MS,
                window.expire_group * _MS,
                cluster.offset_refresh * _MS,
            ),
            self._checkpoint(name) / "query",
            settings.spark.trigger_interval,
        )

    def _polled(self, cluster: str) -> Iterator[PolledSettings]:
        """The cluster's consumers that are polled."""
        window = self._settings.window
        for name, consumer in self._settings.consumers_of(cluster).items():
            if isinstance(consumer, KafkaConsumer):
                continue
            if isinstance(consumer, KafkaAdminConsumer):
                yield AdminSettings(
                    name,
                    client_properties(self._settings, consumer.client_profile, consumer.servers),
                    consumer.poll_interval,
                    consumer.members_refresh,
                    consumer.max_requests,
                    group_filter(consumer, window),
                    window.intervals,
                    self._settings.min_distance_s * _MS,
                    self._checkpoint(cluster) / "committed" / name.replace("/", "%2F"),
                    window.expire_group * _MS,
                )
                continue
            yield ZooKeeperSettings(
                name,
                consumer.class_name,
                ",".join(consumer.servers),
                consumer.zookeeper_path,
                consumer.zookeeper_timeout,
                consumer.max_requests_per_second,
                login_options(consumer),
                group_filter(consumer, window),
                window.intervals,
                self._settings.min_distance_s * _MS,
            )
