"""The headline of a report: how well a system protects, in words, from the strongest attacker that was tested.

Two kinds of evidence are graded, and the worse one counts: the EER of the edition, and the share of speakers found
among N, freed from chance; conf/verdict.yaml has the limits. An EER can look good while speakers are found, for
instance where enrolment and trials merely do not match. A system that was not attacked by anybody who trained on its
speech is called partly protective at best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from vpeval.figures.data import Entry, Results, Series
from vpeval.results.attacks import SEMI
from vpeval.results.headline import eer_of
from vpeval.results.limits import VerdictLimits
from vpeval.results.metrics import describe
from vpeval.results.names import ORIGINAL, SetName
from vpeval.results.records import Record
from vpeval.results.strongest import strongest_of, tried

GRADES = (
    "hardly protects the speakers",
    "protects the speakers weakly",
    "protects the speakers in part",
    "protects the speakers well",
    "protects the speakers strongly",
)


@dataclass(frozen=True)
class Tile:
    """A number of the headline with what it is compared with.

    `system` and `original` are places on a scale from 0 (no protection) to 1 (chance level); None: no such scale.
    """

    label: str
    value: str
    note: str
    original: float | None = None
    system: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What to say about a system; `grade` counts from 0, `caveats` say what the words do not cover."""

    system: str
    grade: int | None
    headline: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]
    tiles: tuple[Tile, ...]


def judge(results: Results, system: str, edition: str, metric: str, limits: VerdictLimits) -> Verdict:
    """The verdict on one system, by the EER `metric`; where it is not the one of the edition, a caveat says so."""
    eer, found = _eer(results, system, metric, limits.eer), _found(results, system, limits.found)
    utility = _utility(results, system)
    parts = [part for part in (eer, found) if part]
    models = {e.model for e in results.entries if e.record.system == system and e.model}
    grade = min((part.grade for part in parts), default=None)
    caveats = []
    if grade is not None and system != ORIGINAL and SEMI not in models:
        caveats.append(
            "No attacker was trained on anonymised speech (semi-informed). Such attackers are stronger: privacy may be "
            "lower than these numbers say."
        )
        grade = min(grade, limits.untrained_grade)
    if eer and metric != eer_of(edition):
        caveats.append(
            f"The results have no {describe(eer_of(edition)).title}, which is the EER of VoicePrivacy {edition}: this "
            f"page speaks of {describe(metric).title}."
        )
    if eer and found and eer.grade - found.grade >= limits.disagreement:
        caveats.append(
            f"By its EER alone one would say that the system {GRADES[eer.grade]}; the share of speakers found says "
            "otherwise, and the worse finding counts."
        )
    if system != ORIGINAL and utility and utility.words_lost >= limits.speech_gone:
        caveats.append("Hardly a word is left to be recognised: privacy of this kind is that of silence or noise.")
        headline = f"{system} destroys the speech"
    elif system == ORIGINAL:
        headline = "The original speech is not protected"
    elif grade is None:
        headline = f"{system}: privacy was not measured"
    else:
        headline = f"{system} {GRADES[grade]}" + (f" against the {eer.model} attacker" if eer else "")
    sentences = [part.sentence for part in (eer, found, utility) if part]
    tiles = [tile for part in (eer, found, utility) if part for tile in part.tiles]
    return Verdict(system, grade, headline, tuple(sentences), tuple(caveats), tuple(tiles))


@dataclass(frozen=True)
class _Evidence:
    sentence: str
    tiles: tuple[Tile, ...]
    grade: int = len(GRADES) - 1
    model: str = ""
    words_lost: float = 0.0


def _eer(results: Results, system: str, metric: str, limits: Sequence[float]) -> _Evidence | None:
    """The mean EER over the test sets against the attacker with the lowest.

    Where the choice of that attacker was measured with the results, its interval accounts for it.
    """
    entries = _of_test_sets(results.of(metric))
    means = {
        series: fmean(e.record.value for e in entries if e.series == series)
        for series in results.series(entries)
        if series[0] == system
    }
    if not means:
        return None
    series = min(means, key=means.__getitem__)
    value, kind = means[series], describe(metric)
    numbers = [e.record.value for e in entries if e.series == series]
    before = [e.record.value for e in entries if e.record.system == ORIGINAL and _is_of(e, series, entries)]
    original = f"original speech {_percent(fmean(before))}, " if before else ""
    attackers = {attacker for _, _, attacker in means}
    told, among = tried({"attackers": len(attackers), "attacks": len(means)}), ""
    interval = ""
    chosen = strongest_of((e.record for e in results.entries), system, metric)
    if chosen and chosen.lower is not None and chosen.upper is not None:
        interval = f" [{_percent(chosen.lower)}, {_percent(chosen.upper)}]"
        among = ", with an interval that accounts for the choice" if len(means) > 1 else ""
    sentence = (
        f"The {_attacker(series)} attacker confuses same and different speakers in {_percent(value)}{interval} of the "
        f"cases: {kind.title}, mean over {_count(numbers, 'set')}; {original}perfect anonymisation 50 %. It is "
        f"{told}{among}."
    )
    tile = Tile(
        kind.title,
        _percent(value),
        f"{original}chance 50 %, {told}",
        min(1, 2 * fmean(before)) if before else None,
        min(1, 2 * value),
    )
    return _Evidence(sentence, (tile,), sum(value >= limit for limit in limits), series[1])


def _is_of(entry: Entry, series: Series, entries: Sequence[Entry]) -> bool:
    """Whether original speech was attacked by the attacker of a series, or, where that one was not tried, by any."""
    same = {e.record.attacker for e in entries if e.record.system == ORIGINAL} & {series[2]}
    return entry.record.attacker in same or not same


def _found(results: Results, system: str, limits: Sequence[float]) -> _Evidence | None:
    """How many speakers are found among all, by the most successful attack with the least speech."""
    attacks = {
        "linkability": ("Linked", "links a recording to the right one of {N} speakers"),
        "srd_idr": ("Identified", "ranks the right one of {N} speakers first"),
        "singling_out": ("Singled out", "isolates exactly one of {N} speakers"),
    }
    sentences: list[str] = []
    tiles: list[Tile] = []
    grades: list[int] = []
    for name, (label, words) in attacks.items():
        entries = [e for e in results.of(name) if e.record.params.get("estimator") != "beta-binomial"]
        worst = _worst(e.record for e in entries if e.record.system == system)
        if worst is None:
            continue
        before = _worst(e.record for e in entries if e.record.system == ORIGINAL)
        n, chance = worst.params["N"], worst.notes["chance"]
        success = _share_above_chance(worst)
        if name != "singling_out":
            grades.append(sum(success <= limit for limit in limits))
        compared = f"original speech {_percent(before.value)}, " if before else ""
        length = "a single utterance" if worst.params["L"] == 1 else f"{worst.params['L']} utterances"
        if name == "linkability" or not sentences:
            sentences.append(
                f"With {length} the best attack {words.format(N=n)} in {_percent(worst.value)} of the attempts "
                f"({compared}chance {_percent(chance)})."
            )
        places = [1 - max(0, min(1, _share_above_chance(record))) for record in (before, worst) if record]
        tiles.append(
            Tile(
                f"{label}, {n} speakers",
                _percent(worst.value),
                f"{compared}chance {_percent(chance)}",
                places[0] if before else None,
                places[-1],
            )
        )
    return _Evidence(" ".join(sentences), tuple(tiles), min(grades, default=len(GRADES) - 1)) if tiles else None


def _utility(results: Results, system: str) -> _Evidence | None:
    """Word errors before and after, over all words of the test sets, of the first recogniser that heard both."""
    entries = [entry.record for entry in _of_test_sets(results.of("wer"))]
    heard = {name: _by_recogniser(r for r in entries if r.system == name) for name in (ORIGINAL, system)}
    chosen = next(iter([key for key in heard[system] if key in heard[ORIGINAL]] or heard[system]), None)
    if chosen is None:
        return None
    after = _pooled_wer(heard[system][chosen])
    if chosen not in heard[ORIGINAL]:
        return _Evidence(
            f"{after:.1f} % of the words are misrecognised.",
            (Tile("Word error rate", f"{after:.1f} %", "utility"),),
            words_lost=after / 100,
        )
    before = _pooled_wer(heard[ORIGINAL][chosen])
    verb = "rise" if after > before else "go"
    sentence = f"Recognition errors {verb} from {before:.1f} % to {after:.1f} % of the words (WER)."
    sign = "+" if after >= before else "−"
    note = f"original speech {before:.1f} %, {sign}{abs(after - before):.1f} points"
    return _Evidence(sentence, (Tile("Word error rate", f"{after:.1f} %", note),), words_lost=after / 100)


def _of_test_sets(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of test sets, or all where there are none."""
    names = {e.record.set: SetName.parse(e.record.set) for e in entries}
    tested = {name for name, parts in names.items() if parts and parts.partition == "test"}
    return [e for e in entries if e.record.set in tested or not tested]


def _worst(records: Iterable[Record]) -> Record | None:
    """The largest value at the largest N and the smallest L."""
    able = [r for r in records if isinstance(r.params.get("N"), int) and isinstance(r.params.get("L"), int)]
    return max(able, key=lambda r: (r.params["N"], -r.params["L"], r.value), default=None)


def _share_above_chance(record: Record) -> float:
    chance = float(record.notes.get("chance", 0))
    return (record.value - chance) / (1 - chance)


def _by_recogniser(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by recogniser and what else tells its numbers apart; of all speakers where there are such."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(f"{record.attacker} {sorted(record.params.items())}", []).append(record)
    return {key: [r for r in own if not r.gender] or own for key, own in found.items()}


def _pooled_wer(records: Sequence[Record]) -> float:
    """Errors of all sets over words of all sets; the mean of the rates where the counts are unknown."""
    words = [record.counts.get("ref_words", 0) for record in records]
    if not all(words):
        return fmean(record.value for record in records)
    return sum(record.value * n for record, n in zip(records, words, strict=True)) / sum(words)


def _attacker(series: Series) -> str:
    return " ".join(filter(None, series[1:]))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}{'s' if len(items) != 1 else ''}"
