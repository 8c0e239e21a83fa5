"""N-best lists: hypotheses of a recogniser with their acoustic scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, write_text


@dataclass(frozen=True)
class Hypothesis:
    """Words and the logarithm of how well they fit the audio."""

    words: str
    acoustic: float

    def __str__(self) -> str:
        return f"{self.acoustic:.4f} {self.words}".rstrip()


NBest = Mapping[str, Sequence[Hypothesis]]


def read_nbest(path: str | PathLike[str]) -> dict[str, list[Hypothesis]]:
    """Read lines ``<utt> <acoustic> <words …>``; an utterance has as many lines as hypotheses."""
    nbest: dict[str, list[Hypothesis]] = {}
    for number, line in read_lines(path):
        utt, _, rest = line.partition(" ")
        try:
            nbest.setdefault(utt, []).append(read_hypothesis(rest))
        except ValueError:
            raise InputError(
                "is no hypothesis; expected <utterance> <acoustic score> <words …>", path, number
            ) from None
    return nbest


def read_hypothesis(line: str) -> Hypothesis:
    """The inverse of str(hypothesis).

    >>> read_hypothesis("-12.5 GOOD DAY")
    Hypothesis(words='GOOD DAY', acoustic=-12.5)
    """
    acoustic, _, words = line.partition(" ")
    return Hypothesis(words, float(acoustic))


def write_nbest(path: str | PathLike[str], nbest: NBest) -> None:
    """Write hypotheses, utterances sorted, the hypotheses of each in the order given."""
    write_text(path, "".join(f"{utt} {one}\n" for utt in sorted(nbest, key=str.encode) for one in nbest[utt]))
