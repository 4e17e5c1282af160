"""Burrow's sections as types: everything but notifiers and sinks."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from warren.config.kinds import (
    Address,
    BareUrl,
    InputFile,
    KafkaServers,
    Lower,
    Natural,
    NoSecret,
    Positive,
    RefersTo,
    Regex,
    Seconds,
    Secret,
    Section,
    Share,
    Upper,
    ZnodePath,
    ZooKeeperServers,
    split_list,
    wrong,
)
from warren.config.properties import flattened

ClientProfileName = Annotated[str, RefersTo("client-profile")]


class General(Section):
    """[general]: the process as a whole."""

    pidfile: str = Field(
        default="burrow.pid", description="file that holds the process id while Warren runs; empty: none"
    )
    stdout_logfile: str = Field(
        default="", description="file that standard output and standard error are redirected to; empty: none"
    )
    access_control_allow_origin: str = Field(
        default="", description="value of that header on every answer; empty: no header"
    )
    public_url: BareUrl = Field(
        default="",
        description="Warren only: URL of this Warren for links in messages; "
        "empty: the first listener under this host's name",
    )
    env_var_prefix: str = Field(
        default="burrow", description="first part of the environment variables that override keys"
    )


# what `warren.logs` makes of them is there
LevelName = Literal["trace", "debug", "info", "warn", "warning", "error", "panic", "fatal"]


class Logging(Section):
    """[logging]: where the log goes and how much of it."""

    filename: str = Field(default="", description="log file, rotated; empty: standard output")
    level: Annotated[LevelName, Lower] = Field(
        default="info", description="least severe level that is written"
    )
    maxsize: Positive = Field(default=100, description="size in MB at which the file is rotated")
    maxbackups: Natural = Field(default=10, description="rotated files that are kept; 0: all")
    maxage: Natural = Field(default=30, description="days that rotated files are kept; 0: for ever")
    use_localtime: bool = Field(
        default=False, description="local time instead of UTC in the log and in names of rotated files"
    )
    use_compression: bool = Field(default=False, description="compress rotated files with gzip")


class ZooKeeperLogin(Section):
    """A login at a ZooKeeper ensemble."""

    auth_type: Annotated[Literal["digest", "sasl"], Lower] = Field(
        default="digest",
        description="Warren only: how to log in, when there is a username; sasl: with DIGEST-MD5",
    )
    username: str = Field(
        default="",
        description="Warren only: user; only this user may access nodes that Warren creates. Empty: no login",
    )
    password: Secret = Field(default=NoSecret, description="Warren only: password of that user")

    @model_validator(mode="after")
    def _login(self) -> Self:
        if bool(self.username) != bool(self.password.get_secret_value()):
            missing = "password" if self.username else "username"
            raise wrong(f"{missing} is missing", f"add {missing}, or leave both out")
        return self


class ZooKeeper(ZooKeeperLogin):
    """[zookeeper]: the lock that lets one of several instances notify; without this section there is one instance."""

    servers: ZooKeeperServers = Field(
        description="ZooKeeper servers, host:port", examples=[["zk01.example.com:2181"]]
    )
    timeout: Positive = Field(default=6, description="session time-out in seconds")
    root_path: ZnodePath = Field(default="/burrow", description="path under which Warren creates its lock")


class ClientProfile(Section):
    """[client-profile.N]: how to connect to a Kafka cluster."""

    client_id: str = Field(default="burrow-lagchecker", description="client.id that the brokers log")
    kafka_version: str = Field(
        default="", description="accepted, not needed: the client detects it (Kafka 0.10 and newer)"
    )
    tls: Annotated[str, RefersTo("tls")] = Field(
        default="", description="name of a [tls.N] section; empty: no TLS"
    )
    sasl: Annotated[str, RefersTo("sasl")] = Field(
        default="", description="name of a [sasl.N] section; empty: no SASL"
    )
    iam: Annotated[str, RefersTo("iam")] = Field(
        default="", description="name of an [iam.N] section, for AWS MSK"
    )
    dial_timeout: Seconds = Field(
        default=10,
        description="seconds until a connection that was not set up, login included, is tried again",
    )
    read_timeout: Seconds | None = Field(
        default=None, description="seconds to wait for an answer; unset: the client's 60"
    )
    properties: Annotated[dict[str, Secret], BeforeValidator(flattened)] = Field(
        default_factory=dict,
        description="Warren only: further properties of librdkafka, a table; those that Warren sets itself are refused",
    )

    @model_validator(mode="after")
    def _one_login(self) -> Self:
        if self.sasl and self.iam:
            raise wrong("both sasl and iam are set", "keep one of them: iam is itself a way to log in")
        return self


class Tls(Section):
    """[tls.N]: certificates, for clients and for listeners."""

    certfile: InputFile = Field(default="", description="certificate (PEM) to present")
    keyfile: InputFile = Field(default="", description="private key (PEM) of that certificate")
    cafile: InputFile = Field(default="", description="certificates (PEM) to trust; empty: the system's")
    noverify: bool = Field(default=False, description="do not verify the certificate of the peer")

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if bool(self.certfile) != bool(self.keyfile):
            given, missing = ("certfile", "keyfile") if self.certfile else ("keyfile", "certfile")
            raise wrong(
                f"{given} is set without {missing}", f"add {missing}: certificate and key go together"
            )
        return self


class Sasl(Section):
    """[sasl.N]: a login at the brokers."""

    username: str = Field(default="", description="user; OAUTHBEARER: client id; GSSAPI: principal")
    password: Secret = Field(default=NoSecret, description="password; OAUTHBEARER: client secret")
    mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"], Upper
    ] = Field(default="PLAIN", description="how to log in; the last two are Warren only")
    handshake_first: bool = Field(
        default=False, description="accepted, not needed: every broker since 0.10 requires it"
    )
    token_url: str = Field(default="", description="OAUTHBEARER: token endpoint (OpenID Connect)")
    scope: str = Field(default="", description="OAUTHBEARER: scope to request")
    keytab: InputFile = Field(default="", description="GSSAPI: keytab file")
    service_name: str = Field(default="kafka", description="GSSAPI: first part of the brokers' principal")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {"username": self.username, "password": self.password.get_secret_value()}
        if self.mechanism == "GSSAPI":
            needed = {}
        elif self.mechanism == "OAUTHBEARER":
            needed["token-url"] = self.token_url
        missing = [key for key, value in needed.items() if not value]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            raise wrong(
                f"{' and '.join(missing)} {verb} missing",
                f"mechanism {self.mechanism} needs {', '.join(needed)}",
            )
        return self


class Iam(Section):
    """[iam.N]: login at AWS MSK with AWS credentials."""

    region: str = Field(min_length=1, description="AWS region", examples=["eu-west-1"])
    role_arn: str = Field(default="", description="role to assume first; empty: none")
    profile: str = Field(
        default="",
        description="profile in AWS's files, also of SSO; empty: what botocore finds (environment, IRSA, instance)",
    )


class HttpServer(Section):
    """[httpserver.N]: one listener; with no section at all a free port, logged at start."""

    address: Address = Field(
        default=":0", description='host:port, or ":port" for every interface; port 0: a free one'
    )
    timeout: Positive = Field(default=300, description="seconds that an idle connection is kept")
    read_timeout: Positive = Field(
        default=10, description="Warren only: seconds in which a request must arrive, headers and body"
    )
    write_timeout: Positive = Field(
        default=20,
        description="Warren only: seconds that a client may read nothing of its response",
    )
    max_connections: Positive = Field(
        default=1000,
        description="Warren only: simultaneous connections; health checks are answered beyond that. "
        "At most half of the files that the process may open",
    )
    max_connections_per_client: Positive = Field(
        default=250, description="Warren only: simultaneous connections from one address"
    )
    max_unsent: Positive = Field(
        default=134_217_728,
        description="Warren only: bytes of large responses that clients have not read yet",
    )
    tls: Annotated[str, RefersTo("tls")] = Field(
        default="", description="name of a [tls.N] section; empty: plain HTTP"
    )
    read_token: Secret = Field(default=NoSecret, description="bearer token that may read; empty: none")
    admin_token: Secret = Field(
        default=NoSecret, description="bearer token that may do everything; empty: none"
    )
    read_username: str = Field(default="", description="user that may read (basic authentication)")
    read_password: Secret = Field(default=NoSecret, description="password of that user")
    admin_username: str = Field(default="", description="user that may do everything (basic authentication)")
    admin_password: Secret = Field(default=NoSecret, description="password of that user")
    admin_from_anywhere: bool = Field(
        default=False, description="without tokens and users: admin calls also from other machines"
    )
    max_body: Positive = Field(default=65536, description="bytes of a request's body")
    rate_limit: Natural = Field(default=0, description="requests per second and client; 0: no limit")

    @property
    def host(self) -> str:
        """The interface; empty: every one."""
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port; 0: a free one."""
        return int(self.address.rpartition(":")[2])

    @model_validator(mode="after")
    def _users(self) -> Self:
        for role in ("read", "admin"):
            username, password = getattr(self, f"{role}_username"), getattr(self, f"{role}_password")
            if bool(username) != bool(password.get_secret_value()):
                missing = "password" if username else "username"
                raise wrong(f"{role}-{missing} is missing", f"add {role}-{missing}, or leave both out")
        return self


class GroupLists(Section):
    """Which groups a module is configured for."""

    group_allowlist: Regex = Field(
        default=None, description="regular expression: only groups that match; empty: all"
    )
    group_denylist: Regex = Field(
        default=None, description="regular expression: no group that matches; empty: none"
    )

    def accepts(self, group: str) -> bool:
        """Whether the lists let the group through."""
        if self.group_allowlist is not None and not self.group_allowlist.matches(group):
            return False
        return self.group_denylist is None or not self.group_denylist.matches(group)


class Storage(GroupLists):
    """[storage.N]: the windows; one section at most."""

    class_name: Literal["inmemory"] = Field(default="inmemory", description="kind of storage")
    intervals: Positive = Field(default=10, description="commits that a window holds")
    expire_group: Positive = Field(
        default=604800, description="seconds without a commit after which a group is removed"
    )
    min_distance: Natural | None = Field(
        default=None,
        description="seconds: a commit closer than that to the previous one replaces it; not set: 10 with the rules "
        '"trend", 0 with "caching"',
    )
    workers: Natural = Field(default=20, description="accepted, not needed")
    queue_depth: Natural = Field(default=1, description="accepted, not needed")


class Evaluator(Section):
    """[evaluator.N]: the rules; one section at most."""

    class_name: Literal["trend", "caching"] = Field(
        default="trend", description="the rules: Warren's, or Burrow's to the letter"
    )
    expire_cache: Natural = Field(default=10, description="accepted, not needed")
    minimum_complete: Share = Field(
        default=0.0, description="share of a window that must be filled before it is evaluated"
    )
    allowed_lag: Natural | None = Field(
        default=None,
        description='lag up to which a partition is OK; not set: 1 with the rules "trend", 0 with "caching"',
    )


class Cluster(Section):
    """[cluster.N]: one Kafka cluster, whose heads are read."""

    class_name: Literal["kafka"] = Field(default="kafka", description="kind of cluster")
    servers: KafkaServers = Field(
        description="brokers to start from, host:port", examples=[["kafka01.example.com:9092"]]
    )
    client_profile: ClientProfileName = Field(
        default="", description="name of a [client-profile.N] section; empty: defaults"
    )
    topic_refresh: Positive = Field(
        default=60, description="seconds between checks for new and deleted topics"
    )
    offset_refresh: Positive = Field(default=10, description="seconds between head samples")
    groups_reaper_refresh: Natural = Field(
        default=0,
        description="seconds between checks for groups that the brokers no longer list; 0: never",
    )


class Consumer(GroupLists):
    """Common to all classes of consumers."""

    cluster: Annotated[str, RefersTo("cluster")] = Field(
        min_length=1,
        description="name of the [cluster.N] section that the groups belong to",
        examples=["local"],
    )


class KafkaConsumer(Consumer):
    """[consumer.N] with class-name "kafka": commits from the offsets topic."""

    class_name: Literal["kafka"] = Field(default="kafka", description="commits from Kafka's offsets topic")
    servers: KafkaServers = Field(
        description="brokers to start from, host:port", examples=[["kafka01.example.com:9092"]]
    )
    client_profile: ClientProfileName = Field(
        default="", description="name of a [client-profile.N] section; empty: defaults"
    )
    offsets_topic: str = Field(
        default="__consumer_offsets", min_length=1, description="topic that holds the commits"
    )
    start_latest: bool = Field(default=False, description="begin with new commits instead of the whole topic")
    backfill_earliest: bool = Field(
        default=False, description="with start-latest: read the older commits too, afterwards"
    )
    max_records_per_trigger: Positive = Field(
        default=5_000_000, description="records that one trigger reads at most"
    )


class KafkaAdminConsumer(Consumer):
    """[consumer.N] with class-name "kafka_admin": committed offsets, polled where the offsets topic may not be read."""

    class_name: Literal["kafka_admin"] = Field(
        default="kafka_admin",
        description="Warren only: committed offsets, polled through the admin API",
    )
    servers: KafkaServers = Field(
        description="brokers to start from, host:port", examples=[["kafka01.example.com:9092"]]
    )
    client_profile: ClientProfileName = Field(
        default="", description="name of a [client-profile.N] section; empty: defaults"
    )
    poll_interval: Positive = Field(
        default=10,
        description="seconds from one poll of all groups to the next; a longer poll delays the next",
    )
    members_refresh: Positive = Field(
        default=60, description="seconds between two polls of the members of a group, who own its partitions"
    )
    max_requests: Positive = Field(
        default=50, description="requests that are under way at the same time at most; each group needs one"
    )


class ZooKeeperConsumer(Consumer, ZooKeeperLogin):
    """Common to both classes that read commits from ZooKeeper."""

    servers: ZooKeeperServers = Field(
        description="ZooKeeper servers, host:port", examples=[["zk01.example.com:2181"]]
    )
    zookeeper_timeout: Positive = Field(default=30, description="session time-out in seconds")
    max_requests_per_second: Positive = Field(
        default=1000, description="Warren only: requests that ZooKeeper gets from this consumer at most"
    )


class KafkaZkConsumer(ZooKeeperConsumer):
    """[consumer.N] with class-name "kafka_zk": commits that old clients store in ZooKeeper."""

    class_name: Literal["kafka_zk"] = Field(
        default="kafka_zk", description="commits that old clients store in ZooKeeper"
    )
    zookeeper_path: ZnodePath = Field(
        default="", description="path of the cluster, above /consumers; empty: the root"
    )


class StormConsumer(ZooKeeperConsumer):
    """[consumer.N] with class-name "storm": commits of Storm's Kafka spout."""

    class_name: Literal["storm"] = Field(
        default="storm", description="commits of Storm's Kafka spout, in ZooKeeper"
    )
    zookeeper_path: ZnodePath = Field(
        min_length=1, description="path under which the spouts store their offsets", examples=["/kafka-storm"]
    )


class Spark(Section):
    """[spark]: the Spark engine."""

    master: str = Field(
        default="local[*]", min_length=1, description="where Spark runs: local[N], spark://…, yarn, k8s://…"
    )
    checkpoint_dir: str = Field(
        default="checkpoint", min_length=1, description="directory of positions and windows"
    )
    trigger_interval: Annotated[float, Field(ge=0)] = Field(
        default=5.0, description="seconds from one trigger to the next; 0: immediately"
    )
    conf: dict[str, str] = Field(
        default_factory=dict, description="any setting of Spark, names keep their case"
    )


class Outbox(Section):
    """[outbox]: samples on their way to the sinks, kept in the checkpoint directory until every sink has them."""

    max_age: Positive = Field(
        default=86400, description="seconds after which a sample goes though a sink does not have it yet"
    )
    max_bytes: Positive = Field(
        default=1_073_741_824, description="bytes of samples; beyond that the oldest go"
    )


class Prometheus(Section):
    """[prometheus]: the series on `/metrics`."""

    also_names: Annotated[
        tuple[Literal["kafka_exporter", "kafka-lag-exporter", "kminion", "burrow_exporter"], ...],
        BeforeValidator(split_list),
    ] = Field(
        default=(),
        description="exporters whose names and labels are shown beside Burrow's, for dashboards that were made for "
        "them: `kafka_exporter`, `kafka-lag-exporter`, `kminion`, `burrow_exporter`",
    )
