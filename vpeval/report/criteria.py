"""The three questions of Opinion 05/2014 on Anonymisation Techniques: what was measured for them, and what was not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vpeval.figures.data import Entry, Results
from vpeval.records.attacks import LEGAL_NAMES, SEMI, SIMILAR
from vpeval.records.metrics import INFERENCE, describe
from vpeval.records.record import Record
from vpeval.report.use_case import Risk, UseCase, inference_risks, risks

_STATUS = {
    "untested": "not tested",
    "above": "still possible, above chance",
    "level": "not told from chance here",
}
_OFTEN_ASKED = ("sex", "age", "accent", "origin", "health", "emotion", "education")
_CALLED = {"gender": "sex", "emo": "emotion", "region": "origin"}


@dataclass(frozen=True)
class Finding:
    """What one attack found with growing amounts of speech: (amount, success rate with interval, chance)."""

    attack: str
    numbers: tuple[tuple[str, str, str], ...]
    above_chance: bool


@dataclass(frozen=True)
class Criterion:
    """A question of the Opinion and what was found about it; no findings means that it was not tested.

    `risks` are the numbers for a use case, `unmeasured` says what the findings do not cover.
    """

    name: str
    question: str
    method: str
    findings: tuple[Finding, ...]
    risks: tuple[Risk, ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``untested``, ``above`` chance or ``level`` with it."""
        if not self.findings:
            return "untested"
        return "above" if any(finding.above_chance for finding in self.findings) else "level"

    @property
    def status(self) -> str:
        """The same in words."""
        return _STATUS[self.kind]


def criteria(results: Results, system: str, case: UseCase | None = None) -> list[Criterion]:
    """Singling out, linkability and inference, in the order of the Opinion; `case` is that of the user."""
    own = [entry for entry in results.entries if entry.record.system == system]
    return [
        Criterion(
            "Singling out",
            "Can one person still be isolated in the data?",
            "Share of attempts in which a threshold on the similarity to a known voice isolates exactly one speaker. "
            "The attacker has recordings of the person, and, where an attribute is named, knows that of the person.",
            tuple(_findings(results, system, ("singling_out",)) + _sided(results, system, "singling_out_side")),
            tuple(risks(own, "singling_out", case) if case else ()),
            ("Predicates on anything but the voice and the attributes named here, such as words or topics.",),
        ),
        Criterion(
            "Linkability",
            "Can two records of one person still be linked?",
            "Share of anonymised test speakers whose nearest enrolled speaker is the right one. The attacker has "
            "speech of all enrolled speakers, and, where an attribute is named, knows that of the person.",
            tuple(_findings(results, system, ("linkability", "srd_idr")) + _sided(results, system, "linkability_side")),
            tuple(risks(own, "linkability", case) if case else ()),
            ("Links by anything but the voice and the attributes named here, such as words, rooms or devices.",),
        ),
        _inference(results, system, own, case),
    ]


def _inference(results: Results, system: str, own: Sequence[Entry], case: UseCase | None) -> Criterion:
    findings = tuple(_inferred(results, system))
    name, question = "Inference", "Can something about a person still be deduced?"
    known = {str(e.record.params["attribute"]) for e in own if "attribute" in e.record.params}
    rest = [word for word in _OFTEN_ASKED if word not in {_CALLED.get(attribute, attribute) for attribute in known}]
    if not findings:
        method = (
            "Not tested: no attack on attributes such as sex, age, accent, health or emotion was run, and the words "
            "that are spoken were left as they are."
        )
        return Criterion(name, question, method, ())
    method = (
        "What an attacker learns about attributes of a person from speech, who never heard that person and was trained "
        "on others: on original speech (ignorant), or on anonymised speech (informed). Bits are those of the attribute "
        "that posteriors disclose; the best that guessing does is 0."
    )
    unmeasured = (
        f"Attributes that this corpus does not tell, such as {', '.join(rest)}.",
        "What the words that are spoken give away.",
        "Attackers trained on more speakers than this corpus has, who learn more.",
    )
    return Criterion(name, question, method, findings, tuple(inference_risks(own, case) if case else ()), unmeasured)


def not_tested(results: Results, system: str) -> list[str]:
    """What the measured numbers say nothing about."""
    entries = [e for e in results.entries if e.record.system == system]
    models = {e.model for e in entries}
    legal = [e.record for e in entries if e.record.metric in ("linkability", "singling_out")]
    gaps = []
    if SEMI not in models:
        gaps.append(
            f"An attacker trained on speech of the same system (semi-informed; {LEGAL_NAMES[SEMI]} in the framework)."
        )
    if SIMILAR not in models:
        gaps.append(
            "An attacker trained on speech of a similar, older system "
            f"({LEGAL_NAMES[SIMILAR]} in the framework, which means something else by it than the challenges)."
        )
    if legal:
        most = max(record.params["N"] for record in legal)
        gaps.append(
            f"Crowds of more than {most} speakers: linkability falls with their number, and so does singling out."
        )
        longest = max((r.params["L"] for r in legal if isinstance(r.params["L"], int)), default=0)
        if longest < 30:
            gaps.append(f"Long conversations: at most {longest} utterances at a time (the framework goes to 30).")
    else:
        gaps.append("Singling out and linkability: the legal metrics were not computed.")
    inferred = any(describe(e.record.metric).group == INFERENCE for e in entries)
    gaps += [
        *([] if inferred else ["Inference of attributes."]),
        "Identification by the content of speech (names, places, turns of phrase).",
        "Combination with other knowledge, such as metadata, background noises or recordings of other sources.",
        "Human listeners.",
    ]
    return gaps


def _findings(results: Results, system: str, metrics: Sequence[str]) -> list[Finding]:
    found = []
    for name in metrics:
        entries = [
            e
            for e in results.of(name)
            if e.record.system == system and e.record.params.get("estimator") != "beta-binomial"
        ]
        for series in results.series(entries):
            records = [e.record for e in entries if e.series == series]
            largest = max(record.params["N"] for record in records)
            chosen = [record for record in records if record.params["N"] == largest]
            title = f"{describe(name).title} among {largest} speakers, {_attacker(series[1])}"
            numbers = tuple((amount(record), _success(record), _chance(record)) for record in chosen)
            found.append(Finding(title, numbers, any(above_chance(record) for record in chosen)))
    return found


def _attacker(model: str) -> str:
    alias = LEGAL_NAMES.get(model)
    return f"{model} ({alias} in the framework)" if alias else model


def _sided(results: Results, system: str, metric: str) -> list[Finding]:
    """What attackers found who knew as much as they could of every attribute, or of all."""
    entries = [e for e in results.of(metric) if e.record.system == system]
    found = []
    for series in results.series(entries):
        for side, records in _by(_records(entries, series), "side").items():
            finest = max(record.params["groups"] for record in records)
            largest = max(record.params["N"] for record in records)
            chosen = [r for r in records if r.params["groups"] == finest and r.params["N"] == largest]
            left = f"{chosen[0].notes['candidates']:.3g} of {largest} speakers"
            title = f"{describe(metric).title} ({side}, {finest} groups, leaves {left}), {_attacker(series[1])}"
            numbers = tuple((amount(record), _success(record), _chance(record)) for record in chosen)
            found.append(Finding(title, numbers, any(above_chance(record) for record in chosen)))
    return found


def _inferred(results: Results, system: str) -> list[Finding]:
    """Every attribute by every attacker: bits, and accuracy or correlation."""
    bits, others = "inference_bits", ("inference_accuracy", "inference_correlation")
    entries = [e for e in results.of(bits, *others) if e.record.system == system]
    found = []
    for series in results.series(entries):
        for attribute, records in _by(_records(entries, series), "attribute").items():
            numbers = []
            for information in (record for record in records if record.metric == bits):
                beside = [r for r in records if r.metric in others and r.params["L"] == information.params["L"]]
                words = f"{_success(information)} of {float(information.notes['entropy']):.2f}"
                shown = [words, *(f"{describe(r.metric).title.split(', ')[1]} {_success(r)}" for r in beside)]
                numbers.append((amount(information), "; ".join(shown), "; ".join(map(_chance, beside))))
            # An interval of bits is wide, as one speaker may cost many: what is inferred above chance tells something.
            above = any(above_chance(record) for record in records)
            found.append(Finding(f"{attribute}, {_attacker(series[1])}", tuple(numbers), above))
    return found


def _records(entries: Iterable[Entry], series: object) -> list[Record]:
    return [entry.record for entry in entries if entry.series == series]


def _by(records: Iterable[Record], param: str) -> Mapping[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(str(record.params[param]), []).append(record)
    return found


def amount(record: Record) -> str:
    """How much speech a number rests on."""
    length: Any = record.params["L"]
    return "all utterances" if length == "all" else f"{length} utterance{'s' if length != 1 else ''}"


def _success(record: Record) -> str:
    kind = describe(record.metric)
    unit = f" {kind.unit}" if kind.unit else ""
    if record.lower is None or record.upper is None:
        return f"{kind.typeset(record.value)}{unit}"
    return f"{kind.typeset(record.value)}{unit} ({kind.typeset(record.lower)}–{kind.typeset(record.upper)})"


def _chance(record: Record) -> str:
    kind = describe(record.metric)
    return f"chance {kind.typeset(float(record.notes['chance']))} {kind.unit}".rstrip()


def above_chance(record: Record) -> bool:
    """Whether a success rate is above chance with its whole interval, where there is one."""
    return (record.value if record.lower is None else record.lower) > float(record.notes["chance"])
