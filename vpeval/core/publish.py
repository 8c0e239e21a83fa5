"""Publishing a directory: nothing that is not ours is ever deleted.

Whatever this toolkit makes as a whole directory appears by one rename in the place of an older one. The place may be
free or empty, or hold what this toolkit published there: such a directory carries a marker, the list of its files, and
a file that is not on the list belongs to somebody else. A place that is an input, is in one or contains one is refused.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import is_marked, remove_marked, replace_directory, write_text

MARKER = ".made"
"""The list of the files of a published directory."""
STAMP = ".stamp.json"
"""What a published directory was made from; see `vpeval.jobs.stamps`."""

BEGUN = "fingerprint"
"""In a directory of unfinished results: what they are made from."""

INDEX = ".audio.json"
"""What was seen of the audio of a set; see `vpeval.jobs.audio_digest`."""

WRITTEN = "written"
"""In a stamp: the names of the files next to it that it is about."""

_OWN = {MARKER, STAMP, INDEX}
_NFS = ".nfs"  # what a network file system makes of files that were removed while they were open


def _nothing(name: str) -> bool:
    return False


def refuse_target(target: Path, inputs: Iterable[Path] = (), expendable: Callable[[str], bool] = _nothing) -> None:
    """Raise an InputError unless `target` can be replaced without the loss of anything that is not ours.

    `inputs` are files and directories that it is made from. `expendable` says whether a name in a target of
    ours may be removed although it is not on the list.
    """
    refuse_overlap(target, inputs)
    if target.is_symlink():
        raise InputError(f"is a link to {target.readlink()}; name the directory itself", target)
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError("is a file; choose another directory", target)
    made = _made(target)
    for name in _entries(target):
        first = name.split("/")[0]
        if name in _OWN or first.startswith(_NFS) or (made is not None and (name in made or expendable(first))):
            continue
        if made is None:
            raise InputError(
                f"holds '{first}' and was not made by this toolkit; choose another place, or remove it yourself if "
                "nothing in it is needed",
                target,
            )
        raise InputError(
            f"also holds '{name}', which this toolkit did not put there and which would be lost; move it away or "
            "choose another place",
            target,
        )


def refuse_overlap(target: Path, inputs: Iterable[Path]) -> None:
    """Raise an InputError if `target`, or a directory where it is made, is, contains or lies in an input."""
    place = _real(target)
    reserved = [place, work_of(place)]
    for given in inputs:
        path = _real(given)
        for directory in reserved:
            if path == directory:
                raise InputError("is an input of what would go there; choose another place", target)
            if directory in path.parents:
                raise InputError(f"contains {given}, an input of what would go there; choose another place", target)
        if path in place.parents and path.is_dir():
            raise InputError(f"lies in {given}, an input of what would go there; choose another place", target)


def publish(new: Path, target: Path, inputs: Iterable[Path] = (), expendable: Callable[[str], bool] = _nothing) -> None:
    """Put directory `new`, with a marker, in the place of `target`; see `refuse_target`."""
    refuse_target(target, inputs, expendable)
    mark(new)
    replace_directory(new, target)


def work_of(target: Path) -> Path:
    """The directory of what is unfinished of `target`; next to it, so that publishing is a rename."""
    return target.with_name(f".{target.name}.work")


def begin_work(target: Path, digest: str, go_on: bool = True) -> Path:
    """Have `work_of(target)` ready for what is made from `digest`; with `go_on`, what is there of the same is kept.

    A directory of that name that this toolkit did not make is an InputError.
    """
    work = work_of(target)
    begun = work / BEGUN
    if not (go_on and is_marked(work, BEGUN) and begun.is_file() and begun.read_text() == digest):
        end_work(target)
        if (work.exists() or work.is_symlink()) and not is_marked(work, BEGUN):
            message = "was not made by this toolkit and is where unfinished results go; move it away"
            raise InputError(message, work)
        work.mkdir(parents=True, exist_ok=True)
        write_text(begun, digest)
    return work


def end_work(target: Path) -> None:
    """Remove the directory of what is unfinished of `target`, if it is ours."""
    remove_marked(work_of(target), BEGUN)


def write_own(path: Path, text: str) -> None:
    """Write a text file whose place a person has named; a file there that this toolkit did not write stays."""
    claim_file(path)
    write_text(path, text)


def claim_file(path: Path) -> None:
    """Make one file ours to write; see `claim`."""
    if path.is_dir():
        raise InputError("is a directory; name a file", path)
    claim(path.parent, [path.name])


def claim(directory: Path, names: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Make files called `names` in `directory` ours to write, replace and remove; one that is there must be ours.

    For sets of files in a directory that may hold other things. They are noted before the first of them is written, so
    that an interrupted call can be repeated.
    """
    refuse_overlap(directory, inputs)
    names = list(names)
    made = _made(directory) or set()
    for name in names:
        if name not in made and (directory / name).exists():
            raise InputError(
                "was not made by this toolkit and would be replaced; move it away or choose another place",
                directory / name,
            )
    if not set(names) <= made:
        write_text(directory / MARKER, "".join(f"{name}\n" for name in sorted({*made, *names} - {""})))


def adopt(directory: Path) -> None:
    """Note that all files of a directory that its owner has fixed in place are ours."""
    if directory.is_dir():
        mark(directory)


def mark(directory: Path) -> None:
    """Note which files are there now: all of them are ours."""
    write_text(directory / MARKER, "".join(f"{name}\n" for name in sorted(_entries(directory)) if name not in _OWN))


@contextmanager
def staged_directory(
    target: Path, inputs: Iterable[Path] = (), expendable: Callable[[str], bool] = _nothing
) -> Iterator[Path]:
    """Yield an empty directory next to `target` (its parents are made); on success it is published as `target`."""
    inputs, target = list(inputs), _real(target)
    refuse_target(target, inputs, expendable)
    with _work_directory(target) as temporary:
        yield temporary
        publish(temporary, target, inputs, expendable)


@contextmanager
def replaced_directory(target: Path) -> Iterator[Path]:
    """The same for a directory that its owner has fixed in place: whatever it holds may be replaced."""
    target = _real(target)
    with _work_directory(target) as temporary:
        yield temporary
        replace_directory(temporary, target)


@contextmanager
def _work_directory(target: Path) -> Iterator[Path]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent) as outer:
        # One level deeper, as the outer directory is closed to others whatever the umask says.
        temporary = Path(outer) / target.name
        temporary.mkdir()
        yield temporary


def _made(directory: Path) -> set[str] | None:
    """The files that were published or written here by this toolkit; None where none is known.

    Stamps list them as well: directories that have no other marker are known by those.
    """
    found: list[set[str]] = []
    try:
        found.append(set((directory / MARKER).read_text(encoding="utf-8").split("\n")))
    except FileNotFoundError:
        found += filter(None, [_stamped(directory / STAMP, "files")])
    except UnicodeDecodeError:
        return None
    found += filter(None, [_stamped(stamp, WRITTEN) for stamp in directory.glob(f".*{STAMP.lstrip('.')}")])
    return set[str]().union(*found) if found else None


def _stamped(stamp: Path, key: str) -> set[str]:
    try:
        return {name.removeprefix("0/") for name in json.loads(stamp.read_text(encoding="utf-8"))[key]}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _entries(directory: Path) -> Iterator[str]:
    """Paths in `directory`, relative to it, of files, links and empty directories."""
    for root, directories, names in os.walk(directory):
        place = os.path.relpath(root, directory)
        links = [name for name in directories if Path(root, name).is_symlink()]
        for name in (*names, *links):
            yield name if place == "." else f"{place}/{name}"
        if not directories and not names and place != ".":
            yield place


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
