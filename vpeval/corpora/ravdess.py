"""RAVDESS, speech (Livingstone and Russo, PLoS ONE 2018), as released.

``Actor_<nn>/03-01-<emotion>-<intensity>-<statement>-<repetition>-<actor>.wav``; odd actors are male. Actors are dealt
to folds in pairs of a woman and a man, so that every fold has both and no speaker is in two.
"""

from __future__ import annotations

import re
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.corpora.utterances import Utterance, find_folder

EMOTIONS = {
    "01": "neu",
    "02": "cal",
    "03": "hap",
    "04": "sad",
    "05": "ang",
    "06": "fea",
    "07": "dis",
    "08": "sur",
}
STATEMENTS = {"01": "KIDS ARE TALKING BY THE DOOR", "02": "DOGS ARE SITTING BY THE DOOR"}
FOLDS = 6
_NAME = re.compile(r"03-01-(0[1-8])-(0[12])-(0[12])-(0[12])-([0-9]{2})")


def read_ravdess(corpus: Path) -> list[Utterance]:
    """All spoken utterances, with emotion and fold."""
    root = find_folder(corpus, ["RAVDESS", "Audio_Speech_Actors_01-24"], "Actor_*/*", "RAVDESS")
    utterances = []
    for path in sorted(root.glob("Actor_*/*")):
        if path.suffix not in (".wav", ".flac"):
            continue
        match = _NAME.fullmatch(path.stem)
        if not match:
            raise InputError(
                "is not named 03-01-<emotion>-<intensity>-<statement>-<repetition>-<actor>; is this the speech part of "
                "RAVDESS?",
                path,
            )
        emotion, _, statement, repetition, actor = match.groups()
        spk = f"actor{actor}"
        fold = str(1 + (int(actor) - 1) // 2 % FOLDS)
        gender = "m" if int(actor) % 2 else "f"
        utterances.append(
            Utterance(
                f"{spk}-{path.stem}", path, spk, gender, repetition, STATEMENTS[statement], EMOTIONS[emotion], fold
            )
        )
    return utterances
