"""What Kaldi makes of a wave before an x-vector network sees it: MFCC, energy-based VAD, sliding mean normalisation.

The order is that of ``extract_xvectors.sh``: every frame is normalised by the mean over 300 frames around it, pauses
included, and then the frames with speech are kept. MFCC are those of kaldi-native-fbank, which is Kaldi's code.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core.arrays import Bools, Floats32
from vpeval.core.errors import InputError
from vpeval.core.files import read_lines
from vpeval.core.lazy import require
from vpeval.core.seeds import generator

log = logging.getLogger(__name__)


_FRAME = {
    "sample-frequency": ("samp_freq", float),
    "frame-length": ("frame_length_ms", float),
    "frame-shift": ("frame_shift_ms", float),
    "preemphasis-coefficient": ("preemph_coeff", float),
    "remove-dc-offset": ("remove_dc_offset", bool),
    "window-type": ("window_type", str),
    "round-to-power-of-two": ("round_to_power_of_two", bool),
    "blackman-coeff": ("blackman_coeff", float),
    "snip-edges": ("snip_edges", bool),
}
_MEL = {
    "num-mel-bins": ("num_bins", int),
    "low-freq": ("low_freq", float),
    "high-freq": ("high_freq", float),
    "vtln-low": ("vtln_low", float),
    "vtln-high": ("vtln_high", float),
}
_CEPSTRA = {
    "num-ceps": ("num_ceps", int),
    "use-energy": ("use_energy", bool),
    "energy-floor": ("energy_floor", float),
    "raw-energy": ("raw_energy", bool),
    "cepstral-lifter": ("cepstral_lifter", float),
    "htk-compat": ("htk_compat", bool),
}
_DITHER = "dither"
_IGNORED = frozenset({"allow-downsample", "allow-upsample", "max-feature-vectors", "debug-mel", "verbose"})
_TRUTH = {"true": True, "t": True, "false": False, "f": False}


class Mfcc:
    """Mel-frequency cepstra with the options of an ``mfcc.conf``.

    Kaldi dithers: it adds noise of one unit of 16-bit samples by default, drawn anew in every call. Here the noise is
    the same in every call, so that equal waves have equal features.
    """

    def __init__(self, path: Path) -> None:
        self.library = require("kaldi_native_fbank", "Kaldi's features")
        groups = (_FRAME, _MEL, _CEPSTRA)
        known = {option: kind for group in groups for option, (_, kind) in group.items()} | {_DITHER: float}
        found = _read_options(path, known, _IGNORED)
        if found.get("sample-frequency", RATE) != RATE:
            raise InputError(f"features of {found['sample-frequency']:g} Hz; the recipes are of {RATE} Hz", path)
        self.dither = found.pop(_DITHER, 1.0)
        self.options = self.library.MfccOptions()
        self.options.frame_opts.dither = 0.0
        self.options.energy_floor = 0.0
        targets: tuple[Any, ...] = (self.options.frame_opts, self.options.mel_opts, self.options)
        for group, target in zip(groups, targets, strict=True):
            for option, (name, _) in group.items():
                if option in found:
                    setattr(target, name, found[option])
        if self.options.num_ceps > self.options.mel_opts.num_bins:
            raise InputError(f"{self.options.num_ceps} cepstra of {self.options.mel_opts.num_bins} mel bins", path)
        self.dimension = int(self.options.num_ceps)

    def __call__(self, wave: np.ndarray) -> Floats32:
        """Frames × cepstra of samples in [-1, 1]."""
        samples = wave.astype(np.float64) * 32768
        if self.dither:
            samples += self.dither * generator(0, _DITHER).standard_normal(len(samples))
        online = self.library.OnlineMfcc(self.options)
        online.accept_waveform(RATE, samples.astype(np.float32).tolist())
        online.input_finished()
        frames = [online.get_frame(number) for number in range(online.num_frames_ready)]
        return np.array(frames, np.float32).reshape(len(frames), self.dimension)


def sliding_mean_normalisation(features: Floats32, window: int = 300) -> Floats32:
    """Every frame less the mean of the `window` frames around it; at the ends, of the first or last so many."""
    n = len(features)
    first = np.minimum(np.maximum(np.arange(n) - window // 2, 0), max(0, n - window))
    last = np.minimum(first + window, n)
    sums = np.vstack((np.zeros(features.shape[1]), np.cumsum(features, axis=0, dtype=np.float64)))
    means = (sums[last] - sums[first]) / (last - first)[:, None]
    normalised: Floats32 = (features - means).astype(np.float32)
    return normalised


@dataclass(frozen=True)
class EnergyVad:
    """Which frames are speech: those with enough loud frames among their neighbours (``compute-vad``)."""

    threshold: float = 5.0
    mean_scale: float = 0.5
    context: int = 0
    proportion: float = 0.6

    @classmethod
    def read(cls, path: Path) -> EnergyVad:
        """With the options of a ``vad.conf``."""
        names = {
            "vad-energy-threshold": ("threshold", float),
            "vad-energy-mean-scale": ("mean_scale", float),
            "vad-frames-context": ("context", int),
            "vad-proportion-threshold": ("proportion", float),
        }
        found = _read_options(path, {option: kind for option, (_, kind) in names.items()})
        vad = cls(**{names[option][0]: value for option, value in found.items()})
        if vad.context < 0 or vad.mean_scale < 0 or not 0 < vad.proportion < 1:
            raise InputError("the context and the scale must not be negative, the proportion between 0 and 1", path)
        return vad

    def __call__(self, features: Floats32) -> Bools:
        """A truth value for every frame, by the first cepstrum, which is the logarithm of the energy."""
        energy = features[:, 0]
        loud = energy > self.threshold + self.mean_scale * energy.mean(dtype=np.float64)
        counts = np.concatenate(([0], np.cumsum(loud)))
        times = np.arange(len(loud))
        first, last = np.maximum(times - self.context, 0), np.minimum(times + self.context + 1, len(loud))
        voiced: Bools = counts[last] - counts[first] >= (last - first) * self.proportion
        return voiced


def speech(features: Floats32, voiced: Bools) -> Floats32:
    """The frames with speech; all of them, with a warning, where there are none: Kaldi would lose the utterance."""
    if not voiced.any():
        log.warning("no frame is louder than the threshold of the VAD; all %d frames are used", len(features))
        return features
    return features[voiced]


def _read_options(path: Path, known: Mapping[str, type], ignored: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The options of a Kaldi file (lines ``--name=value``) with the types of `known`, without those of `ignored`."""
    options: dict[str, Any] = {}
    for number, line in read_lines(path, blanks=True):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, equals, value = text.partition("=")
        name = name.strip().removeprefix("--").replace("_", "-")
        if not text.startswith("--") or (name not in known and name not in ignored):
            there = ", ".join(f"--{option}" for option in known)
            raise InputError(f"'{text}' is no known option; there are {there}", path, number)
        if name in ignored:
            continue
        try:
            options[name] = _value(known[name], value.strip() if equals else "true")
        except (ValueError, KeyError):
            raise InputError(f"'{value}' is no {known[name].__name__} for --{name}", path, number) from None
    return options


def _value(kind: type, text: str) -> Any:
    return _TRUTH[text.lower()] if kind is bool else kind(text)
