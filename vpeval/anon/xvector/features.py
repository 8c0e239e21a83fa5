"""Step 1 of B1: content features (50 frames a second) and F0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy.fft import dct

from vpeval.audio.f0 import track_pyin
from vpeval.core import models
from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.errors import InputError
from vpeval.networks import compute
from vpeval.networks.compute import load_weights

FRAME = 320  # samples per frame of content features: 20 ms
_MARGIN = 25  # frames of silence after the speech, which Whisper expects to end somewhere
_WHISPER_FRAMES = 1500


@dataclass(frozen=True)
class Example:
    """An utterance to learn synthesis from.

    Its content in several disguises, F0 (two values per frame), the mean vector of the speaker and that of this
    utterance, and the target of a back end.
    """

    contents: tuple[Floats32, ...]
    f0: Floats
    speaker: Floats32
    vector: Floats32
    target: Floats32


class Synthesizer(Protocol):
    """What makes speech of content, F0 and speaker vector."""

    def synthesize(
        self, content: Floats32, f0: Floats, speaker: Floats32, length: int, rng: np.random.Generator
    ) -> Floats:
        """`length` samples that say `content` with pitch `f0` in the voice of `speaker`."""

    def save(self, path: Path) -> None:
        """Write what is needed to load it again."""


class Dimensions(Protocol):
    """What content must know of the size of a synthesizer."""

    @property
    def content(self) -> int:
        """Dimensions of the content features."""


class Backend(Protocol):
    """A kind of synthesizer: what it learns from, how it learns, and how it is loaded."""

    @property
    def size(self) -> Dimensions:
        """Dimensions of the networks."""

    def target(self, wave: np.ndarray, f0: Floats) -> Floats32:
        """What the synthesizer shall learn to make of an utterance."""

    def train(self, examples: Sequence[Example]) -> Synthesizer:
        """A synthesizer that has learnt from `examples`."""

    def load(self, path: Path) -> Synthesizer:
        """Read what a synthesizer has saved."""


class Content(Protocol):
    """What B1 needs of a content encoder."""

    dimension: int

    def __call__(self, wave: np.ndarray) -> Floats32:
        """Frames x dimension of mono 16 kHz samples, a row for every 20 ms, without what is constant in them."""


class WhisperContent:
    """Output of a Whisper encoder, in CTranslate2, and contours of the spectrum that the encoder sees.

    The output tells words, but not when exactly a sound begins and how loud it is. The first cepstral coefficients of
    the spectrum do, every 10 ms: loudness, slope, and little more of its shape. Their mean over the utterance is that
    of voice and microphone and is taken away. The fewer `contours`, the less they tell of the voice; 0 leaves them out.
    """

    def __init__(self, model: str, contours: int = 0) -> None:
        from faster_whisper import WhisperModel

        directory = models.locate(models.find_model(model))
        self.whisper = WhisperModel(str(directory), device="cpu", compute_type="int8", cpu_threads=1)
        self.contours = contours
        self.dimension = 512 + 2 * contours

    def __call__(self, wave: np.ndarray) -> Floats32:
        """In chunks when the speech is longer than Whisper's window."""
        chunk = (_WHISPER_FRAMES - _MARGIN) * FRAME
        parts = [self._encode(wave[start : start + chunk]) for start in range(0, max(1, len(wave)), chunk)]
        encoded, spectrum = (np.concatenate(rows) for rows in zip(*parts, strict=True))
        return np.concatenate((whiten(encoded), cepstral_contours(spectrum, self.contours)), axis=1)

    def _encode(self, wave: np.ndarray) -> tuple[Floats32, Floats32]:
        """The encoder's output, and the two rows of its log spectrum to every row of that."""
        frames = frame_count(len(wave))
        padded = np.pad(wave, (0, (frames + _MARGIN) * FRAME - len(wave))).astype(np.float32)
        spectrum = self.whisper.feature_extractor(padded, padding=0)[:, : 2 * (frames + _MARGIN)]
        encoded: Floats32 = np.array(self.whisper.encode(spectrum))[0, :frames]
        return encoded, spectrum.T[: 2 * frames]


class SslContent:
    """A hidden layer of a wav2vec 2.0 or HuBERT model in torchaudio's form, from a file of weights."""

    def __init__(self, weights: str, layer: int, architecture: dict[str, Any]) -> None:
        from vpeval.networks import speechbrain  # noqa: F401  makes torchaudio importable without its compiled half

        import torchaudio  # isort: skip

        if not Path(weights).is_file():
            raise InputError("no such file; put the state dict of the SSL model there (docs/hooks.md)", weights)
        self.device = compute.device()
        self.network = torchaudio.models.wav2vec2_model(**architecture).to(self.device).eval()
        load_weights(self.network, Path(weights))
        self.layer = layer
        self.dimension = int(architecture["encoder_embed_dim"])

    @torch.inference_mode()
    def __call__(self, wave: np.ndarray) -> Floats32:
        """The layer's output, brought to one row for every 20 ms of the wave."""
        batch = torch.from_numpy(np.asarray(wave, np.float32))[None].to(self.device)
        hidden, _ = self.network.extract_features(batch, num_layers=self.layer)
        return whiten(fit_length(hidden[-1][0].cpu().numpy(), frame_count(len(wave))))


_CONTENTS: dict[str, Callable[..., Content]] = {"whisper": WhisperContent, "ssl": SslContent}


def cepstral_contours(spectrum: AnyFloats, count: int) -> Floats32:
    """The first `count` cepstral coefficients of a log spectrum without their means; two rows make one of a frame."""
    coefficients = dct(spectrum, axis=1, norm="ortho")[:, :count]
    coefficients -= coefficients.mean(axis=0)
    return coefficients.reshape(len(spectrum) // 2, 2 * count).astype(np.float32)


def load_content(kind: str, **settings: Any) -> Content:
    """The content encoder of a profile."""
    if kind not in _CONTENTS:
        raise InputError(f"no content features '{kind}'; there are {', '.join(_CONTENTS)}")
    return _CONTENTS[kind](**settings)


def frame_count(samples: int) -> int:
    """Frames of content features for so many samples."""
    return max(1, -(-samples // FRAME))


def fit_length(rows: AnyFloats, count: int) -> Floats32:
    """`rows` stretched or shrunk along time to `count` rows, linearly."""
    place = np.linspace(0, len(rows) - 1, count)
    low = np.minimum(place.astype(np.int64), max(0, len(rows) - 2))
    high = np.minimum(low + 1, len(rows) - 1)
    part = (place - low)[:, None]
    return (rows[low] * (1 - part) + rows[high] * part).astype(np.float32)


def whiten(content: Floats32) -> Floats32:
    """Every dimension with mean 0 and variance 1 over the utterance: most of what is constant in it is the speaker."""
    spread = content.std(axis=0)
    return ((content - content.mean(axis=0)) / (spread + 1e-3)).astype(np.float32)


def disguised_content(encoder: Content, wave: np.ndarray, factor: float) -> Floats32:
    """Content of the speech played `factor` times as fast, on the time scale of the original.

    Another vocal tract and pitch with the same words: training on several of these teaches the synthesis to take the
    voice from the speaker vector.
    """
    places = np.arange(0, len(wave) - 1, factor)
    played = wave if factor == 1 else np.interp(places, np.arange(len(wave)), wave).astype(np.float32)
    return fit_length(encoder(played), frame_count(len(wave)))


def pitch(wave: np.ndarray) -> Floats:
    """F0 in Hz every 10 ms, 0 where unvoiced: two values for each frame of content."""
    f0 = np.nan_to_num(track_pyin(np.asarray(wave, np.float32)))
    wanted = 2 * frame_count(len(wave))
    return np.pad(f0[:wanted], (0, max(0, wanted - len(f0))))


def mean_log_f0(f0: Floats) -> float:
    """Mean of log F0 over voiced frames; of 150 Hz when there are none."""
    voiced = f0[f0 > 0]
    return float(np.log(voiced).mean()) if len(voiced) else float(np.log(150.0))


def pitch_features(f0: Floats) -> Floats32:
    """For each frame of content: log F0 relative to its mean, twice, and whether voiced, twice."""
    voiced = f0 > 0
    relative = np.where(voiced, np.log(np.where(voiced, f0, 1.0)) - mean_log_f0(f0), 0.0)
    return np.concatenate((relative.reshape(-1, 2), voiced.reshape(-1, 2)), axis=1).astype(np.float32)
