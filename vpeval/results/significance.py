"""Which systems differ: paired tests, few of them planned, the others exploratory.

Planned are the comparisons that an evaluation is made for: of every pair of systems the EER of the edition against one
attacker and the word error rate of one recogniser, both as the mean over the test sets. The attacker is the strongest
one that all systems were attacked by: by its attack model, then by its mean EER over all systems, which favours none of
them. Holm's correction goes over all planned tests, so that the chance of any false alarm among them is 5 %.

All other differences (single sets, development sets, other attackers, min Cllr, what ranks disclose) have uncorrected p
values: they are for finding effects, not for proving them. `vpeval.metrics.paired` describes the test.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vpeval.measures.disclosure import DISCLOSURES
from vpeval.metrics.intervals import FEWEST
from vpeval.metrics.paired import assess, holm
from vpeval.records.averages import weights
from vpeval.records.metrics import describe, rank
from vpeval.records.names import ATTACK_MODELS, attack_model, partition_of
from vpeval.records.record import Record
from vpeval.results.overview import aligned
from vpeval.results.resampled import Measured, Sampled, sample

PLANNED, EXPLORATORY = "planned", "exploratory"
Way = tuple[str, str]
"""Attacker or recogniser, and condition."""


class _Measure(NamedTuple):
    """What was measured: metric, attacker or recogniser, condition, set or partition, and how ranks were counted."""

    metric: str
    model: str
    condition: str
    name: str
    estimator: str = ""


def differences(
    found: Sequence[Measured], data: Path, versus: str = "", resamples: int = 1000, seed: int = 0, explore: bool = True
) -> list[Record]:
    """Paired differences of all pairs of systems, or of all from `versus`; the planned ones come first.

    Unless it is to `explore`, they are all.

    A record is `<metric>_difference` of its system less that of ``versus`` in its parameters. Its notes have the family
    of the test, p value and, for planned tests, the p value after Holm's correction.
    """
    if len({one.record.system for one in found}) < 2:
        return []
    test = "test" if any(partition_of(one.record.set) == "test" for one in found) else "dev"
    main = {*_main_attack(found), *_main_recogniser(found)}

    def is_planned(record: Record) -> bool:
        return partition_of(record.set) == test and (record.model, record.condition) in main

    examined = found if explore else [one for one in found if is_planned(one.record)]
    sampled = sample(examined, data, resamples, seed, lambda record: explore and is_planned(record))
    planned: list[Record] = []
    exploratory: list[Record] = []
    for measure, systems in _measures(sampled).items():
        family = exploratory
        if measure.name == test and measure.metric != "min_cllr" and (measure.model, measure.condition) in main:
            family = planned
        for one, other in combinations(systems, 2):
            if versus in ("", one, other):
                pair = (other, one) if versus == one else (one, other)
                record = _difference(measure, *pair, systems, seed)
                if record:
                    family.append(record)
    tested = [record.with_notes({"family": PLANNED}) for record in sorted(_holm(planned), key=_order)]
    if explore:
        tested += [record.with_notes({"family": EXPLORATORY}) for record in sorted(exploratory, key=_order)]
    return tested


def render_differences(records: Sequence[Record], significance: float) -> str:
    """The planned tests as a table, a star where they stay significant after Holm's correction, and what they are."""
    planned = [record for record in records if record.notes["family"] == PLANNED]
    table = [["", "system", "minus", "difference", "p", "p (Holm)"]]
    for r in planned:
        p, corrected = r.notes.get("p_value"), r.notes.get("p_holm")
        shown = ["-", "-"]
        if p is not None and corrected is not None:
            shown = [show_p(p), show_p(corrected) + "*" * (corrected < significance)]
        table.append([describe(base_metric(r)).label, r.system, r.params["versus"], show_difference(r), *shown])
    lines = [f"Differences: planned tests\n{aligned(table)}" if planned else "Differences: no planned tests\n"]
    if planned:
        lines.append(f"{plan_in_words(planned)}\n")
        lines.append(f"* p < {significance:g} after Holm's correction for these {len(planned)} tests.\n")
        if any("p_value" not in r.notes for r in planned):
            lines.append(f"Without p values: no resamples, or fewer than {FEWEST} speakers.\n")
    if more := len(records) - len(planned):
        lines.append(f"{more} exploratory differences, uncorrected, are in differences.jsonl.\n")
    return "".join(lines)


def plan_in_words(planned: Sequence[Record]) -> str:
    """What the planned tests compare."""
    compared = []
    for r in {record.metric: record for record in planned}.values():
        by = f"against {r.attacker} ({attack_model(r)})" if attack_model(r) else f"of {r.model}"
        compared.append(f"{describe(base_metric(r)).title} {by}")
    return (
        f"Mean of the {planned[0].set} sets: {' and '.join(compared)}. Paired tests on the same speakers, drawn again "
        "for both systems alike."
    )


def base_metric(record: Record) -> str:
    """The metric that a difference is of."""
    return record.metric.removesuffix("_difference")


def show_difference(record: Record) -> str:
    """In the unit of the metric; what is shown as zero has no sign.

    >>> show_difference(Record("eer_kaldi_difference", 0.0312, 0.0104, 0.052))
    '+3.12 [1.04,5.20]'
    >>> show_difference(Record("eer_kaldi_difference", -0.000001))
    '0.00'
    """
    kind = describe(base_metric(record))
    ends = ""
    if record.lower is not None and record.upper is not None:
        ends = f" [{kind.show(record.lower)},{kind.show(record.upper)}]"
    value = f"{kind.scale * record.value:+.{kind.digits}f}"
    return f"{value if float(value) else value[1:]}{ends}"


def show_p(p: float) -> str:
    """A p value with as many digits as anybody reads.

    >>> show_p(0.0312), show_p(0.00031)
    ('0.031', '<0.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def _main_attack(found: Sequence[Measured]) -> list[Way]:
    """The attack of the planned tests: one that most systems met, of the strongest kind, with the lowest mean EER."""
    met: defaultdict[Way, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in (one.record for one in found):
        if record.metric not in ("wer", *DISCLOSURES):
            met[record.attacker, record.condition][record.system].append(record)

    def strength(attack: Way) -> tuple[object, ...]:
        records = [record for own in met[attack].values() for record in own]
        kind = ATTACK_MODELS.index(model) if (model := attack_model(records[0])) in ATTACK_MODELS else 0
        return -len(met[attack]), -kind, math.fsum(r.value for r in records) / len(records), attack

    return sorted(met, key=strength)[:1]


def _main_recogniser(found: Sequence[Measured]) -> list[Way]:
    """The recogniser of the planned tests: the first one of those that decoded most systems."""
    decoded: defaultdict[Way, set[str]] = defaultdict(set)
    for record in (one.record for one in found):
        if record.metric == "wer":
            decoded[record.recogniser, record.condition].add(record.system)
    return sorted(decoded, key=lambda way: -len(decoded[way]))[:1]


def _measures(sampled: Iterable[Sampled]) -> dict[_Measure, dict[str, list[Sampled]]]:
    """What was measured, of every system: single sets, and partitions as the sets that they are the mean of."""
    found: defaultdict[_Measure, defaultdict[str, list[Sampled]]] = defaultdict(lambda: defaultdict(list))
    for one in sampled:
        r = one.record
        partition = partition_of(r.set)
        for name in dict.fromkeys((partition, r.set)):
            if name and not (name == r.set and r.metric == "min_cllr"):
                how = str(r.params.get("estimator", "")) if r.metric in DISCLOSURES else ""
                found[_Measure(r.metric, r.model, r.condition, name, how)][r.system].append(one)
    # The mean over a partition of a single set is that set.
    return {key: dict(systems) for key, systems in found.items() if not _only(key, found)}


def _only(measure: _Measure, found: Mapping[_Measure, Mapping[str, Sequence[Sampled]]]) -> bool:
    """Whether a single set is all that there is of its partition."""
    one = next(iter(found[measure].values()))[0].record
    whole = found.get(measure._replace(name=partition_of(one.set)), {})
    return (
        measure.name == one.set != partition_of(one.set)
        and bool(whole)
        and all(len(sets) == 1 for sets in whole.values())
    )


def _difference(
    measure: _Measure, one: str, other: str, systems: Mapping[str, Sequence[Sampled]], seed: int
) -> Record | None:
    """One system less another; None where they were not measured on the same sets."""
    ours, theirs = ({s.record.set: s for s in systems[name]} for name in (one, other))
    if ours.keys() != theirs.keys():
        return None
    shares = {key: float(share) for key, share in weights(ours).items()} if len(ours) > 1 else dict.fromkeys(ours, 1.0)
    value = math.fsum(share * (ours[key].value - theirs[key].value) for key, share in shares.items())
    rows = [share * (ours[key].samples - theirs[key].samples) for key, share in shares.items()]
    samples = np.sum(rows, axis=0)
    speakers = frozenset[str]().union(*(s.speakers for s in ours.values()))
    groups = len({s.group for s in ours.values()})
    found = assess(value, samples[np.isfinite(samples)], len(speakers), groups)
    first = next(iter(ours.values())).record
    notes = {key: first.notes[key] for key in ("attack_model",) if key in first.notes}
    if found.p_value is not None:
        notes |= {"p_value": found.p_value, "interval": "studentised speaker bootstrap"}
        notes |= {"resamples": len(samples), "seed": seed}
    return Record(
        f"{measure.metric}_difference",
        value,
        found.lower,
        found.upper,
        params={**{k: v for k, v in first.params.items() if k in ("estimator", "normalizer", "lm")}, "versus": other},
        counts={"speakers": len(speakers), "sets": len(ours)},
        notes=notes,
        recipe=first.recipe,
        system=one,
        set=measure.name,
        gender=first.gender if measure.name == first.set else "",
        condition=measure.condition,
        attacker=first.attacker,
        recogniser=first.recogniser,
    )


def _holm(records: Sequence[Record]) -> list[Record]:
    """The records with p values corrected for all of them."""
    own = [i for i, r in enumerate(records) if "p_value" in r.notes]
    corrected = dict(zip(own, holm([records[i].notes["p_value"] for i in own]).tolist(), strict=True))
    return [r.with_notes({"p_holm": corrected[i]}) if i in corrected else r for i, r in enumerate(records)]


def _order(record: Record) -> tuple[object, ...]:
    return rank(base_metric(record)), record.condition, record.model, record.set not in ("test", "dev")
