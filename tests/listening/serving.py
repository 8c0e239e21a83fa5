"""The server as a process of its own, as organisers start it."""

import contextlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "local/listening_test.py"


@contextlib.contextmanager
def running(test, *options, port=0):
    """The address of a server of a test folder; it is killed at the end."""
    process = start(test, *options, port=port)
    try:
        yield process.address
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def start(test, *options, port=0):
    command = [sys.executable, SCRIPT, "serve", "--port", port, *options, test]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env={**os.environ})
    process.address = re.search(r"http://\S+?/", process.stdout.readline() or "no server")[0]
    return process


def ask(address, path, token="", method=None, body=None, headers=None, raw=None):
    """Status, headers and content of a response; whatever the status."""
    own = {"Authorization": f"Bearer {token}"} if token else {}
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    if data is not None:
        own["Content-Type"] = "application/json"
    request = urllib.request.Request(address + path, data, {**own, **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as reply:
        return reply.code, dict(reply.headers), reply.read()


def ask_json(address, path, token="", **options):
    status, _, content = ask(address, path, token, **options)
    return status, json.loads(content)
