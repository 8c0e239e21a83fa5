"""Phone units: how often a speaker uses which discrete sound (Chandra et al., arXiv 2605.07291, section 4.2.4).

The paper's units are the codebook of a VQ-VAE. Here they are the centres of k-means on frozen features, either cepstra,
100 a second, or states of Whisper's encoder, 50 a second, learnt from training speech without transcripts. Frames of
speech (energy-based VAD) count. The vector of an utterance is their histogram; similarity rank disclosure cuts the
speech of a speaker into 20 segments of equal length, as the paper does (`vpeval.embeddings.symbols`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.fft import dct

from vpeval.audio.io import RATE
from vpeval.core.arrays import AnyFloats, Counts, Floats, Floats32
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.embeddings.symbols import Frames, histogram
from vpeval.networks.encoders import long_enough
from vpeval.networks.kaldi.features import EnergyVad, speech
from vpeval.networks.speechbrain import Fbank

_VAD = EnergyVad(threshold=5.5, mean_scale=0.5, context=2, proportion=0.6)
_CEPSTRA = 20
_MELS = 40
_ROWS = 4096


class FrozenFeatures:
    """Frames of speech of an utterance, as the yaml of a `phone_units` encoder describes them."""

    def __init__(self, config: Path) -> None:
        self.settings = read_config(
            config,
            "model",
            "compute",
            "inputs",
            encoder=str,
            features=str,
            model=str,
            compute=str,
            codebook=str,
            similarity=str,
            inputs=str,
        )
        self.hop, self._frames = self._extractor(config)

    def _extractor(self, config: Path) -> tuple[int, Callable[[np.ndarray], Floats32]]:
        kind = self.settings["features"]
        if kind == "mfcc":
            return 160, Cepstra()
        if kind != "whisper":
            raise InputError(f"'features' must be whisper or mfcc, not '{kind}'", config)
        if missing := [key for key in ("model", "compute") if key not in self.settings]:
            raise InputError(f"'{missing[0]}' is missing, which features of Whisper need", config)
        from vpeval.networks.whisper_frames import HOP, WhisperStates  # on demand, as it brings CTranslate2 along

        return HOP, WhisperStates(self.settings["model"], self.settings["compute"])

    def __call__(self, wave: np.ndarray) -> Floats32:
        """Features of the frames with speech; of all frames where the VAD finds none."""
        wave = long_enough(wave)
        frames = self._frames(wave)
        count = min(len(frames), len(wave) // self.hop)
        energy = np.square(32768 * wave[: count * self.hop].astype(np.float64)).reshape(count, self.hop).sum(axis=1)
        voiced = _VAD(np.log(energy + 1).astype(np.float32)[:, None])
        return speech(frames[:count], voiced)


class Cepstra:
    """Mel-frequency cepstra less their mean over the utterance: for where no model is to be had."""

    def __init__(self) -> None:
        self.filterbank = Fbank(n_mels=_MELS)

    def __call__(self, wave: np.ndarray) -> Floats32:
        """Floats32 × 20 of mono 16 kHz samples."""
        import torch

        with torch.inference_mode():
            mels = self.filterbank(torch.from_numpy(wave).unsqueeze(0))[0].numpy()
        cepstra = dct(mels.astype(np.float64), norm="ortho", axis=1)[:, :_CEPSTRA]
        return (cepstra - cepstra.mean(axis=0)).astype(np.float32)


class PhoneUnits:
    """The encoder: how often which unit occurs."""

    def __init__(self, config: Path) -> None:
        self.features = FrozenFeatures(config)
        self.centres = _read_codebook(config.parent / self.features.settings["codebook"])
        self.count, self.rate = len(self.centres), RATE // self.features.hop

    def symbols(self, wave: np.ndarray) -> Frames:
        """The unit of every frame of speech, from 1 on."""
        units, _ = nearest(self.features(wave), self.centres)
        return (units + 1).astype(np.uint16)

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The share of every unit; they sum to one."""
        return histogram(self.symbols(wave), self.count)


def nearest(frames: AnyFloats, centres: Floats) -> tuple[Counts, Floats]:
    """The index of the nearest centre of every frame (the first of equals), and the squared distance to it."""
    index, distance = np.empty(len(frames), np.int64), np.empty(len(frames))
    lengths = np.square(centres).sum(axis=1)
    for start in range(0, len(frames), _ROWS):
        rows = np.asarray(frames[start : start + _ROWS], np.float64)
        apart = lengths - 2 * (rows @ centres.T)
        index[start : start + len(rows)] = best = apart.argmin(axis=1)
        distance[start : start + len(rows)] = apart[np.arange(len(rows)), best] + np.square(rows).sum(axis=1)
    return index, np.maximum(distance, 0)


def _read_codebook(path: Path) -> Floats:
    try:
        centres = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError("no such codebook; run stage 4, which learns it", path) from None
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"is no codebook ({error}); remove it and run stage 4", path) from None
    if centres.ndim != 2 or not np.isfinite(centres).all():
        raise InputError("is no codebook; remove it and run stage 4", path)
    return np.asarray(centres, np.float64)
