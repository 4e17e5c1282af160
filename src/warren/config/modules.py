"""Notifiers and sinks as types: the outputs of Warren."""

import datetime as dt
import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from warren.config.kinds import (
    BareUrl,
    BareUrls,
    Globs,
    InputFile,
    KafkaServers,
    Lower,
    LowerKeys,
    Natural,
    NoSecret,
    Port,
    Positive,
    RefersTo,
    Regex,
    Secret,
    Share,
    TemplateFile,
    Upper,
    Url,
    Whole,
    wrong,
)
from warren.config.sections import ClientProfileName, GroupLists

# what Elasticsearch takes as the name of an index, and a day to try with
_INDEX: Final = re.compile(r"""(?!\.{1,2}$)[^-_+A-Z\s\\/*?"<>|,#:][^A-Z\s\\/*?"<>|,#:]{0,254}""")
_A_DAY: Final = dt.datetime(2026, 11, 16, tzinfo=dt.UTC)

Method = Annotated[Literal["GET", "POST", "PUT", "PATCH", "DELETE"], Upper]


class Notifier(GroupLists):
    """Common to all notifiers."""

    cluster: Annotated[str, RefersTo("cluster")] = Field(
        default="",
        description="name of the [cluster.N] section whose groups it notifies about; empty: every cluster",
    )
    interval: Positive = Field(default=60, description="seconds between evaluations of every group")
    send_interval: Positive | None = Field(
        default=None, description="seconds between messages about a group; unset: interval"
    )
    send_once: bool = Field(default=False, description="only the first message of an incident, no repeats")
    threshold: Annotated[Whole, Field(ge=0, le=6)] = Field(
        default=2, description="lowest status to notify about: 2 WARN, 3 ERR"
    )
    extras: Annotated[dict[str, str], LowerKeys] = Field(
        default_factory=dict,
        description="values for the templates; their names are lower-cased, as in Burrow",
    )
    send_close: bool = Field(default=False, description="also send a message when the group is OK again")
    template_open: TemplateFile = Field(
        default="", description="file of the message's template; empty: Warren's own"
    )
    template_close: TemplateFile = Field(default="", description="the same for the close message")
    topic_denylist: Regex = Field(default=None, description="Warren only: topics that this module ignores")
    minimum_complete: Share = Field(
        default=0.0, description="Warren only: minimum share of complete windows to notify"
    )
    minimum_lag: Natural = Field(
        default=0, description="Warren only: minimum total lag of the group to notify; 0: any"
    )
    on_change: bool = Field(default=False, description="Warren only: only when the status changes")
    quiet_start: Natural = Field(
        default=0, description="Warren only: seconds without messages after start, while windows fill"
    )

    cluster_incidents: bool = Field(
        default=False, description="Warren only: also notify when a whole cluster is unreachable"
    )
    cluster_incident_after: Positive = Field(
        default=120, description="Warren only: seconds that a cluster is unreachable before that is notified"
    )

    def covers_cluster(self, cluster: str) -> bool:
        """Whether the module notifies about the cluster itself."""
        return self.cluster_incidents and self.cluster in {"", cluster}

    def covers(self, cluster: str, group: str) -> bool:
        """Whether the module notifies about this group."""
        return self.cluster in {"", cluster} and self.accepts(group)

    @property
    def repeat_after(self) -> int:
        """Seconds between two messages about the same group."""
        return self.interval if self.send_interval is None else self.send_interval


class HttpNotifier(Notifier):
    """[notifier.N] with class-name "http"."""

    class_name: Literal["http"] = Field(default="http", description="an HTTP request")
    url_open: Url = Field(
        min_length=1,
        description="URL to send to; a template",
        examples=["https://hooks.example.com/burrow"],
    )
    method_open: Method = Field(default="POST", description="HTTP method")
    url_close: Url = Field(default="", description="URL for the close message; a template")
    method_close: Method = Field(default="POST", description="HTTP method of the close message")
    username: str = Field(default="", description="user (basic authentication)")
    password: Secret = Field(default=NoSecret, description="password of that user")
    headers: dict[str, Secret] = Field(default_factory=dict, description="further headers")
    timeout: Positive = Field(default=5, description="seconds that a request may take")
    keepalive: Natural = Field(default=300, description="seconds that an idle connection is kept")
    disable_http_keepalive: bool = Field(default=False, description="a new connection for every request")
    extra_ca: InputFile = Field(default="", description="certificates (PEM) to trust besides the system's")
    noverify: bool = Field(default=False, description="do not check the server's certificate")

    @model_validator(mode="after")
    def _close_needs_url(self) -> Self:
        if self.send_close and not self.url_close:
            raise wrong("send-close is set without url-close", "add url-close, the URL for the close message")
        return self


class EmailNotifier(Notifier):
    """[notifier.N] with class-name "email"."""

    class_name: Literal["email"] = Field(default="email", description="an e-mail")
    server: str = Field(min_length=1, description="mail server's host name", examples=["mail.example.com"])
    port: Port = Field(default=25, description="mail server's port")
    from_: str = Field(min_length=1, description="sender", examples=["burrow@example.com"])
    to: str = Field(min_length=1, description="recipients, separated by commas", examples=["ops@example.com"])
    auth_type: Annotated[Literal["", "none", "plain", "login", "crammd5"], Lower] = Field(
        default="", description="how to log in; empty: not at all"
    )
    username: str = Field(default="", description="user, when there is an auth-type")
    password: Secret = Field(default=NoSecret, description="password of that user")
    tls: Annotated[Literal["auto", "none", "starttls", "tls"], Lower] = Field(
        default="auto",
        description="Warren only: starttls or tls: required; none: never; auto: tls on port 465, "
        "else starttls when the server offers it",
    )
    timeout: Positive = Field(default=10, description="Warren only: seconds that sending may take")
    extra_ca: InputFile = Field(default="", description="certificates (PEM) to trust besides the system's")
    noverify: bool = Field(default=False, description="do not check the server's certificate")

    @model_validator(mode="after")
    def _login(self) -> Self:
        if self.auth_type not in {"", "none"} and not (self.username and self.password.get_secret_value()):
            raise wrong(
                f'auth-type is "{self.auth_type}" without username and password',
                "add both, or leave auth-type out",
            )
        return self


class SlackNotifier(Notifier):
    """[notifier.N] with class-name "slack"."""

    class_name: Literal["slack"] = Field(default="slack", description="a message in Slack")
    webhook_url: Secret = Field(default=NoSecret, description="URL of an incoming webhook")
    token: Secret = Field(default=NoSecret, description="token of a bot, instead of a webhook")
    channel: str = Field(default="", description="channel for the bot")
    api_url: Url = Field(default="https://slack.com/api", description="URL of Slack's API, for the bot")
    timeout: Positive = Field(default=5, description="seconds that a request may take")

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        webhook, token = self.webhook_url.get_secret_value(), self.token.get_secret_value()
        if bool(webhook) == bool(token):
            what = "both webhook-url and token are set" if webhook else "neither webhook-url nor token is set"
            raise wrong(what, "give either webhook-url, or token and channel")
        if token and not self.channel:
            raise wrong("token is set without channel", 'add channel, for example "#kafka"')
        return self


class NullNotifier(Notifier):
    """[notifier.N] with class-name "null": nothing is sent."""

    class_name: Literal["null"] = Field(default="null", description="nothing, for tests")


class Sink(GroupLists):
    """Common to all sinks."""

    interval: Positive = Field(default=10, description="seconds between samples")
    level: Annotated[Literal["group", "topic", "partition"], Lower] = Field(
        default="partition",
        description="what is written: groups; also heads and tails of topics; also every partition of a group",
    )
    cluster_allowlist: Regex = Field(
        default=None, description="regular expression: only clusters that match; empty: all"
    )
    cluster_denylist: Regex = Field(
        default=None, description="regular expression: no cluster that matches; empty: none"
    )
    topic_allowlist: Regex = Field(
        default=None, description="regular expression: only topics that match; empty: all"
    )
    topic_denylist: Regex = Field(
        default=None, description="regular expression: no topic that matches; empty: none"
    )
    clusters_include: Globs = Field(
        default=(), description="Telegraf's `clusters_include`, spelled as there or with a dash; empty: all"
    )
    clusters_exclude: Globs = Field(default=(), description="Telegraf's `clusters_exclude`")
    groups_include: Globs = Field(default=(), description="Telegraf's `groups_include`; empty: all")
    groups_exclude: Globs = Field(default=(), description="Telegraf's `groups_exclude`")
    topics_include: Globs = Field(default=(), description="Telegraf's `topics_include`; empty: all")
    topics_exclude: Globs = Field(default=(), description="Telegraf's `topics_exclude`")
    tags: dict[str, str] = Field(
        default_factory=dict, description="names and values that are added to everything that is written"
    )


class ParquetSink(Sink):
    """[sink.N] with class-name "parquet": the history, see [history.md](history.md)."""

    class_name: Literal["parquet"] = Field(
        default="parquet", description="files in a directory, or any path Spark can write"
    )
    path: str = Field(
        min_length=1, description="directory, or any path that Spark can write", examples=["history"]
    )
    compression: Annotated[Literal["zstd", "snappy", "gzip", "lz4", "none"], Lower] = Field(
        default="zstd", description="how files are compressed"
    )
    compact_after: Positive = Field(
        default=120, description="files of a day, table and cluster that are made into one"
    )
    retention_days: Natural = Field(default=90, description="days that are kept; 0: for ever")


class ElasticsearchSink(Sink):
    """[sink.N] with class-name "elasticsearch"."""

    class_name: Literal["elasticsearch"] = Field(
        default="elasticsearch", description="documents as Telegraf writes them"
    )
    server: Annotated[Literal["elasticsearch", "opensearch"], Lower] = Field(
        default="elasticsearch",
        description="which it is: `elasticsearch` or `opensearch`; each has a client of its own",
    )
    urls: Annotated[BareUrls, Field(min_length=1)] = Field(
        description="servers", examples=[["http://localhost:9200"]]
    )
    index: str = Field(
        default="burrow-%Y.%m.%d",
        min_length=1,
        description="index name, with strftime directives for the row's day in UTC",
    )
    username: str = Field(default="", description="user; empty: none")
    password: Secret = Field(default=NoSecret, description="password of that user")
    api_key: Secret = Field(default=NoSecret, description="API key, instead of a user")
    manage_template: bool = Field(
        default=True,
        description="put an index template, unless there is one of that name that is not Warren's",
    )
    template_name: str = Field(
        default="", description="its name; empty: what stands before the date in index, without the dash"
    )
    timeout: Positive = Field(default=10, description="seconds that a request may take")
    batch_size: Positive = Field(default=5000, description="documents in a request")
    batch_bytes: Positive = Field(
        default=10_000_000, description="bytes in a request, before they are compressed"
    )
    compression: Annotated[Literal["gzip", "none"], Lower] = Field(
        default="gzip", description="how requests are compressed"
    )
    extra_ca: InputFile = Field(default="", description="certificates (PEM) to trust besides the system's")
    noverify: bool = Field(default=False, description="do not check the server's certificate")
    certfile: InputFile = Field(default="", description="certificate (PEM) to present")
    keyfile: InputFile = Field(default="", description="private key (PEM) of that certificate")

    @model_validator(mode="after")
    def _one_login(self) -> Self:
        if self.username and self.api_key.get_secret_value():
            raise wrong("both username and api-key are set", "keep one of them")
        if bool(self.certfile) != bool(self.keyfile):
            given, missing = ("certfile", "keyfile") if self.certfile else ("keyfile", "certfile")
            raise wrong(
                f"{given} is set without {missing}", f"add {missing}: certificate and key go together"
            )
        return self

    @model_validator(mode="after")
    def _one_scheme(self) -> Self:
        if len({url.partition(":")[0].lower() for url in self.urls}) > 1:
            raise wrong("some urls are http and some https", "write all of them with the same")
        return self

    @model_validator(mode="after")
    def _possible_index(self) -> Self:
        name = _A_DAY.strftime(self.index)
        if not _INDEX.fullmatch(name):
            raise wrong(
                f"index {self.index} gives names such as {name}, which Elasticsearch does not take",
                'write it with lower-case letters, digits, dots and dashes, such as "burrow-%Y.%m.%d"',
            )
        if self.manage_template and self.index.startswith("%"):
            raise wrong(
                "the index template needs an index whose name begins with something fixed",
                'write one such as "burrow-%Y.%m.%d", or set manage-template = false',
            )
        return self


class InfluxdbSink(Sink):
    """[sink.N] with class-name "influxdb": version 1 with database, version 2 with org, bucket and token."""

    class_name: Literal["influxdb"] = Field(default="influxdb", description="points as Telegraf writes them")
    url: Annotated[BareUrl, Field(min_length=1)] = Field(
        description="server", examples=["http://localhost:8086"]
    )
    database: str = Field(default="", description="version 1: database")
    retention_policy: str = Field(
        default="", description="version 1: retention policy; empty: the database's own"
    )
    username: str = Field(default="", description="version 1: user; empty: none")
    password: Secret = Field(default=NoSecret, description="version 1: password of that user")
    org: str = Field(default="", description="version 2: organisation")
    bucket: str = Field(default="", description="version 2: bucket")
    token: Secret = Field(default=NoSecret, description="version 2: token")
    timeout: Positive = Field(default=10, description="seconds that a request may take")
    batch_size: Positive = Field(default=5000, description="points in a request")
    compression: Annotated[Literal["gzip", "none"], Lower] = Field(
        default="gzip", description="how requests are compressed"
    )
    extra_ca: InputFile = Field(default="", description="certificates (PEM) to trust besides the system's")
    noverify: bool = Field(default=False, description="do not check the server's certificate")

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        if bool(self.database) == bool(self.bucket):
            what = (
                "both database and bucket are set" if self.database else "neither database nor bucket is set"
            )
            raise wrong(what, "give database (version 1), or org, bucket and token (version 2)")
        if self.bucket and not (self.org and self.token.get_secret_value()):
            raise wrong("bucket is set without org and token", "add org and token")
        return self


class KafkaSink(Sink):
    """[sink.N] with class-name "kafka"."""

    class_name: Literal["kafka"] = Field(default="kafka", description="records in a topic")
    servers: KafkaServers = Field(
        description="brokers to start from, host:port", examples=[["kafka01.example.com:9092"]]
    )
    topic: str = Field(min_length=1, description="topic to write to", examples=["consumer-lag"])
    client_profile: ClientProfileName = Field(
        default="", description="name of a [client-profile.N] section; empty: defaults"
    )
    level: Annotated[Literal["group", "topic", "partition", "changes"], Lower] = Field(  # type: ignore[assignment]
        default="partition",
        description="what is written: groups; also heads and tails of topics; also every partition of a group; "
        "changes: instead of all that only verdicts that change",
    )
    create_topic: bool = Field(
        default=False, description="create the topic when it is missing, with the brokers' defaults"
    )
    transactions: bool = Field(
        default=True,
        description="a transaction for each sample: after a crash no sample is there twice for readers of committed "
        "records",
    )
    compression: Annotated[Literal["lz4", "zstd", "snappy", "gzip", "none"], Lower] = Field(
        default="lz4", description="how batches are compressed"
    )
    batch_size: Annotated[Whole, Field(ge=1, le=2147483647)] = Field(
        default=1_000_000, description="bytes of a batch at most, Kafka's batch.size"
    )
    timeout: Positive = Field(default=10, description="seconds that a request or a record may take")


class PrometheusSink(Sink):
    """[sink.N] with class-name "prometheus": remote write, for those who cannot scrape `/metrics`."""

    class_name: Literal["prometheus"] = Field(
        default="prometheus", description="the series of /metrics by Prometheus' remote write"
    )
    url: Annotated[BareUrl, Field(min_length=1)] = Field(
        description="where the server takes remote write", examples=["http://localhost:9090/api/v1/write"]
    )
    username: str = Field(default="", description="user; empty: none")
    password: Secret = Field(default=NoSecret, description="password of that user")
    token: Secret = Field(default=NoSecret, description="bearer token, instead of a user")
    headers: dict[str, Secret] = Field(
        default_factory=dict, description="further headers, such as X-Scope-OrgID"
    )
    timeout: Positive = Field(default=10, description="seconds that a request may take")
    batch_size: Positive = Field(default=5000, description="series in a request")
    extra_ca: InputFile = Field(default="", description="certificates (PEM) to trust besides the system's")
    noverify: bool = Field(default=False, description="do not check the server's certificate")

    @model_validator(mode="after")
    def _one_login(self) -> Self:
        if self.username and self.token.get_secret_value():
            raise wrong("both username and token are set", "keep one of them")
        return self
