"""Hooks as programs: where they are, which files belong to them, and the record that they leave with their sets."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from vpeval.anon.hook_input import ROOT
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import MARKER, STAMP
from vpeval.core.run_names import with_seed
from vpeval.jobs import code

RECORD = "anonymiser.json"
_SETS = ("train_sets", "pool_sets")
_FROM = "VPEVAL_FROM"
"""The directory in which the run was started."""
_PASSING = ("__pycache__", "log", "logs", "node_modules")
_LEFTOVERS = {".log", ".pyc", ".tmp"}
_MOST_FILES = 10_000
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json"}


def find_hook(name: str) -> Path:
    """The executable of ``--anonymizer``: a file, a directory with anonymize.*, or a name below local/anon/."""
    for place in (Path(os.environ.get(_FROM, "")) / name, Path(name), ROOT / "local/anon" / name):
        if place.is_dir():
            candidates = sorted(place.glob("anonymize.*"))
            if not candidates:
                raise InputError("has no anonymize.py or anonymize.sh; name the hook itself", place)
            # Beside the hook there may be its settings, anonymize.conf.
            place = next((file for file in candidates if os.access(file, os.X_OK)), candidates[0])
        if place.is_file():
            if not os.access(place, os.X_OK):
                raise InputError(f"is not executable; run chmod +x {place}", place)
            return place
    have = ", ".join(sorted(path.name for path in (ROOT / "local/anon").iterdir() if path.is_dir()))
    raise InputError(f"no such hook: give a script, or one of {have} (--anonymizer {name})")


def find_preparation(hook: Path) -> Path | None:
    """The program ``prepare`` or ``prepare.*`` next to a hook; None where the hook needs none."""
    found = [path for path in sorted(hook.resolve().parent.glob("prepare*")) if path.stem == "prepare"]
    programs = [path for path in found if path.is_file() and os.access(path, os.X_OK)]
    if len(programs) > 1:
        raise InputError(f"is next to {programs[1].name}; keep one program that prepares the hook", programs[0])
    if not programs and any(path.suffix in (".py", ".sh", "") and path.is_file() for path in found):
        raise InputError(f"is not executable; run chmod +x {found[0]}", found[0])
    return programs[0] if programs else None


def sets_needed(hook: Path) -> list[str]:
    """The variables of a recipe whose sets a hook cannot do without: the words of the file ``needs`` next to it."""
    path = hook.resolve().parent / "needs"
    words = path.read_text(encoding="utf-8").split() if path.is_file() else []
    if unknown := [word for word in words if word not in _SETS]:
        raise InputError(f"says '{unknown[0]}'; it may say {' and '.join(_SETS)}", path)
    return words


def split_options(text: str) -> list[str]:
    """The words of ``--anon-options``, quoted as in a shell."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text}: {error}; quote the options of the hook as in a shell") from None


def system_name(hook: Path) -> str:
    """The name of a hook's system: local/anon/mcadams/anonymize.py → mcadams, my/hook.sh → hook."""
    name = hook.resolve().parent.name if hook.stem == "anonymize" else hook.stem
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_").lower() or "anon"


def prepared_dir(hook: Path, seed: int) -> Path:
    """Where a hook keeps what it learns when it is prepared with a seed."""
    return ROOT / "exp/anon" / with_seed(system_name(hook), seed)


def files_of(hook: Path, seed: int) -> list[Path]:
    """The files in the directory of the hook, and the directory of what it prepared, if there is one."""
    prepared = [path for path in [prepared_dir(hook, seed)] if path.is_dir()]
    return [*directory_files(hook), *prepared]


def directory_files(hook: Path) -> list[Path]:
    """The files in the directory of a hook and below: programs, modules, settings and weights.

    Hidden files, caches, Python environments, data directories and possible logs (files without a suffix that are no
    programs) are left out. In a directory that holds the toolkit, only the programs next to the hook count.
    """
    home = hook.resolve().parent
    shared = ROOT.is_relative_to(home)
    found: list[Path] = []
    for place, directories, names in os.walk(home):
        kept = (name for name in directories if not name.startswith(".") and name not in _PASSING)
        directories[:] = [] if shared else sorted(name for name in kept if not _is_foreign(Path(place, name)))
        found += [Path(place, name) for name in sorted(names) if _belongs(Path(place, name), shared)]
        if len(found) > _MOST_FILES:
            raise InputError(
                f"has more than {_MOST_FILES} files, all of which count as parts of the hook {hook.name}; give it a "
                "directory of its own",
                home,
            )
    return found


def library_code(hook: Path) -> list[Path]:
    """The hook itself where it is a Python script of the toolkit: it depends on the modules that it imports."""
    place = hook.resolve()
    return [place] if place.suffix == ".py" and place.is_relative_to(ROOT) else []


def _belongs(path: Path, shared: bool) -> bool:
    """Whether a file belongs to a hook; in a directory that the hook shares, only programs do."""
    if path.name.startswith(".") or path.suffix in _LEFTOVERS or not path.is_file():
        return False
    if not path.suffix:
        return os.access(path, os.X_OK)
    return not shared or path.suffix in _CODE_SUFFIXES


def _is_foreign(directory: Path) -> bool:
    """Whether a directory is a Python environment by venv or conda, a data directory, or made by this toolkit."""
    signs = ("pyvenv.cfg", "conda-meta", "utt2spk", "wav.scp", MARKER, STAMP)
    return any((directory / sign).exists() for sign in signs)


@dataclass(frozen=True)
class Provenance:
    """What made an anonymised set; `sha256` is the digest of the hook (`hook_digest`), `audio` that of the output."""

    hook: str
    options: str
    sha256: str
    level: str
    seed: int
    audio: str = ""

    @property
    def choices(self) -> tuple[object, ...]:
        """What a person chose; an edited hook is the same choice."""
        return self.hook, tuple(split_options(self.options)), self.level, self.seed

    def __str__(self) -> str:
        """In words.

        >>> print(Provenance("my/hook.py", "--alpha 0.8", "", "spk", 0))
        my/hook.py with options '--alpha 0.8', level spk and seed 0
        """
        given = f"options '{self.options}'" if self.options else "no options"
        return f"{self.hook} with {given}, level {self.level or 'unknown'} and seed {self.seed}"

    def write(self, directory: Path) -> None:
        """Write the record into the directory of a set."""
        write_text(directory / RECORD, json.dumps(asdict(self), indent=1) + "\n")


def read_provenance(directory: Path) -> Provenance | None:
    """The record of a set; None where there is none."""
    path = directory / RECORD
    try:
        found = Provenance(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError):
        raise InputError("is not what anonymisation wrote; anonymise the set again", path) from None
    texts = (found.hook, found.options, found.sha256, found.level, found.audio)
    if not all(isinstance(text, str) for text in texts) or not isinstance(found.seed, int):
        raise InputError("is not what anonymisation wrote; anonymise the set again", path)
    return found


def refuse_other(wanted: Provenance, sets: Iterable[Path]) -> None:
    """Raise an InputError if one of `sets` was made by another hook, or with other options, level or seed."""
    for directory in sets:
        made = read_provenance(directory)
        if made and made.choices != wanted.choices:
            raise InputError(
                f"was made by {made} and would be replaced by what {wanted} makes; keep both with --system NAME, or "
                "replace it with --overwrite true",
                directory,
            )


def hook_name(hook: Path) -> str:
    """The path of a hook, in the toolkit or on this machine."""
    place = hook.resolve()
    return str(place.relative_to(ROOT) if place.is_relative_to(ROOT) else place)


def hook_digest(hook: Path) -> str:
    """A SHA-256 over the files in the directory of a hook and what the modules of the toolkit that it uses compute."""
    home = hook.resolve().parent
    digests = {name: digest for name, digest in code.code_of(library_code(hook)).items() if name.startswith("vpeval/")}
    for path in directory_files(hook):
        with open(path, "rb") as content:
            digests[path.relative_to(home).as_posix()] = hashlib.file_digest(content, "sha256").hexdigest()
    return hashlib.sha256("".join(f"{name}\0{digests[name]}\0" for name in sorted(digests)).encode()).hexdigest()


def audio_digest(files: Iterable[tuple[str, str]]) -> str:
    """One digest for (utterance, SHA-256 of its file) of a set."""
    lines = "".join(f"{utt} {sha256}\n" for utt, sha256 in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
