"""Pack a submission: the same inputs always give the same bytes.

Members are sorted by name and have no owner, no time is written down, and whatever varies from machine to machine is
left out, but for the versions in the manifest.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

import soundfile as sf

import vpeval
from vpeval.audio.io import RATE, is_pipe, read_audio, read_wave_header
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_lines, read_rows
from vpeval.core.publish import refuse_overlap
from vpeval.data import layout as data_layout
from vpeval.data.directory import DataDir
from vpeval.editions.base import FORM
from vpeval.records.names import CONDITIONS
from vpeval.records.record import Record
from vpeval.submission.archive import DESCRIPTION, FORMAT, MANIFEST, is_safe
from vpeval.submission.demands import ATTACKERS, DIGESTS, RECOGNISERS, digest_of
from vpeval.submission.roles import PRIMARY

_PACKAGES = ("numpy", "scipy", "soundfile", "torch", "speechbrain", "faster-whisper")


@dataclass(frozen=True)
class Contents:
    """What goes into a submission.

    `run` is a run directory with its scores, `data` are the original data directories: the anonymised one of
    ``data/x`` is ``data/x_<system>``. `results` are texts of results files by name, `records` what they were made from,
    and `shown` names the attackers that they show, as `vpeval.editions.base.render` takes it. `attackers` and
    `recognisers` are the directories of configurations, of which the manifest has digests.
    """

    edition: str
    system: str
    run: Path
    data: Sequence[Path]
    results: Mapping[str, str]
    records: Sequence[Record]
    seed: int = 0
    description: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str | None] = field(default_factory=dict)
    role: str = PRIMARY
    attackers: Path = Path("conf/asv")
    recognisers: Path = Path("conf/asr")


def pack(contents: Contents, out: str | PathLike[str]) -> dict[str, Any]:
    """Write the archive, whole or not at all, and return its manifest."""
    _refuse_loss(Path(out), contents)
    sources = _sources(contents)
    files: dict[str, dict[str, Any]] = {}
    with (
        atomic_path(out) as temporary,
        open(temporary, "wb") as raw,
        closing(_Gzip(raw)) as packed,
        tarfile.open(fileobj=cast(BinaryIO, packed), mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(sources):
            content = sources[name]()
            files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            _add(archive, f"{contents.system}/{name}", content)
        manifest = _manifest(contents, files)
        # The last member, as it lists all others.
        text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        _add(archive, f"{contents.system}/{MANIFEST}", text.encode())
    return manifest


class _Gzip:
    """A gzip file without a name and a time.

    Samples hardly ever repeat: what gzip gains by looking for repeats is less than what it loses, and takes most of its
    time. On speech of the embedded corpus, codes for runs alone leave 89.4 % at 101 MB/s, level 6 leaves 89.6 % at 38.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)

    def write(self, content: bytes) -> int:
        """Pack, and write what is ready."""
        self._file.write(self._packer.compress(content))
        return len(content)

    def close(self) -> None:
        """Write the rest."""
        self._file.write(self._packer.flush())


def _form(contents: Contents, recipes: str) -> str:
    """The system description, to be filled in."""
    points = "".join(f"- {topic.title}:\n" for topic in FORM)
    return (
        f"# System description: {contents.system}\n\nTo be filled in by the participants. What the challenges ask for:"
        f"\n\n{points}\nResults: see `results/`. Recipe `{recipes}`, edition {contents.edition}, base seed "
        f"{contents.seed}.\n"
    )


def read_description(path: Path) -> str:
    """The text of a system description."""
    text = "\n".join(line for _, line in read_lines(path, blanks=True))
    if not text.strip():
        raise InputError("is empty; describe the system, or leave it out for a form to fill in", path)
    return path.read_text(encoding="utf-8")


def _refuse_loss(out: Path, contents: Contents) -> None:
    """Refuse to put an archive into a data directory, or in the place of anything but a submission."""
    anonymised = [path.with_name(f"{path.name}_{contents.system}") for path in contents.data]
    refuse_overlap(out, [*contents.data, *anonymised])
    if out.is_dir():
        raise InputError("is a directory; name the archive in it", out)
    if out.is_file() and out.stat().st_size and not _is_submission(out):
        raise InputError("exists and is no submission; choose another name", out)


def _is_submission(file: Path) -> bool:
    try:
        with tarfile.open(file, "r:gz") as archive:
            first = archive.next()
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return False
    return first is not None and first.name.partition("/")[2].startswith("data/")


def _sources(contents: Contents) -> dict[str, Callable[[], bytes]]:
    """How to get the content of every file; nothing large is read yet, but everything is there."""
    recipes = ", ".join(sorted({record.recipe for record in contents.records if record.recipe}))
    text = contents.description
    if text is None:
        text = _form(contents, recipes)
    sources = {DESCRIPTION: _text(text)}
    for name, result in contents.results.items():
        sources[f"results/{name}"] = _text(result)
    scores = sorted(
        {Path(os.path.normpath(contents.run / r.files["scores"])) for r in contents.records if "scores" in r.files}
    )
    if not any(record.system == contents.system and "scores" in record.files for record in contents.records):
        raise InputError("its results name no scores; run stages 6 and 11 first", contents.run)
    for path in scores:
        if not path.is_file():
            raise InputError("no such scores; run stage 6 again", path)
        sources[f"scores/{path.parent.name}/scores"] = _scores(path)
    for what, place in (("hyp", "text/{}/text"), ("predictions", "emotions/{}/predictions")):
        for name in sorted({record.files[what] for record in contents.records if what in record.files}):
            path = Path(os.path.normpath(contents.run / name))
            directory = path.parent.relative_to(os.path.normpath(contents.run.parent)).parts[1:]
            sources[place.format(".".join(directory))] = path.read_bytes
    for original in contents.data:
        sources |= dict(_data(original, contents.system))
    for name in sources:
        if not is_safe(name):
            raise InputError(f"'{name}' cannot be a file name in an archive; rename the set or the utterance")
    return sources


def _text(text: str) -> Callable[[], bytes]:
    return text.encode


def _scores(path: Path) -> Callable[[], bytes]:
    """Scores in Kaldi's format: three fields, one blank between them."""

    def content() -> bytes:
        rows = (" ".join(fields) for _, fields in read_rows(path, "speaker", "utterance", "score"))
        return "".join(f"{row}\n" for row in rows).encode()

    return content


def _data(original: Path, system: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The files of the anonymised directory of `original`, which must hold the same utterances."""
    reference = DataDir.load(original)
    anonymised = DataDir.load(original.with_name(f"{original.name}_{system}"))
    if missing := sorted(reference.utt2spk.keys() - anonymised.utt2spk.keys()):
        some = data_layout.first_few(missing)
        raise InputError(f"lacks utterances of {original} ({some}); run stage 3 again", anonymised.path / "utt2spk")
    if unknown := sorted(anonymised.utt2spk.keys() - reference.utt2spk.keys()):
        some = data_layout.first_few(unknown)
        raise InputError(f"has utterances that {original} lacks ({some})", anonymised.path / "utt2spk")
    place = f"data/{anonymised.name}"
    for name in data_layout.present(anonymised.path):
        if name != "wav.scp":
            yield f"{place}/{name}", (anonymised.path / name).read_bytes
    yield f"{place}/wav.scp", _text("".join(f"{utt} {place}/wav/{utt}.wav\n" for utt in anonymised.utts))
    for utt, entry in anonymised.wav.items():
        yield f"{place}/wav/{utt}.wav", _wave(entry)


def _wave(entry: str) -> Callable[[], bytes]:
    """A 16 kHz, mono, 16-bit WAV file: the file itself if it is one already."""

    def content() -> bytes:
        path = Path(entry)
        if not is_pipe(entry) and path.suffix == ".wav" and path.is_file() and _is_ready(found := path.read_bytes()):
            return found
        buffer = io.BytesIO()
        sf.write(buffer, read_audio(entry), RATE, subtype="PCM_16", format="WAV")
        return buffer.getvalue()

    return content


def _is_ready(content: bytes) -> bool:
    """Whether this is a whole WAV file with samples of the kind that is packed."""
    wave = read_wave_header(io.BytesIO(content))
    if wave is None or wave.is_cut or not content.startswith(b"RIFF"):
        return False
    return wave.present > 0 and (wave.coding, wave.channels, wave.rate, wave.bits) == (1, 1, RATE, 16)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(content), 0o644, 0
    try:
        archive.addfile(member, io.BytesIO(content))
    except ValueError:
        raise InputError(f"'{name}' is too long for a name in an archive; shorten the name of the system") from None


def _manifest(contents: Contents, files: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    seeds = {str(record.notes["seed"]) for record in contents.records if "seed" in record.notes}
    attackers = sorted({r.attacker for r in contents.records if r.attacker and r.condition in CONDITIONS})
    recognisers = sorted({record.recogniser for record in contents.records if record.recogniser})
    return {
        "format": FORMAT,
        "edition": contents.edition,
        "system": contents.system,
        "role": contents.role,
        "recipes": sorted({record.recipe for record in contents.records if record.recipe}),
        ATTACKERS: attackers,
        RECOGNISERS: recognisers,
        DIGESTS: {
            ATTACKERS: _digests(contents.attackers, attackers),
            RECOGNISERS: _digests(contents.recognisers, recognisers),
        },
        "shown": _shown(contents),
        "seeds": {"base": contents.seed, "intervals": sorted(seeds)},
        "versions": {"vpeval": vpeval.__version__, "python": platform.python_version(), **_versions()},
        "more": dict(contents.more),
        "files": dict(files),
    }


def _digests(home: Path, names: Sequence[str]) -> dict[str, str]:
    """Digests of configurations; what was trained has none."""
    return {name: digest for name in names if (digest := digest_of(home, name))}


def _shown(contents: Contents) -> dict[str, str]:
    """The attackers that the results show: those that were given, or the only one there is."""
    attackers = {r.attacker for r in contents.records if r.condition in CONDITIONS and "scores" in r.files}
    only = {"attacker": min(attackers)} if len(attackers) == 1 else {}
    return {**only, **{role: name for role, name in contents.shown.items() if name}}


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
