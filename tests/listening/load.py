"""Many listeners at once, to load a server: they fetch all recordings and repeat every answer until it is acknowledged."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from vpeval.listening.answers import Answer
from vpeval.listening.disk import ListeningTest

Reply = tuple[int, bytes]
_KILLS = 10
"""How often the server may be killed while a listener hears the recordings again."""


@dataclass
class Load:
    """Acknowledged answers, times of all answered requests, and the number of broken connections."""

    acknowledged: dict[tuple[int, str, str], Any] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    answer_seconds: list[float] = field(default_factory=list)
    broken: int = 0


class _Connection:
    """One keep-alive connection to the server, opened again if it breaks."""

    def __init__(self, host: str, port: int, load: Load) -> None:
        self.host, self.port, self.load = host, port, load
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, token: str, body: object = None) -> Reply:
        """The reply, however long it takes to get one."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        while True:
            start = time.perf_counter()
            try:
                reply = await asyncio.wait_for(self._exchange(head.encode() + content), 30)
            except (OSError, EOFError, TimeoutError, ValueError):
                self.load.broken += 1
                self.close()
                await asyncio.sleep(0.1)
                continue
            if reply[0] in (429, 503):
                await asyncio.sleep(0.2)
                continue
            self.load.seconds.append(time.perf_counter() - start)
            return reply

    async def _exchange(self, message: bytes) -> Reply:
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.streams
        writer.write(message)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        return int(head.split(" ", 2)[1]), await reader.readexactly(length)

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None


async def _run_listener(address: tuple[str, int], token: str, consent: str, answers: list[Answer], load: Load) -> None:
    """One listener: consent, all recordings, all answers; every third answer is sent twice, as in a retry."""
    connection = _Connection(*address, load)
    try:
        await connection.ask("POST", "/api/consent", token, {"consent": consent})
        status, content = await connection.ask("GET", "/api/session", token)
        assert status == 200, (status, content)
        clips = [clip for page in json.loads(content)["pages"] for clip in page["clips"]]

        async def listen() -> None:
            for clip in clips:
                await connection.ask("GET", f"/api/audio/{clip['name']}", token)
            await asyncio.sleep(max(clip["seconds"] for clip in clips))

        await listen()
        for k, answer in enumerate(answers):
            payload = {name: getattr(answer, name) for name in ("page", "task", "value", "seconds", "plays")}
            for _ in range(2 if k % 3 == 0 else 1):
                before = len(load.seconds)
                status, content = await connection.ask("POST", "/api/answers", token, payload)
                for _ in range(_KILLS):  # the server was killed before it noted that a recording had been sent whole
                    if status != 403:
                        break
                    await listen()
                    status, content = await connection.ask("POST", "/api/answers", token, payload)
                assert status in (200, 201), (status, content)
                load.answer_seconds += load.seconds[before:]
                load.acknowledged[answer.listener, answer.page, answer.task] = answer.value
    finally:
        connection.close()


async def run_listeners(address: tuple[str, int], test: ListeningTest, answers: list[Answer], load: Load) -> None:
    """All listeners at the same time."""
    own: dict[int, list[Answer]] = {}
    for answer in answers:
        own.setdefault(answer.listener, []).append(answer)
    consent = test.settings.consent
    await asyncio.gather(*(_run_listener(address, token, consent, own[n], load) for token, n in test.tokens().items()))
