"""Processes that end with those who started them."""

from __future__ import annotations

import ctypes
import signal
import sys


def die_with_parent() -> None:
    """For ``preexec_fn``: have the kernel end this child when its parent dies, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGTERM)
