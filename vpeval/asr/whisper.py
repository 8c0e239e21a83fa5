"""Whisper (Radford et al., ICML 2023) through faster-whisper and CTranslate2."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
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
_TOGETHER = 16


@dataclass(frozen=True)
class Window:
    """An utterance to be decoded: features and the limit of tokens, or the wave of one longer than 30 s."""

    content: np.ndarray
    length: int
    is_long: bool = False


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

        self.most = _TOGETHER if self.whisper.model.device == "cuda" else 1

    def transcribe(self, wave: np.ndarray) -> str:
        """Decode in one window just long enough; beyond 30 s faster-whisper's own loop over windows takes over."""
        return self.decode([self.prepare(wave)])[0]

    def prepare(self, wave: np.ndarray) -> Window:
        """The window of an utterance."""
        seconds = len(wave) / RATE
        length = len(self.prompt) + 16 + int(_MOST_TOKENS_PER_SECOND * seconds)
        if seconds > _WHISPER_SECONDS:
            return Window(wave, length, is_long=True)
        window = min(_WHISPER_SECONDS, max(self.window, seconds + _MARGIN_SECONDS))
        frames = int(window * RATE) // _HOP
        features = self.whisper.feature_extractor(np.pad(wave, (0, frames * _HOP - len(wave))), padding=0)[:, :frames]
        return Window(features, length)

    def alike(self, prepared: Window) -> Hashable:
        """The size of the window and the limit of tokens, with which a group gives the words of each by itself."""
        return None if prepared.is_long else (prepared.content.shape, prepared.length)

    def decode(self, prepared: Sequence[Window]) -> list[str]:
        """The words of windows that are alike."""
        if prepared[0].is_long:
            return [self._decode_long(one.content) for one in prepared]
        features = prepared[0].content if len(prepared) == 1 else np.stack([one.content for one in prepared])
        results = self.whisper.model.generate(
            self.whisper.encode(features),
            [self.prompt] * len(prepared),
            beam_size=self.beam,
            max_length=prepared[0].length,
        )
        return [str(self.tokenizer.decode(result.sequences_ids[0])).strip() for result in results]

    def _decode_long(self, wave: np.ndarray) -> str:
        segments, _ = self.whisper.transcribe(
            wave, language=self.language, beam_size=self.beam, temperature=0.0, condition_on_previous_text=False
        )
        return " ".join(segment.text.strip() for segment in segments)
