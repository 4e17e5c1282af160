"""Warren's own series: queries, snapshots, notifications and listeners."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from warren.common.sink_state import SinkState
from warren.common.status import Status
from warren.httpserver.guard import Guard
from warren.httpserver.state import Answers, Notifying, Progress, SinkStates

# name, help, counter or gauge, value
_OF_PROGRESS: tuple[tuple[str, str, type[Any], Callable[[Progress], float]], ...] = (
    (
        "warren_cluster_up",
        "Whether the brokers respond and the query runs",
        GaugeMetricFamily,
        lambda progress: progress.running and not progress.error,
    ),
    (
        "warren_cluster_caught_up",
        "Whether everything that was in the offsets topic at the start has been read",
        GaugeMetricFamily,
        lambda progress: progress.caught_up,
    ),
    (
        "warren_cluster_seen_timestamp_seconds",
        "The moment as of which groups are evaluated; 0: none yet",
        GaugeMetricFamily,
        lambda progress: progress.seen_ms / 1000,
    ),
    (
        "warren_records",
        "Records read from the offsets topic since the start",
        CounterMetricFamily,
        lambda progress: progress.records,
    ),
    (
        "warren_records_per_second",
        "Records read per second in the last trigger",
        GaugeMetricFamily,
        lambda progress: progress.rate,
    ),
    (
        "warren_records_left",
        "Records of the offsets topic that are still to be read",
        GaugeMetricFamily,
        lambda progress: progress.left,
    ),
    (
        "warren_records_denied",
        "Records of groups that the allow and deny lists exclude",
        CounterMetricFamily,
        lambda progress: progress.denied,
    ),
    (
        "warren_triggers",
        "Triggers of the cluster's query",
        CounterMetricFamily,
        lambda progress: progress.triggers,
    ),
    (
        "warren_trigger_seconds",
        "Time that the last trigger took",
        GaugeMetricFamily,
        lambda progress: progress.trigger_ms / 1000,
    ),
    (
        "warren_query_restarts",
        "Restarts of the cluster's query after a failure",
        CounterMetricFamily,
        lambda progress: progress.restarts,
    ),
)

# name, help, counter or gauge, value by the state and the time
_OF_SINK: tuple[tuple[str, str, type[Any], Callable[[SinkState, float], float]], ...] = (
    (
        "warren_sink_up",
        "Whether the sink's query runs and its last attempt did not fail",
        GaugeMetricFamily,
        lambda state, _: state.progress.running and not state.progress.error,
    ),
    (
        "warren_sink_samples",
        "Samples written",
        CounterMetricFamily,
        lambda state, _: state.progress.samples,
    ),
    (
        "warren_sink_samples_dropped",
        "Samples that went before they were written: too old, too many, or a full disk",
        CounterMetricFamily,
        lambda state, _: state.dropped,
    ),
    (
        "warren_sink_samples_behind",
        "Samples that are there and not written yet",
        GaugeMetricFamily,
        lambda state, _: state.behind,
    ),
    (
        "warren_sink_behind_seconds",
        "How long ago the oldest sample was taken that is not written yet; 0: there is none",
        GaugeMetricFamily,
        lambda state, now_s: (
            0.0 if state.behind_since_ms is None else max(now_s - state.behind_since_ms / 1000, 0.0)
        ),
    ),
    ("warren_sink_rows", "Rows written", CounterMetricFamily, lambda state, _: state.progress.rows),
    (
        "warren_sink_rows_rejected",
        "Rows that the other side will never take",
        CounterMetricFamily,
        lambda state, _: state.progress.rejected,
    ),
    (
        "warren_sink_failures",
        "Attempts to write that failed",
        CounterMetricFamily,
        lambda state, _: state.progress.failures,
    ),
)


class OwnMetrics(Collector):
    """Collected at every scrape: all values are available without work."""

    def __init__(
        self,
        answers: Answers,
        notifying: Notifying | None = None,
        sinks: SinkStates | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._answers = answers
        self._notifying = notifying
        self._sinks = sinks
        self._now_s = now_s
        # by listener
        self.guards: Mapping[str, Guard] = {}

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "warren_ready",
            "Whether every cluster that can be reached has caught up, as in /v4/health",
            value=self._answers.ready(),
        )
        clusters = sorted(self._answers.clusters())
        progress = {cluster: self._answers.progress(cluster) for cluster in clusters}
        for name, help_, family, value in _OF_PROGRESS:
            found = family(name, help_, labels=["cluster"])
            for cluster in clusters:
                found.add_metric([cluster], float(value(progress[cluster])))
            yield found
        yield self._skipped(progress)
        yield from self._snapshots(clusters)
        if self._notifying is not None:
            yield from _notifications(self._notifying, clusters)
        if self._sinks is not None:
            yield from _of_sinks(self._sinks.states(), self._now_s())
        yield self._refused()
        yield from self._connections()

    def _skipped(self, progress: Mapping[str, Progress]) -> Metric:
        found = CounterMetricFamily(
            "warren_records_skipped",
            "Records of the offsets topic that are not needed or could not be decoded",
            labels=["cluster", "reason"],
        )
        for cluster, each in progress.items():
            for reason, records in sorted(each.skipped.items()):
                found.add_metric([cluster, reason], records)
        return found

    def _snapshots(self, clusters: list[str]) -> Iterator[Metric]:
        number = GaugeMetricFamily("warren_snapshot_number", "Number of the snapshot", labels=["cluster"])
        age = GaugeMetricFamily("warren_snapshot_age_seconds", "Age of the snapshot", labels=["cluster"])
        groups = GaugeMetricFamily("warren_groups", "Groups by status", labels=["cluster", "status"])
        for cluster in clusters:
            snapshot = self._answers.snapshot(cluster)
            if snapshot is None:
                continue
            number.add_metric([cluster], snapshot.number)
            age.add_metric([cluster], max(self._now_s() - snapshot.taken_at_ms / 1000, 0.0))
            counts = Counter(snapshot.group_table().status.tolist())
            for status in (Status.OK, Status.WARN, Status.ERR):
                groups.add_metric([cluster, status.name], counts[status])
        yield from (number, age, groups)

    def _refused(self) -> Metric:
        found = CounterMetricFamily(
            "warren_http_refused", "Requests refused by access control or limits", labels=["listener", "code"]
        )
        for listener, guard in sorted(self.guards.items()):
            for status, times in sorted(guard.refusals.items()):
                found.add_metric([listener, str(status)], times)
        return found

    def _connections(self) -> Iterator[Metric]:
        open_, unsent = (
            GaugeMetricFamily(f"warren_http_{name}", help_, labels=["listener"])
            for name, help_ in (
                ("connections", "Open connections"),
                ("unsent_bytes", "Bytes of large responses that clients have not read yet"),
            )
        )
        for listener, guard in sorted(self.guards.items()):
            open_.add_metric([listener], len(guard.connections))
            unsent.add_metric([listener], guard.unsent.bytes)
        yield from (open_, unsent)


def _of_sinks(states: Sequence[SinkState], now_s: float) -> Iterator[Metric]:
    for name, words, family, value in _OF_SINK:
        found = family(name, words, labels=["sink"])
        for state in states:
            found.add_metric([state.name], float(value(state, now_s)))
        yield found


def _notifications(notifying: Notifying, clusters: list[str]) -> Iterator[Metric]:
    leads = notifying.leadership().state in {"alone", "leading"}
    yield GaugeMetricFamily("warren_notifier_leader", "Whether this instance sends messages", value=leads)
    outcomes = CounterMetricFamily(
        "warren_notifications",
        "Messages by outcome; retried: attempts after a message's first",
        labels=["module", "outcome"],
    )
    owed = GaugeMetricFamily(
        "warren_notifications_owed", "Messages that are decided and not sent yet", labels=["module"]
    )
    for module, counts in sorted(notifying.counts().items()):
        for outcome in ("sent", "failed", "retried"):
            outcomes.add_metric([module, outcome], getattr(counts, outcome))
        owed.add_metric([module], counts.owed)
    yield from (outcomes, owed)
    incidents = GaugeMetricFamily("warren_incidents_open", "Open incidents", labels=["cluster"])
    open_incidents = Counter(incident.cluster for incident in notifying.incidents() if incident.is_open)
    for cluster in clusters:
        incidents.add_metric([cluster], open_incidents[cluster])
    yield incidents
