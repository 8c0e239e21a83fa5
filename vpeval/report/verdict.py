"""The headline of a report: how well a system protects, in words, from the strongest attacker that was tested.

Two kinds of evidence are graded, and the worse one counts: the EER of the edition, and the share of speakers found
among N, freed from chance; conf/verdict.yaml has the limits. An EER can look good while speakers are found, for
instance where enrolment and trials merely do not match. A system that was not attacked by anybody who trained on its
speech is called partly protective at best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vpeval.figures.data import Results
from vpeval.records.attacks import SEMI, attack_model
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL, set_title
from vpeval.records.record import Record
from vpeval.results.headline import eer_of
from vpeval.results.limits import VerdictLimits
from vpeval.results.shown import show_chance, show_interval
from vpeval.results.strongest import tried
from vpeval.results.worst import beside, utility, worst_case

GRADES = (
    "hardly protects the speakers",
    "protects the speakers weakly",
    "protects the speakers in part",
    "protects the speakers well",
    "protects the speakers strongly",
)
_LINKED_OR_IDENTIFIED = (
    "Linked and identified answer different questions. Linked: a trial is compared with every enrolled speaker, and "
    "enrolment and trials were anonymised apart, usually with another pseudo-voice. Identified: the utterances of "
    "enrolment and trials are pooled and split again, so that most are compared with speech of the same pseudo-voice, "
    "by their embeddings alone. An anonymiser that gives every speaker one distinct new voice is hard to link and easy "
    "to identify."
)


@dataclass(frozen=True)
class Tile:
    """A number of the headline with what it is compared with.

    `interval` is empty where none is known. `system` and `original` are places on a scale from 0 (no protection) to 1
    (chance level); None: no such scale.
    """

    label: str
    value: str
    interval: str
    note: str
    original: float | None = None
    system: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What to say about a system; `grade` counts from 0, `caveats` say what the words do not cover.

    `explanations` are about numbers that seem to contradict each other.
    """

    system: str
    grade: int | None
    headline: str
    sentences: tuple[str, ...]
    caveats: tuple[str, ...]
    tiles: tuple[Tile, ...]
    explanations: tuple[str, ...] = ()


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
    told = (_LINKED_OR_IDENTIFIED,) if {"Linked", "Identified"} <= {tile.label.split(",")[0] for tile in tiles} else ()
    return Verdict(system, grade, headline, tuple(sentences), tuple(caveats), tuple(tiles), told)


def stated(results: Results) -> list[Record]:
    """All records; those of attacks state the attack model, which the configuration of an attacker may have told."""
    return [e.record.with_notes({"attack_model": e.model}) if e.model else e.record for e in results.entries]


@dataclass(frozen=True)
class _Evidence:
    sentence: str
    tiles: tuple[Tile, ...]
    grade: int = len(GRADES) - 1
    model: str = ""
    words_lost: float = 0.0


def _eer(results: Results, system: str, metric: str, limits: Sequence[float]) -> _Evidence | None:
    """The mean EER over the test sets against the attack with the lowest."""
    records = stated(results)
    worst = worst_case(records, system, metric)
    if worst is None:
        return None
    kind = describe(metric)
    before = beside(records, worst) if system != ORIGINAL else None
    original = f"original speech {_shown(before)}, " if before else ""
    told = tried({**_attacks(records, system, metric), **worst.notes})
    among = ", with an interval that accounts for the choice" if worst.notes.get("attacks", 1) > 1 else ""
    model = attack_model(worst)
    sentence = (
        f"The {' '.join(filter(None, (model, worst.attacker)))} attacker confuses same and different speakers in "
        f"{_with_interval(worst)} of the cases: {kind.title}, {_mean_of(worst)}; {original}perfect anonymisation 50 %. "
        f"It is {told}{among}."
    )
    tile = Tile(
        kind.title,
        _shown(worst),
        _interval(worst),
        f"{original}chance 50 %, {told}",
        min(1, 2 * before.value) if before else None,
        min(1, 2 * worst.value),
    )
    return _Evidence(sentence, (tile,), sum(worst.value >= limit for limit in limits), model)


def _attacks(records: Sequence[Record], system: str, metric: str) -> dict[str, int]:
    """How many attacks there were on a system, and by how many attackers."""
    own = [record for record in records if record.system == system and record.metric == metric]
    found = {(record.attacker, record.condition) for record in own}
    return {"attackers": len({attacker for attacker, _ in found}), "attacks": len(found)}


def _found(results: Results, system: str, limits: Sequence[float]) -> _Evidence | None:
    """How many speakers are found among all, by the most successful attack with the least speech."""
    attacks = {
        "linkability": ("Linked", "links a recording to the right one of {N} speakers"),
        "srd_idr": ("Identified", "ranks the right one of {N} speakers first"),
        "singling_out": ("Singled out", "isolates exactly one of {N} speakers"),
    }
    records = stated(results)
    sentences: list[str] = []
    tiles: list[Tile] = []
    grades: list[int] = []
    for name, (label, words) in attacks.items():
        worst = worst_case(records, system, name)
        if worst is None or "N" not in worst.params:
            continue
        before = beside(records, worst) if system != ORIGINAL else None
        n, length = worst.params["N"], worst.params["L"]
        success = _share_above_chance(worst)
        if name != "singling_out":
            grades.append(sum(success <= limit for limit in limits))
        compared = f"original speech {_shown(before)}, " if before else ""
        chance = f"chance {show_chance(worst)} %"
        speech = "a single utterance" if length == 1 else f"{length} utterances"
        if name == "linkability" or not sentences:
            sentences.append(
                f"With {speech} the best attack {words.format(N=n)} in {_with_interval(worst)} of the attempts "
                f"({compared}{chance})."
            )
        places = [1 - max(0, min(1, _share_above_chance(record))) for record in (before, worst) if record]
        tiles.append(
            Tile(
                f"{label}, {n} speakers",
                _shown(worst),
                _interval(worst),
                f"{compared}{chance}",
                places[0] if before else None,
                places[-1],
            )
        )
    return _Evidence(" ".join(sentences), tuple(tiles), min(grades, default=len(GRADES) - 1)) if tiles else None


def _utility(results: Results, system: str) -> _Evidence | None:
    """Word errors before and after, of the first recogniser that heard both."""
    heard = utility(stated(results), list(dict.fromkeys((ORIGINAL, system))), "wer")
    if system not in heard:
        return None
    after, before = heard[system], heard.get(ORIGINAL)
    lost, words = after.value / 100, _with_interval(after)
    label = describe("wer").title
    if before is None or before is after:
        tile = Tile(label, _shown(after), _interval(after), "utility")
        return _Evidence(f"{words} of the words are misrecognised.", (tile,), words_lost=lost)
    verb = "rise" if after.value > before.value else "go"
    sentence = f"Recognition errors {verb} from {_shown(before)} to {words} of the words ({label}, {_mean_of(after)})."
    points = describe("wer").show(abs(after.value - before.value))
    note = f"original speech {_shown(before)}, {'+' if after.value >= before.value else '−'}{points} points"
    return _Evidence(sentence, (Tile(label, _shown(after), _interval(after), note),), words_lost=lost)


def _share_above_chance(record: Record) -> float:
    chance = float(record.notes.get("chance", 0))
    return (record.value - chance) / (1 - chance)


def _mean_of(record: Record) -> str:
    """What a number is over: ``mean over 2 test sets``."""
    sets = record.notes.get("average", 1)
    return f"mean over {sets} {record.set} sets" if sets > 1 else f"of the {set_title(record.set)} set"


def _shown(record: Record) -> str:
    """A number as the tables and the terminal show it."""
    kind = describe(record.metric)
    return f"{kind.typeset(record.value)} {kind.unit}".rstrip()


def _with_interval(record: Record) -> str:
    return f"{_shown(record)} {_interval(record)}".rstrip()


def _interval(record: Record) -> str:
    return show_interval(record).replace(",", ", ")
