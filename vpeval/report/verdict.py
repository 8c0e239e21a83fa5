"""The headline of a report: how well a system protects the speakers against the strongest attacker that was tested.

Two kinds of evidence are graded, and the worst grade counts: the EER of the edition, and the shares of speakers linked
and identified among N, corrected for chance. The limits are in conf/verdict.yaml. An EER may be high although speakers
are found, for example if enrolment and trials do not match. Without an attacker that was trained on speech of the
system, the system gets a medium grade at best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vpeval.editions.headline import eer_of
from vpeval.figures.run_results import Results
from vpeval.measures.strongest import choice_in_words
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
    set_title,
)
from vpeval.records.record import Record
from vpeval.results.text_tables import show_chance, show_interval
from vpeval.results.worst import original_baseline, utility, worst_case

GRADES = (
    "does not protect the speakers",
    "hardly protects the speakers",
    "protects the speakers weakly",
    "protects the speakers in part",
    "protects the speakers well",
    "protects the speakers strongly",
)
WORDS = ("not at all", "hardly", "weakly", "in part", "well", "strongly")
"""The grades, from the worst to the best, as sentences about a system and as words about a number."""
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
    """The verdict on a system. `grade` counts from 0; `explanations` are about numbers that seem to disagree.

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


def judge(results: Results, system: str, edition: str, metric: str, limits: VerdictLimits) -> Verdict:
    """The verdict on one system, by the EER `metric`; a caveat is added if that is not the EER of the edition."""
    eer, found = _eer(results, system, metric, limits.eer), _found(results, system, limits.found)
    words = _utility(results, system)
    evidence = sorted((one for part in (eer, found) if part for one in part.evidence), key=lambda one: one.grade)
    models = {e.attack_model for e in results.entries if e.record.system == system}
    grade = evidence[0].grade if evidence else None
    caveats = []
    if grade is not None and system != ORIGINAL and SEMI not in models:
        caveats.append(
            "No attacker was trained on anonymised speech (semi-informed). Such attackers are stronger: privacy may be "
            f"lower than these numbers show. The verdict is “{WORDS[limits.untrained_grade]}” at best."
        )
        grade = min(grade, limits.untrained_grade)
    if eer and metric != eer_of(edition):
        caveats.append(
            f"The results have no {describe(eer_of(edition)).title}, which is the EER of VoicePrivacy {edition}. This "
            f"page shows {describe(metric).title}."
        )
    if eer and eer.grade - evidence[0].grade >= limits.disagreement:
        caveats.append(
            f"By its EER alone, the system {GRADES[eer.grade]}. The share of speakers found is worse, and the worst "
            "grade counts."
        )
    gone = system != ORIGINAL and words is not None and words.words_lost >= limits.speech_gone
    if gone:
        caveats.append("Hardly any word is recognised: this is the privacy of silence or noise.")
    against = f" against the {attack_model(evidence[0].record)} attacker" if evidence else ""
    if gone:
        short, headline = "destroys the speech", f"{system} destroys the speech"
    elif system == ORIGINAL:
        short, headline = "is not protected", "The original speech is not protected"
    elif grade is None:
        short, headline = "privacy was not measured", f"{system}: privacy was not measured"
    else:
        short, headline = GRADES[grade].replace(" the speakers", ""), f"{system} {GRADES[grade]}{against}"
    parts = [part for part in (eer, found, words) if part]
    tiles = [tile for part in parts for tile in part.tiles]
    labels = {tile.label.split(",")[0] for tile in tiles}
    return Verdict(
        system,
        grade,
        headline,
        short,
        tuple(part.sentence for part in parts),
        tuple(caveats),
        tuple(tiles),
        tuple((one.in_short, WORDS[one.grade]) for one in evidence),
        _rests_on(evidence),
        tuple(define_attacks(one.record for one in evidence)),
        (_LINKED_OR_IDENTIFIED,) if {"Linked", "Identified"} <= labels else (),
    )


@dataclass(frozen=True)
class _Evidence:
    """A graded number; `phrase` has a place ``{}`` for it, and ends with the word before its attacker."""

    record: Record
    phrase: str
    grade: int

    @property
    def in_short(self) -> str:
        return f"{self.phrase.format(_shown(self.record))} {attack_in_words(self.record)}"

    @property
    def in_words(self) -> str:
        number = self.phrase.format(_with_interval(self.record))
        return f"{number} the {attack_model(self.record)} attacker {self.record.attacker}".rstrip()


def _rests_on(evidence: Sequence[_Evidence]) -> str:
    """The sentence about what a verdict rests on, the worst number first."""
    if not evidence:
        return ""
    graded = [f"{one.in_words} ({WORDS[one.grade]})" for one in evidence]
    if len(graded) == 1:
        return f"The verdict rests on one graded number: {graded[0]}."
    return f"The verdict is the worst of {len(graded)} grades: {'; '.join(graded)}."


@dataclass(frozen=True)
class _Part:
    """What one kind of numbers says."""

    sentence: str
    tiles: tuple[Tile, ...]
    evidence: tuple[_Evidence, ...] = ()
    words_lost: float = 0.0

    @property
    def grade(self) -> int:
        return min((one.grade for one in self.evidence), default=len(GRADES) - 1)


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
    grade = sum(worst.value >= limit for limit in limits)
    tile = Tile(
        kind.title,
        _shown(worst),
        _interval(worst),
        f"{original}chance 50 %, {choice}",
        min(1, 2 * before.value) if before else None,
        min(1, 2 * worst.value),
        f"{WORDS[grade]}: {_range(grade, [100 * limit for limit in limits])}",
    )
    return _Part(sentence, (tile,), (_Evidence(worst, f"{kind.title} {{}} against", grade),))


def _range(grade: int, limits: Sequence[float]) -> str:
    """The numbers of a grade in per cent; `limits` lead to better grades, up or down.

    >>> _range(0, (5, 10)), _range(1, (5, 10)), _range(2, (90.4, 50.6))
    ('below 5 %', '5 to 10 %', '50.6 % or less')
    """
    rises = limits[0] < limits[-1]
    if grade == 0:
        return f"{'below' if rises else 'above'} {limits[0]:.3g} %"
    if grade == len(limits):
        return f"{limits[-1]:.3g} % or {'more' if rises else 'less'}"
    return "{:.3g} to {:.3g} %".format(*sorted(limits[grade - 1 : grade + 1]))


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
            found = sum(share_above_chance(worst) <= limit for limit in limits)
            evidence.append(_Evidence(worst, f"{{}} {success.label.lower()} among {n} speakers by", found))
            chance = float(worst.notes.get("chance", 0))
            grade = f"{WORDS[found]}: {_range(found, [100 * (chance + limit * (1 - chance)) for limit in limits])}"
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


def _utility(results: Results, system: str) -> _Part | None:
    """Word errors before and after, of one recogniser."""
    rates = utility(results.records, list(dict.fromkeys((ORIGINAL, system))), "wer")
    if system not in rates:
        return None
    after, before = rates[system], rates.get(ORIGINAL)
    lost, words = after.value / 100, _with_interval(after)
    label = describe("wer").title
    if before is None or before is after:
        tile = Tile(label, _shown(after), _interval(after), "utility")
        return _Part(f"{words} of the words are misrecognised.", (tile,), words_lost=lost)
    verb = "rise" if after.value > before.value else "go"
    sentence = f"Recognition errors {verb} from {_shown(before)} to {words} of the words ({label}, {_mean_of(after)})."
    points = describe("wer").show(abs(after.value - before.value))
    note = f"original speech {_shown(before)}, {'+' if after.value >= before.value else '−'}{points} points"
    return _Part(sentence, (Tile(label, _shown(after), _interval(after), note),), words_lost=lost)


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
