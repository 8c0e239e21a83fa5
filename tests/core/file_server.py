"""A local web server of one file that can be told to misbehave."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator


class FileServer:
    """Serves `content` under any path that ends in `name`; notes what it was asked, and where each answer began."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.content = name, content
        self.ranges = True
        self.chunked = False
        self.cuts: list[int] = []
        """Bytes after which the next answers end early, one each; afterwards `cut_after` holds."""
        self.cut_after: int | None = None
        self.go = threading.Event()
        self.go.set()
        self.asked: list[str] = []
        self.starts: list[int] = []
        handler = type("Handler", (_Handler,), {"state": self})
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/files"


class _Handler(http.server.BaseHTTPRequestHandler):
    state: FileServer

    def do_GET(self) -> None:
        state = self.state
        wanted = self.headers.get("Range", "")
        state.asked.append(f"{self.path} {wanted}".strip())
        state.go.wait(60)
        if not self.path.endswith(f"/{state.name}"):
            return self.send_error(404)
        partly = bool(wanted) and state.ranges
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if partly else 0
        state.starts.append(start)
        if partly and start >= len(state.content) > 0:
            return self.send_error(416)
        body = state.content[start:]
        self.send_response(206 if partly else 200)
        if state.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = f"{len(body):x}\r\n".encode() + body
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: state.cuts.pop(0) if state.cuts else state.cut_after])
        self.close_connection = True
        return None

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(name: str, content: bytes) -> Iterator[FileServer]:
    """A server that runs meanwhile."""
    server = FileServer(name, content)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
