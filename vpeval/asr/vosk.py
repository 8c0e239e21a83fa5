"""Kaldi chain models through Vosk: its own models, and the recogniser of VPC 2020.

The latter decodes with a small language model and scores the lattices again with a large one. Vosk weights language
models with 0.9 against the acoustic scores of a chain model, which is Kaldi's LMWT of 9, and chooses the words of least
expected error of the lattice; the challenge tries LMWT 7 to 17 and takes the best path.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.lazy import require

SMALL, LARGE = "small", "large"
"""The language models of a `KaldiChain`."""
_CHUNK = RATE // 4


class Vosk:
    """A Vosk model with its own language model, or restricted to some words."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, recognizer=str, model=str, words=list)
        self.vosk = require("vosk", "this recogniser")
        self.vosk.SetLogLevel(-1)
        self.model = self.vosk.Model(str(models.locate(models.find_model(settings["model"]))))
        self.grammar = [json.dumps([str(word) for word in settings["words"]])] if settings["words"] else []

    def transcribe(self, wave: np.ndarray) -> str:
        """A recogniser of its own for every utterance: its adaptation to the speaker must not depend on the order."""
        recognizer = self.vosk.KaldiRecognizer(self.model, RATE, *self.grammar)
        pcm = to_pcm(wave)
        parts = []
        for start in range(0, len(pcm), _CHUNK):
            if recognizer.AcceptWaveform(pcm[start : start + _CHUNK].tobytes()):
                parts.append(recognizer.Result())
        parts.append(recognizer.FinalResult())
        return " ".join(filter(None, (json.loads(part)["text"] for part in parts)))


def to_pcm(wave: np.ndarray) -> np.ndarray:
    """Samples as 16-bit integers."""
    return np.clip(np.rint(wave * 32768), -32768, 32767).astype(np.int16)


class KaldiChain:
    """The models of a directory of utils/make_kaldi_chain.py, by language model."""

    def __init__(self, config: Path) -> None:
        self.vosk = require("vosk", "this recogniser")
        self.vosk.SetLogLevel(-1)
        directory = _directory(config)
        self.models = {lm: self._load(directory / lm) for lm in language_models(config)}

    def transcribe(self, wave: np.ndarray) -> str:
        """With the largest language model there is."""
        return self._decode(self.models[LARGE if LARGE in self.models else SMALL], wave)

    def transcribe_all(self, wave: np.ndarray) -> dict[str, str]:
        """By language model."""
        return {lm: self._decode(model, wave) for lm, model in self.models.items()}

    def _decode(self, model: Any, wave: np.ndarray) -> str:
        """A recogniser of its own for every utterance, which is decoded as one, whatever pauses are in it."""
        recognizer = self.vosk.KaldiRecognizer(model, RATE)
        recognizer.AcceptWaveform(to_pcm(wave).tobytes())
        return str(json.loads(recognizer.FinalResult())["text"])

    def _load(self, directory: Path) -> Any:
        try:
            return self.vosk.Model(str(directory))
        except Exception:  # of no narrower class; what is wrong goes to the log of Kaldi's code
            self.vosk.SetLogLevel(0)
            raise InputError("Vosk cannot load it; are all files whole? Make it again", directory) from None


def language_models(config: Path) -> tuple[str, ...]:
    """Which there are: small, or small and large."""
    directory = _directory(config)
    there = tuple(lm for lm in (SMALL, LARGE) if (directory / lm / "am/final.mdl").is_file())
    if SMALL not in there:
        raise InputError("holds no recogniser; make it with utils/make_kaldi_chain.py (docs/models.md)", directory)
    return there


def _directory(config: Path) -> Path:
    return config.parent / str(read_config(config, recognizer=str, directory=str)["directory"])
