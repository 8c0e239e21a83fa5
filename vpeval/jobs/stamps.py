"""Has anything changed? What outputs were made from, kept next to them.

A step compares the fingerprint of what it is about to do with the one in the stamp next to its outputs: equal, and the
outputs untouched, means that there is nothing to do. A fingerprint is made of options, inputs, code
(`vpeval.jobs.code`) and the versions of packages that compute. Files count by content, under names relative to the
folder of the run, so that a folder that was copied or moved is recognised. What was read once is not read again while
size and times are the same, and the audio of a set counts by one digest (`vpeval.jobs.audio_digest`), so that asking
about a million utterances takes a moment. With VPEVAL_VERIFY=true everything is read again.

With VPEVAL_ACCEPT_CODE=true, outputs whose code or packages alone have changed are kept: the stamp takes note of what
was accepted, and the results say so.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from vpeval.core.config import read_yaml
from vpeval.core.errors import InputError
from vpeval.core.files import file_sha256, is_verifying, refuse_irregular, times_of, write_text
from vpeval.core.publish import STAMP as STAMP
from vpeval.jobs import audio_digest
from vpeval.jobs.code import Maker, code_of, program_digest, software_of
from vpeval.jobs.dry_run import current_dry_run

log = logging.getLogger(__name__)
NOT_MADE = "not made yet"
ACCEPTED = "accepted"
"""In a stamp: modules and packages whose changes a person accepted."""
WHY = "VPEVAL_WHY"
"""Set to true, everything that has changed is listed, and not only the first few."""
ACCEPT_CODE = "VPEVAL_ACCEPT_CODE"
"""Set to true, what was made by other code, or with other versions of packages, is kept."""
_LARGE = 4 << 20
_REMEMBERED = Path("exp/.digests.json")
"""Digests of large files that no stamp lists, by path."""
_LISTED = 3
_COMING = "to be made"
_AUDIO = {".wav", ".flac", ".ogg", ".opus", ".mp3"}
_VERSION = 5
_READ = (4, 5)
_KINDS = {"options": "option", "inputs": "input", "code": "module", "software": "package"}


@dataclass(frozen=True)
class Fingerprint:
    """What a step depends on: options, a digest of every input and of every module, and versions of packages."""

    options: Mapping[str, str]
    inputs: Mapping[str, str]
    code: dict[str, str]
    software: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """All of it in one SHA-256."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def changes(self, before: Mapping[str, Mapping[str, str]]) -> list[str]:
        """What is different from the fingerprint in an older stamp, in words."""
        found = []
        for kind, noun in _KINDS.items():
            new, old = getattr(self, kind), before.get(kind, {})
            found += [f"{noun} {name}" for name in sorted({*new, *old}) if new.get(name) != old.get(name)]
        return found


def fingerprint(
    inputs: Iterable[str | os.PathLike[str]], options: Mapping[str, object], makers: Iterable[Maker] = ()
) -> Fingerprint:
    """The fingerprint over files, directories (all files in them, and the audio that their wav.scp names) and options.

    `makers` are the functions, classes or modules that compute the result; see `vpeval.jobs.code`.
    """
    makers = list(makers)
    return Fingerprint(
        {name: _name(value) if isinstance(value, Path) else str(value) for name, value in options.items()},
        {_name(Path(path)): _digest(Path(path)) for path in inputs},
        code_of(makers),
        software_of(makers),
    )


def is_current(stamp: Path, wanted: Fingerprint, outputs: Sequence[Path]) -> bool:
    """Whether `outputs` were made under fingerprint `wanted` and have not been touched since."""
    return not why(stamp, wanted, outputs)


def write_stamp(
    stamp: Path, made_from: Fingerprint, outputs: Sequence[Path], notes: Mapping[str, object] | None = None
) -> None:
    """Note that `outputs` are finished; `notes` are what else is to be known of them."""
    if missing := next((path for path in outputs if not path.exists()), None):
        raise InputError("should have been made and is not there", missing)
    content = {"version": _VERSION, **asdict(made_from), "files": _listing(outputs, {}), "audio": _audio(outputs, {})}
    write_text(stamp, json.dumps({**content, **(notes or {})}, indent=0) + "\n")


def read_stamp(stamp: Path) -> dict[str, Any]:
    """What a stamp says; nothing where there is none that can be read."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("version") in _READ else {}


def why(stamp: Path, wanted: Fingerprint, outputs: Sequence[Path]) -> str:
    """Why a step has to be done (again), in a few words; empty where it has not."""
    found = read_stamp(stamp)
    if not found:
        return NOT_MADE
    if changed := wanted.changes(found):
        if _can_be_accepted(changed) and _is_untouched(stamp, found, outputs):
            _accept(stamp, found, wanted, changed)
            return ""
        most = len(changed) if os.environ.get(WHY) == "true" else _LISTED
        return "changed: " + ", ".join(changed[:most]) + (f" and {len(changed) - most} more" * (len(changed) > most))
    return "" if _is_untouched(stamp, found, outputs) else "its files were touched"


def _can_be_accepted(changed: Sequence[str]) -> bool:
    """Whether a person asked to keep what other code made, and nothing but code has changed."""
    return os.environ.get(ACCEPT_CODE) == "true" and all(one.startswith(("module ", "package ")) for one in changed)


def _accept(stamp: Path, found: Mapping[str, Any], wanted: Fingerprint, changed: Sequence[str]) -> None:
    """Have outputs count as made by the code that is there now, and note what was accepted."""
    names = [one.partition(" ")[2] for one in changed]
    log.warning("%s: kept although %s changed (accept-code)", stamp.parent, ", ".join(names))
    if current_dry_run():
        return
    accepted = sorted({*found.get(ACCEPTED, []), *names})
    current = read_stamp(stamp)  # its times of change may just have been noted
    write_text(
        stamp, json.dumps({**current, "version": _VERSION, **asdict(wanted), ACCEPTED: accepted}, indent=0) + "\n"
    )


def accepted_code(path: Path) -> set[str]:
    """Modules and packages that changed after `path`, or what it was made from, was made, and that were accepted."""
    home = path if path.is_dir() else path.parent
    stamp = read_stamp(home / STAMP)
    found = set(map(str, stamp.get(ACCEPTED, [])))
    for name in stamp.get("inputs", {}):
        source = Path(name) if Path(name).is_dir() else Path(name).parent
        if source != home and (source / STAMP).is_file():
            found |= accepted_code(source)
    return found


def stale_source(path: Path) -> tuple[Path, str] | None:
    """What was made from something that has changed since, and the name of that: `path`, or what it was made from.

    A result that is not stamped, and sources that are neither data nor results, are left to those who know them.
    """
    home = path if path.is_dir() else path.parent
    recorded = read_stamp(home / STAMP).get("inputs", {})
    for name, digest in recorded.items() if isinstance(recorded, dict) else ():
        source = Path(name)
        if not (source / "utt2spk").is_file():
            continue
        if _digest(source) != digest:
            return home, name
        if found := stale_source(source):
            return found
    return None


def changed_output(stamp: Path, outputs: Sequence[Path]) -> Path | None:
    """The first output that has lost a file since it was stamped, or of which one has another content.

    Files that were added since do not count. Where only times differ, as after a copy, the stamp takes note.
    """
    found = read_stamp(stamp)
    believed: Mapping[str, Any] = {} if is_verifying() else found
    files, audio = _listing(outputs, believed.get("files")), _audio(outputs, believed.get("audio"))
    before, now = _contents(found.get("files"), found.get("audio")), _contents(files, audio)
    if before is None or now is None:
        return stamp
    seen = {name.partition("/")[0] for part in before for name in part}
    lost = {name.partition("/")[0] for was, is_now in zip(before, now, strict=True) for name in _lost(was, is_now)}
    numbers = {str(number): output for number, output in enumerate(outputs)}
    for number, output in numbers.items():
        if number in lost or number not in seen:
            return output
    if seen - numbers.keys():
        return stamp
    noted = {name: files[name] for name in found["files"]}
    if (noted, audio) != (found["files"], found["audio"]):
        with suppress(OSError):  # somebody else's: then it is read again each time
            write_text(stamp, json.dumps({**found, "files": noted, "audio": audio}, indent=0) + "\n")
    return None


def _lost(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return [name for name, seen in before.items() if now.get(name) != seen]


def _is_untouched(stamp: Path, found: Mapping[str, Any], outputs: Sequence[Path]) -> bool:
    """Whether outputs are as a stamp says; where only times differ, as after a copy, the stamp takes note."""
    believed: Mapping[str, Any] = {} if is_verifying() else found
    files, audio = _listing(outputs, believed.get("files")), _audio(outputs, believed.get("audio"))
    if _contents(files, audio) != _contents(found.get("files"), found.get("audio")):
        return False
    if (files, audio) != (found.get("files"), found.get("audio")):
        with suppress(OSError):  # somebody else's: then it is read again each time
            write_text(stamp, json.dumps({**found, "files": files, "audio": audio}, indent=0) + "\n")
    return True


def _contents(files: Any, audio: Any) -> tuple[dict[str, object], dict[str, object]] | None:
    """What a listing says, but for times."""
    try:
        return (
            {name: (size, digest) for name, (size, _, digest) in files.items()},
            {name: (seen["files"], seen["digest"]) for name, seen in audio.items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # a damaged stamp is none


def _digest(path: Path) -> str:
    """Of a file or directory."""
    if (dry_run := current_dry_run()) and dry_run.expects(path):
        return _COMING
    if not path.exists():
        raise InputError("is missing, and a later step needs it; run the stage that makes it", path)
    ours = path.resolve().is_relative_to(Path.cwd())
    files = list(_files(path))
    few = sum(file.suffix in _AUDIO for file in files) <= audio_digest.MANY
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(path) if file != path else ""
        digest.update(f"{name}\0{_identity(file, by_content=ours and few)}\0".encode())
    if (path / "wav.scp").is_file():
        digest.update(audio_digest.named_audio(path).encode())
    return digest.hexdigest()


def _name(path: Path) -> str:
    """A path as a fingerprint calls it: the same wherever the folder of the run is."""
    place = Path(os.path.normpath(Path.cwd() / path))
    return str(place.relative_to(Path.cwd())) if place.is_relative_to(Path.cwd()) else str(path)


def _files(path: Path) -> Iterator[Path]:
    """The files of an input or output that count one by one, which those in the folder of a set's audio do not."""
    if path.is_file():
        yield path
        return
    for root, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__", "split")) and f != "log")
        if Path(root) == path and _has_audio(path):
            folders.remove(audio_digest.AUDIO_DIR)
        yield from (Path(root) / name for name in sorted(names) if not name.startswith("."))


def content_digest(file: Path) -> str:
    """The SHA-256 of a file; that of a large one that was read before is known while nothing has touched it."""
    status = file.stat()
    refuse_irregular(file, status)
    if status.st_size <= _LARGE:
        return file_sha256(file, status, again=is_verifying())
    return _stamped(file, status) or _remembered(file, status)


def _identity(file: Path, by_content: bool = True) -> str:
    """The content of a file; else, of audio, its size and times."""
    status = file.stat()
    refuse_irregular(file, status)
    if not by_content and file.suffix in _AUDIO:
        return f"{status.st_size} {times_of(status)}"
    if file.suffix in _READERS and (found := _content_digest(file, status.st_size, status.st_mtime_ns)):
        return found
    return content_digest(file)


def _remembered(file: Path, status: os.stat_result) -> str:
    """The SHA-256 of a large file, kept in the folder of the run, or weights would be read whenever a run begins."""
    name, seen = str(file.resolve()), [status.st_size, times_of(status), status.st_ino]
    known = {} if is_verifying() else _read_remembered()
    if (before := known.get(name)) and before[:-1] == seen:
        return str(before[-1])
    digest = file_sha256(file, status, again=is_verifying())
    if _REMEMBERED.parent.is_dir() and not current_dry_run():
        others = {name: entry for name, entry in _read_remembered().items() if Path(name).exists()}
        with suppress(OSError):  # a full disk, or somebody else's: then it is read again
            write_text(_REMEMBERED, json.dumps({**others, name: [*seen, digest]}, indent=0) + "\n")
    return digest


def _read_remembered() -> dict[str, list[Any]]:
    try:
        found = json.loads(_REMEMBERED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: entry for name, entry in found.items() if isinstance(entry, list)} if isinstance(found, dict) else {}


@cache
def _content_digest(file: Path, size: int, changed: int) -> str:
    """The digest of a configuration or program in some state without its comments; empty where it cannot be read."""
    return _READERS[file.suffix](file)


def _settings_digest(file: Path) -> str:
    try:
        content = json.dumps(read_yaml(file), sort_keys=True)
    except (InputError, TypeError, ValueError):
        return ""
    return hashlib.sha256(content.encode()).hexdigest()


_READERS = {".yaml": _settings_digest, ".py": program_digest}


def _stamped(file: Path, status: os.stat_result) -> str:
    """The SHA-256 in the stamp of the directory that a file was published in, if it is as it was then."""
    files = {} if is_verifying() else read_stamp(file.parent / STAMP).get("files", {})
    known = files.get(f"0/{file.name}") if isinstance(files, dict) else None
    seen = [status.st_size, times_of(status)]
    return str(known[2]) if isinstance(known, list) and len(known) == 3 and known[:2] == seen else ""


def _listing(outputs: Sequence[Path], believed: object) -> dict[str, list[object]]:
    """Size, time of change and SHA-256 of every file; the last as `believed` where the others are the same."""
    listing: dict[str, list[object]] = {}
    for number, output in enumerate(outputs):
        for file in _files(output) if output.exists() else ():
            # Relative to the output, which may be stamped under a temporary name and then renamed.
            name = f"{number}/{file.relative_to(output)}"
            status = file.stat()
            seen = [status.st_size, times_of(status)]
            before = believed.get(name) if isinstance(believed, dict) else None
            if isinstance(before, list) and before[:2] == seen:
                listing[name] = before
            else:
                listing[name] = [*seen, file_sha256(file, status, again=is_verifying())]
    return listing


def _audio(outputs: Sequence[Path], believed: object) -> dict[str, dict[str, Any]]:
    """The audio of those outputs that are sets."""
    before = believed if isinstance(believed, dict) else {}
    sets = {str(number): output for number, output in enumerate(outputs) if _has_audio(output)}
    return {number: audio_digest.published_audio(output, before.get(number)) for number, output in sets.items()}


def _has_audio(path: Path) -> bool:
    return (path / "wav.scp").is_file() and (path / audio_digest.AUDIO_DIR).is_dir()
