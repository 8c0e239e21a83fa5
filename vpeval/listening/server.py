"""The server of a listening test.

Listeners are identified by a token in the Authorization header only: no cookies, no addresses, no access log. They get
the pages, their own recordings and their own answers. An answer is acknowledged when it is on disk; sent again, it is
acknowledged again and stored once. A rating counts only if its recordings were sent to the listener at least as long
ago as they last.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import math
import secrets
import socket
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError
from vpeval.core.lazy import require
from vpeval.listening import connections
from vpeval.listening.answers import TASKS, Answer, Refused, check_answer
from vpeval.listening.disk import ListeningTest, session_view
from vpeval.listening.store import Store, StoreThread

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger(__name__)

MAX_BYTES = 20_000
_MAX_VISITORS = 100_000
_MIN_PLAYED = 0.9
_PAGES = {
    "": "index.html",
    "listen.css": "listen.css",
    "listen.js": "listen.js",
    "player.js": "player.js",
    "board.js": "board.js",
}
_ADMIN_PAGES = {"admin": "admin.html", "admin.js": "admin.js"}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "media-src 'self' blob:; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Access:
    """Who may take part: holders of tokens, or the first `open_places` visitors; `rate`: requests per second each."""

    open_places: int = 0
    rate: float = 10.0
    completion_codes: bool = True


@dataclass(frozen=True)
class Address:
    """Where to listen, and the reverse proxy in front (empty: none)."""

    host: str = "127.0.0.1"
    port: int = 0
    proxy: str = ""


@dataclass
class RateLimit:
    """A token bucket per visitor, in memory: `rate` requests per second on average, `burst` at once; rate 0: no limit.

    >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
    >>> [limit.wait("somebody") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, visitor: str) -> float:
        """Seconds until the next request is allowed; 0: now, and this request counts."""
        if not self.rate:
            return 0.0
        now = self.clock()
        left, then = self._buckets.pop(visitor, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.rate)
        allowed = left >= 1
        self._buckets[visitor] = (left - allowed, now)
        if len(self._buckets) > _MAX_VISITORS:
            # The first one has made no request for the longest time.
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else (1 - left) / self.rate


class _Service:
    """The handlers of all requests."""

    def __init__(self, test: ListeningTest, access: Access) -> None:
        self.test, self.access = test, access
        self.store = StoreThread(test.database)
        self.tokens = {} if access.open_places else test.tokens()
        self.admin_token = test.admin_token()
        self.limit = RateLimit(access.rate, 6 * access.rate)
        # Visitors without a token can only fetch pages, enrol and guess tokens; many may share an address.
        self.address_limit = RateLimit(5 * access.rate, 60 * access.rate)
        self.questions = {
            listener: sum(len(TASKS[page.kind]) for page in pages.values()) for listener, pages in test.sessions.items()
        }
        self.clips = {
            listener: {test.names[clip] for page in pages.values() for clip in page.clips}
            for listener, pages in test.sessions.items()
        }

    async def session(self, request: Request) -> Response:
        listener = await self._listener(request)

        def work(store: Store) -> tuple[bool, list[list[str]]]:
            return self._agreed(store, listener), [[a["page"], a["task"]] for a in store.answers(listener)]

        agreed, answered = await self.store.do(work)
        view = session_view(self.test, listener)
        code = self._code(listener, len(answered))
        return _json(200, {**view, "consented": agreed, "answered": answered, "code": code})

    async def consent(self, request: Request) -> Response:
        listener = await self._listener(request)
        payload = await _read_json(request)
        text = self.test.settings.consent
        if payload != {"consent": text}:
            raise Refused(400, "this is not the consent text of this test; load the page again")

        def work(store: Store) -> None:
            store.enrol(listener)
            store.consent(listener, text)

        await self.store.do(work)
        return _json(200, {})

    async def answer(self, request: Request) -> Response:
        listener = await self._listener(request)
        pages = self.test.sessions[listener]
        answer = check_answer(await _read_json(request), listener, pages, self.test.settings.shape)

        def work(store: Store) -> tuple[str, str]:
            self._refuse_without_consent(store, listener)
            self._refuse_unplayed(store, answer)
            return store.add(answer), self._code(listener, store.count(listener))

        outcome, code = await self.store.do(work)
        if outcome == "differs":
            raise Refused(409, "this question is already answered; the first answer counts")
        return _json(201 if outcome == "new" else 200, {"saved": True, "code": code})

    async def audio(self, request: Request) -> Response | _Counted:
        from starlette.responses import FileResponse

        listener = await self._listener(request)
        name = request.path_params["name"]
        if name not in self.clips[listener]:
            raise Refused(404, "no such recording")

        await self.store.do(lambda store: self._refuse_without_consent(store, listener))
        path = self.test.path / f"public/audio/{name}.wav"
        reply = FileResponse(path, media_type="audio/wav")
        if request.method == "HEAD":
            return reply
        return _Counted(reply, path.stat().st_size, lambda: self.store.do(lambda store: store.served(listener, name)))

    async def about(self, request: Request) -> Response:
        self._check_rate(self.address_limit, _address(request))
        return _json(200, {"open": bool(self.access.open_places)})

    async def enrol(self, request: Request) -> Response:
        self._check_rate(self.address_limit, _address(request))
        if await _read_json(request) != {}:
            raise Refused(400, "send an empty object")
        places = min(self.access.open_places, self.test.settings.listeners)
        token = secrets.token_hex(16)

        def work(store: Store) -> bool:
            listener = store.free_listener(places)
            if listener is not None:
                store.enrol(listener, token)
            return listener is not None

        if not await self.store.do(work):
            raise Refused(
                403, "all places are taken, thank you for your interest" if places else "this test requires a code"
            )
        return _json(201, {"token": token})

    async def own_data(self, request: Request) -> Response:
        listener = await self._listener(request)
        return _json(200, await self.store.do(lambda store: store.export(listener)))

    async def forget(self, request: Request) -> Response:
        listener = await self._listener(request)
        await self.store.do(lambda store: store.forget(listener), own_transaction=True)
        return _json(200, {"deleted": True})

    async def admin(self, request: Request) -> Response:
        self._check_rate(self.address_limit, _address(request))
        if not hmac.compare_digest(_bearer(request).encode(), self.admin_token.encode()):
            raise Refused(401, "this is not the organisers' token")
        return _json(200, await self.store.do(self._progress))

    def page(self, path: Path) -> Callable[[Request], Awaitable[Response]]:
        from starlette.responses import Response

        content, kind = path.read_bytes(), f"{_TYPES[path.suffix]}; charset=utf-8"

        async def answer(request: Request) -> Response:
            self._check_rate(self.address_limit, _address(request))
            return Response(content, media_type=kind)

        return answer

    async def _listener(self, request: Request) -> int:
        token = _bearer(request)
        listener = self.tokens.get(token)
        if listener is None and token and self.access.open_places:
            listener = await self.store.do(lambda store: store.find_listener(token))
        if listener is None:
            self._check_rate(self.address_limit, _address(request))
            raise Refused(401, "unknown code")
        self._check_rate(self.limit, str(listener))
        return listener

    def _check_rate(self, limit: RateLimit, visitor: str) -> None:
        if wait := limit.wait(visitor):
            raise _TooManyRequests(wait)

    def _agreed(self, store: Store, listener: int) -> bool:
        return store.consented(listener) == self.test.settings.consent

    def _refuse_without_consent(self, store: Store, listener: int) -> None:
        if not self._agreed(store, listener):
            raise Refused(403, "agree to the consent text first")

    def _refuse_unplayed(self, store: Store, answer: Answer) -> None:
        """Refuse an answer if there was no time to play its recordings."""
        page = self.test.pages[answer.page]
        clips = page.clips[:1] if answer.task in ("naturalness", "intelligibility") else page.clips
        for name in (self.test.names[clip] for clip in clips):
            since = store.served_at(answer.listener, name)
            if since is None or time.time() - since < _MIN_PLAYED * self.test.seconds[name]:
                raise Refused(403, "play the recording to its end first")

    def _code(self, listener: int, answers: int) -> str:
        """The completion code of a listener who has answered everything."""
        is_done = self.access.completion_codes and answers == self.questions[listener]
        return self.test.completion_code(listener) if is_done else ""

    def _progress(self, store: Store) -> dict[str, Any]:
        rows, finished = [], 0
        for progress in store.progress():
            listener = progress.listener
            checks = [page for page in self.test.sessions[listener].values() if page.truth]
            right = sum(
                json.loads(answer["value"]) == self.test.pages[answer["page"]].truth
                for answer in store.answers(listener)
                if self.test.pages[answer["page"]].truth
            )
            finished += progress.answers == self.questions[listener]
            rows.append(
                {
                    "listener": listener + 1,
                    "answers": progress.answers,
                    "questions": self.questions[listener],
                    "checks": f"{right} of {len(checks)}",
                    "since": progress.since,
                    "last": progress.last,
                    "code": self._code(listener, progress.answers),
                }
            )
        places = self.access.open_places or self.test.settings.listeners
        return {"places": places, "finished": finished, "listeners": rows}


class _Counted:
    """A recording, and what to do when all of it was sent in one reply; a part of it cannot be listened to."""

    def __init__(self, reply: Response, size: int, sent_whole: Callable[[], Awaitable[None]]) -> None:
        self.reply, self.size, self.sent_whole = reply, size, sent_whole

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_whole, sent = False, 0

        async def counted(message: Any) -> None:
            nonlocal is_whole, sent
            await send(message)
            if message["type"] == "http.response.start":
                parts = dict(message["headers"]).get(b"content-range", b"")
                is_whole = message["status"] == 200 or parts == f"bytes 0-{self.size - 1}/{self.size}".encode()
            sent += len(message.get("body", b""))

        await self.reply(scope, receive, counted)
        if is_whole and sent == self.size:
            await self.sent_whole()


class _TooManyRequests(Exception):
    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait


def make_app(test: ListeningTest, access: Access) -> Starlette:
    """The web application of a test."""
    require("starlette", "the server of listening tests")
    from contextlib import asynccontextmanager

    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    service = _Service(test, access)

    @asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]
        yield
        service.store.close()

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return _json(error.status, {"error": error.reason})

    async def too_many(request: Request, error: Exception) -> Response:
        assert isinstance(error, _TooManyRequests)
        response = _json(429, {"error": "too many requests; please wait a moment"})
        response.headers["Retry-After"] = str(math.ceil(error.wait))
        return response

    async def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _json(
            error.status_code, {"error": {404: "no such page", 405: "not allowed"}.get(error.status_code, "refused")}
        )

    async def failed(request: Request, error: Exception) -> Response:
        log.error("%s", error)
        return _json(503, {"error": "the server could not do this; please try again"})

    public, own = test.path / "public", Path(__file__).parent / "page"
    routes = [
        *(Route(f"/{path}", service.page(public / name)) for path, name in _PAGES.items()),
        *(Route(f"/{path}", service.page(own / name)) for path, name in _ADMIN_PAGES.items()),
        Route("/api/test", service.about),
        Route("/api/session", service.session),
        Route("/api/consent", service.consent, methods=["POST"]),
        Route("/api/answers", service.answer, methods=["POST"]),
        Route("/api/audio/{name}", service.audio),
        Route("/api/enrol", service.enrol, methods=["POST"]),
        Route("/api/data", service.own_data, methods=["GET"]),
        Route("/api/data", service.forget, methods=["DELETE"]),
        Route("/api/admin", service.admin),
    ]
    handlers: dict[Any, Any] = {Refused: refused, _TooManyRequests: too_many, HTTPException: unknown}
    handlers |= {sqlite3.Error: failed, InputError: failed, OSError: failed}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.add_middleware(_Guard)
    return app


class _Guard:
    """Adds the same headers to every response."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower().encode(): value.encode() for name, value in _HEADERS.items()}
                kept = [pair for pair in message["headers"] if pair[0].lower() not in own]
                message["headers"] = [*kept, *own.items()]
            await send(message)

        await self.app(scope, receive, guarded if scope["type"] == "http" else send)


def serve(test: ListeningTest, access: Access, address: Address, ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `ready` is called with the port once the server answers requests."""
    uvicorn = require("uvicorn", "the server of listening tests")
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listening = socket.create_server((address.host, address.port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = f"{address.host}:{address.port}"
        raise InputError(f"cannot listen at {where} ({reason}); choose another --host or --port") from None
    config = uvicorn.Config(
        make_app(test, access),
        log_level="warning",
        access_log=False,  # it would hold the addresses of listeners
        proxy_headers=bool(address.proxy),
        forwarded_allow_ips=address.proxy or None,
        server_header=False,
        limit_concurrency=connections.MOST,
        timeout_keep_alive=30,
        http=connections.protocol(connections.allow_many_files(), behind_proxy=bool(address.proxy)),
        ws="none",
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            ready(listening.getsockname()[1])
        await task

    asyncio.run(run())


async def _read_json(request: Request) -> object:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "send application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise Refused(413, f"send at most {MAX_BYTES} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "this is not JSON") from None


def _bearer(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _json(status: int, content: object) -> Response:
    from starlette.responses import Response

    # Without "<", a browser cannot take the content for markup, whatever type it assumes.
    text = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")
    return Response(text, status, media_type="application/json")
