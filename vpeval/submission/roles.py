"""Primary and contrastive submissions (VoicePrivacy 2020 plan, section 9.3).

A participant may hand in up to five systems and names one of them as primary; only that one is rated by listeners.
Every manifest says which of the two its system is.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vpeval.data.layout import first_few
from vpeval.submission.archive import MANIFEST, Archive, scan

PRIMARY, CONTRASTIVE = "primary", "contrastive"
ROLES = (PRIMARY, CONTRASTIVE)
MOST = 5
_MANIFEST = 32 << 20


def check_role(archive: Archive, manifest: Mapping[str, Any]) -> None:
    """A manifest must say whether the system is primary or contrastive."""
    role = manifest.get("role")
    if role in ROLES:
        archive.noted.append(f"{role} submission")
    elif manifest:
        what = "does not say whether the system is primary or contrastive" if role is None else f"has the role {role!a}"
        archive.complain(MANIFEST, what, "pack again with --role primary or --role contrastive", "manifest")


@dataclass(frozen=True)
class Entry:
    """What a participant hands in: the system of every archive and its role, and what is wrong with all together."""

    systems: dict[Path, tuple[str, str]]
    problems: tuple[str, ...]


def check_entry(paths: Sequence[Path]) -> Entry:
    """The systems of several archives: at most five, each once, and exactly one of them primary."""
    systems = {path: _described(path) for path in paths}
    problems = [
        f"{path}: is no submission; check it with local/check_submission.py" for path in paths if not systems[path][0]
    ]
    if len(paths) > MOST:
        problems.append(f"{len(paths)} submissions; a participant may make up to {MOST}")
    names = [system for system, _ in systems.values() if system]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"system {first_few(twice)} is there twice; hand in each once")
    primary = [system for system, role in systems.values() if role == PRIMARY]
    if len(primary) != 1:
        said = f"{len(primary)} ({first_few(sorted(primary))})" if primary else "none"
        problems.append(f"one submission must be primary, and there is {said}; pack again with --role")
    return Entry(systems, tuple(problems))


def _described(path: Path) -> tuple[str, str]:
    """System and role as a manifest has them; empty where it has none."""
    with tempfile.TemporaryDirectory(prefix="submission-") as work_dir:
        archive = Archive(path, Path(work_dir))
        if not path.is_file():
            return "", ""
        scan(archive)
        try:
            manifest = json.loads(archive.text(MANIFEST, _MANIFEST) or "{}")
        except (ValueError, RecursionError):
            return "", ""
    if not isinstance(manifest, dict):
        return "", ""
    system, role = (manifest.get(key) for key in ("system", "role"))
    return (system if isinstance(system, str) and system.isprintable() else ""), (role if role in ROLES else "")
