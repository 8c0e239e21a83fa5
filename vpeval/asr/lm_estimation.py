"""Estimation of n-gram language models by interpolated Witten-Bell smoothing.

(Witten & Bell, IEEE Trans. Inf. Theory 37(4), 1991; Chen & Goodman, 1999, equation 15.) A context h that was followed
c(h) times, by t(h) different words, gives

    P(w | h) = (c(hw) + t(h) · P(w | h')) / (c(h) + t(h)),        h' = h without its first word,

and the shortest context falls back on the uniform distribution over the vocabulary, ``</s>`` and ``<unk>``. It needs no
held-out data and is defined for the smallest text. N-grams rarer than a threshold are dropped from the longer orders
and their mass goes to the shorter context, which is how a small model is made from a large one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from vpeval.asr.lm import BEGIN, END, LN10, UNKNOWN, ZERO, NGram, Words, write_arpa
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.data.text import NORMALIZERS


def estimate(sentences: Iterable[Sequence[str]], order: int, min_count: int = 1) -> NGram:
    """A Witten-Bell model; n-grams of order 2 and more are dropped if seen less than `min_count` times.

    >>> lm = estimate([["a", "b"], ["a"]], order=2)
    >>> round(math.exp(lm.score(("a",), "b")[0]), 3), round(math.exp(lm.sentence(["a"])), 3)
    (0.359, 0.33)
    """
    counts = [Counter[Words]() for _ in range(order)]
    for words in sentences:
        padded = (BEGIN, *words, END)
        for n in range(1, order + 1):
            counts[n - 1].update(padded[i : i + n] for i in range(len(padded) - n + 1))
    del counts[0][BEGIN,]
    if not counts[0]:
        raise InputError("no text to estimate a language model from")
    vocabulary = [*(gram[0] for gram in sorted(counts[0])), UNKNOWN]
    total, kinds = sum(counts[0].values()), len(counts[0])
    uniform = 1 / len(vocabulary)
    probability: dict[Words, float] = {
        (word,): (counts[0][word,] + kinds * uniform) / (total + kinds) for word in vocabulary
    }
    backoff: dict[Words, float] = {}
    for grams in counts[1:]:
        probability |= _longer(grams, probability, backoff, min_count)
    logprob = {gram: math.log(p) for gram, p in probability.items()} | {(BEGIN,): ZERO * LN10}
    return NGram(order, logprob, backoff)


def _longer(
    grams: Counter[Words], shorter: Mapping[Words, float], backoff: dict[Words, float], min_count: int
) -> dict[Words, float]:
    """Probabilities of the n-grams of one order; adds the back-off weights of their contexts to `backoff`."""
    following: defaultdict[Words, list[tuple[str, int]]] = defaultdict(list)
    for gram, count in grams.items():
        following[gram[:-1]].append((gram[-1], count))
    lower = NGram(0, {gram: math.log(p) for gram, p in shorter.items()}, dict(backoff))
    kept: dict[Words, float] = {}
    for context in sorted(following):
        total, kinds = sum(count for _, count in following[context]), len(following[context])
        mass = lower_mass = 0.0
        for word, count in sorted(following[context]):
            if count < min_count:
                continue
            below = math.exp(lower.score(context[1:], word)[0])
            kept[*context, word] = (count + kinds * below) / (total + kinds)
            mass += kept[*context, word]
            lower_mass += below
        if mass:
            backoff[context] = math.log((1 - mass) / (1 - lower_mass))
    return kept


def estimate_from(texts: Iterable[str | PathLike[str]], order: int, min_count: int, rules: str = "vpc2020") -> NGram:
    """Estimate a model from Kaldi text files, spelt by the `rules` of an edition."""
    paths = list(texts)
    normalize = NORMALIZERS[rules]
    sentences = [normalize(words) for path in paths for words in read_table(path, "text", empty=True).values()]
    sentences = [words for words in sentences if words]
    if not sentences:
        raise InputError("has no words to estimate a language model from", paths[0])
    return estimate(sentences, order, min_count)


def write_models(out: Path, sizes: Mapping[str, tuple[int, int]], texts: Sequence[Path]) -> str:
    """Write ``<out>/<name>.arpa`` for every name, with the given order and `min_count`; return what they hold."""
    found = []
    for name, (order, min_count) in sizes.items():
        lm = estimate_from(texts, order, min_count)
        write_arpa(out / f"{name}.arpa", lm)
        found.append(f"{name} {len(lm.logprob)} n-grams")
    return ", ".join(found)
