"""Hooks as programs: where they are, what prepares them, and the record that they leave with their sets."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from vpeval.anon.hook_files import dependencies, digest_of
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.places import ROOT
from vpeval.core.run_names import with_seed
from vpeval.jobs import code
from vpeval.jobs.stamps import content_digest, fingerprint

RECORD = "anonymiser.json"
_SETS = ("train_sets", "pool_sets")
_FROM = "VPEVAL_FROM"
"""The directory in which the run was started."""


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


def library_code(hook: Path) -> list[Path]:
    """The hook itself where it is a Python script of the toolkit: it depends on the modules that it imports."""
    place = hook.resolve()
    return [place] if place.suffix == ".py" and place.is_relative_to(ROOT) else []


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


def hook_digest(hook: Path, options: str = "") -> str:
    """A SHA-256 over what a hook depends on, and over what the modules of the toolkit that it uses compute.

    Files count by content and by their names from its directory; a variable that names a file by that file alone.
    """
    home, found = hook.resolve().parent, dependencies(hook, split_options(options))
    digests = {name: digest for name, digest in code.code_of(library_code(hook)).items() if name.startswith("vpeval/")}
    digests |= {os.path.relpath(path, home): _content(path) for path in found.files}
    digests |= {f"${name}": value for name, value in found.variables.items() if not Path(value).exists()}
    return digest_of(digests)


def _content(path: Path) -> str:
    """A digest of a file, or of a data directory with the audio that it names."""
    return content_digest(path) if path.is_file() else next(iter(fingerprint([path], {}).inputs.values()))


def audio_digest(files: Iterable[tuple[str, str]]) -> str:
    """One digest for (utterance, SHA-256 of its file) of a set."""
    lines = "".join(f"{utt} {sha256}\n" for utt, sha256 in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
