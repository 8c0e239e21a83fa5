"""The headline of a report: how well a system protects the speakers against the strongest attacker that was tested.

Two kinds of evidence are graded, and the worst grade counts: the EER of the edition, and the shares of speakers linked
and identified among N, corrected for chance. The limits are in conf/verdict.yaml. A number has the grades that its
interval leaves open (`grades`), which accounts for the choice of the strongest attack. An EER may be high although
speakers are found, for example if enrolment and trials do not match. Without an attacker that was trained on speech of
the system, the system gets a medium grade at best.

The words count by what the same recogniser understands of original speech. Where it does not understand that, there is
no verdict on utility.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vpeval.editions.headline import eer_of
from vpeval.figures.run_results import Results
from vpeval.measures.strongest import choice_in_words
from vpeval.metrics.intervals import FEWEST
from vpeval.records.limits import VerdictLimits
from vpeval.records.metrics import INFERENCE, describe, known_metrics
from vpeval.records.names import (
    IGNORANT,
    LAZY,
    LEGAL_NAMES,
    ORIGINAL,
    SEMI,
    SIMILAR,
    UNPROTECTED,
    attack_model,
    partition_of,
    set_title,
)
from vpeval.records.record import Record
from vpeval.report.grades import GRADES, WORDS, GradedNumber, Grades, overall, times_as_many
from vpeval.results.text_tables import show_chance, show_interval
from vpeval.results.worst import original_baseline, utility, worst_case

TRAINED_ON = {
    UNPROTECTED: "original speech",
    IGNORANT: "original speech",
    LAZY: "original speech",
    SIMILAR: "speech of a similar, older system",
    SEMI: "speech of the same system",
}
"""What the attackers of verification were trained on, always of other speakers."""
_HAVE = {
    UNPROTECTED: "has original recordings of the speakers and compares them with original speech",
    IGNORANT: "has original recordings of the speakers and does not know that the other speech is anonymised",
}
_ANONYMISES = "has recordings of the speakers, knows the anonymiser and applies it to them before it compares"
_LEARNT = {
    "oo": "learnt the attributes from original speech of other persons",
    "oa": "learnt the attributes from original speech of other persons and does not know of the anonymiser",
    "aa": "learnt the attributes from speech of other persons, anonymised by the same system",
}
_SCORES = {"cosine": "their cosine", "plda": "PLDA", "euclidean": "their distance"}
_LINKED_OR_IDENTIFIED = (
    "Linked and identified answer different questions. Linked: a trial is compared with every enrolled speaker. "
    "Enrolment and trials were anonymised separately, usually with different pseudo-voices. Identified: the utterances "
    "of enrolment and trials are pooled and split again, so that most are compared with speech of the same "
    "pseudo-voice, by their embeddings alone. If an anonymiser gives every speaker one distinct new voice, speakers "
    "are hard to link and easy to identify."
)


@dataclass(frozen=True)
class Tile:
    """A number of the headline with its reference values.

    `interval` may be empty, and so may `grade`, the grade in words with its range. `system` and `original` are places
    on a scale from 0 (no protection) to 1 (chance level), or None.
    """

    label: str
    value: str
    interval: str
    note: str
    original: float | None = None
    system: float | None = None
    grade: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a system. `explanations` are about numbers that seem to disagree.

    `grade` counts from 0; it is None where the intervals leave several `grades` open, or where nothing was graded.

    `short` is the headline without system and attacker, `evidence` are the graded numbers with their grades, the worst
    one first, `rests_on` is a sentence about them with intervals, and `attackers` define the attackers of them.
    """

    system: str
    grade: int | None
    headline: str
    short: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]
    tiles: tuple[Tile, ...]
    evidence: tuple[tuple[str, str], ...] = ()
    rests_on: str = ""
    attackers: tuple[str, ...] = ()
    explanations: tuple[str, ...] = ()
    grades: Grades | None = None


def judge(results: Results, system: str, edition: str, metric: str, limits: VerdictLimits) -> Verdict:
    """The verdict on one system, by the EER `metric`; a caveat is added if that is not the EER of the edition."""
    eer, found = _eer(results, system, metric, limits.eer), _found(results, system, limits.found)
    words = _utility(results, system, limits)
    evidence = sorted((one for part in (eer, found) if part for one in part.evidence), key=_least_protected)
    models = {e.attack_model for e in results.entries if e.record.system == system}
    untrained = bool(evidence) and system != ORIGINAL and SEMI not in models
    at_best = limits.untrained_grade if untrained else len(GRADES) - 1
    grades = overall([one.number for one in evidence]).at_best(at_best) if evidence else None
    unsure = system != ORIGINAL and grades is not None and grades.one is None
    caveats = [_how_many(evidence, at_best)] if unsure else []
    if untrained:
        caveats.append(
            "No attacker was trained on anonymised speech (semi-informed). Such attackers are stronger: privacy may be "
            f"lower than these numbers show. The verdict is “{WORDS[limits.untrained_grade]}” at best."
        )
    if eer and metric != eer_of(edition):
        caveats.append(
            f"The results have no {describe(eer_of(edition)).title}, which is the EER of VoicePrivacy {edition}. This "
            f"page shows {describe(metric).title}."
        )
    if eer and eer.grades.worst - overall([one.number for one in evidence]).best >= limits.disagreement:
        caveats.append(
            f"By its EER alone, the system {eer.grades.sentence}. The share of speakers found is worse, and the worst "
            "grade counts."
        )
    gone = words is not None and words.lost >= limits.speech_gone
    if gone:
        caveats.append("Hardly any word is recognised: this is the privacy of silence or noise.")
    if words and words.unclear:
        caveats.append(
            f"There is no verdict on utility: {words.unclear}. Words may be lost, and noise is private. The audit of "
            "the recognisers says more."
        )
    against = f" against the {attack_model(evidence[0].record)} attacker" if evidence else ""
    if gone:
        short, headline = "destroys the speech", f"{system} destroys the speech"
    elif system == ORIGINAL:
        short, headline = "is not protected", "The original speech is not protected"
    elif grades is None:
        short, headline = "privacy was not measured", f"{system}: privacy was not measured"
    else:
        short = grades.sentence.replace(" the speakers", "")
        headline = f"{system} {grades.sentence}{against}{f': {_cannot_tell(evidence)}' if unsure else ''}"
    if words and words.unclear and not gone:
        short, headline = f"{short}; utility not known", f"{headline}; no verdict on utility: {words.unclear}"
    parts = [part for part in (eer, found, words) if part]
    tiles = [tile for part in parts for tile in part.tiles]
    labels = {tile.label.split(",")[0] for tile in tiles}
    return Verdict(
        system,
        None if grades is None else grades.one,
        headline,
        short,
        tuple(part.sentence for part in parts),
        tuple(caveats),
        tuple(tiles),
        tuple((one.in_short, one.grades.words) for one in evidence),
        _rests_on(evidence),
        tuple(define_attacks(one.record for one in evidence)),
        (_LINKED_OR_IDENTIFIED,) if {"Linked", "Identified"} <= labels else (),
        grades,
    )


@dataclass(frozen=True)
class _Evidence:
    """A graded number; `phrase` has a place ``{}`` for it, and ends with the word before its attacker."""

    record: Record
    phrase: str
    number: GradedNumber

    @property
    def grades(self) -> Grades:
        return self.number.grades()

    @property
    def in_short(self) -> str:
        return f"{self.phrase.format(_shown(self.record))} {attack_in_words(self.record)}"

    @property
    def in_words(self) -> str:
        number = self.phrase.format(_with_interval(self.record))
        return f"{number} the {attack_model(self.record)} attacker {self.record.attacker}".rstrip()


def _least_protected(one: _Evidence) -> tuple[int, int]:
    return one.grades.best, one.grades.worst


def _fewest_speakers(evidence: Sequence[_Evidence]) -> int:
    """The speakers of the number with the fewest of those that leave several grades open; 0 if not known."""
    counted = [one.record.counts.get("speakers", 0) for one in evidence if one.grades.one is None]
    return min(filter(None, counted), default=0)


def _cannot_tell(evidence: Sequence[_Evidence]) -> str:
    speakers = _fewest_speakers(evidence)
    return f"{speakers} speaker{'s' * (speakers != 1)} cannot tell" if speakers else "the intervals cannot tell"


def _how_many(evidence: Sequence[_Evidence], at_best: int) -> str:
    """A sentence about how many speakers would tell one grade."""
    without = [one for one in evidence if one.record.lower is None]
    if without:
        return (
            f"A number without an interval leaves all grades open: {without[0].in_short}. Intervals need resamples, "
            f"{FEWEST} speakers or more, and numbers of all attackers that have one."
        )
    speakers, times = _fewest_speakers(evidence), times_as_many([one.number for one in evidence], at_best)
    why = "The intervals leave several grades open."
    if times is None:
        return f"{why} The numbers are so near to a limit of grades that far more speakers would hardly tell."
    if not speakers:
        return f"{why} About {times:.2g} times as many speakers would tell, if they gave the same numbers."
    return f"{why} About {_rounded(speakers * times)} speakers instead of {speakers} would tell, with the same numbers."


def _rounded(number: float) -> str:
    """A number of speakers with two digits, rounded up.

    >>> _rounded(37.2), _rounded(1234)
    ('38', '1,300')
    """
    step = 10 ** max(0, len(str(int(number))) - 2)
    return f"{math.ceil(number / step) * step:,}"


def _rests_on(evidence: Sequence[_Evidence]) -> str:
    """The sentence about what a verdict rests on, the worst number first."""
    if not evidence:
        return ""
    graded = [f"{one.in_words} ({one.grades.words})" for one in evidence]
    if len(graded) == 1:
        return f"The verdict rests on one graded number: {graded[0]}."
    return f"The verdict is the worst of {len(graded)} grades: {'; '.join(graded)}."


@dataclass(frozen=True)
class _Part:
    """What one kind of numbers says."""

    sentence: str
    tiles: tuple[Tile, ...]
    evidence: tuple[_Evidence, ...] = ()

    @property
    def grades(self) -> Grades:
        return overall([one.number for one in self.evidence])


@dataclass(frozen=True)
class _Words(_Part):
    """What the words say: which share of those understood before is `lost`, or why that is `unclear`."""

    lost: float = 0.0
    unclear: str = ""


def _eer(results: Results, system: str, metric: str, limits: Sequence[float]) -> _Part | None:
    """The mean EER over the test sets for the attack with the lowest."""
    worst = worst_case(results.records, system, metric)
    if worst is None:
        return None
    kind, model = describe(metric), attack_model(worst)
    before = original_baseline(results.records, worst) if system != ORIGINAL else None
    original = f"original speech {_shown(before)}, " if before else ""
    choice = choice_in_words({**_attacks(results.records, system, metric), **worst.notes})
    interval = "; the interval accounts for this choice" if worst.notes.get("attacks", 1) > 1 else ""
    sentence = (
        f"The {' '.join(filter(None, (model, worst.attacker)))} attacker confuses same and different speakers in "
        f"{_with_interval(worst)} of the cases: {kind.title}, {_mean_of(worst)}; {original}perfect anonymisation 50 %. "
        f"It is {choice}{interval}."
    )
    number = GradedNumber(worst.value, worst.lower, worst.upper, tuple(limits), before.value if before else None)
    tile = Tile(
        kind.title,
        _shown(worst),
        _interval(worst),
        f"{original}chance 50 %, {choice}",
        min(1, 2 * before.value) if before else None,
        min(1, 2 * worst.value),
        _graded(number),
    )
    return _Part(sentence, (tile,), (_Evidence(worst, f"{kind.title} {{}} against", number),))


def _graded(number: GradedNumber) -> str:
    return f"{number.grades().words}: {number.shown_limits()}"


def _attacks(records: Sequence[Record], system: str, metric: str) -> dict[str, int]:
    """The number of attacks on a system, and of attackers."""
    own = [record for record in records if record.system == system and record.metric == metric]
    found = {(record.attacker, record.condition) for record in own}
    return {"attackers": len({attacker for attacker, _ in found}), "attacks": len(found)}


def _found(results: Results, system: str, limits: Sequence[float]) -> _Part | None:
    """The share of all speakers who are found by the most successful attack with the least speech."""
    sentence = ""
    tiles: list[Tile] = []
    evidence: list[_Evidence] = []
    attacks = {name: metric.success for name, metric in known_metrics().items() if metric.success}
    for name, success in sorted(attacks.items(), key=lambda attack: not attack[1].graded):
        worst = worst_case(results.records, system, name)
        if worst is None or "N" not in worst.params:
            continue
        before = original_baseline(results.records, worst) if system != ORIGINAL else None
        n, length = worst.params["N"], worst.params["L"]
        grade = ""
        if success.graded:
            chance = float(worst.notes.get("chance", 0))
            ends = tuple(chance + limit * (1 - chance) for limit in limits)
            number = GradedNumber(worst.value, worst.lower, worst.upper, ends, before.value if before else None)
            evidence.append(_Evidence(worst, f"{{}} {success.label.lower()} among {n} speakers by", number))
            grade = _graded(number)
        compared = f"{f'original speech {_shown(before)}, ' if before else ''}chance {show_chance(worst)} %"
        speech = "a single utterance" if length == 1 else f"{length} utterances"
        sentence = sentence or (
            f"With {speech} the best attack {success.words.format(N=n)} in {_with_interval(worst)} of the attempts "
            f"({compared})."
        )
        original, own = (1 - max(0, min(1, share_above_chance(r))) if r else None for r in (before, worst))
        label = f"{success.label}, {n} speakers"
        tiles.append(Tile(label, _shown(worst), _interval(worst), compared, original, own, grade))
    return _Part(sentence, tuple(tiles), tuple(evidence)) if tiles else None


def _utility(results: Results, system: str, limits: VerdictLimits) -> _Words | None:
    """Word errors before and after, of one recogniser, and the share of the words lost that it understood before."""
    rates = utility(results.records, list(dict.fromkeys((ORIGINAL, system))), "wer")
    if system not in rates:
        return None
    after, before = rates[system], rates.get(ORIGINAL)
    words, label = _with_interval(after), describe("wer").title
    if before is None or before is after:
        tile = Tile(label, _shown(after), _interval(after), "utility")
        unknown = f"{_shown(after)} of the words are misrecognised, and original speech was not recognised to compare"
        unclear = unknown if before is None and after.value >= 100 * limits.speech_gone else ""
        return _Words(f"{words} of the words are misrecognised.", (tile,), unclear=unclear)
    verb = "rise" if after.value > before.value else "go"
    sentence = f"Recognition errors {verb} from {_shown(before)} to {words} of the words ({label}, {_mean_of(after)})."
    points = describe("wer").show(abs(after.value - before.value))
    note = f"original speech {_shown(before)}, {'+' if after.value >= before.value else '−'}{points} points"
    tile = Tile(label, _shown(after), _interval(after), note)
    if unclear := _not_understood(results.records, before, limits):
        return _Words(sentence, (tile,), unclear=unclear)
    return _Words(sentence, (tile,), lost=(after.value - before.value) / (100 - before.value))


def _not_understood(records: Sequence[Record], before: Record, limits: VerdictLimits) -> str:
    """Why a recogniser cannot tell anything: on a set of original speech that counts, it fails by itself."""
    own = [r for r in records if r.metric == before.metric and r.system == ORIGINAL and not r.gender]
    own = [r for r in own if r.model == before.model and before.set in (r.set, partition_of(r.set))]
    same = [r for r in own if r.params == before.params]
    worst = max((before, *same), key=lambda r: r.value)
    if worst.value < 100 * limits.not_understood:
        return ""
    return f"{before.model or 'the recogniser'} misrecognises {_shown(worst)} of the words of original speech"


def share_above_chance(record: Record) -> float:
    """How much of what chance leaves an attack finds: 0 at chance, 1 where it always succeeds."""
    chance = float(record.notes.get("chance", 0))
    return (record.value - chance) / (1 - chance)


def _mean_of(record: Record) -> str:
    """The sets of a number: ``mean over 2 test sets``."""
    sets = record.notes.get("average", 1)
    return f"mean over {sets} {record.set} sets" if sets > 1 else f"of the {set_title(record.set)} set"


def _shown(record: Record) -> str:
    """A number with the digits of the tables and the terminal."""
    kind = describe(record.metric)
    return f"{kind.typeset(record.value)} {kind.unit}".rstrip()


def _with_interval(record: Record) -> str:
    return f"{_shown(record)} {_interval(record)}".rstrip()


def _interval(record: Record) -> str:
    return show_interval(record).replace(",", ", ")


def attack_in_words(record: Record) -> str:
    """``semi-informed ecapa_plda``."""
    return " ".join(filter(None, (attack_model(record), record.attacker)))


def define_attacks(records: Iterable[Record]) -> list[str]:
    """A sentence about the attacker of every record, each once."""
    return list(dict.fromkeys(filter(None, map(_definition, records))))


def _definition(record: Record) -> str:
    model = attack_model(record)
    if describe(record.metric).group == INFERENCE and record.condition in _LEARNT:
        does = _LEARNT[record.condition]
    elif model in TRAINED_ON:
        trained = f"it was trained on other speakers, with {TRAINED_ON[model]},"
        does = f"{_HAVE.get(model, _ANONYMISES)}; {trained}{_method(record)}".rstrip(",")
    else:
        return ""
    framework = f" ({LEGAL_NAMES[model]} in the legal framework)" if model in LEGAL_NAMES else ""
    return f"The {model} attacker {record.attacker}".rstrip() + f"{framework} {does}."


def _method(record: Record) -> str:
    scoring = str(record.notes.get("scoring") or record.params.get("similarity") or "")
    if scoring == "fusion":
        return " and joins the scores of several attackers"
    return f" and compares voices as vectors by {_SCORES[scoring]}" if scoring in _SCORES else ""
