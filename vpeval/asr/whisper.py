"""Whisper (Radford et al., ICML 2023) through faster-whisper and CTranslate2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.tokenizer import Tokenizer

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.errors import InputError

_WHISPER_SECONDS = 30
_MARGIN_SECONDS = 2
_HOP = 160
_MOST_TOKENS_PER_SECOND = 12


class Whisper:
    """Beam search in one window that is as long as the utterance needs."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, recognizer=str, model=str, language=str, beam=int, compute=str, window=int)
        if not 1 <= settings["window"] <= _WHISPER_SECONDS:
            raise InputError(f"window must be 1 to {_WHISPER_SECONDS} seconds", config)
        directory = models.locate(models.find_model(settings["model"]))
        self.whisper = WhisperModel(str(directory), device="auto", compute_type=settings["compute"], cpu_threads=1)
        self.language, self.beam, self.window = settings["language"], settings["beam"], settings["window"]
        self.tokenizer = Tokenizer(
            self.whisper.hf_tokenizer, self.whisper.model.is_multilingual, task="transcribe", language=self.language
        )
        self.prompt = self.whisper.get_prompt(self.tokenizer, [], without_timestamps=True)

    def transcribe(self, wave: np.ndarray) -> str:
        """Decode in one window just long enough; beyond 30 s faster-whisper's own loop over windows takes over."""
        seconds = len(wave) / RATE
        if seconds > _WHISPER_SECONDS:
            segments, _ = self.whisper.transcribe(
                wave, language=self.language, beam_size=self.beam, temperature=0.0, condition_on_previous_text=False
            )
            return " ".join(segment.text.strip() for segment in segments)
        window = min(_WHISPER_SECONDS, max(self.window, seconds + _MARGIN_SECONDS))
        frames = int(window * RATE) // _HOP
        features = self.whisper.feature_extractor(np.pad(wave, (0, frames * _HOP - len(wave))), padding=0)[:, :frames]
        result = self.whisper.model.generate(
            self.whisper.encode(features),
            [self.prompt],
            beam_size=self.beam,
            max_length=len(self.prompt) + 16 + int(_MOST_TOKENS_PER_SECOND * seconds),
        )[0]
        return str(self.tokenizer.decode(result.sequences_ids[0])).strip()
