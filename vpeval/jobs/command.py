"""One command behind ``$cmd``: started by the launcher, its output in a log."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from os import environ
from pathlib import Path

from vpeval.core.errors import InputError

FREE_MEMORY_SELDOM = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "67108864",
}
"""For training: giving memory back to the system after every step would cost a third of the time."""


def launcher(cmd: str) -> list[str]:
    """The words of a launcher such as ``utils/run.py --max-jobs-run 4``."""
    try:
        return shlex.split(cmd)
    except ValueError as error:
        raise InputError(f"launcher {cmd}: {error}") from None


def run_command(
    cmd: str,
    log: Path,
    command: Sequence[str],
    threads: int = 1,
    variables: Mapping[str, str] | None = None,
    request: Sequence[str] = (),
) -> None:
    """Run one command by the launcher `cmd`; a failure is an InputError that names the log.

    `request` are further options of the launcher, such as ``--num-nodes 2``.
    """
    line = [*launcher(cmd), "--num-threads", str(threads), *request, str(log), *command]
    if subprocess.run(line, check=False, env={**environ, **(variables or {})}).returncode:
        name = Path(command[0]).stem
        raise InputError(f"{name} failed (see above); fix the cause and run the same command again", log)
