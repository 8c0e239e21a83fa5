"""Speech recognisers behind one interface: a wave in, words out.

A new recogniser is a class with `transcribe` in a module of this folder and a line in `_RECOGNIZERS`, plus a yaml in
conf/asr/. One that can be asked for several hypotheses has `nbest`, too, and takes a language model; one that comes
with several language models has `transcribe_all`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from vpeval.asr.lm import NGram
from vpeval.asr.nbest import Hypothesis
from vpeval.core.config import choose
from vpeval.core.errors import InputError


class Recognizer(Protocol):
    """What decoding needs of a recogniser."""

    def transcribe(self, wave: np.ndarray) -> str:
        """The words of mono 16 kHz samples, as the recogniser spells them."""


@runtime_checkable
class NBestRecognizer(Recognizer, Protocol):
    """What scoring with language models needs of a recogniser."""

    def nbest(self, wave: np.ndarray) -> list[Hypothesis]:
        """The best hypotheses with their acoustic scores, best first."""


@runtime_checkable
class ManyLmRecognizer(Recognizer, Protocol):
    """A recogniser that has language models of its own and decodes with each."""

    def transcribe_all(self, wave: np.ndarray) -> dict[str, str]:
        """The words by language model."""


# The modules are imported on demand: each drags in a library of its own, and some of those are optional.
_RECOGNIZERS = {
    "whisper": ("vpeval.asr.whisper", "Whisper"),
    "speechbrain": ("vpeval.asr.speechbrain", "SpeechBrainCTC"),
    "vosk": ("vpeval.asr.vosk", "Vosk"),
    "pocketsphinx": ("vpeval.asr.pocketsphinx", "PocketSphinx"),
    "kaldi_chain": ("vpeval.asr.kaldi_chain", "KaldiChain"),
}
_WITH_LM = ("speechbrain", "pocketsphinx")


def own_language_models(config: Path) -> tuple[str, ...]:
    """The language models that a recogniser comes with and decodes with one by one: none, small, or small and large."""
    if choose(config, "recognizer", _RECOGNIZERS) != _RECOGNIZERS["kaldi_chain"]:
        return ()
    from vpeval.asr.kaldi_chain import language_models

    return language_models(config)


def load_recognizer(config: Path, lm: NGram | None = None) -> Recognizer:
    """The recogniser that a yaml of conf/asr/ describes, decoding with language model `lm` if it is given."""
    module, name = choose(config, "recognizer", _RECOGNIZERS)
    make = getattr(import_module(module), name)
    if lm is None:
        recognizer: Recognizer = make(config)
        return recognizer
    with_lm = [_RECOGNIZERS[kind] for kind in _WITH_LM]
    if (module, name) not in with_lm:
        raise InputError(f"this recogniser takes no n-gram language model; {' and '.join(_WITH_LM)} do", config)
    chosen: Recognizer = make(config, lm)
    return chosen
