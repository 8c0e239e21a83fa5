"""Kaldi chain models through Vosk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.lazy import require

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
