"""The code that a result depends on, found from the object that makes it.

The code of a function, class or module is its own module and everything of the toolkit that this imports, directly or
not, wherever the import stands. A module counts by what it computes: comments, docstrings, annotations, formatting,
log messages and the words of errors are left out, and so is what is imported for annotations only. Packages that
compute (numpy, torch …) count by their versions where the code imports them.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from vpeval.core.lazy import Deferred
from vpeval.core.places import ROOT

Maker = Callable[..., object] | ModuleType | Deferred | Path
"""What makes a result: a function, a class, a module, an object that is imported later, or a file of Python."""

_PACKAGE = "vpeval"
_COMPUTING = {
    **{name: (name,) for name in ("numpy", "scipy", "torch", "torchaudio", "soundfile", "kaldiio", "onnxruntime")},
    **{name: (name,) for name in ("vosk", "inflect", "pystoi", "speechmos")},
    "speechbrain": ("speechbrain", "torchaudio"),
    "kaldi_native_fbank": ("kaldi-native-fbank",),
    "transformers": ("transformers",),
    "hyperpyyaml": ("hyperpyyaml",),
    "librosa": ("librosa", "numba", "soxr"),
    "faster_whisper": ("faster-whisper", "ctranslate2", "tokenizers"),
}
"""Packages whose version can change a result, and those that they compute with, by the name under which they are
imported."""
_VARIABLES = {"OPENBLAS_NUM_THREADS": "1"}
"""Environment variables that can change the last digits of a result, and the value that path.sh gives them."""
_MEASURES = "measures"
_DRIVING = ("plan", "stages")
"""Packages that say what is made, whose functions count where they take part in a result."""
_MESSAGES = {"debug", "info", "warning", "error", "exception", "critical"}
_TELLING_ANNOTATIONS = {"ClassVar", "InitVar", "KW_ONLY"}


def code_of(makers: Iterable[Maker]) -> dict[str, str]:
    """A digest of every file of the toolkit that `makers` depend on, by its path from the root of the toolkit."""
    files = sorted({file for maker in makers for file in closure(_file_of_maker(maker))})
    return {_name(file): _read(file).digest for file in files}


def software_of(makers: Iterable[Maker]) -> dict[str, str]:
    """Versions of the packages that compute, where `makers` use them, and variables of the environment that matter."""
    files = {file for maker in makers for file in closure(_file_of_maker(maker))}
    imported = {name.partition(".")[0] for file in files for name in _read(file).imports}
    versions = {dist: _version(dist) for name in sorted(imported & _COMPUTING.keys()) for dist in _COMPUTING[name]}
    chosen = {name: os.environ.get(name) or usual for name, usual in _VARIABLES.items()} if "numpy" in imported else {}
    return versions | {name: value for name, value in chosen.items() if value != _VARIABLES[name]}


@cache
def closure(start: Path) -> tuple[Path, ...]:
    """The files behind a file of Python, itself included."""
    found: dict[Path, None] = {}
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = None
            waiting += _imported(file)
    return tuple(sorted(found))


def _name(file: Path) -> str:
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)


def _file_of_maker(maker: Maker) -> Path:
    if isinstance(maker, Path):
        return maker.resolve()
    name = maker.__name__ if isinstance(maker, ModuleType) else getattr(maker, "module", "") or maker.__module__
    file = _file_of(name)
    if file is None:
        raise ValueError(f"{maker!r} is not a part of {_PACKAGE}")
    return file


def definition_of(function: Callable[..., object]) -> dict[str, str]:
    """A digest of one function alone, whatever the rest of its module is and imports.

    For the few lines of a stage that call what computes: a `partial` stands for its function, a lambda has no name.
    """
    found = _unwrapped(function)
    name = found.__qualname__
    if "<lambda>" in name:
        raise ValueError(f"{name}: give a named function")
    tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    return {f"{_name(Path(inspect.getfile(found)).resolve())}:{name}": _digest_of(tree)}


def driving_code(functions: Iterable[Callable[..., object]], makers: Iterable[Maker]) -> dict[str, str]:
    """Digests of what plan and stages contribute to a result: `functions` of a stage, and all that they lead to.

    Whole modules would be too much: they are about all results. So single functions, methods and constants count: those
    of plan and stages that `functions` and the measures behind `makers` name, and those that these name in turn. A
    method counts wherever its name appears as an attribute.
    """
    found: dict[str, _Definition] = {}
    parts = {file: _definitions(file, file.stat().st_mtime_ns) for file in _driving_files()}
    waiting = [_own_definition(_unwrapped(function), parts) for function in functions]
    found |= {one.place: one for one in waiting if one.digest}
    files = {file for maker in makers for file in closure(_file_of_maker(maker))}
    waiting += [_mentions(file, file.stat().st_mtime_ns) for file in sorted(files) if _folder(file) == _MEASURES]
    members: dict[str, list[_Definition]] = {}
    for part in parts.values():
        for name, one in part.members:
            members.setdefault(name, []).append(one)
    while waiting:
        now = waiting.pop()
        leads = [one for name in now.attributes for one in members.get(name, ())]
        own_part = parts.get(ROOT / now.place.partition(":")[0])
        for name in now.names if own_part else ():
            place = own_part.imports.get(name, (ROOT / now.place.partition(":")[0], name)) if own_part else None
            if place and (other := parts.get(place[0])) and place[1] in other.tops:
                leads.append(other.tops[place[1]])
        for one in leads:
            if one.place not in found:
                found[one.place] = one
                waiting.append(one)
    return {place: one.digest for place, one in found.items()}


def _unwrapped(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, partial):
        function = function.func
    found: Callable[..., object] = getattr(function, "__func__", function)
    return found


class _Definition(NamedTuple):
    """A function, method or constant: where it is, a SHA-256 of what it computes, and what it names."""

    place: str
    digest: str
    names: frozenset[str]
    attributes: frozenset[str]


class _Part(NamedTuple):
    """A module of plan or stages: what is defined at its top, the methods of its classes, and what it imports."""

    tops: dict[str, _Definition]
    members: tuple[tuple[str, _Definition], ...]
    imports: dict[str, tuple[Path, str]]


def _folder(file: Path) -> str:
    return file.parent.name if file.parent.parent == ROOT / _PACKAGE else ""


def _driving_files() -> list[Path]:
    return [file for folder in _DRIVING for file in sorted((ROOT / _PACKAGE / folder).glob("*.py"))]


@cache
def _definitions(file: Path, changed: int) -> _Part:
    """What a module defines, in the state of a time."""
    tree = ast.parse(file.read_bytes())
    tops, members = dict[str, _Definition](), list[tuple[str, _Definition]]()
    imports: dict[str, tuple[Path, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and (source := _file_of(node.module)):
            imports |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            tops[node.name] = _definition(file, node.name, node)
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            members += [(one.name, _definition(file, f"{node.name}.{one.name}", one)) for one in methods]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id != "log":
                    tops[target.id] = _definition(file, target.id, node)
    return _Part(tops, tuple(members), imports)


def _definition(file: Path, name: str, node: ast.stmt) -> _Definition:
    names, attributes = _named(node), _attributes(node)
    return _Definition(f"{_name(file)}:{name}", _digest_of(ast.Module([node], [])), names, attributes)


def _own_definition(function: Callable[..., object], parts: Mapping[Path, _Part]) -> _Definition:
    """The definition of a function of plan or stages, or of that around it; of any other, what it mentions."""
    file, name = _file_of(function.__module__), function.__qualname__.partition(".<locals>")[0]
    if file and (part := parts.get(file)):
        place = f"{_name(file)}:{name}"
        everything = (*part.tops.values(), *(one for _, one in part.members))
        if own := next((one for one in everything if one.place == place), None):
            return own
    return _mentions_of(function)


@cache
def _mentions_of(function: Callable[..., object]) -> _Definition:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return _Definition(_name(Path(inspect.getfile(function)).resolve()), "", _named(tree), _attributes(tree))


@cache
def _mentions(file: Path, changed: int) -> _Definition:
    tree = ast.parse(file.read_bytes())
    return _Definition(_name(file), "", frozenset(), _attributes(tree))


def _named(tree: ast.AST) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _attributes(tree: ast.AST) -> frozenset[str]:
    return frozenset(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def program_digest(file: Path) -> str:
    """SHA-256 of a program of Python that somebody else may have written, without comments and formatting.

    What it prints, its docstrings and its annotations may decide what it does. Empty where it cannot be read here.
    """
    try:
        return hashlib.sha256(ast.dump(ast.parse(file.read_bytes())).encode()).hexdigest()
    except (SyntaxError, ValueError):
        return ""


class _Module(NamedTuple):
    """What is known of a file of Python: a SHA-256 of what it computes, and the modules that it imports."""

    digest: str
    imports: tuple[str, ...]


def _read(file: Path) -> _Module:
    return _read_as_of(file, file.stat().st_mtime_ns)


@cache
def _read_as_of(file: Path, changed: int) -> _Module:
    """Read a file that was last changed at a time; its syntax tree is not kept, as it is large."""
    tree = ast.parse(file.read_bytes())
    digest = _digest_of(tree)
    return _Module(digest, tuple(sorted(set(_names(tree)))))


def _digest_of(tree: ast.Module) -> str:
    """SHA-256 of what a tree computes; everything else is removed from it."""
    _strip(tree)
    parts: list[str] = []
    _dump(tree, parts)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _imported(file: Path) -> tuple[Path, ...]:
    """Files of the toolkit that a file imports, with the packages they are in."""
    files = {path for name in _read(file).imports for path in _with_packages(name)}
    return tuple(sorted(files))


def _names(tree: ast.AST) -> Iterator[str]:
    """Names of imported modules; what is imported from a package may be a module as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
            yield from (str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant))


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


@cache
def _version(distribution: str) -> str:
    """The version of an installed package, without the part that names a build such as +cpu."""
    try:
        return metadata.version(distribution).partition("+")[0]
    except metadata.PackageNotFoundError:
        return "not installed"


def _strip(tree: ast.AST) -> None:
    """Remove statements that do not compute, everywhere in a tree."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                setattr(node, name, [part for one in block for part in _kept(one)])


def _kept(statement: ast.stmt) -> list[ast.stmt]:
    """What is left of a statement."""
    if isinstance(statement, ast.If) and _is_type_checking(statement.test):
        return statement.orelse
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return []
    if isinstance(statement, ast.Expr) and (isinstance(statement.value, ast.Constant) or _is_message(statement.value)):
        return []
    return [statement]


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _is_message(value: ast.expr) -> bool:
    """Whether an expression is a call of ``log.info(…)`` or ``print(…)`` that does nothing else."""
    if not isinstance(value, ast.Call) or any(isinstance(part, ast.NamedExpr) for part in ast.walk(value)):
        return False
    called = value.func
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id in ("log", "logging") and called.attr in _MESSAGES
    return isinstance(called, ast.Name) and called.id == "print"


def _dump(node: ast.AST, parts: list[str], error: bool = False) -> None:
    """Append the tree in words that are the same in all versions of Python; inside a `raise`, text is left out."""
    error = error or isinstance(node, ast.Raise)
    if error and (isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))):
        parts.append("message")
        return
    parts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None or value == [] or name in ("ctx", "returns", "type_comment", "type_ignores", "type_params"):
            continue
        if name == "annotation" and not _matters(value):
            continue
        parts.append(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                _dump(one, parts, error)
            else:
                parts.append(repr(one))
    parts.append(")")


def _matters(annotation: ast.AST) -> bool:
    """Whether an annotation decides what a dataclass does."""
    return any(
        (isinstance(node, ast.Name) and node.id in _TELLING_ANNOTATIONS)
        or (isinstance(node, ast.Attribute) and node.attr in _TELLING_ANNOTATIONS)
        for node in ast.walk(annotation)
    )
