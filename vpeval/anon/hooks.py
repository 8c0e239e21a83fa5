"""Hooks as files: where an anonymiser is, what it is called, what belongs to it, and whether it has to be prepared."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from vpeval.core.errors import InputError

WHOLE_SET = "VPEVAL_HOOK_SET"
PREPARED = "VPEVAL_HOOK_PREPARED"
TOOLKIT = "VPEVAL_ROOT"
"""Variables that hooks find in their environment: directories of the whole set, of what they learnt, of the toolkit."""

ROOT = Path(__file__).resolve().parents[2]
"""Where hooks are started."""
_CODE_SUFFIXES = {".py", ".sh", ".pl", ".yaml", ".yml", ".conf", ".json"}


def find_hook(name: str) -> Path:
    """The executable behind ``--anonymizer``: a file, a folder with anonymize.*, or a name below local/anon/."""
    for place in (Path(name), ROOT / "local/anon" / name):
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


def environment(prepared: Path, whole: Path | None = None) -> dict[str, str]:
    """What a hook (with the directory of its `whole` set) or its preparation finds in its environment."""
    found = {**os.environ, TOOLKIT: str(ROOT), PREPARED: str(prepared)}
    return found if whole is None else {**found, WHOLE_SET: str(whole)}


def files_of(hook: Path) -> list[Path]:
    """The hook, the small source files beside it and what it prepared: an edited hook is a new anonymiser."""
    beside = (path for path in hook.resolve().parent.iterdir() if path.is_file() and _is_code(path))
    prepared = [path for path in [prepared_dir(hook)] if path.is_dir()]
    return [*sorted(beside), *prepared]


def code_of(hook: Path) -> list[str]:
    """Scripts of ours whose import closure a hook depends on: itself, where it is written with this library."""
    place = hook.resolve()
    return [str(place.relative_to(ROOT))] if place.suffix == ".py" and place.is_relative_to(ROOT) else []


def _is_code(path: Path) -> bool:
    """By suffix; without one, a program is code, and anything else may be a log of the hook's."""
    return path.suffix in _CODE_SUFFIXES or (not path.suffix and os.access(path, os.X_OK))
