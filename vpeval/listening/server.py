"""The server of a listening test.

Listeners are known by a token in the Authorization header, nothing else: no cookies, no addresses, no logs of visits.
What they get are the pages, their own recordings and their own answers. An answer is acknowledged when it is on disk;
the same answer again is acknowledged again and kept once. A rating counts only if its recordings were sent to the
listener at least as long ago as they last.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError
from vpeval.core.lazy import require
from vpeval.listening.answers import TASKS, Answer, Refused, check_answer
from vpeval.listening.folder import ListeningTest, session_view
from vpeval.listening.keeper import Keeper
from vpeval.listening.limits import RateLimit
from vpeval.listening.store import Store

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

log = logging.getLogger(__name__)

MOST_BYTES = 20_000
_HEARD = 0.9
_PAGES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "listen.css": ("listen.css", "text/css; charset=utf-8"),
    "listen.js": ("listen.js", "text/javascript; charset=utf-8"),
    "player.js": ("player.js", "text/javascript; charset=utf-8"),
    "board.js": ("board.js", "text/javascript; charset=utf-8"),
}
_ADMIN_PAGES = {
    "admin": ("admin.html", "text/html; charset=utf-8"),
    "admin.js": ("admin.js", "text/javascript; charset=utf-8"),
}
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
    """Who may take part: holders of listed tokens, and up to `open_places` who just come; requests a second each."""

    open_places: int = 0
    rate: float = 10.0
    completion_codes: bool = True


class _Service:
    """The answers to all requests."""

    def __init__(self, test: ListeningTest, access: Access) -> None:
        self.test, self.access = test, access
        self.keeper = Keeper(test.database)
        self.tokens = {} if access.open_places else test.tokens()
        self.admin_token = test.admin_token()
        self.limit = RateLimit(access.rate, 6 * access.rate)
        # Who has no token may only fetch pages, enrol and guess; many may share an address.
        self.strangers = RateLimit(5 * access.rate, 60 * access.rate)
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

        agreed, answered = await self.keeper.do(work)
        view = session_view(self.test, listener)
        code = self._code(listener, len(answered))
        return _json(200, {**view, "consented": agreed, "answered": answered, "code": code})

    async def consent(self, request: Request) -> Response:
        listener = await self._listener(request)
        payload = await _read_json(request)
        text = self.test.settings.consent
        if payload != {"consent": text}:
            raise Refused(400, "this is not the text of this test; load the page again")

        def work(store: Store) -> None:
            store.enrol(listener)
            store.consent(listener, text)

        await self.keeper.do(work)
        return _json(200, {})

    async def answer(self, request: Request) -> Response:
        listener = await self._listener(request)
        pages = self.test.sessions[listener]
        answer = check_answer(await _read_json(request), listener, pages, self.test.settings.shape)

        def work(store: Store) -> tuple[str, str]:
            self._refuse_without_consent(store, listener)
            self._refuse_unheard(store, answer)
            return store.add(answer), self._code(listener, store.count(listener))

        outcome, code = await self.keeper.do(work)
        if outcome == "differs":
            raise Refused(409, "this question is already answered, and the first answer counts")
        return _json(201 if outcome == "new" else 200, {"saved": True, "code": code})

    async def audio(self, request: Request) -> Response:
        from starlette.responses import FileResponse

        listener = await self._listener(request)
        name = request.path_params["name"]
        if name not in self.clips[listener]:
            raise Refused(404, "this is no recording of yours")

        def work(store: Store) -> None:
            self._refuse_without_consent(store, listener)
            if request.method == "GET":
                store.served(listener, name)

        await self.keeper.do(work)
        return FileResponse(self.test.path / f"public/audio/{name}.wav", media_type="audio/wav")

    async def about(self, request: Request) -> Response:
        self._slow_down(self.strangers, _address(request))
        return _json(200, {"open": bool(self.access.open_places)})

    async def enrol(self, request: Request) -> Response:
        self._slow_down(self.strangers, _address(request))
        if await _read_json(request) != {}:
            raise Refused(400, "nothing is asked here")
        places = min(self.access.open_places, self.test.settings.listeners)
        token = secrets.token_hex(16)

        def work(store: Store) -> bool:
            listener = store.free_listener(places)
            if listener is not None:
                store.enrol(listener, token)
            return listener is not None

        if not await self.keeper.do(work):
            raise Refused(403, "all places are taken. Thank you for your interest!" if places else "a code is needed")
        return _json(201, {"token": token})

    async def own_data(self, request: Request) -> Response:
        listener = await self._listener(request)
        return _json(200, await self.keeper.do(lambda store: store.export(listener)))

    async def forget(self, request: Request) -> Response:
        listener = await self._listener(request)
        await self.keeper.do_alone(lambda store: store.forget(listener))
        return _json(200, {"deleted": True})

    async def admin(self, request: Request) -> Response:
        self._slow_down(self.strangers, _address(request))
        if not hmac.compare_digest(_bearer(request).encode(), self.admin_token.encode()):
            raise Refused(401, "this is not the token of the organisers")
        return _json(200, await self.keeper.do(self._progress))

    def page(self, name: str, kind: str, folder: Path) -> Callable[[Request], Awaitable[Response]]:
        from starlette.responses import Response

        content = (folder / name).read_bytes()

        async def answer(request: Request) -> Response:
            self._slow_down(self.strangers, _address(request))
            return Response(content, media_type=kind)

        return answer

    async def _listener(self, request: Request) -> int:
        token = _bearer(request)
        listener = self.tokens.get(token)
        if listener is None and token and self.access.open_places:
            listener = await self.keeper.do(lambda store: store.listener_of(token))
        if listener is None:
            self._slow_down(self.strangers, _address(request))
            raise Refused(401, "this code is not known")
        self._slow_down(self.limit, str(listener))
        return listener

    def _slow_down(self, limit: RateLimit, who: str) -> None:
        if wait := limit.wait(who):
            raise _TooOften(wait)

    def _agreed(self, store: Store, listener: int) -> bool:
        return store.consented(listener) == self.test.settings.consent

    def _refuse_without_consent(self, store: Store, listener: int) -> None:
        if not self._agreed(store, listener):
            raise Refused(403, "consent comes first")

    def _refuse_unheard(self, store: Store, answer: Answer) -> None:
        """Refuse an answer whose recordings cannot have been heard."""
        page = self.test.pages[answer.page]
        clips = page.clips[:1] if answer.task in ("naturalness", "intelligibility") else page.clips
        for name in (self.test.names[clip] for clip in clips):
            since = store.served_at(answer.listener, name)
            if since is None or time.time() - since < _HEARD * self.test.seconds[name]:
                raise Refused(403, "the recording was not heard to its end")

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


class _TooOften(Exception):
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
        service.keeper.close()

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return _json(error.status, {"error": error.reason})

    async def too_often(request: Request, error: Exception) -> Response:
        assert isinstance(error, _TooOften)
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
        return _json(503, {"error": "this did not work; please try again"})

    public, here = test.path / "public", Path(__file__).parent / "page"
    routes = [Route(f"/{path}", service.page(*page, public)) for path, page in _PAGES.items()]
    routes += [Route(f"/{path}", service.page(*page, here)) for path, page in _ADMIN_PAGES.items()]
    routes += [
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
    handlers: dict[Any, Any] = {Refused: refused, _TooOften: too_often, HTTPException: unknown}
    handlers |= {sqlite3.Error: failed, InputError: failed, OSError: failed}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.add_middleware(_Guard)
    return app


class _Guard:
    """The same headers on every response."""

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


def serve(test: ListeningTest, access: Access, host: str, port: int, proxy: str, ready: Callable[[int], None]) -> None:
    """Serve until interrupted; `ready` is called with the port once requests are answered."""
    uvicorn = require("uvicorn", "the server of listening tests")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot listen at {host}:{port} ({reason}); choose another --host or --port") from None
    config = uvicorn.Config(
        make_app(test, access),
        log_level="warning",
        access_log=False,  # it would hold the addresses of listeners
        proxy_headers=bool(proxy),
        forwarded_allow_ips=proxy or None,
        server_header=False,
        limit_concurrency=2000,
        timeout_keep_alive=30,
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
        if len(body) > MOST_BYTES:
            raise Refused(413, f"send at most {MOST_BYTES} bytes")
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

    # No "<" leaves this server inside JSON: whatever a browser takes it for, it is no markup.
    text = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")
    return Response(text, status, media_type="application/json")
