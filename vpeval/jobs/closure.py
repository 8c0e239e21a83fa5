"""The code that a step depends on: the import closure of its entry point, found by reading the modules.

Every ``import vpeval…`` counts, wherever it stands: a module that is imported late, to start fast, is code as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = "vpeval"


@cache
def closure(entry: str) -> tuple[Path, ...]:
    """The files behind a module (``vpeval.protocols.srd``) or a script (``steps/jobs/embed.py``), itself included."""
    start = ROOT / entry if entry.endswith(".py") else _file_of(entry)
    if start is None or not start.is_file():
        raise ValueError(f"no such module or script: {entry}")
    found: dict[Path, None] = {}
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = None
            waiting += _imported(file)
    return tuple(sorted(found))


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """Files of the library that a file imports, with the packages they are in."""
    files = {path for name in _names(ast.parse(file.read_bytes())) for path in _with_packages(name)}
    return tuple(sorted(files))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _with_packages(name: str) -> Iterator[Path]:
    parts = name.split(".")
    if parts[0] != _PACKAGE:
        return
    for length in range(1, len(parts) + 1):
        if file := _file_of(".".join(parts[:length])):
            yield file


@cache
def _file_of(name: str) -> Path | None:
    """The file of a module; None where the name is something inside a module."""
    place = ROOT.joinpath(*name.split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file
    return None
