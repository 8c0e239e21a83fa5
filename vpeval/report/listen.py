"""What there is to listen to: utterances before and after anonymisation, with what the recogniser understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vpeval.core.tables import read_table
from vpeval.figures.data import Results
from vpeval.report.audio import choose_samples
from vpeval.results.names import GENDERS, ORIGINAL, set_title

_PAIRS = 4
_BYTES = 1_000_000


@dataclass(frozen=True)
class Take:
    """An utterance once; `heard` is None where nothing is known about its recognition."""

    label: str
    uri: str
    heard: str | None


@dataclass(frozen=True)
class Sample:
    """An utterance, original and anonymised."""

    utt: str
    heading: str
    words: str
    takes: Sequence[Take]


def samples(results: Results, system: str) -> list[Sample]:
    """A few utterances of different sets and speakers; none where the audio is not at hand."""
    sets = list(dict.fromkeys(e.record.set for e in results.entries if e.model and e.record.system == system))
    chosen = choose_samples(results.data, sets, system, _PAIRS, _BYTES)
    if not chosen:
        return []
    heard = {name: _hypotheses(results, name) for name in (ORIGINAL, system)}
    return [
        Sample(
            sample.utt,
            f"{sample.utt}, {GENDERS.get(sample.gender, 'speaker')}, {set_title(sample.set, gender=False)}",
            sample.text.capitalize(),
            [
                Take("Original", sample.original, heard[ORIGINAL].get(sample.utt)),
                Take("Anonymised", sample.anonymised, heard[system].get(sample.utt)),
            ],
        )
        for sample in chosen
    ]


def _hypotheses(results: Results, system: str) -> dict[str, str]:
    """What the recogniser understood, by utterance."""
    heard: dict[str, str] = {}
    for path in dict.fromkeys(e.file("hyp") for e in results.of("wer") if e.record.system == system):
        if path and path.is_file():
            heard |= {utt: words.lower() for utt, words in read_table(path, "text", empty=True).items()}
    return heard
