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
from vpeval.core.files import replace_directory, write_text

MARKER = ".made"
"""The list of the files of a published directory."""
STAMP = ".stamp.json"
"""What a published directory was made from; see `vpeval.jobs.stamps`."""

INDEX = ".audio.json"
"""What was seen of the audio of a set; see `vpeval.jobs.audio_digest`."""

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
    reserved = [place, *(place.with_name(f".{place.name}.{kind}") for kind in ("work", "old"))]
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
    """The files that were published here; None where nothing was.

    A stamp lists them as well: directories that have no other marker are known by it.
    """
    try:
        return set((directory / MARKER).read_text(encoding="utf-8").split("\n"))
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        return None
    try:
        return {
            name.removeprefix("0/") for name in json.loads((directory / STAMP).read_text(encoding="utf-8"))["files"]
        }
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None


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
