"""The three questions of Opinion 05/2014 on Anonymisation Techniques: what was measured for them, and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vpeval.figures.data import Results
from vpeval.results.attacks import LEGAL_NAMES, SEMI, SIMILAR
from vpeval.results.metrics import describe
from vpeval.results.records import Record

_STATUS = {
    "untested": "not tested",
    "above": "still possible, above chance",
    "level": "not told from chance here",
}


@dataclass(frozen=True)
class Finding:
    """What one attack found with growing amounts of speech: (amount, success rate with interval, chance)."""

    attack: str
    numbers: tuple[tuple[str, str, str], ...]
    above_chance: bool


@dataclass(frozen=True)
class Criterion:
    """A question of the Opinion and what was found about it; no findings means that it was not tested."""

    name: str
    question: str
    method: str
    findings: tuple[Finding, ...]

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


def criteria(results: Results, system: str) -> list[Criterion]:
    """Singling out, linkability and inference, in the order of the Opinion."""
    return [
        Criterion(
            "Singling out",
            "Can one person still be isolated in the data?",
            "Share of attempts in which a threshold on the similarity to a known voice isolates exactly one speaker.",
            tuple(_findings(results, system, ("singling_out",))),
        ),
        Criterion(
            "Linkability",
            "Can two records of one person still be linked?",
            "Share of anonymised test speakers whose nearest enrolled speaker is the right one.",
            tuple(_findings(results, system, ("linkability", "srd_idr"))),
        ),
        Criterion(
            "Inference",
            "Can something about a person still be deduced?",
            "Not tested: no attack on attributes such as sex, age, accent, health or emotion was run, and the words "
            "that are spoken were left as they are.",
            (),
        ),
    ]


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
    gaps += [
        "Inference of attributes, and identification by the content of speech (names, places, turns of phrase).",
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
            title = f"{describe(name).title} among {largest} speakers, {series[1]}"
            alias = LEGAL_NAMES.get(series[1])
            attack = f"{title} ({alias} in the framework)" if alias else title
            numbers = tuple((_amount(record), _success(record), _chance(record)) for record in chosen)
            found.append(Finding(attack, numbers, any(above_chance(record) for record in chosen)))
    return found


def _amount(record: Record) -> str:
    length = record.params["L"]
    return "all utterances" if length == "all" else f"{length} utterance{'s' if length != 1 else ''}"


def _success(record: Record) -> str:
    kind = describe(record.metric)
    if record.lower is None or record.upper is None:
        return f"{kind.typeset(record.value)} %"
    return f"{kind.typeset(record.value)} % ({kind.typeset(record.lower)}–{kind.typeset(record.upper)})"


def _chance(record: Record) -> str:
    return f"chance {describe(record.metric).typeset(float(record.notes['chance']))} %"


def above_chance(record: Record) -> bool:
    """Whether a success rate is above chance with its whole interval, where there is one."""
    return (record.value if record.lower is None else record.lower) > float(record.notes["chance"])
