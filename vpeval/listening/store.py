"""Storage of answers: one SQLite file that survives kill -9, and the thread through which a server uses it.

WAL mode with ``synchronous=FULL``: a transaction that has returned is on disk. ``secure_delete`` overwrites deleted
rows with zeros; `forget` then rewrites the file and empties the log, so that neither keeps anything of a listener.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from vpeval.core.errors import InputError

if TYPE_CHECKING:
    from vpeval.listening.answers import Answer

T = TypeVar("T")
Outcome = Literal["new", "known", "differs"]

_BATCH = 500
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
    """The database of one test. Use an object only in the thread that made it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.touch(mode=0o600)  # its log gets the same
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
        """Close the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all changes made inside to disk, or none of them."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def add(self, answer: Answer) -> Outcome:
        """Keep the first answer to a question; later ones, equal or not, change nothing."""
        row = (answer.listener, answer.page, answer.task, answer.stored, answer.seconds, answer.plays)
        done = self._db.execute(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", (*row, _now())
        )
        if done.rowcount == 1:
            return "new"
        found = self._first("SELECT value FROM answers WHERE listener=? AND page=? AND task=?", *row[:3])
        return "known" if found == answer.stored else "differs"

    def enrol(self, listener: int, token: str = "") -> None:
        """Register a listener; `token` where it is not one of the prepared list."""
        self._db.execute(
            "INSERT INTO listeners VALUES (?, ?, NULL, ?) ON CONFLICT DO NOTHING",
            (listener, _hash_token(token) if token else None, _now()),
        )

    def consent(self, listener: int, text: str) -> None:
        """Note which consent text a listener has agreed to."""
        self._db.execute("UPDATE listeners SET consent=? WHERE listener=?", (text, listener))

    def consented(self, listener: int) -> str:
        """The consent text a listener has agreed to; empty if none."""
        return self._first("SELECT consent FROM listeners WHERE listener=?", listener) or ""

    def find_listener(self, token: str) -> int | None:
        """The listener who enrolled with a token."""
        found: int | None = self._first("SELECT listener FROM listeners WHERE token=?", _hash_token(token))
        return found

    def free_listener(self, limit: int) -> int | None:
        """The first free place below `limit`."""
        taken = {row[0] for row in self._db.execute("SELECT listener FROM listeners")}
        return next((listener for listener in range(limit) if listener not in taken), None)

    def served(self, listener: int, clip: str) -> None:
        """Note when a recording was first sent to a listener."""
        self._db.execute("INSERT INTO served VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (listener, clip, _now()))

    def served_at(self, listener: int, clip: str) -> float | None:
        """When a recording was first sent to a listener."""
        found: float | None = self._first("SELECT time FROM served WHERE listener=? AND clip=?", listener, clip)
        return found

    def answers(self, listener: int | None = None) -> list[dict[str, Any]]:
        """The answers of one listener or of all, ordered by listener, page and task."""
        where, arguments = ("WHERE listener=?", (listener,)) if listener is not None else ("", ())
        names = ("listener", "page", "task", "value", "seconds", "plays", "time")
        query = f"SELECT {', '.join(names)} FROM answers {where} ORDER BY listener, page, task"
        return [dict(zip(names, row, strict=True)) for row in self._db.execute(query, arguments)]

    def count(self, listener: int) -> int:
        """The number of answers of a listener."""
        return int(self._first("SELECT count(*) FROM answers WHERE listener=?", listener))

    def export(self, listener: int) -> dict[str, Any]:
        """Everything that is stored about a listener."""
        row = self._db.execute("SELECT consent, since FROM listeners WHERE listener=?", (listener,)).fetchone()
        served = self._db.execute("SELECT clip, time FROM served WHERE listener=? ORDER BY clip", (listener,))
        return {
            "listener": listener + 1,
            "consent": row[0] if row else None,
            "since": row[1] if row else None,
            "answers": [{k: v for k, v in answer.items() if k != "listener"} for answer in self.answers(listener)],
            "recordings": [{"clip": clip, "time": when} for clip, when in served],
        }

    def progress(self) -> list[Progress]:
        """All listeners who have begun."""
        rows = self._db.execute(
            "SELECT l.listener, l.since, count(a.page), coalesce(max(a.time), l.since) FROM listeners l "
            "LEFT JOIN answers a USING (listener) GROUP BY l.listener ORDER BY l.listener"
        )
        return [Progress(*row) for row in rows]

    def forget(self, listener: int) -> bool:
        """Delete everything about a listener from the file and its log; True if there was anything."""
        with self.transaction():
            deleted = sum(
                self._db.execute(f"DELETE FROM {table} WHERE listener=?", (listener,)).rowcount
                for table in ("answers", "served", "listeners")
            )
        if deleted:
            self._db.execute("VACUUM")
        if self._first("PRAGMA wal_checkpoint(TRUNCATE)"):
            raise InputError("is in use by another program, so its log cannot be emptied; try again", self.path)
        return bool(deleted)

    def _first(self, query: str, *arguments: object) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self._db.execute(query, arguments).fetchone()
        return row[0] if row else None


class StoreThread:
    """The thread that owns the database of a running server.

    A job counts as done when its changes are on disk. Waiting jobs share one transaction, and so one disk write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[tuple[Callable[[Store], Any], Future[Any], bool] | None] = queue.SimpleQueue()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()
        self._ready.result()

    async def do(self, work: Callable[[Store], T], own_transaction: bool = False) -> T:
        """The result of `work`, once its changes are on disk; `own_transaction`: it manages its transactions itself."""
        future: Future[T] = Future()
        self._jobs.put((work, future, own_transaction))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish all waiting jobs and close the database."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            store = Store(self._path)
        except BaseException as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        running = True
        while running:
            shared: list[tuple[Callable[[Store], Any], Future[Any]]] = []
            job = self._jobs.get()
            while job is not None and not job[2]:
                shared.append(job[:2])
                if len(shared) == _BATCH or self._jobs.empty():
                    break
                job = self._jobs.get()
            running = job is not None
            if shared:
                _run_shared(store, shared)
            if job is not None and job[2]:
                _settle(job[1], *_outcome(job[0], store))
        store.close()


def _run_shared(store: Store, jobs: list[tuple[Callable[[Store], Any], Future[Any]]]) -> None:
    try:
        with store.transaction():
            outcomes = [_outcome(work, store) for work, _ in jobs]
    except Exception as error:  # nothing was written, so every job has failed
        outcomes = [(None, error)] * len(jobs)
    for (_, future), outcome in zip(jobs, outcomes, strict=True):
        _settle(future, *outcome)


def _outcome(work: Callable[[Store], Any], store: Store) -> tuple[Any, Exception | None]:
    try:
        return work(store), None
    except Exception as error:  # the failure of one job does not stop the others
        return None, error


def _settle(future: Future[Any], result: Any, error: Exception | None) -> None:
    if not future.set_running_or_notify_cancel():
        return  # nobody waits for it any more
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _hash_token(token: str) -> str:
    """Only hashes are stored: tokens cannot be read from the database."""
    return hashlib.sha256(token.encode()).hexdigest()


def _now() -> float:
    return round(time.time(), 3)
