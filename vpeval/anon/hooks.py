"""Hooks as files: where an anonymiser is, what it is called, what belongs to it, and whether it has to be prepared."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.publish import MARKER, STAMP

WHOLE_SET = "VPEVAL_HOOK_SET"
PREPARED = "VPEVAL_HOOK_PREPARED"
TOOLKIT = "VPEVAL_ROOT"
"""Variables that hooks find in their environment: directories of the whole set, of what they learnt, of the toolkit."""
SET, ROLE = "VPEVAL_HOOK_SET_NAME", "VPEVAL_HOOK_ROLE"
"""And more of them: what the set is called, and what it is for (enroll, trial or train)."""

ROOT = Path(__file__).resolve().parents[2]
"""Where hooks are started."""
_CHANGED = ("PATH", "PYTHONPATH", "LC_ALL", "PYTHONUTF8")
_FROM = "VPEVAL_FROM"
"""Where the person who started the run stands."""
_OUTSIDE = "VPEVAL_OUTSIDE_"
"""path.sh changes these variables, and keeps what they were under names that begin so."""
_OURS = ("VPEVAL_READY", "VPEVAL_RUN_PID", "VPEVAL_VERIFY")
_PASSING = ("__pycache__", "log", "logs", "node_modules")
_LEFTOVERS = {".log", ".pyc", ".tmp"}
_MOST_FILES = 10_000
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json"}


def find_hook(name: str) -> Path:
    """The executable behind ``--anonymizer``: a file, a folder with anonymize.*, or a name below local/anon/."""
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
    have = ", ".join(sorted(folder.name for folder in (ROOT / "local/anon").iterdir() if folder.is_dir()))
    raise InputError(f"no such hook: give a script, or one of {have} (--anonymizer {name})")


def find_preparation(hook: Path) -> Path | None:
    """The program ``prepare`` or ``prepare.*`` beside a hook; None where the hook needs none."""
    found = [path for path in sorted(hook.resolve().parent.glob("prepare*")) if path.stem == "prepare"]
    programs = [path for path in found if path.is_file() and os.access(path, os.X_OK)]
    if len(programs) > 1:
        raise InputError(f"stands beside {programs[1].name}; keep one program that prepares the hook", programs[0])
    if not programs and any(path.suffix in (".py", ".sh", "") and path.is_file() for path in found):
        raise InputError(f"is not executable; run chmod +x {found[0]}", found[0])
    return programs[0] if programs else None


def split_options(text: str) -> list[str]:
    """The words of ``--anon-options``, quoted as in a shell."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{text}: {error}; quote the options of the hook as in a shell") from None


def system_name(hook: Path) -> str:
    """What a hook's system is called: local/anon/mcadams/anonymize.py → mcadams, my/hook.sh → hook."""
    name = hook.resolve().parent.name if hook.stem == "anonymize" else hook.stem
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_").lower() or "anon"


def prepared_dir(hook: Path) -> Path:
    """Where a hook keeps what it learns when it is prepared."""
    return ROOT / "exp/anon" / system_name(hook)


@dataclass(frozen=True)
class Part:
    """What a hook is told about the set that its data are a part of: its directory, its name and its role."""

    directory: Path
    name: str
    role: str


def environment(prepared: Path, part: Part | None = None) -> dict[str, str]:
    """What a hook, or without a `part` its preparation, finds in its environment.

    It is that of the person who started the run: neither our Python nor our locale, which path.sh gives to hooks that
    ask for it in their first line.
    """
    found = {name: value for name, value in os.environ.items() if not name.startswith((_OUTSIDE, *_OURS))}
    if f"{_OUTSIDE}PATH" in os.environ:
        for name in _CHANGED:
            found.pop(name, None)
            if before := os.environ.get(_OUTSIDE + name):
                found[name] = before
    found |= {TOOLKIT: str(ROOT), PREPARED: str(prepared)}
    return found if part is None else {**found, WHOLE_SET: str(part.directory), SET: part.name, ROLE: part.role}


def files_of(hook: Path) -> list[Path]:
    """The hook, everything in its folder and what it prepared: with an edited module or other weights it is another."""
    prepared = [path for path in [prepared_dir(hook)] if path.is_dir()]
    return [*folder_of(hook), *prepared]


def folder_of(hook: Path) -> list[Path]:
    """The files in the folder of a hook and below: programs, modules, settings and weights.

    Left out are hidden files, caches, Python environments, data directories, and what may be a log: a file without a
    suffix that is no program. A hook in a folder of everything, such as the toolkit's, has the programs beside it only.
    """
    home = hook.resolve().parent
    shared = ROOT.is_relative_to(home)
    found: list[Path] = []
    for place, folders, names in os.walk(home):
        kept = (name for name in folders if not name.startswith(".") and name not in _PASSING)
        folders[:] = [] if shared else sorted(name for name in kept if not _is_foreign(Path(place, name)))
        found += [Path(place, name) for name in sorted(names) if _belongs(Path(place, name), shared)]
        if len(found) > _MOST_FILES:
            raise InputError(
                f"has more than {_MOST_FILES} files, all of which count as parts of the hook {hook.name}; give it a "
                "folder of its own",
                home,
            )
    return found


def code_of(hook: Path) -> list[str]:
    """Scripts of ours whose import closure a hook depends on: itself, where it is written with this library."""
    place = hook.resolve()
    return [str(place.relative_to(ROOT))] if place.suffix == ".py" and place.is_relative_to(ROOT) else []


def _belongs(path: Path, shared: bool) -> bool:
    """Whether a file counts; in a folder that is not the hook's alone, only what looks like a program does."""
    if path.name.startswith(".") or path.suffix in _LEFTOVERS or not path.is_file():
        return False
    if not path.suffix:
        return os.access(path, os.X_OK)
    return not shared or path.suffix in _CODE_SUFFIXES


def _is_foreign(folder: Path) -> bool:
    """Whether a folder is a Python environment by venv or conda, a data directory, or made by this toolkit."""
    signs = ("pyvenv.cfg", "conda-meta", "utt2spk", "wav.scp", MARKER, STAMP)
    return any((folder / sign).exists() for sign in signs)
