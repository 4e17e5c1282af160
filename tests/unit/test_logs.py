"""The log: what a line looks like, levels while running, rotation, and secrets that stay in."""

import errno
import gzip
import io
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import pytest
import structlog
from pydantic import SecretStr

from warren import logs
from warren.config.sections import LevelName, Logging
from warren.logs import RotatingFile, UnknownLevelError, configure, get_level, redirect_output, set_level

NOW = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """What a test does to the process's one log is undone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_with_burrow_s_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "utc", lambda: NOW)
    stream = io.StringIO()
    configure(Logging(), stream=stream)
    structlog.get_logger("warren.x").warning("head is old", cluster="Local", age_s=3)
    assert stream.getvalue() == (
        '{"level": "warn", "ts": "2026-11-15T08:30:00.000Z", "msg": "head is old", '
        '"cluster": "Local", "age_s": 3, "logger": "warren.x"}\n'
    )


def test_other_libraries_write_the_same_lines() -> None:
    stream = io.StringIO()
    configure(Logging(), stream=stream)
    logging.getLogger("other").error("failed after %d s", 5)
    (line,) = lines(stream)
    assert (line["level"], line["msg"], line["logger"]) == ("error", "failed after 5 s", "other")


def test_a_person_gets_a_readable_line() -> None:
    stream = Terminal()
    configure(Logging(), stream=stream)
    structlog.get_logger().info("started", port=8000)
    assert "started" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    local = NOW.astimezone(timezone(timedelta(hours=9)))
    monkeypatch.setattr(logs, "local_time", lambda: local)
    stream = io.StringIO()
    configure(Logging(use_localtime=True), stream=stream)
    structlog.get_logger().info("x")
    assert lines(stream)[0]["ts"] == "2026-11-15T17:30:00.000+09:00"


def test_the_level_changes_while_running() -> None:
    stream = io.StringIO()
    configure(Logging(level="error"), stream=stream)
    log = structlog.get_logger("warren.x")
    log.info("one")
    set_level("info")
    log.info("two")
    log.debug("three")
    set_level("debug")
    log.debug("four")
    set_level("fatal")
    log.error("five")
    assert [line["msg"] for line in lines(stream)] == ["two", "four"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("trace", "debug"), ("TRACE", "debug"), ("debug", "debug"), ("Info", "info"), ("warn", "warn"),
        ("warning", "warn"), ("error", "error"), ("fatal", "fatal"),
    ],
)  # fmt: skip
def test_levels_by_burrow_s_names(name: str, shown: str) -> None:
    set_level(name)
    assert get_level() == shown


@pytest.mark.parametrize("name", ["loud", "panic", ""])
def test_levels_that_burrow_refuses(name: str) -> None:
    set_level("info")
    with pytest.raises(
        UnknownLevelError, match=f'There is no log level "{name}"; use one of debug, error, fatal'
    ):
        set_level(name)
    assert get_level() == "info"


def test_every_level_of_the_configuration_is_known() -> None:
    assert set(logs.LEVELS) == set(get_args(LevelName))


def test_panic_is_a_level_of_the_configuration() -> None:
    configure(Logging(level="panic"), stream=io.StringIO())
    assert get_level() == "fatal"


def test_secrets_stay_in() -> None:
    stream = io.StringIO()
    configure(Logging(), stream=stream)
    structlog.get_logger().info(
        "connecting",
        password="hunter2",
        value=SecretStr("hunter2"),
        properties={"sasl.password": "hunter2", "inner": [{"api-key": "hunter2"}], "client.id": "me"},
        url="https://user:hunter2@host/path",
        webhook_url="https://hooks.slack.com/hunter2",
    )
    logging.getLogger("other").error("cannot reach %s", "http://user:hunter2@host")
    fault = ValueError("bad address http://user:hunter2@host")
    structlog.get_logger().error("failed", exc_info=fault)
    assert "hunter2" not in stream.getvalue()
    assert "bad address" in lines(stream)[2]["exception"]
    assert lines(stream)[0]["properties"]["client.id"] == "me"
    assert lines(stream)[0]["url"] == "https://REDACTED@host/path"


def test_httpx_does_not_write_addresses() -> None:
    stream = io.StringIO()
    configure(Logging(level="debug"), stream=stream)
    logging.getLogger("httpx").info("HTTP Request: POST https://hooks.slack.com/services/T/B/x")
    assert stream.getvalue() == ""


def test_a_second_configuration_takes_over() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure(Logging(), stream=first)
    configure(Logging(), stream=second)
    structlog.get_logger().info("x")
    assert (len(lines(first)), len(lines(second))) == (0, 1)


def test_a_file_takes_json(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "burrow.log"
    configure(Logging(filename=str(path)))
    structlog.get_logger().info("x", n=1)
    assert json.loads(path.read_text())["n"] == 1


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(logs.LogError, match=r"Cannot write the log file .*; correct logging\.filename"):
        configure(Logging(filename=str(tmp_path / "file" / "burrow.log")))


class Ticking:
    """A clock that goes on by a second with each look."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def rotating(path: Path, **changes: Any) -> RotatingFile:
    given: dict[str, Any] = {"max_bytes": 20, "backups": 0, "max_age": timedelta(0), "compress": False}
    return RotatingFile(path, Ticking(), **(given | changes))


def write(handler: RotatingFile, *messages: str) -> None:
    for message in messages:
        handler.handle(logging.LogRecord("x", logging.INFO, "", 0, message, None, None))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_full_file_is_put_aside_under_its_time(tmp_path: Path) -> None:
    handler = rotating(tmp_path / "burrow.log")
    write(handler, "first line 1234", "second line 123")
    handler.close()
    assert names(tmp_path) == ["burrow-2026-11-15T08-30-01.000.log", "burrow.log"]
    assert (tmp_path / "burrow-2026-11-15T08-30-01.000.log").read_text() == "first line 1234\n"
    assert (tmp_path / "burrow.log").read_text() == "second line 123\n"


def failing(*_: Any) -> Any:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_after_a_file_that_could_not_be_put_aside_every_line_was_lost(tmp_path: Path) -> None:
    handler = rotating(tmp_path / "burrow.log")
    handler.rotator = failing
    write(handler, "first line 1234", "second line 123", "third line 1234")
    assert names(tmp_path) == ["burrow.log"]
    handler.rotator = None
    write(handler, "fourth line 123")
    handler.close()
    assert names(tmp_path) == ["burrow-2026-11-15T08-30-03.000.log", "burrow.log"]
    old = (tmp_path / "burrow-2026-11-15T08-30-03.000.log").read_text()
    assert old == "first line 1234\nsecond line 123\nthird line 1234\n"
    assert (tmp_path / "burrow.log").read_text() == "fourth line 123\n"


def test_after_a_file_that_could_not_be_opened_every_line_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    handler = rotating(tmp_path / "burrow.log")
    write(handler, "first line 1234")
    with monkeypatch.context() as scarce:
        scarce.setattr(handler, "_open", failing)
        write(handler, "second line 123")
    write(handler, "third line 1234")
    handler.close()
    assert (tmp_path / "burrow.log").read_text() == "third line 1234\n"


def test_a_line_larger_than_the_limit_makes_no_empty_file(tmp_path: Path) -> None:
    handler = rotating(tmp_path / "burrow.log")
    write(handler, "x" * 100)
    handler.close()
    assert names(tmp_path) == ["burrow.log"]


def test_a_file_goes_on_after_a_restart(tmp_path: Path) -> None:
    for line in ("one", "two"):
        handler = rotating(tmp_path / "burrow.log")
        write(handler, line)
        handler.close()
    assert (tmp_path / "burrow.log").read_text() == "one\ntwo\n"


def test_no_more_backups_than_wanted(tmp_path: Path) -> None:
    (tmp_path / "burrow-notes.log").write_text("not ours")
    handler = rotating(tmp_path / "burrow.log", backups=2)
    write(handler, *(f"line number {n:08}" for n in range(6)))
    handler.close()
    kept = [path.read_text() for path in sorted(tmp_path.glob("burrow-2*"))]
    assert kept == ["line number 00000003\n", "line number 00000004\n"]
    assert (tmp_path / "burrow-notes.log").exists()


def test_no_backup_older_than_wanted(tmp_path: Path) -> None:
    old, young = "burrow-2026-11-12T08-30-00.000.log", "burrow-2026-11-14T08-30-00.000.log.gz"
    for name in (old, young):
        (tmp_path / name).touch()
    handler = rotating(tmp_path / "burrow.log", max_age=timedelta(days=2))
    write(handler, "first line 1234", "second line 123")
    handler.close()
    assert old not in names(tmp_path)
    assert young in names(tmp_path)


def test_backups_are_compressed(tmp_path: Path) -> None:
    handler = rotating(tmp_path / "burrow.log", compress=True)
    write(handler, "first line 1234", "second line 123")
    handler.close()
    assert names(tmp_path) == ["burrow-2026-11-15T08-30-01.000.log.gz", "burrow.log"]
    with gzip.open(tmp_path / "burrow-2026-11-15T08-30-01.000.log.gz", "rt") as file:
        assert file.read() == "first line 1234\n"


def test_a_backup_that_could_not_be_compressed_ended_the_cleanup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Any] = []
    # in a run it logs, and waits for a rotation that waits for the cleanup
    monkeypatch.setattr(threading, "excepthook", ended.append)
    monkeypatch.setattr(logs, "_compress", failing)
    handler = rotating(tmp_path / "burrow.log", compress=True, backups=2)
    write(handler, *(f"line number {n:08}" for n in range(6)))
    handler.close()
    assert ended == []
    kept = [path.read_text() for path in sorted(tmp_path.glob("burrow-2*"))]
    assert kept == ["line number 00000003\n", "line number 00000004\n"]


def test_the_settings_reach_the_file(tmp_path: Path) -> None:
    settings = Logging(
        filename=str(tmp_path / "a.log"), maxsize=3, maxbackups=4, maxage=5, use_compression=True
    )
    configure(settings)
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, RotatingFile)
    assert (handler.max_bytes, handler.backups, handler.max_age, handler.compress) == (
        3 * 1024 * 1024,
        4,
        timedelta(days=5),
        True,
    )


def test_standard_output_goes_into_its_file_and_the_old_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "burrow.out"
    path.write_text("of the last run")
    script = f"""
import os, sys
from datetime import datetime, UTC
from pathlib import Path
from warren.logs import redirect_output
redirect_output(Path({str(path)!r}), datetime(2026, 11, 15, 8, 30, tzinfo=UTC))
print("out", flush=True)
print("err", file=sys.stderr, flush=True)
os.write(1, b"from C\\n")
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (answer.stdout, answer.stderr) == (b"", b"")
    assert path.read_text() == "out\nerr\nfrom C\n"
    assert (tmp_path / "burrow.out.2026-11-15_08:30:00").read_text() == "of the last run"


def test_a_file_for_standard_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(logs.LogError, match=r"correct general\.stdout-logfile"):
        redirect_output(tmp_path / "file" / "burrow.out", NOW)


# begins the log as `warren run` does
BEGUN = """
import sys, threading
from datetime import datetime, UTC
from warren.config import load
from warren.logs import begin
begin(load(sys.argv[1], {}), datetime.now(UTC))
"""


def said(directory: Path, script: str) -> list[dict[str, Any]]:
    """The lines of the log after the first, a warning that is there without clusters; nothing is written elsewhere."""
    (directory / "burrow.toml").write_text(f"[logging]\nfilename = '{directory}/burrow.log'\n")
    done = subprocess.run(
        [sys.executable, "-c", BEGUN + script, str(directory)],
        check=True,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.stdout == b""
    first, *rest = map(json.loads, (directory / "burrow.log").read_text().splitlines())
    assert first["problem"].startswith("cluster: there is no cluster")
    return rest


def test_the_start_writes_the_configuration_s_warnings(tmp_path: Path) -> None:
    assert said(tmp_path, "") == []


def test_a_thread_that_ends_with_an_error_is_logged(tmp_path: Path) -> None:
    script = """
def fails():
    raise ValueError("of no use")
thread = threading.Thread(target=fails, name="helper")
thread.start()
thread.join()
"""
    (line,) = said(tmp_path, script)
    assert (line["level"], line["msg"], line["thread"]) == ("error", "a thread ended with an error", "helper")
    assert "ValueError: of no use" in line["exception"]


def test_a_thread_that_ends_itself_is_no_error(tmp_path: Path) -> None:
    assert said(tmp_path, "thread = threading.Thread(target=sys.exit); thread.start(); thread.join()") == []


@pytest.mark.parametrize(
    "moment", [pytest.param("del made", id="running"), pytest.param("", id="at the end")]
)
def test_an_error_that_python_ignores_is_logged(tmp_path: Path, moment: str) -> None:
    script = f"""
class Made:
    def __del__(self):
        raise ValueError("of no use")
made = Made()
{moment}
"""
    (line,) = said(tmp_path, script)
    assert (line["level"], line["msg"]) == ("warn", "an error was ignored")
    assert "Made.__del__" in line["where"]
    assert "ValueError: of no use" in line["exception"]
