"""Archives of public corpora (conf/corpora.yaml): fetched, verified and unpacked, or found where they are.

The directory of a corpus appears under its name in one rename when it is whole, so that a killed call leaves nothing
that looks like the corpus.
"""

from __future__ import annotations

import logging
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.config import read_yaml
from vpeval.core.errors import InputError
from vpeval.core.files import file_sha256
from vpeval.core.models import download, mismatch, require_space
from vpeval.core.places import CONF

log = logging.getLogger(__name__)
_FIELDS = {"title", "urls", "checksum", "bytes", "unpacked", "into", "makes", "how"}


@dataclass(frozen=True)
class Archive:
    """An entry of corpora.yaml; without `urls` it needs a registration, and `how` says where.

    Where nobody publishes a checksum it is empty: what was fetched is named by its SHA-256, for comparison.
    """

    name: str
    title: str
    makes: str
    urls: tuple[str, ...] = ()
    checksum: str = ""
    bytes: int = 0
    unpacked: int = 0
    into: str = "."
    how: str = ""

    @property
    def file(self) -> str:
        """Name of the archive file."""
        return f"{self.name}.zip" if any(".zip" in url for url in self.urls) else f"{self.name}.tar.gz"


def read_archives(path: Path = CONF / "corpora.yaml") -> dict[str, Archive]:
    """All entries of a corpora.yaml."""
    try:
        archives = {}
        for name, entry in read_yaml(path).items():
            if unknown := entry.keys() - _FIELDS:
                raise KeyError(*unknown)
            archives[name] = Archive(name, **{**entry, "urls": tuple(entry.get("urls", ()))})
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"is not a list of corpora ({error!r}); see the comments in conf/corpora.yaml", path) from None
    return archives


def choose_archives(names: Sequence[str], path: Path = CONF / "corpora.yaml") -> list[Archive]:
    """The entries called `names`."""
    archives = read_archives(path)
    if unknown := [name for name in names if name not in archives]:
        raise InputError(f"no corpus '{unknown[0]}' in {path}; there are {', '.join(archives)}")
    return [archives[name] for name in names]


def is_there(archive: Archive, to: Path) -> bool:
    """Whether `to` holds what the archive makes."""
    return next(to.glob(archive.makes), None) is not None


def obtain(archives: Sequence[Archive], to: Path, keep: bool = False) -> list[Archive]:
    """Bring directory `to` up to date with `archives`; return the missing ones that need a registration.

    The free space for everything that is missing is checked before anything is fetched. Archives fetched by this call
    are removed when they are unpacked, unless `keep`; others stay.
    """
    for archive in archives:
        if is_there(archive, to):
            log.info("%s: is there (%s)", archive.title, to / archive.makes)
    missing = [archive for archive in archives if not is_there(archive, to)]
    wanted = [archive for archive in missing if archive.urls]
    size = sum(archive.unpacked + _still_to_come(archive, to) for archive in wanted)
    if wanted:
        require_space(to, size, "with " + ", ".join(archive.title for archive in wanted) + ", this directory")
    for archive in wanted:
        _obtain(archive, to, keep)
    return [archive for archive in missing if not archive.urls]


def _still_to_come(archive: Archive, to: Path) -> int:
    have = [file for file in (to / archive.file, to / f".{archive.file}.part") if file.is_file()]
    return max(0, archive.bytes - max((file.stat().st_size for file in have), default=0))


def _obtain(archive: Archive, to: Path, keep: bool) -> None:
    file = to / archive.file
    ours = not file.is_file()
    if ours:
        log.info("%s: fetching %.1f GB", archive.title, archive.bytes / 1e9)
        download(archive.urls, file, archive.checksum)
    elif archive.checksum and (wrong := mismatch(file, archive.checksum)):
        raise InputError(f"{wrong}; remove it, and it is fetched again", file)
    if not archive.checksum:
        digest = file_sha256(file, file.stat())
        log.info("%s: nobody publishes a checksum; this file has SHA-256 %s", archive.title, digest)
    log.info("%s: unpacking", archive.title)
    work = to / f".{archive.name}.unpack"
    shutil.rmtree(work, ignore_errors=True)
    _unpack(file, work / archive.into)
    _move_in(work, to, archive)
    if ours and not keep:
        file.unlink()


def _unpack(file: Path, into: Path) -> None:
    into.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as packed:
                packed.extractall(into)  # refuses absolute names and leaves out ".." by itself
        else:
            with tarfile.open(file) as packed_tar:
                packed_tar.extractall(into, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError) as error:
        raise InputError(f"cannot be unpacked ({error}); remove it, and it is fetched again", file) from None


def _move_in(work: Path, to: Path, archive: Archive) -> None:
    """Move what was unpacked to its place: first other files (SPEAKERS.TXT), then the directory of the corpus."""
    whole = work / archive.makes
    if not whole.exists():
        raise InputError(f"the archive of {archive.title} holds no {archive.makes}; has its layout changed?", work)
    for path in sorted(work.rglob("*")):
        if path.is_file() and not path.is_relative_to(whole):
            target = to / path.relative_to(work)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                path.replace(target)
    (to / archive.makes).parent.mkdir(parents=True, exist_ok=True)
    whole.replace(to / archive.makes)
    shutil.rmtree(work)
