"""Speech recognisers behind one interface: a wave in, words out.

A new recogniser is a class with `transcribe` in a module of this package and a line in `_RECOGNISERS`, plus a yaml in
conf/asr/. One that gives several hypotheses has `nbest`, too, and takes a language model; one that comes with several
language models has `transcribe_all`. The module of a recogniser is imported when it is used, so that decoded text
depends on the code of its own recogniser only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from vpeval.asr.lm import NGram, read_arpa
from vpeval.asr.nbest import Hypothesis, read_hypothesis, write_nbest
from vpeval.audio.io import read_audio
from vpeval.core.config import choose
from vpeval.core.errors import InputError
from vpeval.core.files import write_table
from vpeval.core.lazy import Deferred
from vpeval.networks.configs import JOBS_PER_GPU

if TYPE_CHECKING:
    from vpeval.jobs.worker import Part


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


@runtime_checkable
class GroupRecognizer(Recognizer, Protocol):
    """A recogniser that decodes several utterances at a time, with the same words as one by one."""

    most: int
    """How many: 1 where it is not faster, on the CPU."""

    def prepare(self, wave: np.ndarray) -> Any:
        """What decoding needs of an utterance; called in threads."""

    def alike(self, prepared: Any) -> Hashable:
        """What utterances have in common that are decoded together; None for one that is decoded by itself."""

    def decode(self, prepared: Sequence[Any]) -> list[str]:
        """The words of every utterance."""


_KALDI_CHAIN = Deferred("vpeval.asr.vosk", "KaldiChain")
_LANGUAGE_MODELS = Deferred("vpeval.asr.vosk", "language_models")
_RECOGNISERS = {
    "whisper": Deferred("vpeval.asr.whisper", "Whisper"),
    "speechbrain": Deferred("vpeval.asr.speechbrain_ctc", "SpeechBrainCTC"),
    "vosk": Deferred("vpeval.asr.vosk", "Vosk"),
    "kaldi_chain": _KALDI_CHAIN,
}
_ON_GPU = ("whisper", "speechbrain")
_WITH_LM = "speechbrain"
_AS_REFERENCES = ("speechbrain", "kaldi_chain")
"""Recognisers that are trained on the transcripts of LibriSpeech and spell words as these do."""


def recogniser_class(config: Path) -> Deferred:
    """The class of the recogniser that a yaml of conf/asr/ describes."""
    return choose(config, "recognizer", _RECOGNISERS)


def jobs_per_gpu(config: Path) -> int | None:
    """How many jobs of a recogniser share a GPU; None for one that uses the CPU only."""
    return JOBS_PER_GPU if recogniser_class(config) in [_RECOGNISERS[name] for name in _ON_GPU] else None


def spells_as_references(config: Path) -> bool:
    """Whether a recogniser writes words as the references of the challenges have them; others differ in case."""
    return recogniser_class(config) in [_RECOGNISERS[name] for name in _AS_REFERENCES]


def own_language_models(config: Path) -> tuple[str, ...]:
    """The language models that a recogniser comes with and decodes with one by one: none, small, or small and large."""
    if recogniser_class(config) != _KALDI_CHAIN:
        return ()
    found: tuple[str, ...] = _LANGUAGE_MODELS.load()(config)
    return found


def load_recognizer(config: Path, lm: NGram | None = None) -> Recognizer:
    """The recogniser that a yaml of conf/asr/ describes, decoding with language model `lm` if it is given."""
    found = recogniser_class(config)
    if lm is not None and found != _RECOGNISERS[_WITH_LM]:
        raise InputError(f"this recogniser takes no n-gram language model; {_WITH_LM} does", config)
    recogniser: Recognizer = found.load()(config, *([lm] if lm else []))
    return recogniser


class Decoder:
    """The worker of decoding: the lines of text of an utterance; `lm` is an ARPA file or empty."""

    def __init__(self, conf: str, lm: str) -> None:
        self.recogniser = load_recognizer(Path(conf), read_arpa(lm) if lm else None)
        self.nbest = bool(lm)
        self.most = self.recogniser.most if isinstance(self.recogniser, GroupRecognizer) else 1

    def read(self, part: Part) -> Any:
        """The wave of an utterance, or what a recogniser has prepared of it."""
        wave = read_audio(part.wav)
        return self.recogniser.prepare(wave) if isinstance(self.recogniser, GroupRecognizer) else wave

    def alike(self, item: Any) -> Hashable:
        """What utterances have in common that are decoded together."""
        return self.recogniser.alike(item) if isinstance(self.recogniser, GroupRecognizer) else None

    def start(self, parts: Sequence[Part], items: Sequence[Any]) -> Callable[[], list[bytes]]:
        """One line for every utterance, the n best, or one line for every language model."""
        if isinstance(self.recogniser, GroupRecognizer):
            found = [[" ".join(words.split())] for words in self.recogniser.decode(items)]
        else:
            found = list(map(self._lines, items))
        packed = ["".join(f"{line}\n" for line in lines).encode() for lines in found]
        return lambda: packed

    def __call__(self, part: Part) -> bytes:
        """The same for one utterance."""
        return self.start([part], [self.read(part)])()[0]

    def _lines(self, wave: np.ndarray) -> list[str]:
        recogniser = self.recogniser
        if self.nbest and isinstance(recogniser, NBestRecognizer):
            return [str(one) for one in recogniser.nbest(wave)]
        if isinstance(recogniser, ManyLmRecognizer):
            return [" ".join(words.split()) for words in recogniser.transcribe_all(wave).values()]
        return [" ".join(recogniser.transcribe(wave).split())]


def write_texts(
    out: Path, results: Iterable[tuple[str, bytes | memoryview]], nbest: bool, lms: tuple[str, ...]
) -> None:
    """Write the results of a `Decoder` for all utterances into directory `out`."""
    lines = {utt: str(result, "utf-8").splitlines() for utt, result in results}
    if lms:
        for number, lm in enumerate(lms):
            words = {utt: rows[number] for utt, rows in lines.items()}
            for name in (f"text_{lm}", "text"):
                write_table(out / name, words)
    elif nbest:
        hypotheses = {utt: list(map(read_hypothesis, rows)) for utt, rows in lines.items()}
        write_nbest(out / "nbest", hypotheses)
        write_table(out / "text", {utt: rows[0].words for utt, rows in hypotheses.items()})
    else:
        write_table(out / "text", {utt: " ".join(line) for utt, line in lines.items()})
