"""N-gram language models: estimated from text, kept in ARPA files, asked for the probability of words.

Estimation is interpolated Witten-Bell smoothing (Witten & Bell, IEEE Trans. Inf. Theory 37(4), 1991; Chen & Goodman,
1999, equation 15): a context h that was followed c(h) times, by t(h) different words, gives

    P(w | h) = (c(hw) + t(h) · P(w | h')) / (c(h) + t(h)),        h' = h without its first word,

and the shortest context falls back on the uniform distribution over the vocabulary, ``</s>`` and ``<unk>``. It needs no
held-out data and is defined for the smallest text. N-grams rarer than a threshold are dropped from the longer orders
and their mass goes to the shorter context, which is how a small model is made from a large one.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_table
from vpeval.data.text import NORMALIZERS

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
_LN10 = math.log(10)
_ZERO = -99.0  # what ARPA files write for the logarithm of nothing

Words = tuple[str, ...]


@dataclass(frozen=True)
class NGram:
    """A back-off model: natural logarithms of probabilities by n-gram and of back-off weights by context."""

    order: int
    logprob: Mapping[Words, float]
    backoff: Mapping[Words, float]

    def __contains__(self, word: str) -> bool:
        return (word,) in self.logprob

    @property
    def words(self) -> list[str]:
        """The vocabulary without ``<s>``, ``</s>`` and ``<unk>``."""
        return [gram[0] for gram in self.logprob if len(gram) == 1 and gram[0] not in (BEGIN, END, UNKNOWN)]

    @property
    def start(self) -> Words:
        """The context at the beginning of a sentence."""
        return (BEGIN,)[: self.order - 1]

    def score(self, context: Words, word: str) -> tuple[float, Words]:
        """(ln P(word | context), the context of the next word); a word outside the vocabulary counts as ``<unk>``."""
        if (word,) not in self.logprob:
            word = UNKNOWN
        total = 0.0
        history = context
        while (*history, word) not in self.logprob:
            if not history:
                return total + _ZERO * _LN10, self._cut((*context, word))
            total += self.backoff.get(history, 0.0)
            history = history[1:]
        return total + self.logprob[*history, word], self._cut((*context, word))

    def sentence(self, words: Iterable[str]) -> float:
        """ln P of a whole sentence, its end included."""
        total, context = 0.0, self.start
        for word in (*words, END):
            logprob, context = self.score(context, word)
            total += logprob
        return total

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """Of a text, sentence ends included."""
        total, count = 0.0, 0
        for words in sentences:
            total += self.sentence(words)
            count += len(words) + 1
        return math.exp(-total / count)

    def _cut(self, history: Words) -> Words:
        return history[len(history) - self.order + 1 :] if len(history) >= self.order else history


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
    logprob = {gram: math.log(p) for gram, p in probability.items()} | {(BEGIN,): _ZERO * _LN10}
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


def write_arpa(path: str | PathLike[str], lm: NGram) -> None:
    """Write a model in the ARPA format, sorted, so that equal models give equal bytes."""
    write_text(path, "".join(_arpa_lines(lm)))


def _arpa_lines(lm: NGram) -> Iterator[str]:
    orders: list[list[Words]] = [[] for _ in range(lm.order)]
    for gram in sorted(lm.logprob):
        orders[len(gram) - 1].append(gram)
    yield "\n\\data\\\n"
    for n, grams in enumerate(orders, start=1):
        yield f"ngram {n}={len(grams)}\n"
    for n, grams in enumerate(orders, start=1):
        yield f"\n\\{n}-grams:\n"
        for gram in grams:
            logprob = max(_ZERO, lm.logprob[gram] / _LN10)
            backoff = f"\t{lm.backoff[gram] / _LN10:.6f}" if gram in lm.backoff else ""
            yield f"{logprob:.6f}\t{' '.join(gram)}{backoff}\n"
    yield "\n\\end\\\n"


def read_arpa(path: str | PathLike[str]) -> NGram:
    """Read an ARPA file, plain or gzipped."""
    logprob: dict[Words, float] = {}
    backoff: dict[Words, float] = {}
    order = 0
    ended = False
    for number, line in _lines(Path(path)):
        if line == "\\end\\":
            ended = True
        elif line.startswith("\\") and line.endswith("-grams:"):
            order = int(line[1:].removesuffix("-grams:"))
        elif order and line:
            fields = line.split()
            if len(fields) not in (order + 1, order + 2):
                raise InputError(f"is not an n-gram of order {order}", path, number)
            try:
                gram = tuple(fields[1 : order + 1])
                logprob[gram] = float(fields[0]) * _LN10
                if len(fields) == order + 2:
                    backoff[gram] = float(fields[-1]) * _LN10
            except ValueError:
                raise InputError("log-probability and back-off weight must be numbers", path, number) from None
    if not ended or not logprob:
        raise InputError("is not a whole ARPA language model; make it with steps/make_lm.py", path)
    return NGram(order, logprob, backoff)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.strip()
    except FileNotFoundError:
        raise InputError("no such language model; make it with steps/make_lm.py", path) from None
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError):
        raise InputError("is not a readable ARPA file", path) from None


def estimate_from(texts: Iterable[str | PathLike[str]], order: int, min_count: int, rules: str = "vpc2020") -> NGram:
    """Estimate a model from Kaldi text files, spelt by the `rules` of an edition."""
    paths = list(texts)
    normalize = NORMALIZERS[rules]
    sentences = [normalize(words) for path in paths for words in read_table(path, "text", empty=True).values()]
    sentences = [words for words in sentences if words]
    if not sentences:
        raise InputError("has no words to estimate a language model from", paths[0])
    return estimate(sentences, order, min_count)
