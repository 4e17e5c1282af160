"""The store of a single instance: a SQLite file beside the checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from warren.notifier.message import Message
from warren.notifier.record import Incident
from warren.notifier.store import Case, Change, Contents, StoreError, packed, unpacked

log = structlog.get_logger("warren.notifier")

FILE: Final = "incidents.sqlite"
# version of the tables, kept in the file
_VERSION: Final = 1
_TABLES: Final = """
CREATE TABLE cases (cluster TEXT, name TEXT, content BLOB NOT NULL, PRIMARY KEY (cluster, name)) WITHOUT ROWID;
CREATE TABLE past (id TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE owed (id TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
"""


class SqliteStore:
    """Implements `warren.notifier.store.Store`; an unreadable file is renamed and a new one created."""

    def __init__(self, folder: Path, now_ms: int) -> None:
        self._path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = self._opened()
        except (sqlite3.DatabaseError, StoreError) as error:
            if isinstance(error, sqlite3.OperationalError):
                raise _unusable(self._path, error) from None
            self._put_aside(now_ms, error)
            self._connection = self._opened()
        except OSError as error:
            raise _unusable(self._path, error) from None

    def load(self) -> Contents:
        try:
            return self._all()
        except sqlite3.DatabaseError as error:
            raise _unusable(self._path, error) from None

    def refresh(self, known: Contents) -> Contents:
        """There is no other writer."""
        return known

    def write(self, changes: Sequence[Change]) -> None:
        try:
            # one transaction: it is on disk when this returns
            with self._connection:
                for change in changes:
                    self._change(change)
        except sqlite3.Error as error:
            raise _unusable(self._path, error) from None

    def fitted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages

    def close(self) -> None:
        self._connection.close()

    def _change(self, change: Change) -> None:
        run, many = self._connection.execute, self._connection.executemany
        if change.case is not None and change.case.is_empty:
            run("DELETE FROM cases WHERE cluster = ? AND name = ?", change.case.key)
        elif change.case is not None:
            run("INSERT OR REPLACE INTO cases VALUES (?, ?, ?)", (*change.case.key, packed(change.case)))
        many("INSERT OR REPLACE INTO past VALUES (?, ?)", [(each.id, packed(each)) for each in change.past])
        many("DELETE FROM past WHERE id = ?", [(each.id,) for each in change.forgotten])
        many("INSERT OR REPLACE INTO owed VALUES (?, ?)", [(each.id, packed(each)) for each in change.owed])
        many("DELETE FROM owed WHERE id = ?", [(each,) for each in change.settled])

    def _all(self) -> Contents:
        def kept(table: str) -> list[bytes]:
            return [row[0] for row in self._connection.execute(f"SELECT content FROM {table}")]  # noqa: S608 - our names

        return Contents(
            tuple(unpacked(each, Case) for each in kept("cases")),
            tuple(unpacked(each, Incident) for each in kept("past")),
            tuple(unpacked(each, Message) for each in kept("owed")),
        )

    def _opened(self) -> sqlite3.Connection:
        """The file, created if needed, and read once: errors must show now, not later."""
        # the ledger serialises writes of all threads
        connection = sqlite3.connect(self._path, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if connection.execute("PRAGMA user_version").fetchone() == (0,):
                connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
            self._connection = connection
            self._all()
        except BaseException:
            connection.close()
            raise
        return connection

    def _put_aside(self, now_ms: int, error: Exception) -> None:
        aside = self._path.with_name(f"{self._path.name}.unreadable-{now_ms}")
        for suffix in ("", "-wal", "-shm"):
            part = self._path.with_name(self._path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
        log.error(
            "the notifier's store cannot be read; a new one is created",
            renamed_to=str(aside),
            error=str(error),
        )


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"cannot use {path}: {error}; correct spark.checkpoint-dir, its permissions or its space"
    )
