"""The three criteria of Opinion 05/2014 on Anonymisation Techniques: what was measured for them, and what was not.

For a use case (a number of speakers and of utterances), the residual risk is measured, extrapolated or not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vpeval.figures.run_results import Entry, Results
from vpeval.records.limits import VerdictLimits
from vpeval.records.metrics import INFERENCE, LINKABILITY, SINGLING_OUT, describe, known_metrics
from vpeval.records.names import LEGAL_NAMES, SEMI, SIMILAR
from vpeval.records.record import Record
from vpeval.report.grades import WORDS
from vpeval.report.verdict import attack_in_words, share_above_chance
from vpeval.results.text_tables import show_chance, show_interval
from vpeval.results.worst import strength

MEASURED, EXTRAPOLATED, UNKNOWN = "measured", "extrapolated", "not known"
_STATUS = {
    "untested": "not tested",
    "above": "still possible, above chance",
    "level": "not distinguishable from chance here",
}
_INFERRED = ("inference_accuracy", "inference_correlation")
_FRAMEWORK = "Vauquier et al., 2025"
_COMMON_ATTRIBUTES = ("sex", "age", "accent", "origin", "health", "emotion", "education")
_SYNONYMS = {"gender": "sex", "emo": "emotion", "region": "origin"}


@dataclass(frozen=True)
class UseCase:
    """A number of speakers and of utterances at a time; 0 if not given."""

    population: int = 0
    utterances: int = 0


NO_CASE = UseCase()


@dataclass(frozen=True)
class Risk:
    """A number for a use case: what it is, the number, whether it was measured, and a remark."""

    what: str
    number: str
    kind: str
    remark: str


@dataclass(frozen=True)
class AttackOutcome:
    """The outcome of one attack for growing amounts of speech: (amount, success rate with interval, chance)."""

    attack: str
    numbers: tuple[tuple[str, str, str], ...]
    above_chance: bool


@dataclass(frozen=True)
class Criterion:
    """A question of the Opinion and the outcomes of the attacks; without outcomes it was not tested.

    `risks` are the numbers for a use case, `unmeasured` lists what the outcomes do not cover.
    """

    name: str
    question: str
    method: str
    outcomes: tuple[AttackOutcome, ...]
    risks: tuple[Risk, ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``untested``, ``above`` chance or ``level`` with it."""
        if not self.outcomes:
            return "untested"
        return "above" if any(outcome.above_chance for outcome in self.outcomes) else "level"

    @property
    def status(self) -> str:
        """The kind in words."""
        return _STATUS[self.kind]


@dataclass(frozen=True)
class WorstCase:
    """The most successful attack of a criterion: its number, the limits that it is held against, and their sources.

    Without a `record` the criterion was not tested.
    """

    criterion: str
    kind: str
    status: str
    record: Record | None = None
    measure: str = ""
    number: str = ""
    attacker: str = ""
    size: str = ""
    limits: tuple[tuple[str, str], ...] = ()


def worst_cases(results: Results, system: str, found: Sequence[Criterion], limits: VerdictLimits) -> list[WorstCase]:
    """The worst case of every criterion of `found`: at the largest N, of all attackers and amounts of speech.

    The worst one is farthest above chance, as attackers with side information have a higher chance.
    """
    metrics = (_of_criterion(SINGLING_OUT), _of_criterion(LINKABILITY), _INFERRED)
    cases = []
    for criterion, names in zip(found, metrics, strict=True):
        own = [r for r in results.records if r.system == system and r.metric in names and "chance" in r.notes]
        own = [r for r in own if r.params.get("estimator") != "beta-binomial"]
        most = max((r.params.get("N", 0) for r in own), default=0)
        found_here = [r for r in own if r.params.get("N", 0) == most]
        worst = max(found_here, key=lambda r: (share_above_chance(r), strength(r)), default=None)
        case = WorstCase(criterion.name, criterion.kind, criterion.status)
        cases.append(_worst_case(case, worst, limits) if worst else case)
    return cases


def _of_criterion(name: str) -> tuple[str, ...]:
    return tuple(metric.name for metric in known_metrics().values() if metric.criterion == name)


def _worst_case(case: WorstCase, record: Record, limits: VerdictLimits) -> WorstCase:
    kind, params = describe(record.metric), record.params
    details = [str(params[name]) for name in ("side", "attribute") if name in params]
    speakers = [f"{params['N']} speakers"] if "N" in params else []
    against = [(_chance(record), "of this protocol (docs/metrics.md)")]
    if "paper_chance" in record.notes:
        trivial = kind.typeset(float(record.notes["paper_chance"]))
        against.append((f"{trivial} {kind.unit}", f"trivial attacker of {_FRAMEWORK}"))
    if kind.success and kind.success.graded:
        chance, best = float(record.notes["chance"]), limits.found[-1]
        grade = kind.typeset(chance + best * (1 - chance))
        against.append((f"{grade} {kind.unit}", f"for “{WORDS[-1]}” in conf/verdict.yaml, our choice"))
    return replace(
        case,
        record=record,
        measure=", ".join([kind.title, *details]),
        number=_number(record),
        attacker=attack_in_words(record),
        size=", ".join([*speakers, amount(record)]),
        limits=tuple(against),
    )


def criteria(results: Results, system: str, case: UseCase = NO_CASE) -> list[Criterion]:
    """Singling out, linkability and inference, in the order of the Opinion."""
    own = [entry for entry in results.entries if entry.record.system == system]
    return [
        Criterion(
            "Singling out",
            "Can one person still be isolated in the data?",
            "Share of attempts in which a threshold on the similarity to a known voice isolates exactly one speaker. "
            "The attacker has recordings of the person. With side information, the attacker also knows an attribute.",
            _outcomes(results, system, SINGLING_OUT),
            _risks(own, "singling_out", case),
            ("Predicates on anything but the voice and the attributes named here, such as words or topics.",),
        ),
        Criterion(
            "Linkability",
            "Can two records of one person still be linked?",
            "Share of anonymised test speakers whose nearest enrolled speaker is the right one. The attacker has "
            "speech of all enrolled speakers. With side information, the attacker also knows an attribute.",
            _outcomes(results, system, LINKABILITY),
            _risks(own, "linkability", case),
            ("Links by anything but the voice and the attributes named here, such as words, rooms or devices.",),
        ),
        _inference(results, system, own, case),
    ]


def _inference(results: Results, system: str, own: Sequence[Entry], case: UseCase) -> Criterion:
    outcomes = _inference_outcomes(results, system)
    name, question = "Inference", "Can something about a person still be deduced?"
    if not outcomes:
        method = (
            "Not tested: no attack on attributes such as sex, age, accent, health or emotion was run. The spoken words "
            "are not changed."
        )
        return Criterion(name, question, method, ())
    known = {str(e.record.params["attribute"]) for e in own if "attribute" in e.record.params}
    known = {_SYNONYMS.get(attribute, attribute) for attribute in known}
    method = (
        "What an attacker learns about attributes of a person from speech. The attacker was trained on other persons: "
        "on original speech (ignorant) or on anonymised speech (informed). Bits are the information about the "
        "attribute that posteriors disclose; the best guess without speech has 0."
    )
    others = [attribute for attribute in _COMMON_ATTRIBUTES if attribute not in known]
    unmeasured = (
        f"Attributes without labels in this corpus, such as {', '.join(others)}.",
        "Information in the spoken words.",
        "Attackers trained on more speakers than this corpus has; they learn more.",
    )
    return Criterion(name, question, method, outcomes, _inference_risks(own, case), unmeasured)


def not_tested(results: Results, system: str) -> list[str]:
    """What the measured numbers do not cover."""
    entries = [e for e in results.entries if e.record.system == system]
    models = {e.attack_model for e in entries}
    legal = [e.record for e in entries if e.record.metric in ("linkability", "singling_out")]
    gaps = []
    if SEMI not in models:
        gaps.append(
            f"An attacker trained on speech of the same system (semi-informed; {LEGAL_NAMES[SEMI]} in the framework)."
        )
    if SIMILAR not in models:
        gaps.append(
            "An attacker trained on speech of a similar, older system "
            f"({LEGAL_NAMES[SIMILAR]} in the framework; in the challenges, this name has another meaning)."
        )
    if legal:
        most = max(record.params["N"] for record in legal)
        gaps.append(f"More than {most} speakers. Linkability and singling out fall with the number of speakers.")
        longest = max((r.params["L"] for r in legal if isinstance(r.params["L"], int)), default=0)
        if longest < 30:
            gaps.append(f"More than {longest} utterances at a time (the framework goes to 30).")
    else:
        gaps.append("Singling out and linkability: the legal metrics were not computed.")
    inferred = any(describe(e.record.metric).group == INFERENCE for e in entries)
    return [
        *gaps,
        *([] if inferred else ["Inference of attributes."]),
        "Identification by the content of speech (names, places, turns of phrase).",
        "Combination with other knowledge, such as metadata, background noises or recordings of other sources.",
        "Human listeners.",
    ]


def _outcomes(results: Results, system: str, criterion: str) -> tuple[AttackOutcome, ...]:
    """The outcomes of all attacks among most speakers; with side information, for its finest groups."""
    metrics = [metric for metric in known_metrics().values() if metric.criterion == criterion]
    found = []
    for metric in sorted(metrics, key=lambda metric: "side" in metric.identified_by):
        entries = [
            e
            for e in results.select(metric.name)
            if e.record.system == system and e.record.params.get("estimator") != "beta-binomial"
        ]
        for series in results.series(entries):
            for side, records in _group((e.record for e in entries if e.series == series), "side").items():
                groups, most = (max(r.params.get(name, 0) for r in records) for name in ("groups", "N"))
                chosen = [r for r in records if (r.params.get("groups", 0), r.params["N"]) == (groups, most)]
                among = f"among {most} speakers"
                if side:
                    candidates = f"{chosen[0].notes['candidates']:.3g} of {most}"
                    among = f"({side}, {groups} groups, leaves {candidates} speakers)"
                title = f"{metric.title} {among}, {_attacker(series.attack_model)}"
                numbers = tuple((amount(record), _number(record), _chance(record)) for record in chosen)
                found.append(AttackOutcome(title, numbers, any(map(above_chance, chosen))))
    return tuple(found)


def _inference_outcomes(results: Results, system: str) -> tuple[AttackOutcome, ...]:
    """Every attribute by every attacker: bits, and accuracy or correlation."""
    bits, others = "inference_bits", _INFERRED
    entries = [e for e in results.select(bits, *others) if e.record.system == system]
    found = []
    for series in results.series(entries):
        for attribute, records in _group((e.record for e in entries if e.series == series), "attribute").items():
            numbers = []
            for information in (record for record in records if record.metric == bits):
                rates = [r for r in records if r.metric in others and r.params["L"] == information.params["L"]]
                words = f"{_number(information)} of {float(information.notes['entropy']):.2f}"
                shown = [words, *(f"{describe(r.metric).title.split(', ')[1]} {_number(r)}" for r in rates)]
                numbers.append((amount(information), "; ".join(shown), "; ".join(map(_chance, rates))))
            # The interval of the bits is wide; an accuracy above chance is sufficient evidence.
            title = f"{attribute}, {_attacker(series.attack_model)}"
            found.append(AttackOutcome(title, tuple(numbers), any(map(above_chance, records))))
    return tuple(found)


def _attacker(model: str) -> str:
    alias = LEGAL_NAMES.get(model)
    return f"{model} ({alias} in the framework)" if alias else model


def _group(records: Iterable[Record], param: str) -> Mapping[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(str(record.params.get(param, "")), []).append(record)
    return found


def amount(record: Record) -> str:
    """The amount of speech for a number."""
    length: Any = record.params["L"]
    return "all utterances" if length == "all" else f"{length} utterance{'s' if length != 1 else ''}"


def above_chance(record: Record) -> bool:
    """Whether a success rate is above chance, with its whole interval if it has one."""
    return (record.value if record.lower is None else record.lower) > float(record.notes["chance"])


def _number(record: Record) -> str:
    kind = describe(record.metric)
    interval = show_interval(record).replace(",", ", ").replace("-", "−")
    return " ".join(filter(None, (kind.typeset(record.value), kind.unit, interval)))


def _chance(record: Record) -> str:
    return f"chance {show_chance(record)} {describe(record.metric).unit}".rstrip()


def _risks(entries: Sequence[Entry], metric: str, case: UseCase) -> tuple[Risk, ...]:
    """The residual risk of a use case by the most successful attack."""
    measured = [e for e in entries if e.record.metric == metric]
    if not measured or case == NO_CASE:
        return ()
    most = max(int(e.record.params["N"]) for e in measured)
    wanted = case.population or most
    title = f"{describe(metric).title} among {wanted} speakers"
    length, speech = _closest_length(measured, case)
    here = [e for e in measured if _has_size(e, wanted, length)]
    beyond = [e for e in entries if e.record.metric == f"{metric}_extrapolated" and _has_size(e, wanted, length)]
    if here or beyond:
        worst = max(here or beyond, key=lambda e: e.record.value)
        remark = speech if here else f"{speech} {_extrapolation(worst.record)}"
        return (_risk(f"{title}, {worst.attack_model}", worst, MEASURED if here else EXTRAPOLATED, remark),)
    remark = f"It was not measured among {wanted} speakers; run ./run.sh --stage 8 --population {wanted}."
    if wanted > most:
        errors = [
            e.record
            for e in entries
            if e.record.metric == f"{metric}_extrapolation_error" and e.record.params["L"] == length
        ]
        remark = _refusal(errors, wanted, most)
    return (Risk(title, "", UNKNOWN, f"{speech} {remark}"),)


def _inference_risks(entries: Sequence[Entry], case: UseCase) -> tuple[Risk, ...]:
    """Bits about every attribute, and how often all of them together find the person."""
    if case == NO_CASE:
        return ()
    found = []
    bits = [e for e in entries if e.record.metric == "inference_bits"]
    for attribute in dict.fromkeys(str(e.record.params["attribute"]) for e in bits):
        own = [e for e in bits if e.record.params["attribute"] == attribute]
        length, speech = _closest_length(own, case)
        worst = max((e for e in own if e.record.params["L"] == length), key=lambda e: e.record.value)
        found.append(_risk(f"Information about {attribute}, {worst.attack_model}", worst, MEASURED, speech))
    finds = [e for e in entries if e.record.metric == "attributes_found"]
    if not finds:
        return tuple(found)
    length, speech = _closest_length(finds, case)
    exact = [int(e.record.params["N"]) for e in finds if e.record.params["estimator"] == "exact"]
    wanted = case.population or max(exact)
    if here := [e for e in finds if _has_size(e, wanted, length)]:
        worst = max(here, key=lambda e: e.record.value)
        title = f"Found by inferred {worst.record.params['attributes']} among {wanted} speakers, {worst.attack_model}"
        if worst.record.params["estimator"] == "exact":
            found.append(_risk(title, worst, MEASURED, speech))
        else:
            remark = f"{speech} This assumes that attributes are as frequent as in this corpus."
            found.append(_risk(title, worst, EXTRAPOLATED, remark))
    return tuple(found)


def _risk(what: str, entry: Entry, kind: str, remark: str) -> Risk:
    return Risk(what, f"{_number(entry.record)}, chance {show_chance(entry.record)}", kind, remark)


def _closest_length(entries: Iterable[Entry], case: UseCase) -> tuple[Any, str]:
    """The measured number of utterances for a use case, with a remark where it is another one."""
    lengths = {e.record.params["L"] for e in entries}
    numbers = sorted(n for n in lengths if isinstance(n, int))
    if case.utterances in lengths:
        return case.utterances, f"{case.utterances} utterance{'s' * (case.utterances != 1)} at a time."
    longest = "all" if "all" in lengths else numbers[-1]
    words = "all utterances of a speaker" if longest == "all" else f"{longest} utterances at a time"
    if not case.utterances:
        return longest, f"{words[0].upper()}{words[1:]}."
    if numbers and case.utterances < numbers[-1]:
        longest = min(n for n in numbers if n > case.utterances)
        return longest, f"{longest} utterances at a time, the next measured number above {case.utterances}."
    return longest, f"Measured with {words}: speakers have fewer than {case.utterances}. More speech discloses more."


def _has_size(entry: Entry, n: int, length: Any) -> bool:
    return bool(entry.record.params["N"] == n and entry.record.params["L"] == length)


def _extrapolation(record: Record) -> str:
    notes = record.notes
    return (
        f"Extrapolated from {record.params['from']} speakers to {float(notes['factor']):.3g} times as many; not "
        f"measured. As a check, the largest measured number was left out: the extrapolation to "
        f"{float(notes['held_out_factor']):.3g} times as many speakers was off by "
        f"{100 * float(notes['held_out_error']):+.1f} points."
    )


def _refusal(errors: Sequence[Record], wanted: int, most: int) -> str:
    failed = [r for r in errors if not r.notes["holds"]]
    if failed:
        worst = max(failed, key=lambda r: abs(r.value))
        return (
            f"Not extrapolated: the extrapolation to the largest measured number ({most}) is off by "
            f"{100 * worst.value:+.1f} points."
        )
    return f"Measured among at most {most}; run ./run.sh --stage 8 --population {wanted} to try an extrapolation."
