"""A listening test on disk: one self-contained directory.

::

    public/    for listeners: index.html and its scripts, audio/<name>.wav (and sessions/ without a server)
    private/   for organisers only: test.json, design.tsv, clips.tsv, tokens.tsv, admin.txt, key
    answers/   answers.db, or files from listeners without a server
    manifest.sha256   hashes of everything but the answers, for sha256sum -c

Names of recordings and pages are keyed hashes (HMAC-SHA-256), so that neither URL nor page reveals their content. The
key is random, or given to make the same bytes again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, write_text
from vpeval.core.publish import MARKER
from vpeval.listening.design import Kind, Page, Shape
from vpeval.listening.material import Clip

FORMAT = 1
_DESIGN = ("listener", "position", "page", "kind", "system", "set", "gender", "label", "truth")
_CLIP = ("clip", "clip_system", "clip_set", "utt", "spk")
_EMPTY = "-"


@dataclass(frozen=True)
class Settings:
    """Properties of a whole test."""

    title: str
    contact: str
    recipe: str
    systems: tuple[str, ...]
    listeners: int
    shape: Shape
    seed: int
    level: float
    consent: str
    simulated: bool = False
    format: int = FORMAT
    instructions: str = ""
    """Identifies instructions of the organisers' own; empty for the default."""


@dataclass(frozen=True)
class ListeningTest:
    """A prepared test: settings, the pages of every listener by their public names, and the recordings."""

    path: Path
    settings: Settings
    key: bytes
    pages: Mapping[str, Page]
    names: Mapping[Clip, str]
    seconds: Mapping[str, float]

    @cached_property
    def sessions(self) -> dict[int, dict[str, Page]]:
        """The pages of every listener, in order."""
        found: defaultdict[int, dict[str, Page]] = defaultdict(dict)
        for name, page in self.pages.items():
            found[page.listener][name] = page
        return dict(found)

    @property
    def database(self) -> Path:
        """The database of the answers."""
        return self.path / "answers/answers.db"

    def tokens(self) -> dict[str, int]:
        """The listener of every prepared token."""
        path = self.path / "private/tokens.tsv"
        rows = [line.split("\t") for number, line in read_lines(path) if number > 1]
        return {token: int(listener) - 1 for listener, token in rows}

    def completion_code(self, listener: int) -> str:
        """Proof for a crowdsourcing platform that a listener has finished."""
        return secret_name(self.key, "code", listener)[:10].upper()

    def admin_token(self) -> str:
        """The token for the progress page of the organisers."""
        return (self.path / "private/admin.txt").read_text(encoding="utf-8").strip()


def secret_name(key: bytes, *parts: object) -> str:
    """32 hexadecimal digits that cannot be guessed without the key."""
    return hmac.new(key, "\0".join(map(str, parts)).encode(), hashlib.sha256).hexdigest()[:32]


def clip_name(key: bytes, clip: Clip) -> str:
    """The public name of a recording."""
    return secret_name(key, "clip", clip.system, clip.set, clip.utt)


def page_name(key: bytes, page: Page) -> str:
    """The public name of a page, different for every listener."""
    return secret_name(key, "page", page.listener, page.position)


def session_view(test: ListeningTest, listener: int) -> dict[str, Any]:
    """What the browser of a listener gets: recordings, their lengths and the kind of every page, nothing else."""
    pages = []
    for name, page in test.sessions[listener].items():
        clips = [{"name": test.names[clip], "seconds": test.seconds[test.names[clip]]} for clip in page.clips]
        pages.append({"id": name, "kind": page.kind, "clips": clips})
    settings = test.settings
    return {"title": settings.title, "shape": settings.shape, "consent": settings.consent, "pages": pages}


def write_private(
    directory: Path, settings: Settings, key: bytes, pages: Iterable[Page], seconds: Mapping[Clip, float]
) -> None:
    """Write the tables of ``private/``."""
    private = directory / "private"
    write_text(private / "test.json", json.dumps(asdict(settings), ensure_ascii=False, indent=1) + "\n")
    write_text(private / "key", key.hex() + "\n")
    write_text(private / "admin.txt", secret_name(key, "admin") + "\n")
    write_text(private / "design.tsv", "".join(_design_lines(key, pages)))
    rows = ["clip\tsystem\tset\tutt\tseconds\n"]
    for clip, length in seconds.items():
        words = (clip_name(key, clip), clip.system or _EMPTY, clip.set or _EMPTY, clip.utt, f"{length:.4f}")
        rows.append("\t".join(words) + "\n")
    write_text(private / "clips.tsv", rows[0] + "".join(sorted(rows[1:])))
    tokens = (f"{n + 1}\t{secret_name(key, 'token', n)}\n" for n in range(settings.listeners))
    write_text(private / "tokens.tsv", "listener\ttoken\n" + "".join(tokens))


def close_to_others(directory: Path) -> None:
    """Have only the owner read what is for organisers, whatever the umask says: design, tokens, key and answers."""
    try:
        for folder in (directory / "private", directory / "answers"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
            for file in folder.iterdir():
                file.chmod(0o600)
    except PermissionError:
        others = f"{directory}/private {directory}/answers"
        raise InputError(
            f"is not yours, so it cannot be closed to others; have its owner run chmod -R go= {others}", directory
        ) from None


def write_manifest(directory: Path) -> None:
    """Hash every file but the answers."""
    lines = [f"{_digest(path)}  {path.relative_to(directory).as_posix()}\n" for path in _files(directory)]
    write_text(directory / "manifest.sha256", "".join(lines))


def check_manifest(directory: Path) -> None:
    """Refuse a directory in which a file is missing, changed or new."""
    manifest = directory / "manifest.sha256"
    known = {}
    for number, line in read_lines(manifest):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name:
            raise InputError("not a line of sha256sum; prepare the test again", manifest, number)
        known[name] = digest
    present = {path.relative_to(directory).as_posix(): path for path in _files(directory)}
    for name in sorted(known.keys() | present.keys()):
        if name not in present:
            raise InputError("is in the manifest but missing; copy the directory again", directory / name)
        if name not in known:
            raise InputError("is not in the manifest; remove it, or prepare the test again", directory / name)
        if _digest(present[name]) != known[name]:
            raise InputError("has changed since the test was prepared; copy the directory again", directory / name)


def load_test(path: Path) -> ListeningTest:
    """Read a prepared test."""
    if not (path / "private/test.json").is_file():
        raise InputError("is not a listening test; make one with local/listening_test.py prepare", path)
    settings = _read_settings(path / "private/test.json")
    try:
        key = bytes.fromhex((path / "private/key").read_text(encoding="ascii"))
    except ValueError:
        raise InputError("does not hold hexadecimal digits; prepare the test again", path / "private/key") from None
    names: dict[Clip, str] = {}
    seconds: dict[str, float] = {}
    for number, (name, system, set_, utt, length) in _tsv(path / "private/clips.tsv", 5):
        try:
            seconds[name] = float(length)
        except ValueError:
            raise InputError(f"'{length}' is not a length in seconds", path / "private/clips.tsv", number) from None
        names[Clip(_word(system), _word(set_), utt)] = name
    return ListeningTest(path, settings, key, _read_design(path / "private/design.tsv"), names, seconds)


def _design_lines(key: bytes, pages: Iterable[Page]) -> Iterable[str]:
    yield "\t".join((*_DESIGN, *_CLIP)) + "\n"
    for page in pages:
        head = (page.listener + 1, page.position, page_name(key, page), page.kind, page.system, page.set, page.gender)
        words = [str(word) or _EMPTY for word in (*head, page.label, page.truth)]
        spks = page.spks or (_EMPTY,) * len(page.clips)
        rows = [(clip_name(key, c), c.system, c.set, c.utt, spk) for c, spk in zip(page.clips, spks, strict=True)]
        for row in rows or [("", "", "", "", "")]:
            yield "\t".join([*words, *(word or _EMPTY for word in row)]) + "\n"


def _read_design(path: Path) -> dict[str, Page]:
    rows: dict[str, list[list[str]]] = {}
    for number, row in _tsv(path, len(_DESIGN) + len(_CLIP)):
        if not (row[0].isdigit() and row[1].isdigit() and row[8].isdigit()) or row[3] not in get_args(Kind):
            raise InputError("not a line of a design; prepare the test again", path, number)
        rows.setdefault(row[2], []).append(row)
    pages = {}
    for name, lines in rows.items():
        listener, position, _, kind, system, set_, gender, label, truth = lines[0][:9]
        clips = [Clip(_word(line[10]), _word(line[11]), line[12]) for line in lines if line[9] != _EMPTY]
        spks = [line[13] for line in lines if line[13] != _EMPTY]
        pages[name] = Page(
            int(listener) - 1,
            int(position),
            kind,  # type: ignore[arg-type]  # checked above
            _word(system),
            _word(set_),
            _word(gender),
            _word(label),
            tuple(clips),
            tuple(spks),
            int(truth),
        )
    return pages


def _read_settings(path: Path) -> Settings:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["systems"] = tuple(content["systems"])
        content.setdefault("instructions", "")
        settings = Settings(**{field.name: content[field.name] for field in fields(Settings)})
    except (ValueError, KeyError, TypeError):
        raise InputError("does not describe a listening test; prepare it again", path) from None
    if settings.format != FORMAT:
        raise InputError(f"has format {settings.format}, but this version reads {FORMAT}; prepare it again", path)
    return settings


def _tsv(path: Path, columns: int) -> Iterable[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        fields_ = line.split("\t")
        if len(fields_) != columns:
            raise InputError(f"{len(fields_)} columns instead of {columns}; prepare the test again", path, number)
        if number > 1:
            yield number, fields_


def _word(text: str) -> str:
    return "" if text == _EMPTY else text


def _files(directory: Path) -> list[Path]:
    found = [p for p in directory.rglob("*") if p.is_file() and p.relative_to(directory).parts[0] != "answers"]
    own = (directory / "manifest.sha256", directory / MARKER)
    return sorted((p for p in found if p not in own), key=lambda p: p.relative_to(directory).as_posix())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
