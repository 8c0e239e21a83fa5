"""Connections to the server of a listening test: none can keep others out by waiting.

A connection is idle until a whole request has come, and again after the reply. Idle ones cost nothing but a place, and
places are limited: when there are too many, the one that has been idle for the longest time is closed, of the same
address first. So a visitor who sends a request always gets in, however many connections somebody else leaves half open.
A request must come within a time, and its reply be fetched within another.
"""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict, defaultdict
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

MOST = 2000
"""Connections at a time, of which requests that are being answered may take all."""


@dataclass(frozen=True)
class Limits:
    """Seconds for a request to come, and for its reply to be fetched; idle connections of an address, and of all."""

    request: float = 10.0
    reply: float = 120.0
    per_address: int = 400
    in_all: int = 1500


@dataclass
class IdleConnections:
    """Which connections are idle, by address; the first has been so for the longest time.

    >>> idle = IdleConnections(Limits(per_address=2, in_all=3))
    >>> [idle.add(name, address) for name, address in (("a", "x"), ("b", "x"), ("c", "x"), ("d", "y"), ("e", "z"))]
    [None, None, 'a', None, 'b']
    """

    limits: Limits
    _all: OrderedDict[Hashable, str] = field(default_factory=OrderedDict)
    _own: defaultdict[str, OrderedDict[Hashable, None]] = field(default_factory=lambda: defaultdict(OrderedDict))

    def add(self, connection: Hashable, address: str) -> Any:
        """Note that a connection is idle; returns the one that has to make room, or None.

        An empty `address` is that of a proxy, behind which all visitors are.
        """
        self.remove(connection)
        self._all[connection] = address
        own = self._own[address]
        own[connection] = None
        crowd = own if address and len(own) > self.limits.per_address else self._all
        if crowd is self._all and len(self._all) <= self.limits.in_all:
            return None
        first = next(iter(crowd))
        self.remove(first)
        return first

    def remove(self, connection: Hashable) -> None:
        """Note that a connection is not idle, or not there any more."""
        address = self._all.pop(connection, None)
        if address is not None:
            self._own[address].pop(connection)
            if not self._own[address]:
                del self._own[address]


def protocol(limits: Limits, behind_proxy: bool) -> type[asyncio.Protocol]:
    """The protocol of HTTP/1.1 with these limits, for uvicorn; the limit of an address is not that of a proxy."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    idle = IdleConnections(limits)

    class LimitedProtocol(H11Protocol):
        """Closes what waits for too long or takes too many places."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._deadline: asyncio.TimerHandle | None = None
            self._is_answering = False
            super().connection_made(transport)
            self._wait(limits.request)
            self._make_room()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()  # which goes on with a request that has already come
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            idle.remove(self)
            super().connection_lost(exc)

        def _look(self) -> None:
            """Begin or end to wait, by what has come so far."""
            is_whole = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)
            if is_whole and self.cycle is not None and not self.cycle.response_complete:
                if not self._is_answering:
                    self._is_answering = True
                    idle.remove(self)
                    self._wait(limits.reply)
                return
            if self._is_answering:
                self._is_answering = False
                self._stop_waiting()
                self._make_room()
            has_begun = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
            if has_begun and self._deadline is None:
                self._wait(limits.request)  # for all of it: what follows makes it no longer

        def _make_room(self) -> None:
            if (oldest := idle.add(self, "" if behind_proxy else str((self.client or ("",))[0]))) is not None:
                oldest.close_now()

        def _wait(self, seconds: float) -> None:
            self._stop_waiting()
            self._deadline = self.loop.call_later(seconds, self.close_now)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def close_now(self) -> None:
            """Close without a reply: whoever is too slow would not read it."""
            if self.transport is not None:
                self.transport.abort()

    return LimitedProtocol


def allow_many_files() -> Limits:
    """Have this process open as many files as the system lets it; the limits that fit."""
    wanted = 2 * MOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = wanted if soft == resource.RLIM_INFINITY else max(64, soft // 2)
    usual = Limits()
    return Limits(per_address=min(usual.per_address, free // 2), in_all=min(usual.in_all, free))
