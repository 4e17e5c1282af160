"""The whole configuration: one frozen object, whatever file and environment it came from."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import Field, PrivateAttr

from warren.config.kinds import Section
from warren.config.modules import (
    ElasticsearchSink,
    EmailNotifier,
    HttpNotifier,
    InfluxdbSink,
    KafkaSink,
    NullNotifier,
    ParquetSink,
    PrometheusSink,
    SlackNotifier,
)
from warren.config.sections import (
    ClientProfile,
    Cluster,
    Evaluator,
    General,
    HttpServer,
    Iam,
    KafkaAdminConsumer,
    KafkaConsumer,
    KafkaZkConsumer,
    Logging,
    Outbox,
    Prometheus,
    Sasl,
    Spark,
    Storage,
    StormConsumer,
    Tls,
    ZooKeeper,
)

AnyConsumer = KafkaConsumer | KafkaAdminConsumer | KafkaZkConsumer | StormConsumer
AnyNotifier = HttpNotifier | EmailNotifier | SlackNotifier | NullNotifier
AnySink = ParquetSink | ElasticsearchSink | InfluxdbSink | KafkaSink | PrometheusSink

# section: its type; there is one of each, without a name
PLAIN: Final[Mapping[str, type[Section]]] = MappingProxyType(
    {
        "general": General,
        "logging": Logging,
        "zookeeper": ZooKeeper,
        "spark": Spark,
        "outbox": Outbox,
        "prometheus": Prometheus,
    }
)
# section: its types by class-name ("" where there are no classes); each module has a name: [cluster.local]
NAMED: Final[Mapping[str, Mapping[str, type[Section]]]] = MappingProxyType(
    {
        "client-profile": {"": ClientProfile},
        "tls": {"": Tls},
        "sasl": {"": Sasl},
        "iam": {"": Iam},
        "httpserver": {"": HttpServer},
        "storage": {"inmemory": Storage},
        "evaluator": {"trend": Evaluator},
        "cluster": {"kafka": Cluster},
        "consumer": {
            "kafka": KafkaConsumer,
            "kafka_admin": KafkaAdminConsumer,
            "kafka_zk": KafkaZkConsumer,
            "storm": StormConsumer,
        },
        "notifier": {
            "http": HttpNotifier,
            "email": EmailNotifier,
            "slack": SlackNotifier,
            "null": NullNotifier,
        },
        "sink": {
            "parquet": ParquetSink,
            "elasticsearch": ElasticsearchSink,
            "influxdb": InfluxdbSink,
            "kafka": KafkaSink,
            "prometheus": PrometheusSink,
        },
    }
)
# sections of which there is exactly one module, created with defaults when the file has none
SINGLE: Final = frozenset({"storage", "evaluator"})
DEFAULT_NAME: Final = "default"
# default of min-distance, in seconds, by the class of the rules: growth is visible over a hundred seconds, not over ten
MIN_DISTANCE_S: Final[Mapping[str, int]] = MappingProxyType({"trend": 10, "caching": 0})


class Settings(Section):
    """Every section; the named ones are mappings of module name: module, names as written."""

    general: General = Field(default_factory=General)
    logging: Logging = Field(default_factory=Logging)
    zookeeper: ZooKeeper | None = None
    client_profile: Mapping[str, ClientProfile] = Field(default_factory=dict)
    tls: Mapping[str, Tls] = Field(default_factory=dict)
    sasl: Mapping[str, Sasl] = Field(default_factory=dict)
    iam: Mapping[str, Iam] = Field(default_factory=dict)
    httpserver: Mapping[str, HttpServer] = Field(default_factory=lambda: {DEFAULT_NAME: HttpServer()})
    storage: Mapping[str, Storage] = Field(default_factory=lambda: {DEFAULT_NAME: Storage()})
    evaluator: Mapping[str, Evaluator] = Field(default_factory=lambda: {DEFAULT_NAME: Evaluator()})
    cluster: Mapping[str, Cluster] = Field(default_factory=dict)
    consumer: Mapping[str, AnyConsumer] = Field(default_factory=dict)
    notifier: Mapping[str, AnyNotifier] = Field(default_factory=dict)
    sink: Mapping[str, AnySink] = Field(default_factory=dict)
    spark: Spark = Field(default_factory=Spark)
    outbox: Outbox = Field(default_factory=Outbox)
    prometheus: Prometheus = Field(default_factory=Prometheus)

    _source: Path | None = PrivateAttr(default=None)
    _warnings: tuple[str, ...] = PrivateAttr(default=())

    @property
    def source(self) -> Path | None:
        """The file that this was read from; None when it was created in Python."""
        return self._source

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that do not prevent the start."""
        return self._warnings

    @property
    def window(self) -> Storage:
        """The one storage module."""
        return next(iter(self.storage.values()))

    @property
    def min_distance_s(self) -> int:
        """Minimum distance between the commits of a window: as configured, or the default of the rules."""
        given = self.window.min_distance
        return MIN_DISTANCE_S[self.rules.class_name] if given is None else given

    @property
    def rules(self) -> Evaluator:
        """The one evaluator module."""
        return next(iter(self.evaluator.values()))

    def path(self, name: str) -> Path:
        """A file named in the configuration: in the working directory as in Burrow, else beside the file."""
        return located(name, self._source)

    def consumers_of(self, cluster: str) -> Mapping[str, AnyConsumer]:
        """The consumer modules of a cluster, by name."""
        return {name: module for name, module in self.consumer.items() if module.cluster == cluster}


def located(name: str, source: Path | None) -> Path:
    """The path of a file named in the configuration; in the working directory when it is in neither."""
    path = Path(name).expanduser()
    if not path.is_absolute() and not path.exists() and source is not None:
        beside = source.parent / path
        if beside.exists():
            return beside
    return path
