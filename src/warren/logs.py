"""The log: structured, to standard output or a rotated file, its level changeable while Warren runs."""

import gzip
import logging
import logging.handlers
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TextIO

import structlog

from warren import secrecy
from warren.config import Settings
from warren.config.sections import Logging
from warren.errors import WarrenError

# name in the configuration: level of the standard library
LEVELS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "trace": logging.DEBUG,
        "debug": logging.DEBUG,
        "info": logging.INFO,
        "warn": logging.WARNING,
        "warning": logging.WARNING,
        "error": logging.ERROR,
        "panic": logging.CRITICAL,
        "fatal": logging.CRITICAL,
    }
)
# the levels that can be set at runtime; Burrow accepts panic only at start
CHANGEABLE: Final = frozenset(LEVELS) - {"panic"}
# level: how Burrow writes it
NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        logging.DEBUG: "debug",
        logging.INFO: "info",
        logging.WARNING: "warn",
        logging.ERROR: "error",
        logging.CRITICAL: "fatal",
    }
)
# libraries that log too much; httpx would also log URLs that contain tokens
QUIET: Final = ("asyncio", "elastic_transport", "httpcore", "httpx", "kazoo", "py4j", "urllib3")

MEGABYTE: Final = 1024 * 1024

EventDict = MutableMapping[str, Any]
Clock = Callable[[], datetime]


class LogError(WarrenError):
    """The log cannot be written where the configuration says."""


class UnknownLevelError(WarrenError):
    """A level that neither Burrow nor Warren accepts."""


def begin(settings: Settings, now: datetime) -> None:
    """Set up logging: redirect output to general.stdout-logfile, configure, and log the configuration's warnings."""
    if settings.general.stdout_logfile:
        redirect_output(Path(settings.general.stdout_logfile), now)
    configure(settings.logging)
    # Python would write their tracebacks to standard error, between the lines of the log
    threading.excepthook = _log_end_of_thread
    sys.unraisablehook = _log_ignored
    log = structlog.stdlib.get_logger("warren.config")
    for warning in settings.warnings:
        log.warning("configuration", problem=warning)


def configure(settings: Logging, *, stream: TextIO | None = None) -> None:
    """Send the log lines of Warren and of libraries to the configured output; may be called again."""
    clock = local_time if settings.use_localtime else utc
    handler: logging.Handler
    if settings.filename:
        handler = _file_handler(settings, clock)
        pretty = False
    else:
        out = stream or sys.stdout
        handler = logging.StreamHandler(out)
        pretty = out.isatty()
    shared = _processors(clock)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(pretty=pretty),
            ],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(LEVELS[settings.level])
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def set_level(name: str) -> None:
    """Changes the level from the next line on; UnknownLevelError for a name that Burrow does not accept."""
    logging.getLogger().setLevel(level_named(name))


def level_named(name: str) -> int:
    """The level that a client may set by this name; UnknownLevelError when there is none."""
    if name.lower() not in CHANGEABLE:
        raise UnknownLevelError(f'There is no log level "{name}"; use one of {", ".join(sorted(CHANGEABLE))}')
    return LEVELS[name.lower()]


def get_level() -> str:
    """The current level, by Burrow's name."""
    return NAMES.get(logging.getLogger().level, "info")


def redirect_output(path: Path, now: datetime) -> None:
    """Redirect standard output and error to a file (general.stdout-logfile); an older one is renamed with its date."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.rename(path.with_name(f"{path.name}.{now:%Y-%m-%d_%H:%M:%S}"))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise LogError(
            f"Cannot write {path}: {error.strerror}; correct general.stdout-logfile or its permissions"
        ) from None
    sys.stdout.flush()
    sys.stderr.flush()
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)


def utc() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def local_time() -> datetime:
    """Now, in local time."""
    return datetime.now(UTC).astimezone()


def _log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_type is SystemExit:
        return
    log = structlog.stdlib.get_logger("warren")
    raised = (ended.exc_type, ended.exc_value, ended.exc_traceback)
    log.error("a thread ended with an error", thread=getattr(ended.thread, "name", ""), exc_info=raised)


def _log_ignored(ignored: Any) -> None:
    """For example in a destructor, or in a callback at the end of the process."""
    log = structlog.stdlib.get_logger("warren")
    raised = (ignored.exc_type, ignored.exc_value, ignored.exc_traceback)
    log.warning("an error was ignored", where=repr(ignored.object), exc_info=raised)


def _processors(clock: Clock) -> list[structlog.typing.Processor]:
    def stamp(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["ts"] = clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return event

    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        stamp,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        structlog.processors.UnicodeDecoder(),
        hide_secrets,
    ]


def _renderers(*, pretty: bool) -> list[structlog.typing.Processor]:
    if pretty:
        return [structlog.dev.ConsoleRenderer(colors=True, timestamp_key="ts")]
    return [burrow_names, structlog.processors.JSONRenderer(default=str)]


def burrow_names(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Burrow's keys, in its order: level, ts, msg, and then the rest."""
    level = str(event.pop("level", "info"))
    first = {
        "level": NAMES.get(LEVELS.get(level, logging.CRITICAL), level),
        "ts": event.pop("ts", ""),
        "msg": event.pop("event", ""),
    }
    return {**first, **event}


def hide_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Redact secrets: by type, by the name of the key, or inside URLs."""
    return {key: secrecy.hidden(key, value) for key, value in event.items()}


def _file_handler(settings: Logging, clock: Clock) -> logging.Handler:
    path = Path(settings.filename)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return RotatingFile(
            path,
            clock,
            max_bytes=settings.maxsize * MEGABYTE,
            backups=settings.maxbackups,
            max_age=timedelta(days=settings.maxage),
            compress=settings.use_compression,
        )
    except OSError as error:
        raise LogError(
            f"Cannot write the log file {path}: {error.strerror}; correct logging.filename or its permissions"
        ) from None


class RotatingFile(logging.handlers.BaseRotatingHandler):
    """A file that is rotated when full: burrow.log becomes burrow-2026-11-15T08-30-00.000.log."""

    def __init__(
        self, path: Path, clock: Clock, *, max_bytes: int, backups: int, max_age: timedelta, compress: bool
    ) -> None:
        super().__init__(path, "a", encoding="utf-8")
        self.path = path
        self.clock = clock
        self.max_bytes = max_bytes
        self.backups = backups
        self.max_age = max_age
        self.compress = compress
        self._cleanup: threading.Thread | None = None

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - the library's name
        """Whether the line would make the file too large."""
        size = self.stream.seek(0, os.SEEK_END) if self.stream else 0
        return size > 0 and size + len(self.format(record).encode()) + 1 > self.max_bytes

    def doRollover(self) -> None:  # noqa: N802 - the library's name
        """Rotate the file; compression and deletion happen in a thread."""
        # whatever fails here, the next line opens the file
        stream, self.stream = self.stream, None
        if stream:
            stream.close()
        stamp = self.clock().strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
        aside = self.path.with_name(f"{self.path.stem}-{stamp}{self.path.suffix}")
        try:
            self.rotate(str(self.path), str(aside))
        except OSError:
            # a file that is too large is better than none
            return
        if self._cleanup is not None:
            self._cleanup.join()
        self._cleanup = threading.Thread(target=self.tidy, args=(self.clock(),), name="log-cleanup")
        self._cleanup.start()

    def tidy(self, now: datetime) -> None:
        """Compress rotated files, and delete those that are too old or too many."""
        oldest = now.replace(tzinfo=None) - self.max_age
        # errors are not told: who logs here waits for a rotation that waits for this thread
        with suppress(OSError):
            for index, (stamp, path) in enumerate(self.put_aside()):
                # another process may delete files too, and a full disk compresses none
                with suppress(OSError):
                    if (self.backups and index >= self.backups) or (self.max_age and stamp < oldest):
                        path.unlink()
                    elif self.compress and path.suffix != ".gz":
                        _compress(path)

    def put_aside(self) -> list[tuple[datetime, Path]]:
        """The rotated files with their times, newest first."""
        found = []
        for path in self.path.parent.glob(f"{self.path.stem}-*"):
            stamp = (
                path.name.removesuffix(".gz")
                .removesuffix(self.path.suffix)
                .removeprefix(f"{self.path.stem}-")
            )
            with suppress(ValueError):
                found.append((datetime.strptime(stamp, "%Y-%m-%dT%H-%M-%S.%f"), path))  # noqa: DTZ007 - a name
        return sorted(found, reverse=True)

    def close(self) -> None:
        """Wait for the cleanup."""
        super().close()
        if self._cleanup is not None:
            self._cleanup.join()


def _compress(path: Path) -> None:
    packed = path.with_name(path.name + ".gz")
    with path.open("rb") as plain, gzip.open(packed, "wb") as out:
        shutil.copyfileobj(plain, out)
    path.unlink()
