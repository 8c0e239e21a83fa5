"""Files: whole or absent when written, and read with errors that name file and line.

Files are written under a temporary name and renamed. Kaldi text tables (``utt2spk``, ``wav.scp``, ``text``, ``trials``,
``scores`` …) have one entry a line, the key first, fields separated by blanks; this is their only reader. Tables of
millions of lines are read by columns, block by block: whether every line of a block has as many fields as it should
follows from where fields begin and lines end, in a few passes over the bytes. An irregular block is read again line by
line, so that errors are the same. Arrays in .npz files are numbers and text, never pickled objects.
"""

from __future__ import annotations

import codecs
import glob
import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the directory of `path` (made if missing); rename it to `path` on success.

    On an exception the temporary file is removed and an existing `path` stays as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def replace_directory(new: Path, target: Path) -> None:
    """Put directory `new` in the place of `target`, which may exist.

    Two renames: a crash between them leaves `target` absent and `new` whole, never a mixture. The next call clears away
    what a crash left.
    """
    for left in target.parent.glob(f".{glob.escape(target.name)}.*{_OLD}"):
        remove_marked(left, _OLD)
    if not target.exists():
        new.rename(target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_OLD, dir=target.parent))
    (aside / _OLD).touch()
    target.rename(aside / target.name)
    new.rename(target)
    remove_marked(aside, _OLD)


_OLD = ".old"


def is_marked(directory: Path, marker: str) -> bool:
    """Whether a directory is ours: it holds the file `marker`, or nothing but such a file that is being written."""
    if directory.is_symlink() or not directory.is_dir():
        return False
    unfinished = f".{marker}."
    return (directory / marker).is_file() or all(path.name.startswith(unfinished) for path in directory.iterdir())


def remove_marked(directory: Path, marker: str) -> None:
    """Remove a directory if it is ours; the marker goes last, so that the rest of an interrupted call is known."""
    if not is_marked(directory, marker):
        return
    for path in directory.iterdir():
        if path.name != marker:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    with suppress(OSError):  # a network file system keeps files that are open; the next call clears them away
        (directory / marker).unlink(missing_ok=True)
        directory.rmdir()


_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def refuse_irregular(path: str | os.PathLike[str], status: os.stat_result) -> None:
    """Raise an InputError for what is no file on a disk: some devices never end, and a FIFO waits for a writer."""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise InputError(f"is {kind} where a file is needed; put a regular file there", path)


def file_sha256(file: str | os.PathLike[str], status: os.stat_result, again: bool = False) -> str:
    """The SHA-256 of a file in the state `status`, remembered for steps that share an input.

    `again`: the file is read whatever is remembered.
    """
    name = os.fspath(file)
    refuse_irregular(name, status)
    return _read(name) if again else _known(name, status.st_size, times_of(status), status.st_ino)


def is_verifying() -> bool:
    """Whether what was noted of files earlier must not be used: VPEVAL_VERIFY."""
    text = os.environ.get("VPEVAL_VERIFY", "false")
    if text not in ("true", "false"):
        raise InputError(f"VPEVAL_VERIFY={text}: expected true or false")
    return text == "true"


def times_of(status: os.stat_result) -> str:
    """When a file was changed: its content (mtime), which programs may set as they like, and anything of it (ctime)."""
    return f"{status.st_mtime_ns} {status.st_ctime_ns}"


@cache
def _known(name: str, size: int, times: str, inode: int) -> str:
    return _read(name)


def _read(name: str) -> str:
    with open(name, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


_ROWS = 1 << 14


def read_lines(path: str | PathLike[str], blanks: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file; blank lines are errors, or skipped (`blanks`)."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (IsADirectoryError, NotADirectoryError):
        raise InputError("is not a file", path) from None
    yield from _lines_of(raw, path, 1, blanks)


def read_rows(path: str | PathLike[str], *names: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of lines that have exactly the fields `names`.

    ``for line, (spk, utt, label) in read_rows(trials, "speaker", "utterance", "target|nontarget"): …``
    """
    yield from _rows(read_lines(path), path, names)


def parse_rows(raw: bytes, path: str | PathLike[str], first: int, *names: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of some lines of file `path`, the first of which has the number `first`."""
    yield from _rows(_lines_of(raw, path, first), path, names)


def _lines_of(raw: bytes, path: str | PathLike[str], first: int, blanks: bool = False) -> Iterator[tuple[int, str]]:
    if not raw:
        return
    if first == 1:
        raw = raw.removeprefix(codecs.BOM_UTF8)  # of an editor; it is no part of the first key
    for number, line in enumerate(raw.removesuffix(b"\n").split(b"\n"), start=first):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; is this the right file?", path, number) from None
        if "\0" in text:
            raise InputError("holds a NUL byte; is this a text file?", path, number)
        if not text.strip():
            if blanks:
                continue
            raise InputError("blank line; remove it", path, number)
        yield number, text.rstrip("\r")


def _rows(
    lines: Iterator[tuple[int, str]], path: str | PathLike[str], names: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    for number, text in lines:
        fields = text.split()
        if len(fields) != len(names):
            wanted = " ".join(f"<{name}>" for name in names)
            raise InputError(f"{len(fields)} fields where {len(names)} are expected: {wanted}", path, number)
        yield number, fields


def read_table(path: str | PathLike[str], value: str = "value", empty: bool = False) -> dict[str, str]:
    """Read ``<key> <value …>`` lines into a dict in file order; the value is the rest of the line.

    `value` names the second field in errors; with `empty` a key may stand alone (as in ``text``).
    """
    table: dict[str, str] = {}
    for number, text in read_lines(path):
        key, *rest = text.split(maxsplit=1)
        if not rest and not empty:
            raise InputError(f"'{key}' has no {value}; expected <key> <{value}>", path, number)
        if key in table:
            raise InputError(f"'{key}' appears twice; keep one line", path, number)
        table[key] = rest[0].rstrip() if rest else ""
    return table


def to_number(text: str) -> float:
    """A number as files have it; what only Python reads as one, such as 1_0, is a ValueError.

    >>> to_number("-1.5e-3")
    -0.0015
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"'{text}' is not a number")
    return float(text)


def is_pipe(entry: str) -> bool:
    """Whether a wav.scp entry is a command whose output is the audio (``flac -dcs x.flac |``)."""
    return entry.rstrip().endswith("|")


def write_table(path: str | PathLike[str], table: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
    """Write ``<key> <value>`` lines, sorted by key in the C locale, atomically."""
    rows = table.items() if isinstance(table, Mapping) else table
    ordered = sorted(rows, key=itemgetter(0))  # Python orders text as its bytes in UTF-8 are ordered
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for start in range(0, len(ordered), _ROWS):
            file.write("".join([f"{k} {v}".rstrip() + "\n" for k, v in ordered[start : start + _ROWS]]))


_BLOCK = 1 << 22


def read_columns(path: str | PathLike[str], *names: str) -> list[list[str]]:
    """The columns of a file whose lines have exactly the fields `names`; row i stands on line i + 1.

    ``utts, speakers = read_columns("data/dev/utt2spk", "utterance", "speaker")``
    """
    columns: list[list[str]] = [[] for _ in names]
    for _, block in column_blocks(path, *names):
        for column, part in zip(columns, block, strict=True):
            column += part
    return columns


def column_blocks(path: str | PathLike[str], *names: str) -> Iterator[tuple[int, list[list[str]]]]:
    """The columns of one block of lines after the other, each with the number of its first line."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below; errors of opening are not those of reading)
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (IsADirectoryError, NotADirectoryError):
        raise InputError("is not a file", path) from None
    with file:
        first, left = 1, b""
        while chunk := file.read(_BLOCK):
            whole, newline, rest = chunk.rpartition(b"\n")
            if not newline:
                left += chunk
                continue
            block, left = left + whole + newline, rest
            yield first, _columns(block, path, first, names)
            first += block.count(b"\n")
        if left:
            yield first, _columns(left + b"\n", path, first, names)


def _columns(block: bytes, path: str | PathLike[str], first: int, names: tuple[str, ...]) -> list[list[str]]:
    width = len(names)
    import numpy as np  # which takes longer to import than small files to read

    if _is_regular(np.frombuffer(block, np.uint8), width):
        fields = block.decode("ascii").split()
    else:
        fields = [field for _, row in parse_rows(block, path, first, *names) for field in row]
    return [fields[i::width] for i in range(width)]


def _is_regular(text: np.ndarray, width: int) -> bool:
    """Whether all is printable ASCII, blanks, tabs and line ends, and every line has `width` fields."""
    import numpy as np

    if int(text.max()) >= 0x7F:
        return False
    blank = text <= 0x20
    known = (text == 0x20) | (text == 0x0A) | (text == 0x09) | (text == 0x0D)
    if not np.array_equal(blank, known):
        return False
    ends = np.flatnonzero(text == 0x0A)
    begins = np.flatnonzero(~blank & np.concatenate(([True], blank[:-1])))
    if len(begins) != width * len(ends):
        return False
    # The last field of a line begins before the line ends, and the first of the next one after it.
    return bool((begins[width - 1 :: width] < ends).all() and (begins[width::width] > ends[:-1]).all())


def read_arrays(
    path: str | PathLike[str], what: str, again: str, dimensions: Mapping[str, int] | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays of a file that should hold `what`; anything else is an InputError that says what to do (`again`).

    Those in `dimensions` must be there, with that many dimensions; their numbers must be finite.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise InputError(f"no such file; {again}", path) from None
    except (
        OSError,
        ValueError,
        EOFError,
        AttributeError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise InputError(f"holds no {what} ({_first_line(error)}); {again}", path) from None
    for name, count in (dimensions or {}).items():
        if name not in arrays or arrays[name].ndim != count or not _is_usable(arrays[name]):
            raise InputError(f"holds no {what} (it has no '{name}' of the right kind); {again}", path)
    return arrays


def _is_usable(array: np.ndarray[Any, Any]) -> bool:
    import numpy as np

    return array.dtype.kind == "U" or (array.dtype.kind in "fiu" and bool(np.isfinite(array).all()))


def _first_line(error: Exception) -> str:
    if "pickle" in str(error):
        return "it is no file of arrays, or one of objects, which are not opened"
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
