"""CTC beam search with an n-gram language model (Hannun et al., arXiv 1408.2873; Graves & Jaitly, ICML 2014).

Prefixes grow frame by frame; paths that collapse to the same prefix are summed. The language model scores a word when
it is complete, or as soon as its letters begin no known word: then it can only be ``<unk>``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vpeval.asr.lm import END, UNKNOWN, NGram, Words
from vpeval.asr.nbest import Hypothesis

_NEVER = -math.inf
_FLOOR = -7.0
"""Labels less likely than this (natural logarithm) are left out in a frame."""


@dataclass(frozen=True)
class _Fused:
    """The score of the language model for the complete words of a prefix, and the context of the next word."""

    score: float = 0.0
    context: Words = ()


@dataclass
class BeamSearch:
    """Beam search over letters or subword units.

    `labels` are the strings of the network's outputs: ``" "`` (or a unit that begins with a blank) separates words, and
    the label at `blank` is CTC's own. The acoustic scores of the hypotheses are multiplied by `acoustic_scale`, which
    brings the weight of the language model to Kaldi's scale; `lmwt` and `wip` are on that scale.
    """

    labels: Sequence[str]
    blank: int
    lm: NGram | None = None
    lmwt: float = 10.0
    wip: float = 0.0
    acoustic_scale: float = 10.0
    beam: int = 32
    _stems: set[str] = field(init=False, repr=False)
    _memory: dict[str, _Fused] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        words = self.lm.words if self.lm else []
        self._stems = {word[:end] for word in words for end in range(len(word) + 1)}

    def __call__(self, logprobs: np.ndarray, most: int = 1) -> list[Hypothesis]:
        """The best hypotheses of a matrix frames × labels of log-probabilities, best first, at most `most`."""
        self._memory = {"": _Fused(0.0, self.lm.start if self.lm else ())}
        # A prefix is its text and its last label; its value are the masses of the paths that end in blank or not.
        beams: dict[tuple[str, int], tuple[float, float]] = {("", self.blank): (0.0, _NEVER)}
        for frame in logprobs.astype(np.float64):
            likely = [int(i) for i in np.flatnonzero(frame >= min(_FLOOR, frame.max()))]
            grown = self._grow(beams, [(i, float(frame[i])) for i in likely])
            ranked = sorted(grown, key=lambda key: -self._rank(key[0], grown[key]))
            beams = {key: grown[key] for key in ranked[: self.beam]}
        return self._finish(beams)[:most]

    def _grow(
        self, beams: dict[tuple[str, int], tuple[float, float]], likely: Sequence[tuple[int, float]]
    ) -> dict[tuple[str, int], tuple[float, float]]:
        grown: dict[tuple[str, int], tuple[float, float]] = {}
        for key, (blank, label) in beams.items():
            text, last = key
            both = _add(blank, label)
            for index, logprob in likely:
                if index == self.blank:
                    into, as_blank, mass = key, True, both + logprob
                elif index == last:
                    stay_blank, stay_label = grown.get(key, (_NEVER, _NEVER))
                    grown[key] = stay_blank, _add(stay_label, label + logprob)
                    into, as_blank, mass = (self._append(text, index), index), False, blank + logprob
                else:
                    into, as_blank, mass = (self._append(text, index), index), False, both + logprob
                if mass == _NEVER:
                    continue
                to_blank, to_label = grown.get(into, (_NEVER, _NEVER))
                grown[into] = (_add(to_blank, mass), to_label) if as_blank else (to_blank, _add(to_label, mass))
        return grown

    def _append(self, text: str, index: int) -> str:
        label = self.labels[index]
        # A blank at the very beginning or after another one separates nothing.
        return text + label.lstrip(" ") if text.endswith(" ") or not text else text + label

    def _rank(self, text: str, masses: tuple[float, float]) -> float:
        return self.acoustic_scale * _add(*masses) + self._fuse(text)

    def _fuse(self, text: str) -> float:
        """The score of the language model for a prefix: its complete words, and the begun word if it is unknown."""
        if self.lm is None:
            return 0.0
        complete, _, begun = text.rpartition(" ")
        fused = self._complete(complete)
        if begun in self._stems:
            return fused.score
        return fused.score + self.lmwt * self.lm.score(fused.context, UNKNOWN)[0]

    def _complete(self, text: str) -> _Fused:
        if text not in self._memory:
            assert self.lm is not None, "only asked with a language model"
            before, _, word = text.rpartition(" ")
            earlier = self._complete(before)
            logprob, context = self.lm.score(earlier.context, word)
            self._memory[text] = _Fused(earlier.score + self.lmwt * (logprob - self.wip), context)
        return self._memory[text]

    def _finish(self, beams: dict[tuple[str, int], tuple[float, float]]) -> list[Hypothesis]:
        mass: dict[str, float] = {}
        for (text, _), masses in beams.items():
            words = text.strip()
            mass[words] = _add(mass.get(words, _NEVER), _add(*masses))
        found = {words: Hypothesis(words, self.acoustic_scale * acoustic) for words, acoustic in mass.items()}
        return sorted(found.values(), key=lambda one: -(one.acoustic + self._whole(one.words)))

    def _whole(self, text: str) -> float:
        if self.lm is None:
            return 0.0
        fused = self._complete(text)
        return fused.score + self.lmwt * self.lm.score(fused.context, END)[0]


def _add(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == _NEVER else a + math.log1p(math.exp(b - a))
