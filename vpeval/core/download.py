"""Downloads that can be cut off: resumed where they stopped, verified by checksum, whole or absent.

`fetch_url` brings a part file up to date; `download` also goes on after a broken connection, verifies what came and
gives it its final name. The model store and the corpora are fetched through this module.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.locks import locked

log = logging.getLogger(__name__)
FAILURES = (OSError, ValueError, HTTPException)
"""Errors of a download."""
_TIMEOUT_SECONDS = 20
_CHECK_SECONDS = 5
_BLOCK = 1 << 20
_GIGABYTE = 10**9


def download(urls: Sequence[str], target: Path, checksum: str) -> Path:
    """Fetch `target` from the first of `urls` that has it; `checksum` is ``md5:…`` or ``sha256:…``.

    A broken download is resumed as long as every attempt receives something. A file with another checksum is removed,
    and the next address is tried.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    reasons = []
    with locked(target.with_name(f".{target.name}.lock"), str(target)):
        if target.is_file():
            return target  # by the process that this one has waited for
        for url in urls:
            try:
                _fetch_resumed(url, part)
            except FAILURES as error:
                reasons.append(f"{url}: {first_line(error)}")
                continue
            if wrong := mismatch(part, checksum):
                part.unlink()
                reasons.append(f"{url}: {wrong}; thrown away")
                continue
            part.replace(target)
            return target
    failures = "".join(f"\n  {reason}" for reason in reasons)
    raise InputError(
        f"cannot fetch {target.name}:{failures}\nCheck the network and run the same command again (what has arrived is "
        f"kept), or put the file there by hand: {target} ({checksum})"
    )


def fetch_url(url: str, part: Path) -> None:
    """Download with resume: what an earlier attempt left in `part` is not asked for again."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if have and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # the part is already whole
        raise
    with answer:
        if have and answer.status != HTTPStatus.PARTIAL_CONTENT:
            have = 0
        total = have + int(answer.headers.get("Content-Length") or 0)
        with open(part, "ab" if have else "wb") as file:
            while block := answer.read(_BLOCK):
                file.write(block)
                _show_progress(part.name.removeprefix(".").removesuffix(".part"), file.tell(), total)
            if file.tell() < total:
                raise OSError(f"{url}: connection ended after {file.tell()} of {total} bytes; start again to go on")


def check_url(url: str) -> None:
    """Raise one of `FAILURES` unless `url` could be fetched now."""
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=_CHECK_SECONDS):
        return


def mismatch(path: Path, checksum: str) -> str:
    """What is wrong with a file; empty when it has the checksum ``<algorithm>:<hexadecimal digest>``."""
    algorithm, _, wanted = checksum.partition(":")
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    name = {"md5": "MD5", "sha256": "SHA-256"}.get(algorithm, algorithm)
    return "" if found == wanted else f"not the published file, as {name} is {found[:12]}…, expected {wanted[:12]}…"


def require_space(directory: Path, size: int, purpose: str) -> None:
    """Refuse to start what will not fit: `size` bytes must be free in the file system of `directory`."""
    existing = next(path for path in (directory, *directory.resolve().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < size:
        raise InputError(
            f"{purpose} needs {size / _GIGABYTE:.1f} GB and {free / _GIGABYTE:.1f} GB are free; free some or choose "
            "another disk",
            directory,
        )


def first_line(error: Exception) -> str:
    """The beginning of a message, for a list of reasons."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _fetch_resumed(url: str, part: Path) -> None:
    while True:
        have = part.stat().st_size if part.exists() else 0
        try:
            return fetch_url(url, part)
        except FAILURES as error:
            came = (part.stat().st_size if part.exists() else 0) - have
            if came <= 0:
                raise
            log.info("  %s; going on", first_line(error))


def _show_progress(name: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        percent = f" {100 * done // total} %" if total else ""
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r  {name}: {done >> 20} MB{percent}{end}")
