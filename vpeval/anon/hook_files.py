"""What the output of a hook depends on: files around it, files and variables that it names, and files that it opened.

Everything in the directory of a hook and below counts by content, and links are followed. So do files and directories
that its options name, its Python environment by the packages in it, and the variables of the environment that its
programs mention. A file ``depends`` in the directory lists what else counts, and what does not:

    ../shared/vocoder.pt      a file or directory, relative to the directory of the hook; may be a pattern
    $MODEL_DIR                a variable of the environment and, where it names a file or directory, that as well
    !notes/*                  what does not count: files, or a variable

While a hook runs, the files that it and its children have open are noted. Those that are no part of what is listed
above count from then on.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path

from vpeval.anon.hook_input import WHOLE_SET
from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.core.files import is_marked, write_text
from vpeval.core.places import ROOT
from vpeval.core.publish import BEGUN, INDEX, MARKER, STAMP, work_of

DEPENDS = "depends"
OPENED = "VPEVAL_HOOK_OPENED"
"""The variable that names the file to which a hook in Python adds what it opens."""
RECORD = ".hook_files.json"
"""In an anonymised set: the files that its hook had open, but for those that count anyway."""
_MOST_FILES = 10_000
_PASSING = {"__pycache__", ".git", ".hg", ".svn", "node_modules", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache"}
_LEFTOVERS = (".log", ".pyc", ".tmp", ".swp", "~", ".nbi", ".nbc", ".DS_Store")
_OURS = {MARKER, STAMP, INDEX}
_BESIDE = (".lock", ".originals")
"""Ends of the hidden files that this toolkit keeps next to a set."""
_UNFINISHED = work_of(Path("any")).suffix
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json"}
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/usr/", "/lib", "/bin/", "/sbin/", "/etc/", "/var/cache/")
_CACHES = {*_PASSING, "site-packages", "dist-packages", ".nv", ".triton", "matplotlib", "fontconfig"}
_OF_MACHINE = re.compile(
    r"PATH|HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|SHLVL|HOSTNAME|TERM|COLUMNS|LINES|LANG|TMP|TEMP|TMPDIR|IFS|RANDOM|SECONDS"
    r"|DISPLAY|UID|EUID|PPID|CUDA_VISIBLE_DEVICES|LOCAL_RANK|RANK|WORLD_SIZE|LD_LIBRARY_PATH"
    r"|(LC|XDG|SLURM|VPEVAL|PYTHON|BASH|CONDA|VIRTUAL)_?.*"
)
"""Variables that say where and how a program runs, and not what it does."""
_MENTIONED = re.compile(r"\$\{?([A-Z][A-Z0-9_]+)")
_ASSIGNED = re.compile(r"(?:^|[\s;(])(?:export\s+|local\s+|readonly\s+)?([A-Z][A-Z0-9_]+)=", re.MULTILINE)
_LONGEST_PROGRAM = 1 << 20


@dataclass(frozen=True)
class Dependencies:
    """Files, and variables of the environment with their values."""

    files: tuple[Path, ...]
    variables: dict[str, str]


def dependencies(hook: Path, options: Iterable[str] = ()) -> Dependencies:
    """What a hook with `options` depends on, as far as its directory, its options and its programs show."""
    home = hook.resolve().parent
    named, names, excluded = _read_depends(home / DEPENDS)
    own = directory_files(hook, excluded)
    mentioned = {name for file in own for name in _variables_of(file)}
    chosen = sorted({*names, *(name for name in mentioned if not _OF_MACHINE.fullmatch(name))})
    variables = {name: os.environ.get(name, "") for name in chosen if f"${name}" not in excluded}
    pointed = [path for value in variables.values() if value and (path := _path_of(value))]
    more = [*named, *(path for word in options if (path := _path_of(word.partition("=")[2] or word))), *pointed]
    found = [file for path in more for file in _files_below(path, home, excluded)]
    return Dependencies(tuple(dict.fromkeys([*own, *found, *_environment_files(hook)])), variables)


def directory_files(hook: Path, excluded: Iterable[str] = ()) -> list[Path]:
    """The files in the directory of a hook and below: programs, modules, settings and weights.

    Left-overs of programs, version control, what this toolkit made, and the files of Python environments but for their
    lists of packages are left out. In a directory that holds the toolkit, only the programs next to the hook count.
    """
    home = hook.resolve().parent
    if ROOT.is_relative_to(home):
        return [path for path in sorted(home.iterdir()) if path.is_file() and _is_program(path)]
    return list(_files_below(home, home, tuple(excluded)))


def _is_program(path: Path) -> bool:
    return path.suffix in _CODE_SUFFIXES or (not path.suffix and os.access(path, os.X_OK))


def _files_below(start: Path, home: Path, excluded: Iterable[str]) -> Iterator[Path]:
    """The files that count of a file or directory; links are followed, and every directory is visited once.

    A data directory counts as a whole, with the audio that it names.
    """
    if start.is_file() or (start / "wav.scp").is_file():
        yield start
        return
    seen: set[str] = set()
    count = 0
    for place, directories, names in os.walk(start, followlinks=True):
        here = Path(place)
        if os.path.realpath(here) in seen:
            directories[:] = []
            continue
        seen.add(os.path.realpath(here))
        if any((here / sign).exists() for sign in _ENVIRONMENTS):
            yield from _packages(here)
            directories[:] = []
            continue
        directories[:] = sorted(name for name in directories if name not in _PASSING and not _is_ours(here / name))
        for name in sorted(names):
            path = here / name
            passing = name in _OURS or name.endswith(_LEFTOVERS) or (name[0] == "." and name.endswith(_BESIDE))
            if passing or not path.is_file() or _matches(path, home, excluded):
                continue
            count += 1
            if count > _MOST_FILES:
                raise InputError(
                    f"has more than {_MOST_FILES} files, all of which count as parts of the hook; give it a directory "
                    f"of its own, or name what does not count in {home / DEPENDS}: !directory/*",
                    start,
                )
            yield path


def _is_ours(directory: Path) -> bool:
    """Whether this toolkit made a directory, has unfinished results there, or lies in it."""
    unfinished = directory.name.startswith(".") and directory.suffix == _UNFINISHED and is_marked(directory, BEGUN)
    made = (directory / MARKER).exists() or (directory / STAMP).exists()
    return unfinished or made or ROOT.is_relative_to(directory.resolve())


def _matches(path: Path, home: Path, patterns: Iterable[str]) -> bool:
    name = os.path.relpath(path, home)
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _path_of(word: str) -> Path | None:
    """The file or directory that a word names, from where hooks are started; one that holds the toolkit is none."""
    path = ROOT / os.path.expanduser(word)  # noqa: PTH111 (a Path would fail on an unknown user)
    try:
        there = bool(word) and path.exists()
    except (OSError, ValueError):  # too long, or with a zero byte: no path
        return None
    return path if there and (path.is_file() or not _holds_results(path)) else None


def _holds_results(directory: Path) -> bool:
    place = directory.resolve()
    return ROOT.is_relative_to(place) or place == ROOT / "exp" or place.is_relative_to(ROOT / "vpeval")


def _read_depends(file: Path) -> tuple[list[Path], list[str], tuple[str, ...]]:
    """The files, the variables and the exclusions of a file ``depends``; nothing where there is none."""
    paths, variables, excluded = list[Path](), list[str](), list[str]()
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.startswith("!"):
            excluded.append(line[1:].strip())
        elif line.startswith("$"):
            variables.append(line[1:].strip("{}"))
        elif line and not line.startswith("#"):
            pattern = os.path.join(file.parent, os.path.expanduser(line))  # noqa: PTH111, PTH118 (keeps **)
            start, *rest = re.split(r"/(?=[^/]*[*?\[])", pattern, maxsplit=1)
            found = sorted(Path(start).glob(rest[0])) if rest else [Path(pattern)]
            if not found or not found[0].exists():
                raise InputError(
                    f"'{line}' is not there, and the hook depends on it; put it there or fix the line", file, number
                )
            paths += found
    return paths, variables, tuple(excluded)


def _environment_files(hook: Path) -> list[Path]:
    """The lists of packages of the environment whose Python is in the first line of a hook."""
    with open(hook, "rb") as file:
        words = file.readline(1000).decode("utf-8", "replace").removeprefix("#!").split()
    program = Path(words[0]) if words else Path()
    home = program.parent.parent
    is_own = program.is_absolute() and any((home / sign).exists() for sign in _ENVIRONMENTS)
    return list(_packages(home)) if is_own else []


def _packages(environment: Path) -> Iterator[Path]:
    """The files by which an environment counts: its Python, and the lists of files of its packages."""
    patterns = ("pyvenv.cfg", "lib/python*/site-packages/*.dist-info/RECORD", "conda-meta/*.json")
    yield from (path for pattern in patterns for path in sorted(environment.glob(pattern)))


def _variables_of(file: Path) -> tuple[str, ...]:
    status = file.stat()
    if status.st_size > _LONGEST_PROGRAM or file.suffix not in ("", ".py", ".sh", ".bash"):
        return ()
    return _mentioned_in(file, status.st_mtime_ns)


@cache
def _mentioned_in(file: Path, changed: int) -> tuple[str, ...]:
    """The variables of the environment that a program mentions."""
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    if file.suffix == ".py" or (not file.suffix and "python" in text.partition("\n")[0]):
        try:
            return tuple(sorted(_read_in_python(ast.parse(text))))
        except (SyntaxError, ValueError):
            return ()
    if file.suffix or text.startswith("#!"):
        return tuple(sorted(set(_MENTIONED.findall(text)) - set(_ASSIGNED.findall(text))))
    return ()


def _read_in_python(tree: ast.AST) -> Iterator[str]:
    """Names in ``os.environ["X"]``, ``os.environ.get("X")`` and ``os.getenv("X")``, however they were imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _ends_with(node.value, "environ"):
            keys: list[ast.expr] = [node.slice]
        elif isinstance(node, ast.Call) and _reads_variable(node.func):
            keys = node.args[:1]
        elif isinstance(node, ast.Compare) and any(_ends_with(one, "environ") for one in node.comparators):
            keys = [node.left]
        else:
            continue
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _reads_variable(function: ast.expr) -> bool:
    """Whether this is getenv or a method of environ, such as get."""
    is_method = isinstance(function, ast.Attribute) and _ends_with(function.value, "environ")
    return is_method or _ends_with(function, "getenv")


def _ends_with(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def record_opened() -> None:
    """In a hook in Python: add the files that are opened from now on, and the modules that are there, to a list."""
    if OPENED not in os.environ:
        return
    target = os.open(os.environ[OPENED], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    work, seen = str(Path(os.environ.get(WHOLE_SET, "/nowhere/set")).parent), set[str]()

    def note(name: object) -> None:
        path = os.path.normpath(Path.cwd() / os.fsdecode(name)) if isinstance(name, str | bytes) else ""
        if path and path not in seen and not path.startswith((work, *_SYSTEM)):
            seen.add(path)
            os.write(target, f"{path}\n".encode())

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE == os.O_RDONLY:
            with suppress(OSError):
                note(arguments[0])

    for module in list(sys.modules.values()):
        note(getattr(module, "__file__", None))
    sys.addaudithook(audit)


def open_files(pid: int) -> set[str]:
    """The files that a process and its children have open for reading or in memory; none where there is no /proc."""
    found: set[str] = set()
    waiting = [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):  # it has ended in the meantime, or is somebody else's
            for task in sorted((process / "task").iterdir()):
                waiting += map(int, (task / "children").read_text().split())
            maps = (process / "maps").read_text().splitlines()
            found.update(line.split(maxsplit=5)[5] for line in maps if "/" in line)
            for file in sorted((process / "fd").iterdir()):
                with suppress(OSError):  # it was closed in the meantime
                    flags = (process / "fdinfo" / file.name).read_text().split()[3]
                    if int(flags, 8) & os.O_ACCMODE == os.O_RDONLY:
                        found.add(str(file.readlink()))
    return {name for name in found if name.startswith("/") and not name.startswith(_SYSTEM)}


def note_opened(file: Path, names: Iterable[str]) -> None:
    """Add names to a list of opened files."""
    with open(file, "a", encoding="utf-8", errors="surrogateescape") as target:
        target.writelines(f"{name}\n" for name in sorted(names))


def read_opened(
    lists: Iterable[Path], counted: Iterable[Path], before: float, work: Callable[[Path], bool]
) -> list[Path]:
    """The files of some lists that may have decided what a hook wrote and do not count anyway.

    Not what was written since the time `before`, what `work` says is the hook's data or output, caches, Python
    environments, modules of this toolkit and its models, which are verified when they are loaded. Paths in the toolkit
    are relative to it.
    """
    known = {os.path.realpath(path) for path in counted}
    store = models.store().resolve()
    found: set[Path] = set()
    for one in lists:
        for name in one.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            path = Path(_source(name))
            if str(path).startswith(_SYSTEM) or str(path) in known or not path.is_file():
                continue
            real = Path(os.path.realpath(path))
            if str(real) in known or real.stat().st_mtime >= before or real.is_relative_to(store):
                continue
            if real.is_relative_to(ROOT / "vpeval") or work(real) or _is_cached(real):
                continue
            found.add(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return sorted(found)[:_MOST_FILES]


def _source(name: str) -> str:
    """The module behind a compiled one."""
    if not name.endswith(".pyc"):
        return name
    try:
        return source_from_cache(name)
    except ValueError:
        return name


def _is_cached(path: Path) -> bool:
    parts = {*path.parts}
    return bool(parts & _CACHES) or path.name.endswith(_LEFTOVERS) or _in_environment(path.parent)


@cache
def _in_environment(directory: Path) -> bool:
    return any((place / sign).exists() for place in (directory, *directory.parents) for sign in _ENVIRONMENTS) or (
        directory.is_relative_to(Path(sys.base_prefix))
    )


def read_record(directory: Path) -> list[Path]:
    """The files that the hook of a set had open when it was made."""
    try:
        found = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [Path(name) for name in found if isinstance(name, str)] if isinstance(found, list) else []


def write_record(directory: Path, files: Iterable[Path]) -> None:
    """Note the files that a hook had open, in the directory of its set."""
    write_text(directory / RECORD, json.dumps([str(path) for path in files], indent=0) + "\n")


def digest_of(parts: dict[str, str]) -> str:
    """One SHA-256 for digests by name."""
    return hashlib.sha256("".join(f"{name}\0{parts[name]}\0" for name in sorted(parts)).encode()).hexdigest()
