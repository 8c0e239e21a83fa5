"""Where the files of a Kaldi speaker model are in the directory that the challenge's archive unpacks to."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError

log = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[3]
_OPTIONS = _ROOT / "conf/asv/kaldi"
_BACKEND = ("mean.vec", "transform.mat", "plda")
_DEEPEST = 3


@dataclass(frozen=True)
class ModelFiles:
    """The files that extraction needs."""

    network: Path
    extract: Path
    smallest: Path
    largest: Path
    mfcc: Path
    vad: Path


def find_files(directory: Path) -> ModelFiles:
    """The network and what lies beside it; a missing file is an InputError that lists what is wanted."""
    home = _only(directory, "final.raw", "an x-vector network")
    files = {name: home / name for name in ("final.raw", "extract.config", "min_chunk_size", "max_chunk_size")}
    if missing := [name for name, path in files.items() if not path.is_file()]:
        raise InputError(
            f"has no {', '.join(missing)}; an x-vector network of Kaldi's needs {', '.join(files)} (docs/models.md)",
            home,
        )
    return ModelFiles(*files.values(), *(_options(directory, home, name) for name in ("mfcc.conf", "vad.conf")))


def find_backend(directory: Path) -> tuple[Path, Path, Path]:
    """mean.vec, transform.mat and plda of a directory, which may lie below it."""
    home = _only(directory, "plda", "a PLDA back end")
    paths = tuple(home / name for name in _BACKEND)
    if missing := [path.name for path in paths if not path.is_file()]:
        raise InputError(f"has no {', '.join(missing)} beside its plda (docs/models.md)", home)
    return paths[0], paths[1], paths[2]


def _only(directory: Path, name: str, what: str) -> Path:
    """The one folder in or below `directory` that has a file `name`."""
    if not directory.is_dir():
        raise InputError(f"no such directory; put {what} of Kaldi's there (docs/models.md)", directory)
    patterns = ("/".join(["*"] * depth + [name]) for depth in range(_DEEPEST))
    for pattern in patterns:
        if found := sorted(path.parent for path in directory.glob(pattern) if path.is_file()):
            if len(found) > 1:
                places = ", ".join(str(path.relative_to(directory)) for path in found)
                raise InputError(f"has {name} in several places ({places}); name one of them", directory)
            return found[0]
    raise InputError(f"holds no {name}; put {what} of Kaldi's there (docs/models.md)", directory)


def _options(directory: Path, home: Path, name: str) -> Path:
    for folder in (home, home / "conf", directory, directory / "conf"):
        if (folder / name).is_file():
            return folder / name
    log.info("%s has no %s; taking that of the challenge's recipe, conf/asv/kaldi/%s", directory, name, name)
    return _OPTIONS / name
