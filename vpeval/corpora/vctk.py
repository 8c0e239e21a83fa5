"""VCTK 0.92 (Yamagishi, Veaux, MacDonald, 2019), second microphone, as released.

``wav48_silence_trimmed/<spk>/<spk>_<nnn>_mic2.flac`` at 48 kHz, ``txt/<spk>/<spk>_<nnn>.txt``, ``speaker-info.txt``
with ``<spk> <age> <F|M> <accent> …`` lines. Utterances 1–24 are the same text for all speakers: the *common* part of
the challenges.
"""

from __future__ import annotations

import re
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_lines
from vpeval.corpora.utterances import MissingCorpus, Utterance, find_folder
from vpeval.data.layout import GENDERS, is_age, is_number
from vpeval.data.text import vpc2020

COMMON = 24
"""The last utterance that all speakers read."""
_AUDIO = "wav48_silence_trimmed"
_NAME = re.compile(r"(?P<spk>[ps][0-9]+)_(?P<number>[0-9]{3})_mic2")


def read_vctk(corpus: Path) -> list[Utterance]:
    """All utterances of the second microphone; those without one (p280, some of p362) or without text are not there."""
    root = find_folder(corpus, ["VCTK-Corpus-0.92", "VCTK"], f"{_AUDIO}/*/*_mic2.flac", "VCTK 0.92")
    speakers = _read_speakers(root / "speaker-info.txt")
    utterances = []
    for folder in sorted(path for path in (root / _AUDIO).iterdir() if path.is_dir()):
        for path in sorted(folder.glob("*_mic2.flac")):
            match = _NAME.fullmatch(path.stem)
            if not match or match["spk"] != folder.name:
                raise InputError("is not named <speaker>_<number>_mic2.flac; is this VCTK 0.92?", path)
            text = root / "txt" / folder.name / f"{path.stem.removesuffix('_mic2')}.txt"
            if not text.is_file():
                continue  # p315 has lost its texts
            if folder.name not in speakers:
                raise InputError(f"has no speaker {folder.name}; is it of this corpus?", root / "speaker-info.txt")
            words = " ".join(vpc2020(text.read_text(encoding="utf-8")))
            age, gender, accent = speakers[folder.name]
            found = Utterance(path.stem, path, folder.name, gender, "", words, age=age, accent=accent)
            utterances.append(found)
    return utterances


def is_common(utt: str) -> bool:
    """Whether an utterance is of the text that all speakers read.

    >>> is_common("p234_024_mic2"), is_common("p234_025_mic2")
    (True, False)
    """
    match = _NAME.fullmatch(utt)
    if not match:
        raise InputError(f"'{utt}' is not the name of a VCTK utterance, <speaker>_<number>_mic2")
    return int(match["number"]) <= COMMON


def _read_speakers(path: Path) -> dict[str, tuple[str, str, str]]:
    """Age, gender and accent of every speaker; what is no age, and an accent that is not there, are empty."""
    if not path.is_file():
        raise MissingCorpus("is missing; it comes with VCTK 0.92 and tells the genders", path)
    speakers = {}
    for line, text in read_lines(path, blanks=True):
        fields = text.split()
        if fields[0].upper() == "ID":
            continue
        if len(fields) < 3 or fields[2].lower() not in GENDERS:
            raise InputError(f"expected <speaker> <age> F or M …, not '{text.strip()}'", path, line)
        # The list of older releases has the number alone.
        age = fields[1] if is_number(fields[1]) and is_age(fields[1]) else ""
        name = fields[0] if fields[0][0].isalpha() else f"p{fields[0]}"
        speakers[name] = age, fields[2].lower(), fields[3] if len(fields) > 3 else ""
    return speakers
