"""Connections that wait: they keep nobody out, and nothing waits for ever."""

import contextlib
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serving import ask, ask_json, running
from toy import toy_test

from vpeval.listening import connections
from vpeval.listening.connections import IdleConnections, Limits

GUIDE = Path(__file__).parents[2] / "docs/listening.md"


@pytest.fixture(scope="module")
def served(data, tmp_path_factory):
    test = toy_test(data, tmp_path_factory.mktemp("served") / "test", listeners=3)
    with running(test.path, "--rate", 0) as address:
        yield test, address


@contextlib.contextmanager
def many(address, count, source, first=b""):
    """So many connections from one address, each of which has sent the `first` bytes of a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count + 200:
        pytest.skip(f"this process may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    place = urlsplit(address)
    with contextlib.ExitStack() as opened:
        sockets = []
        for _ in range(count):
            one = opened.enter_context(socket.socket())
            one.bind((source, 0))
            one.connect((place.hostname, place.port))
            with contextlib.suppress(OSError):  # it had to make room meanwhile
                one.sendall(first)
            sockets.append(one)
        yield sockets
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_closed(one):
    one.settimeout(0)
    try:
        return one.recv(1000) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"], ids=["same address", "other address"])
@pytest.mark.parametrize(
    "first", [b"", b"POST /api/enrol HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"], ids=["head", "body"]
)
def test_two_thousand_half_open_connections_keep_nobody_out(served, source, first):
    test, address = served
    token = next(iter(test.tokens()))
    with many(address, 2050, source, first):
        for _ in range(3):
            assert ask(address, "api/session", token)[0] == 200


def test_the_oldest_of_too_many_idle_connections_makes_room(served):
    with many(served[1], 450, "127.0.0.3") as sockets:
        ask(served[1], "")  # after which the server has seen all of them
        closed = [is_closed(one) for one in sockets]
    assert closed == [True] * (450 - Limits().per_address) + [False] * Limits().per_address


def test_who_is_answered_or_gone_takes_no_place():
    idle = IdleConnections(Limits(per_address=2, in_all=4))
    assert [idle.add(name, "x") for name in "ab"] == [None, None]
    idle.remove("a")
    idle.remove("a")
    assert idle.add("c", "x") is None
    assert idle.add("b", "x") is None  # again: now it is the youngest
    assert idle.add("d", "x") == "c"
    assert [idle.add(name, "") for name in "pq"] == [None, None]
    assert idle.add("r", "") == "b"  # a proxy has no limit of its own
    assert not idle._own.keys() - {"x", ""} and len(idle._all) == 4


@pytest.mark.parametrize(
    "request_part",
    [b"", b"GET /api/test HTTP/1.1\r\n", b"POST /api/enrol HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{}"],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_does_not_come_is_given_up(fast, request_part):
    """Also when it goes on coming, a byte at a time."""
    with socket.create_connection(fast, timeout=20) as one:
        one.sendall(request_part)
        while not is_closed(one):
            with contextlib.suppress(OSError):
                one.sendall(b" " if request_part else b"")
            time.sleep(0.05)


def test_a_connection_stays_open_between_requests(fast):
    with socket.create_connection(fast, timeout=20) as one:
        for _ in range(2):
            one.sendall(b"GET /api/test HTTP/1.1\r\nHost: x\r\n\r\n")
            received = b""
            while not received.endswith(b"{}"):
                received += one.recv(4096)
            assert b"200 OK" in received
            time.sleep(0.8)
        assert not is_closed(one)


def test_two_requests_at_once_are_both_answered(fast):
    with socket.create_connection(fast, timeout=20) as one:
        one.sendall(2 * b"GET /api/test HTTP/1.1\r\nHost: x\r\n\r\n" + b"GET /api/te")
        received = b""
        while received.count(b"200 OK") < 2 or not received.endswith(b"}"):
            received += one.recv(4096)
        while not is_closed(one):  # the third does not come
            time.sleep(0.05)


@pytest.fixture
def fast():
    """A server that gives half a second for a request."""
    import asyncio

    import uvicorn

    async def application(scope, receive, send):
        if scope["type"] == "http":
            while (await receive()).get("more_body"):
                pass
            head = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": b"{}"})

    own = connections.protocol(Limits(request=0.5), behind_proxy=False)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, http=own, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join()
    listening.close()


def block(language):
    """The example of the guide."""
    return re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]


@contextlib.contextmanager
def nginx_like(text, server, tls):
    """A proxy that does what the nginx block says: TLS, a path that is taken off, the address of the visitor."""
    (path,) = re.findall(r"location (\S+) \{", text)
    (target,) = re.findall(r"proxy_pass http://127\.0\.0\.1:8765(\S+);", text)
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text and "listen 443 ssl;" in text
    to = urlsplit(server)

    def forward(one):
        with contextlib.suppress(OSError), one:
            head = b""
            while b"\r\n\r\n" not in head:
                head += one.recv(65536)
            first, _, rest = head.partition(b"\r\n")
            method, place, version = first.decode().split(" ")
            if not place.startswith(path):
                one.sendall(b"HTTP/1.1 404 not here\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            length = re.search(rb"(?i)content-length: *(\d+)", rest)
            while length and len(rest.partition(b"\r\n\r\n")[2]) < int(length[1]):
                rest += one.recv(65536)
            place = target + place.removeprefix(path)
            added = f"{method} {place} {version}\r\nX-Forwarded-For: 203.0.113.7\r\nConnection: close\r\n"
            with socket.create_connection((to.hostname, to.port)) as behind:
                behind.sendall(added.encode() + re.sub(rb"(?i)connection: [^\r]*\r\n", b"", rest))
                while part := behind.recv(65536):
                    one.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    one, _ = listening.accept()
                    one = tls.wrap_socket(one, server_side=True, do_handshake_on_connect=False)
                    threading.Thread(target=forward, args=(one,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"https://localhost:{listening.getsockname()[1]}{path}"
        listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def caddy(text, server, folder):
    """Caddy with the block of the guide, at another port and with a certificate of its own."""
    program = shutil.which("caddy") or pytest.skip("caddy is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = text.replace("lab.example.org {", f"https://localhost:{port} {{\n    tls internal", 1)
    text = text.replace("127.0.0.1:8765", urlsplit(server).netloc)
    (folder / "Caddyfile").write_text(
        "{\n    admin off\n    auto_https disable_redirects\n    skip_install_trust\n}\n" + text
    )
    command = [program, "run", "--config", folder / "Caddyfile"]
    home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    process = subprocess.Popen(command, env=home, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as one:
                ssl._create_unverified_context().wrap_socket(one, server_hostname="localhost").close()
                break  # its certificate is there
            time.sleep(0.05)
        yield f"https://localhost:{port}/voices/"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_listeners_get_through_the_proxy_of_the_guide(data, tmp_path, kind, monkeypatch):
    test = toy_test(data, tmp_path / "test")
    token = next(iter(test.tokens()))
    monkeypatch.setattr(ssl, "_create_default_https_context", ssl._create_unverified_context)
    with running(test.path, "--proxy", "127.0.0.1", "--rate", 1) as server, contextlib.ExitStack() as stack:
        if kind == "nginx":
            address = stack.enter_context(nginx_like(block("nginx"), server, certificate(tmp_path)))
        else:
            address = stack.enter_context(caddy(block("caddy"), server, tmp_path))
        for name in re.findall(r'(?:src|href)="([^"]+)"', ask(address, "")[2].decode()):
            assert name.startswith(("data:", "#")) or ask(address, name)[0] == 200, name
        assert ask(address.removesuffix("voices/"), "")[0] in (200, 404)
        assert ask_json(address, "api/consent", token, body={"consent": test.settings.consent})[0] == 200
        clip = ask_json(address, "api/session", token)[1]["pages"][0]["clips"][0]["name"]
        assert ask(address, f"api/audio/{clip}", token)[2][:4] == b"RIFF"
        # The limit of guesses is that of the visitor: somebody at the server itself is another one.
        replies = {ask(address, "api/session", "wrong")[0] for _ in range(80)}
        assert replies == {401, 429}
        assert ask(server, "api/session", "wrong", headers={"X-Forwarded-For": "198.51.100.1"})[0] == 401


def certificate(folder):
    """A context with a certificate that was made for this test."""
    key, own = folder / "key.pem", folder / "certificate.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    words += ["-subj", "/CN=localhost", "-keyout", key, "-out", own]
    if not shutil.which("openssl"):
        pytest.skip("openssl, which makes the certificate, is not installed")
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    return context
