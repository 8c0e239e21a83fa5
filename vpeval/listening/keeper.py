"""One thread that owns the database: what it is asked to do is answered when it is on disk.

Whatever waits is done in one transaction, so that many listeners share the time that the disk takes for one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from vpeval.listening.store import Store

T = TypeVar("T")
_BATCH = 500


class Keeper:
    """The database of a running server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: queue.SimpleQueue[tuple[Callable[[Store], Any], Future[Any], bool] | None] = queue.SimpleQueue()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self._thread.start()
        self._ready.result()

    async def do(self, work: Callable[[Store], T]) -> T:
        """The result of `work`, once what it wrote is on disk."""
        return await asyncio.wrap_future(self._submit(work, False))

    async def do_alone(self, work: Callable[[Store], T]) -> T:
        """The same for work that manages its own transactions."""
        return await asyncio.wrap_future(self._submit(work, True))

    def close(self) -> None:
        """Finish what waits and close the database."""
        self._jobs.put(None)
        self._thread.join()

    def _submit(self, work: Callable[[Store], T], alone: bool) -> Future[T]:
        future: Future[T] = Future()
        self._jobs.put((work, future, alone))
        return future

    def _run(self) -> None:
        try:
            store = Store(self._path)
        except BaseException as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        going = True
        while going:
            batch = []
            job = self._jobs.get()
            while job is not None:
                batch.append(job)
                if job[2] or len(batch) == _BATCH or self._jobs.empty():
                    break
                job = self._jobs.get()
            going = job is not None
            together = [(work, future) for work, future, alone in batch if not alone]
            if together:
                _do_together(store, together)
            for work, future, alone in batch:
                if alone:
                    _settle(future, work, store)
        store.close()


def _do_together(store: Store, jobs: list[tuple[Callable[[Store], Any], Future[Any]]]) -> None:
    results: list[tuple[Future[Any], Any, Exception | None]] = []
    try:
        with store.transaction():
            for work, future in jobs:
                try:
                    results.append((future, work(store), None))
                except Exception as error:  # one job's mistake is its own
                    results.append((future, None, error))
    except Exception as error:  # nothing was written: nobody is told otherwise
        for _, future in jobs:
            future.set_exception(error)
        return
    for future, result, problem in results:
        if problem is None:
            future.set_result(result)
        else:
            future.set_exception(problem)


def _settle(future: Future[Any], work: Callable[[Store], Any], store: Store) -> None:
    try:
        future.set_result(work(store))
    except Exception as error:
        future.set_exception(error)
