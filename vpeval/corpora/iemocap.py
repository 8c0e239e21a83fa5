"""IEMOCAP (Busso et al., LREC 2008) as released, with the four emotions of VoicePrivacy 2024.

``Session<n>/sentences/wav/<dialogue>/<dialogue>_<F|M><nnn>.wav``, categorical labels in
``Session<n>/dialog/EmoEvaluation/<dialogue>.txt`` and texts in ``Session<n>/dialog/transcriptions/<dialogue>.txt``.
Excited counts as happy; other emotions are left out. A fold is a session, which has two speakers.
"""

from __future__ import annotations

import re
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_lines
from vpeval.corpora.utterances import Utterance, find_folder
from vpeval.data.text import vpc2020

EMOTIONS = {"neu": "neu", "hap": "hap", "exc": "hap", "ang": "ang", "sad": "sad"}
_LABEL = re.compile(r"\[[0-9. -]+\]\s+(?P<utt>\S+)\s+(?P<emotion>[a-z]{3})\s")
_TEXT = re.compile(r"(?P<utt>Ses\S+) \[[0-9. -]+\]: (?P<text>.*)")
_NAME = re.compile(r"(?P<session>Ses(?P<number>0[1-5]))[FM]_.+_(?P<gender>[FM])[0-9]{3}")


def read_iemocap(corpus: Path) -> list[Utterance]:
    """The utterances of the four emotions; speakers are Ses01F, Ses01M, … Ses05M."""
    root = find_folder(corpus, ["IEMOCAP_full_release", "IEMOCAP"], "Session1/sentences/wav", "IEMOCAP")
    utterances = []
    for session in sorted(root.glob("Session[1-5]")):
        for dialogue in sorted(path for path in (session / "sentences/wav").iterdir() if path.is_dir()):
            labels = _read(session / "dialog/EmoEvaluation" / f"{dialogue.name}.txt", _LABEL, "emotion")
            texts = _read(session / "dialog/transcriptions" / f"{dialogue.name}.txt", _TEXT, "text")
            for path in sorted(dialogue.glob("*.wav")):
                match = _NAME.fullmatch(path.stem)
                emotion = EMOTIONS.get(labels.get(path.stem, ""), "")
                if not match or not emotion:
                    continue
                spk = f"{match['session']}{match['gender']}"
                text = " ".join(vpc2020(re.sub(r"\[[A-Z]+\]", "", texts.get(path.stem, ""))))
                fold = str(int(match["number"]))
                # The name of a dialogue holds the gender of the one in motion capture, not of the speaker.
                utterances.append(
                    Utterance(
                        f"{spk}-{path.stem}", path, spk, match["gender"].lower(), dialogue.name, text, emotion, fold
                    )
                )
    return utterances


def partition_of(spk: str) -> str:
    """dev or test: one speaker of every session each, women and men in turn.

    >>> [partition_of(spk) for spk in ("Ses01F", "Ses01M", "Ses02F", "Ses02M")]
    ['dev', 'test', 'test', 'dev']
    """
    return "dev" if (int(spk[3:5]) % 2 == 1) == (spk[5] == "F") else "test"


def _read(path: Path, pattern: re.Pattern[str], value: str) -> dict[str, str]:
    if not path.is_file():
        raise InputError("is missing; is IEMOCAP complete?", path)
    found = {}
    for _, text in read_lines(path, blanks=True):
        if match := pattern.match(text):
            found[match["utt"]] = match[value]
    return found
