"""What there is to listen to: utterances before and after anonymisation, with what the recogniser understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vpeval.core.tables import read_table
from vpeval.figures.data import Results
from vpeval.records.names import GENDERS, ORIGINAL, set_title
from vpeval.report.audio import choose_samples

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
    """An utterance, original and through one or several systems."""

    utt: str
    heading: str
    words: str
    takes: Sequence[Take]


def samples(results: Results, system: str) -> list[Sample]:
    """A few utterances of different sets and speakers; none where the audio is not at hand."""
    return side_by_side(results, {system: "Anonymised"}, _PAIRS, _BYTES)


def side_by_side(results: Results, systems: Mapping[str, str], count: int, limit: int) -> list[Sample]:
    """Utterances as original and through all `systems`, which have labels, in at most `limit` bytes of the page."""
    sets = list(dict.fromkeys(e.record.set for e in results.entries if e.model and e.record.system in systems))
    heard = {name: _hypotheses(results, name) for name in (ORIGINAL, *systems)}
    return [
        Sample(
            sample.utt,
            f"{sample.utt}, {GENDERS.get(sample.gender, 'speaker')}, {set_title(sample.set, gender=False)}",
            sample.text.capitalize(),
            [
                Take("Original", sample.original, heard[ORIGINAL].get(sample.utt)),
                *(Take(systems[name], uri, heard[name].get(sample.utt)) for name, uri in sample.anonymised.items()),
            ],
        )
        for sample in choose_samples(results.data, sets, list(systems), count, limit)
    ]


def _hypotheses(results: Results, system: str) -> dict[str, str]:
    """What the recogniser understood, by utterance."""
    heard: dict[str, str] = {}
    for path in dict.fromkeys(e.file("hyp") for e in results.of("wer") if e.record.system == system):
        if path and path.is_file():
            heard |= {utt: words.lower() for utt, words in read_table(path, "text", empty=True).items()}
    return heard
