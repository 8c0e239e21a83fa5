"""Back-off n-gram language models: the probability of words, and ARPA files."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
LN10 = math.log(10)
ZERO = -99.0  # what ARPA files write for the logarithm of nothing

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
                return total + ZERO * LN10, self._cut((*context, word))
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
            logprob = max(ZERO, lm.logprob[gram] / LN10)
            backoff = f"\t{lm.backoff[gram] / LN10:.6f}" if gram in lm.backoff else ""
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
                logprob[gram] = float(fields[0]) * LN10
                if len(fields) == order + 2:
                    backoff[gram] = float(fields[-1]) * LN10
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
