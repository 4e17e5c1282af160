"""`/v3/config`: the settings under Burrow's names, never a secret among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from warren import secrecy
from warren.config import AnyConsumer, AnyNotifier, Settings
from warren.config.modules import EmailNotifier, HttpNotifier, SlackNotifier
from warren.config.patterns import Pattern
from warren.config.sections import (
    ClientProfile,
    Cluster,
    Evaluator,
    KafkaConsumer,
    KafkaZkConsumer,
    Storage,
    StormConsumer,
)
from warren.httpserver.envelope import Envelope
from warren.httpserver.names import module_named
from warren.httpserver.reply import Reply
from warren.httpserver.router import Handler, Request

Page = dict[str, Any]

# Burrow's default; Warren needs no version
_DEFAULT_KAFKA_VERSION: Final = "2.8.0"


class ConfigPages:
    """Burrow's pages about its own configuration."""

    def __init__(self, settings: Settings, envelope: Envelope) -> None:
        self._settings = settings
        self._envelope = envelope
        # (section: its modules by name, rendered)
        self._modules: dict[str, dict[str, Page]] = {
            "storage": {
                name: _storage(module, settings.min_distance_s) for name, module in settings.storage.items()
            },
            "evaluator": {name: _evaluator(module) for name, module in settings.evaluator.items()},
            "cluster": {name: self._cluster(module) for name, module in settings.cluster.items()},
            "consumer": {name: self._consumer(module) for name, module in settings.consumer.items()},
            "notifier": self._notifiers(everything=False),
        }
        # as administrators see them
        self._whole = self._modules | {"notifier": self._notifiers(everything=True)}

    def routes(self) -> Mapping[tuple[str, str], Handler]:
        routes: dict[tuple[str, str], Handler] = {
            ("GET", "/v3/config"): self.main,
            ("GET", "/v3/kafka/{}"): self._detail_page("cluster"),
        }
        for section in self._modules:
            routes["GET", f"/v3/config/{section}"] = self._list_page(section)
            routes["GET", f"/v3/config/{section}/{{}}"] = self._detail_page(section)
        return routes

    def main(self, request: Request) -> Reply:
        general, logging = self._settings.general, self._settings.logging
        zookeeper = self._settings.zookeeper
        return self._envelope.answer_request_first(
            request,
            "main config returned",
            {
                "general": {
                    "pidfile": general.pidfile,
                    "stdout-logfile": general.stdout_logfile,
                    "access-control-allow-origin": general.access_control_allow_origin,
                },
                "logging": {
                    "filename": logging.filename,
                    "max-size": logging.maxsize,
                    "max-backups": logging.maxbackups,
                    "max-age": logging.maxage,
                    "use-local-time": logging.use_localtime,
                    "use-compression": logging.use_compression,
                    "level": logging.level,
                },
                "zookeeper": {
                    "servers": zookeeper.servers if zookeeper else None,
                    "timeout": zookeeper.timeout if zookeeper else 0,
                    "root-path": zookeeper.root_path if zookeeper else "",
                },
                "httpserver": {
                    name: {"address": listener.address, "tls": listener.tls, "timeout": listener.timeout}
                    for name, listener in sorted(self._settings.httpserver.items())
                },
            },
        )

    def _list_page(self, section: str) -> Handler:
        modules = sorted(self._modules[section])

        def page(request: Request) -> Reply:
            return self._envelope.answer_request_first(
                request, "module list returned", {"coordinator": section, "modules": modules}
            )

        return page

    def _detail_page(self, section: str) -> Handler:
        def page(request: Request) -> Reply:
            modules = (self._whole if request.admin else self._modules)[section]
            name = module_named(request.names[0], modules)
            if name is None:
                return self._envelope.error(request, 404, f"{section} module not found")
            return self._envelope.answer(
                request, f"{section} module detail returned", {"module": modules[name]}
            )

        return page

    def _notifiers(self, *, everything: bool) -> dict[str, Page]:
        """`everything`: for administrators; others see scheme and host of an address, for the rest may be a secret."""
        notifiers = self._settings.notifier.items()
        return {name: _notifier(module, everything=everything) for name, module in notifiers}

    def _cluster(self, cluster: Cluster) -> Page:
        return {
            "class-name": cluster.class_name,
            "servers": cluster.servers,
            "client-profile": self._client_profile(cluster.client_profile),
            "topic-refresh": cluster.topic_refresh,
            "offset-refresh": cluster.offset_refresh,
        }

    def _consumer(self, consumer: AnyConsumer) -> Page:
        """Of both kinds, the keys of the other one empty, as Burrow has it."""
        kafka = consumer if isinstance(consumer, KafkaConsumer) else None
        zookeeper = consumer if isinstance(consumer, KafkaZkConsumer | StormConsumer) else None
        profile = "" if isinstance(consumer, KafkaZkConsumer | StormConsumer) else consumer.client_profile
        return {
            "class-name": consumer.class_name,
            "cluster": consumer.cluster,
            "servers": consumer.servers,
            "group-allowlist": _pattern(consumer.group_allowlist),
            "zookeeper-path": zookeeper.zookeeper_path if zookeeper else "",
            "zookeeper-timeout": zookeeper.zookeeper_timeout if zookeeper else 0,
            "client-profile": self._client_profile(profile),
            "offsets-topic": kafka.offsets_topic if kafka else "",
            "start-latest": kafka.start_latest if kafka else False,
        }

    def _client_profile(self, name: str) -> Page:
        profile = self._settings.client_profile.get(name) or ClientProfile()
        tls = self._settings.tls.get(profile.tls)
        sasl = self._settings.sasl.get(profile.sasl)
        return {
            "name": name,
            "client-id": profile.client_id,
            "kafka-version": profile.kafka_version or _DEFAULT_KAFKA_VERSION,
            "tls": tls
            and {
                "name": profile.tls,
                "noverify": tls.noverify,
                "certfile": tls.certfile,
                "keyfile": tls.keyfile,
                "cafile": tls.cafile,
            },
            "sasl": sasl
            and {"name": profile.sasl, "handshake-first": sasl.handshake_first, "username": sasl.username},
        }


def _storage(storage: Storage, min_distance_s: int) -> Page:
    return {
        "class-name": storage.class_name,
        "intervals": storage.intervals,
        "min-distance": min_distance_s,
        "group-allowlist": _pattern(storage.group_allowlist),
        "expire-group": storage.expire_group,
    }


def _evaluator(evaluator: Evaluator) -> Page:
    return {"class-name": evaluator.class_name, "expire-cache": evaluator.expire_cache}


def _notifier(notifier: AnyNotifier, *, everything: bool) -> Page:
    before = {
        "class-name": notifier.class_name,
        "group-allowlist": _pattern(notifier.group_allowlist),
        "interval": notifier.interval,
        "threshold": notifier.threshold,
    }
    messages = {
        "template-open": notifier.template_open,
        "template-close": notifier.template_close,
        "extra": secrecy.extras(notifier.extras, everything=everything),
        "send-close": notifier.send_close,
    }
    match notifier:
        case HttpNotifier():
            return (
                before | _http_addresses(notifier, everything=everything) | messages | _certificates(notifier)
            )
        case EmailNotifier():
            return before | messages | _mail(notifier) | _certificates(notifier)
        case SlackNotifier():
            # Burrow had a Slack module once and still has its page: its keys, as far as ours has them
            return before | {"timeout": notifier.timeout} | messages | {"channel": notifier.channel}
    return before | messages


def _http_addresses(notifier: HttpNotifier, *, everything: bool) -> Page:
    shown = secrecy.address if everything else secrecy.origin
    closes = notifier.send_close or "method_close" in notifier.model_fields_set
    return {
        "timeout": notifier.timeout,
        "keepalive": notifier.keepalive,
        "url-open": shown(notifier.url_open),
        "url-close": shown(notifier.url_close),
        "method-open": notifier.method_open,
        # Burrow shows no method where nothing is sent
        "method-close": notifier.method_close if closes else "",
    }


def _mail(notifier: EmailNotifier) -> Page:
    return {
        "server": notifier.server,
        "port": notifier.port,
        "auth-type": notifier.auth_type,
        "username": notifier.username,
        "from": notifier.from_,
        "to": notifier.to,
    }


def _certificates(notifier: HttpNotifier | EmailNotifier) -> Page:
    # Burrow's noverify is text here: as in the file, empty where it is not set
    return {"extra-ca": notifier.extra_ca, "noverify": "true" if notifier.noverify else ""}


def _pattern(pattern: Pattern | None) -> str:
    return pattern.source if pattern else ""
