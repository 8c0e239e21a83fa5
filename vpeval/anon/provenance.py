"""Who made an anonymised set: hook, options, level, seed and digests of hook and audio, kept with the set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from vpeval.anon import hooks
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.code import closure

FILE = "anonymiser.json"


@dataclass(frozen=True)
class Provenance:
    """What a set was made by; `sha256` is of the hook with all that belongs to it, `audio` of what came out."""

    hook: str
    options: str
    sha256: str
    level: str
    seed: int
    audio: str = ""

    @property
    def choices(self) -> tuple[object, ...]:
        """What a person chose; a hook that is edited stays the same choice."""
        return self.hook, tuple(hooks.split_options(self.options)), self.level, self.seed

    def __str__(self) -> str:
        """In words.

        >>> print(Provenance("my/hook.py", "--alpha 0.8", "", "spk", 0))
        my/hook.py with options '--alpha 0.8', level spk and seed 0
        """
        given = f"options '{self.options}'" if self.options else "no options"
        return f"{self.hook} with {given}, level {self.level or 'unknown'} and seed {self.seed}"

    def write(self, directory: Path) -> None:
        """Keep it with a set."""
        write_text(directory / FILE, json.dumps(asdict(self), indent=1) + "\n")


def read_provenance(directory: Path) -> Provenance | None:
    """Who made a set; None where nobody noted it."""
    path = directory / FILE
    try:
        found = Provenance(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError):
        raise InputError("is not what anonymisation wrote; anonymise the set again", path) from None
    words = (found.hook, found.options, found.sha256, found.level, found.audio)
    if not all(isinstance(word, str) for word in words) or not isinstance(found.seed, int):
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
    """What a hook is called: by its path, in the toolkit or on this machine."""
    place = hook.resolve()
    return str(place.relative_to(hooks.ROOT) if place.is_relative_to(hooks.ROOT) else place)


def hook_digest(hook: Path) -> str:
    """A SHA-256 over the hook, everything in its folder and, where it is written with this library, the modules."""
    digest = hashlib.sha256()
    home = hook.resolve().parent
    files = {path.relative_to(home).as_posix(): path for path in hooks.folder_of(hook)}
    for entry in hooks.code_of(hook):
        files |= {path.relative_to(hooks.ROOT).as_posix(): path for path in closure(hooks.ROOT / entry)}
    for name in sorted(files):
        with open(files[name], "rb") as content:
            digest.update(f"{name}\0{hashlib.file_digest(content, 'sha256').hexdigest()}\0".encode())
    return digest.hexdigest()


def audio_digest(files: Iterable[tuple[str, str]]) -> str:
    """One digest for (utterance, SHA-256 of its file) of a set."""
    lines = "".join(f"{utt} {sha256}\n" for utt, sha256 in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
