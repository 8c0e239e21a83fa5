"""The chunks of a WAV file: what its header says, and whether the file is as long as that."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

_STREAMED = 0x7FFFF000
"""Sizes from here on are what programs write when they do not know the length yet."""


@dataclass(frozen=True)
class Wave:
    """A RIFF/WAVE header; `stated` bytes of samples should be there, `present` are; `declared` is the file's own size.

    `coding`, `channels`, `rate` and `bits` are 0 where no format stands before the samples.
    """

    coding: int
    channels: int
    rate: int
    bits: int
    stated: int
    present: int
    declared: int

    @property
    def is_cut(self) -> bool:
        """Whether samples are missing at the end."""
        return self.stated < _STREAMED and self.present < self.stated


def read_wave_header(file: BinaryIO) -> Wave | None:
    """Walk over the chunks to the samples; None where this is no WAV file or has no samples."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if len(head) < 12 or head[:4] not in (b"RIFF", b"RIFX") or head[8:12] != b"WAVE":
        return None
    order = ">" if head.startswith(b"RIFX") else "<"
    (declared,) = struct.unpack(f"{order}I", head[4:8])
    form = (0, 0, 0, 0, 0, 0)
    while len(header := file.read(8)) == 8:
        chunk, length = struct.unpack(f"{order}4sI", header)
        if chunk == b"data":
            coding, channels, rate, _, _, bits = form
            return Wave(coding, channels, rate, bits, length, size - file.tell(), declared + 8)
        content = file.read(16) if chunk == b"fmt " and length >= 16 else b""
        if len(content) == 16:
            form = struct.unpack(f"{order}HHIIHH", content)
        file.seek(length + length % 2 - len(content), os.SEEK_CUR)
    return None
