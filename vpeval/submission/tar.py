"""The members of a tar archive of unknown origin, one after the other, in bounded memory.

Python's own reader takes extended headers, lists of sparse blocks and chains of both into memory whole, however large
an archive says that they are. Here a header has a limit, nothing but plain files and directories is opened, and what is
packed may not be much larger than the archive: speech cannot be compressed to a fiftieth.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 18
_HEADER, _HEADERS = 1 << 16, 20
_RATIO, _SLACK = 50, 16 << 20
_LARGEST = 128 << 30
_NUMBER = re.compile(rb"[0-9]{1,15}")
_NO_TAR = "is no whole tar archive"
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_EXTENDED = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)


class Broken(Exception):
    """An archive that cannot be read to its end, or is better not."""


@dataclass
class Member:
    """A file, a directory or something else (`kind` is "file", "directory" or "other"), to be read before the next."""

    name: str
    kind: str
    size: int
    _stream: _Stream
    _left: int

    def chunks(self) -> Iterator[bytes]:
        """Its content, a part at a time."""
        while self._left:
            chunk = self._stream.exactly(min(self._left, _CHUNK))
            self._left -= len(chunk)
            yield chunk

    def skip(self) -> None:
        """Pass over what has not been read, and over what fills up the last block."""
        for _ in self.chunks():
            pass
        self._stream.exactly(-self.size % _BLOCK)


def members(path: Path) -> Iterator[Member]:
    """The members of a tar archive, compressed by gzip or not; what is no whole archive is `Broken`."""
    with open(path, "rb") as raw:
        yield from _members(_Stream(raw))


def _members(stream: _Stream) -> Iterator[Member]:
    extended: dict[str, bytes] = {}
    headers = 0
    while any(block := stream.exactly(_BLOCK)):
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.TarError as error:
            raise Broken(f"{_NO_TAR} ({error})") from None
        if header.size < 0:
            raise Broken(f"has a member of {header.size} bytes")
        if header.type in _EXTENDED:
            extended |= _extended(stream, header)
            headers += 1
            if headers > _HEADERS:
                raise Broken(f"has more than {_HEADERS} headers before a member")
            continue
        size = int(extended["size"]) if _NUMBER.fullmatch(extended.get("size", b"")) else header.size
        name = extended["path"].decode("utf-8", "surrogateescape") if "path" in extended else header.name
        kind = "file" if header.type in _FILES else "directory" if header.isdir() else "other"
        if "sparse" in extended:
            kind = "other"
        extended, headers = {}, 0
        has_content = header.type not in (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
        size = size if has_content else 0
        member = Member(name, kind, size, stream, size)
        yield member
        member.skip()
    # The check sum of the compression follows at the end, and nothing else should.
    while chunk := stream.read(_CHUNK):
        if any(chunk):
            raise Broken("goes on after the end of the archive in it")


def _extended(stream: _Stream, header: tarfile.TarInfo) -> dict[str, bytes]:
    """What a header in front of a member says about it: its path and size, and whether it is a sparse file."""
    if header.size > _HEADER:
        raise Broken(f"has a header of {header.size} bytes, where {_HEADER} are plenty")
    content = stream.exactly(header.size + -header.size % _BLOCK)[: header.size]
    if header.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": content.rstrip(b"\0")}
    if header.type in (tarfile.GNUTYPE_LONGLINK, tarfile.XGLTYPE):
        return {}
    found: dict[str, bytes] = {}
    while content:
        length, _, rest = content.partition(b" ")
        end = int(length) if _NUMBER.fullmatch(length) else 0
        if not len(length) < end <= len(content):
            raise Broken("has a damaged header")
        key, _, value = rest[: end - len(length) - 2].partition(b"=")
        if key.startswith(b"GNU.sparse"):
            found["sparse"] = b"yes"
        elif key in (b"path", b"size"):
            found[key.decode()] = value
        content = content[end:]
    return found


class _Stream:
    """The bytes of an archive, uncompressed and counted."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        self._file = gzip.GzipFile(fileobj=raw) if packed else raw
        self._total = 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; nothing at the end."""
        try:
            chunk = self._file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise Broken(f"{_NO_TAR} ({error})") from None
        self._total += len(chunk)
        most = min(_LARGEST, _SLACK + _RATIO * self._raw.tell())
        if self._total > most:
            raise Broken(f"holds more than {most >> 20} MB in {self._raw.tell() / 1e6:.1f} MB, and was read no further")
        return chunk

    def exactly(self, size: int) -> bytes:
        """`size` bytes."""
        chunk = self.read(size)
        while len(chunk) < size:
            more = self.read(size - len(chunk))
            if not more:
                raise Broken(f"{_NO_TAR} (it ends too early)")
            chunk += more
        return chunk
