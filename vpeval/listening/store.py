"""Where answers are kept: one SQLite file that survives kill -9 and forgets on request.

WAL mode with ``synchronous=FULL``: a transaction that has returned is on disk. ``secure_delete`` overwrites what is
deleted with zeros; `forget` then rewrites the file and empties the log, so that nothing of a listener is left in
either.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vpeval.core.errors import InputError
from vpeval.listening.answers import Answer

Outcome = Literal["new", "known", "differs"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS listeners (
  listener INTEGER PRIMARY KEY, token TEXT UNIQUE, consent TEXT, since REAL);
CREATE TABLE IF NOT EXISTS answers (
  listener INTEGER NOT NULL, page TEXT NOT NULL, task TEXT NOT NULL, value TEXT NOT NULL, seconds REAL NOT NULL,
  plays INTEGER NOT NULL, time REAL NOT NULL, PRIMARY KEY (listener, page, task)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS served (
  listener INTEGER NOT NULL, clip TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY (listener, clip)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Progress:
    """How far a listener is."""

    listener: int
    since: float
    answers: int
    last: float


class Store:
    """The database of one test; an object belongs to the thread that made it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA secure_delete=ON")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"cannot be used as a database ({error}); is it another file, or is the disk full?", path
            ) from None

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What happens inside is on disk when this has ended, all of it or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def add(self, answer: Answer, now: float | None = None) -> Outcome:
        """Keep an answer; the same one again changes nothing, another one to the same question neither."""
        row = (answer.listener, answer.page, answer.task, answer.stored, answer.seconds, answer.plays)
        done = self._db.execute(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", (*row, _now(now))
        )
        if done.rowcount == 1:
            return "new"
        question = (answer.listener, answer.page, answer.task)
        kept = self._db.execute("SELECT value FROM answers WHERE listener=? AND page=? AND task=?", question).fetchone()
        return "known" if kept[0] == answer.stored else "differs"

    def enrol(self, listener: int, token: str = "", now: float | None = None) -> None:
        """Make a listener known; `token` where it is not one of the list."""
        self._db.execute(
            "INSERT INTO listeners VALUES (?, ?, NULL, ?) ON CONFLICT DO NOTHING",
            (listener, hash_token(token) if token else None, _now(now)),
        )

    def consent(self, listener: int, text: str) -> None:
        """Note which text a listener has agreed to."""
        self._db.execute("UPDATE listeners SET consent=? WHERE listener=?", (text, listener))

    def consented(self, listener: int) -> str:
        """The text that a listener has agreed to; empty if none."""
        found = self._db.execute("SELECT consent FROM listeners WHERE listener=?", (listener,)).fetchone()
        return (found and found[0]) or ""

    def listener_of(self, token: str) -> int | None:
        """The listener who enrolled with a token."""
        found = self._db.execute("SELECT listener FROM listeners WHERE token=?", (hash_token(token),)).fetchone()
        return found[0] if found else None

    def free_listener(self, limit: int) -> int | None:
        """The first listener of the design who is nobody yet, below `limit`."""
        taken = {row[0] for row in self._db.execute("SELECT listener FROM listeners")}
        return next((listener for listener in range(limit) if listener not in taken), None)

    def served(self, listener: int, clip: str, now: float | None = None) -> None:
        """Note when a recording was first sent to a listener."""
        self._db.execute("INSERT INTO served VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (listener, clip, _now(now)))

    def served_at(self, listener: int, clip: str) -> float | None:
        """When a recording was first sent to a listener."""
        found = self._db.execute("SELECT time FROM served WHERE listener=? AND clip=?", (listener, clip)).fetchone()
        return found[0] if found else None

    def answers(self, listener: int | None = None) -> list[dict[str, Any]]:
        """The answers of one listener or of all, in the order of their keys."""
        where, arguments = ("WHERE listener=?", (listener,)) if listener is not None else ("", ())
        names = ("listener", "page", "task", "value", "seconds", "plays", "time")
        query = f"SELECT {', '.join(names)} FROM answers {where} ORDER BY listener, page, task"
        rows = self._db.execute(query, arguments)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def count(self, listener: int) -> int:
        """The number of answers of a listener."""
        return int(self._db.execute("SELECT count(*) FROM answers WHERE listener=?", (listener,)).fetchone()[0])

    def export(self, listener: int) -> dict[str, Any]:
        """Everything that is kept about a listener."""
        row = self._db.execute("SELECT consent, since FROM listeners WHERE listener=?", (listener,)).fetchone()
        heard = self._db.execute("SELECT clip, time FROM served WHERE listener=? ORDER BY clip", (listener,))
        return {
            "listener": listener + 1,
            "consent": row[0] if row else None,
            "since": row[1] if row else None,
            "answers": [{k: v for k, v in answer.items() if k != "listener"} for answer in self.answers(listener)],
            "recordings": [{"clip": clip, "time": when} for clip, when in heard],
        }

    def progress(self) -> list[Progress]:
        """All listeners who have begun."""
        rows = self._db.execute(
            "SELECT l.listener, l.since, count(a.page), coalesce(max(a.time), l.since) FROM listeners l "
            "LEFT JOIN answers a USING (listener) GROUP BY l.listener ORDER BY l.listener"
        )
        return [Progress(*row) for row in rows]

    def forget(self, listener: int) -> bool:
        """Delete everything about a listener, in the file and its log; whether there was anything."""
        with self.transaction():
            gone = sum(
                self._db.execute(f"DELETE FROM {table} WHERE listener=?", (listener,)).rowcount
                for table in ("answers", "served", "listeners")
            )
        if gone:
            self._db.execute("VACUUM")
        busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise InputError(
                "is being read by another program, so that its log cannot be emptied; try again", self.path
            )
        return bool(gone)


def hash_token(token: str) -> str:
    """Tokens are kept as hashes: who reads the database cannot use them."""
    return hashlib.sha256(token.encode()).hexdigest()


def _now(now: float | None) -> float:
    return round(time.time() if now is None else now, 3)
