"""LibriSpeech (Panayotov et al., ICASSP 2015) and LibriTTS (Zen et al., Interspeech 2019) as released.

``LibriSpeech/<subset>/<reader>/<chapter>/<reader>-<chapter>-<number>.flac`` with ``<reader>-<chapter>.trans.txt``, and
``SPEAKERS.TXT`` with ``<reader> | F | <subset> | <minutes> | <name>`` lines. LibriTTS joins its names with ``_``, has a
``.normalized.txt`` beside every file, and ``speakers.tsv`` (or ``SPEAKERS.txt``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_lines, read_table
from vpeval.corpora.utterances import MissingCorpus, Utterance, find_folder
from vpeval.data.layout import GENDERS
from vpeval.data.text import vpc2020

_SPEAKER_FILES = ("SPEAKERS.TXT", "SPEAKERS.txt", "speakers.tsv")


def read_librispeech(corpus: Path, subset: str) -> list[Utterance]:
    """All utterances of a subset such as dev-clean; a session is a chapter."""
    return list(_read(corpus, ["LibriSpeech"], subset, "LibriSpeech", "flac"))


def read_libritts(corpus: Path, subset: str) -> list[Utterance]:
    """All utterances of a subset such as train-other-500.

    In their ids ``_`` becomes ``-``, which sorts before digits as Kaldi wants it.
    """
    return list(_read(corpus, ["LibriTTS"], subset, "LibriTTS", "wav"))


def read_speakers(path: Path) -> dict[str, str]:
    """Reader → f or m, from SPEAKERS.TXT or speakers.tsv."""
    separator = "\t" if path.suffix == ".tsv" else "|"
    genders = {}
    for line, text in read_lines(path, blanks=True):
        fields = [field.strip() for field in text.split(separator)]
        if text.startswith(";") or fields[0].upper() in ("READER", "ID"):
            continue
        if len(fields) < 3 or fields[1].lower() not in GENDERS:
            raise InputError(f"expected <reader> {separator} F or M {separator} <subset> …, not '{text}'", path, line)
        genders[fields[0]] = fields[1].lower()
    return genders


def _read(corpus: Path, names: list[str], subset: str, title: str, suffix: str) -> Iterator[Utterance]:
    root = find_folder(corpus, names, f"{subset}/*/*/*.{suffix}", f"{title} {subset}")
    genders = read_speakers(_speaker_file(root, title))
    for reader in sorted(path for path in (root / subset).iterdir() if path.is_dir()):
        if reader.name not in genders:
            raise InputError(
                f"reader {reader.name} is not in {_speaker_file(root, title)}; is it of this corpus?", reader
            )
        for chapter in sorted(path for path in reader.iterdir() if path.is_dir()):
            texts = _texts(chapter, suffix)
            for path in sorted(chapter.glob(f"*.{suffix}")):
                utt = path.stem.replace("_", "-")
                yield Utterance(utt, path, reader.name, genders[reader.name], chapter.name, texts.get(utt, ""))


def _speaker_file(root: Path, title: str) -> Path:
    for folder in (root, root.parent):
        for name in _SPEAKER_FILES:
            if (folder / name).is_file():
                return folder / name
    raise MissingCorpus(f"no {_SPEAKER_FILES[0]}, which tells the genders; it comes with {title}", root)


def _texts(chapter: Path, suffix: str) -> dict[str, str]:
    if suffix == "flac":
        name = f"{chapter.parent.name}-{chapter.name}.trans.txt"
        return read_table(chapter / name, "text") if (chapter / name).is_file() else {}
    texts = {}
    for path in chapter.glob("*.normalized.txt"):
        text = path.read_text(encoding="utf-8")
        texts[path.name.removesuffix(".normalized.txt").replace("_", "-")] = " ".join(vpc2020(text))
    return texts
