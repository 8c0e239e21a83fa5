"""The key numbers of a system: of every privacy metric the one of the most successful attack, and utility.

A number is a mean over the test sets (those of development where there are none), with the weights of the challenges.
Of the numbers of a privacy metric the one of the most successful attack counts, among all speakers that there are and
with the least speech. Utility is that by the first recogniser of those that decoded most systems.

The mean EER of the strongest attack has one interval in all views: that of `strongest_attack`, which accounts for the
choice among several (`with_choice`). The interval of the greatest share of speakers found, and of an EER without a
`strongest_attack` of all attacks, accounts for the choice by `extreme_rate`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.editions.headline import headline_eer, in_challenge_mode, is_eer
from vpeval.measures.strongest import STRONGEST
from vpeval.metrics.strongest import extreme_rate
from vpeval.records.averages import averages, of_all_speakers
from vpeval.records.metrics import KEY, Metric, describe, shown_in
from vpeval.records.names import ATTACK_MODELS, ORIGINAL, PUBLISHED, SetName, attack_model, partition_of
from vpeval.records.record import Record
from vpeval.results.text_tables import with_null_levels


@dataclass(frozen=True)
class KeyNumber:
    """A metric, and its number of every system that has one."""

    metric: Metric
    of: Mapping[str, Record]


def key_numbers(records: Iterable[Record], systems: Sequence[str], edition: str) -> list[KeyNumber]:
    """At most ten numbers of every system: the EER of the edition, the other privacy metrics, then utility."""
    records = with_null_levels(records)
    eer = headline_eer((record.metric for record in records), edition)
    others = [metric for metric in shown_in(KEY) if not is_eer(metric.name)]
    others.sort(key=lambda metric: (metric.aspect == "utility", metric.key_place))
    found = []
    for metric in (describe(eer), *others):
        own = _of_systems(records, systems, metric)
        if not own and metric.replaces:
            own = _of_systems(records, systems, describe(metric.replaces))  # tables of other makers
        if own:
            found.append(KeyNumber(describe(next(iter(own.values())).metric), own))
    return found


def _of_systems(records: Sequence[Record], systems: Sequence[str], metric: Metric) -> dict[str, Record]:
    if metric.aspect == "utility":
        return utility(records, systems, metric.name)
    own = {system: worst for system in systems if (worst := worst_case(records, system, metric.name))}
    if ORIGINAL in own and (others := [own[system] for system in own if system != ORIGINAL]):
        own[ORIGINAL] = original_baseline(records, others[0]) or own[ORIGINAL]
    return own


def worst_case(records: Iterable[Record], system: str, metric: str) -> Record | None:
    """The number of the most successful attack on a system; an EER, and a share of speakers found, with an interval
    that accounts for that choice, and with the number of attacks and of attackers in its notes.
    """
    records = [record for record in records if record.system == system]
    own = [record for record in records if record.metric == metric]
    found = _of_one_size(_means(own))
    if is_eer(metric):
        found = with_choice(found, records)
    worst = _worst(found)
    if worst is None or not (is_eer(metric) or describe(metric).success):
        return worst
    worst = replace(worst, counts={**worst.counts, "speakers": _speakers(own, worst)})
    if worst.notes.get("attacks", 0) < len(found):
        worst = _chosen_by_intervals(worst, found)
    return worst


def _speakers(records: Iterable[Record], number: Record) -> int:
    """How many speakers a number is about, 0 if that is not known; the sets of a corpus and gender share them."""
    most: defaultdict[tuple[str, str], int] = defaultdict(int)
    for record in records:
        same = record.attacker == number.attacker and record.condition == number.condition
        if same and number.set in (record.set, partition_of(record.set)):
            parts = SetName.parse(record.set)
            counted = max((record.counts.get(name, 0) for name in _COUNTED), default=0)
            key = (parts.corpus, parts.gender) if parts else (record.set, "")
            most[key] = max(most[key], counted)
    return sum(most.values())


_COUNTED = ("speakers", "test_speakers", "input_speakers")


def _chosen_by_intervals(worst: Record, found: Sequence[Record]) -> Record:
    """The worst of the numbers `found` with an interval that accounts for the choice; none if some number has none."""
    worst = worst.with_notes({"attackers": len({record.attacker for record in found}), "attacks": len(found)})
    if len(found) == 1:
        return worst
    ends = [(r.value, r.lower, r.upper) for r in found if r.lower is not None and r.upper is not None]
    if len(ends) < len(found):
        return replace(worst, lower=None, upper=None)
    lower, upper = extreme_rate(ends, worst.counts["speakers"], least=describe(worst.metric).better > 0)
    return replace(worst, lower=lower, upper=upper)


def with_choice(means: Iterable[Record], records: Iterable[Record]) -> list[Record]:
    """Mean EERs; those of the strongest attacks have the intervals of the `strongest_attack` among `records`.

    A partition of one set has that number as its mean.
    """
    chosen = {_choice(record): record for record in records if record.metric == STRONGEST}
    return [_as_chosen(mean, chosen) for mean in means] if chosen else list(means)


def _choice(record: Record) -> tuple[object, ...]:
    attack = record.notes["chosen"], record.notes.get("chosen_condition")
    return record.recipe, record.system, partition_of(record.set), record.params["eer"], *attack


def _as_chosen(mean: Record, chosen: Mapping[tuple[object, ...], Record]) -> Record:
    partition = partition_of(mean.set)
    one = chosen.get((mean.recipe, mean.system, partition or mean.set, mean.metric, mean.attacker, mean.condition))
    if one is None or not math.isclose(one.value, mean.value) or (partition and one.notes["sets"] != 1):
        return mean
    choice = {name: one.notes[name] for name in ("attackers", "attacks") if name in one.notes}
    return replace(mean, lower=one.lower, upper=one.upper).with_notes(choice)


def original_baseline(records: Iterable[Record], number: Record) -> Record | None:
    """The number of original speech to compare that of a system with: of the most successful attack on it.

    The attacker that is strongest on a system may be weak on original speech, where others find everybody.
    """
    is_published = PUBLISHED in number.notes
    same = [r for r in records if r.metric == number.metric and (PUBLISHED in r.notes) == is_published]
    return _worst(_means(record for record in same if record.system == ORIGINAL))


def utility(records: Iterable[Record], systems: Sequence[str], metric: str) -> dict[str, Record]:
    """A number of utility of every system, all by the recogniser and the rules that most of them have it by."""
    ways: defaultdict[tuple[str, str], dict[str, Record]] = defaultdict(dict)
    for record in _means(of_all_speakers(r for r in records if r.metric == metric and r.system in systems)):
        ways[record.model, repr(sorted(record.params.items()))].setdefault(record.system, record)
    # With the large language model, where recognisers have two: that is the challenge's.
    return max(ways.values(), key=lambda way: (len(way), _has_large_model(way.values())), default={})


def _has_large_model(records: Iterable[Record]) -> bool:
    return any(record.params.get("lm") == "large" for record in records)


def _means(records: Iterable[Record]) -> list[Record]:
    """Means over the test sets; where there are none, over those of development; else what is of neither."""
    own = [record for record in records if record.params.get("estimator") != "beta-binomial"]
    found = averages(in_challenge_mode(own, lambda record: record))
    return [r for r in found if r.set == "test"] or [r for r in found if r.set == "dev"] or found


def _worst(records: Sequence[Record]) -> Record | None:
    """At the largest N and the smallest L the number that is farthest from what a participant wants.

    Of equal ones that of the chosen strongest attack counts, else of the stronger attack model.
    """
    return min(_of_one_size(records), key=_privacy, default=None)


def _of_one_size(records: Sequence[Record]) -> list[Record]:
    """The numbers at the largest N and the smallest L, where they have such sizes."""
    sized = [r for r in records if all(isinstance(r.params.get(name), int) for name in ("N", "L"))]
    size = max(((r.params["N"], -r.params["L"]) for r in sized), default=None)
    return [r for r in sized if (r.params["N"], -r.params["L"]) == size] or list(records)


def _privacy(record: Record) -> tuple[float, bool, int, str]:
    badness = describe(record.metric).better * record.value
    return badness, "attacks" not in record.notes, -strength(record), record.attacker


def strength(record: Record) -> int:
    """The place of an attack among the attack models, weak ones first."""
    model = attack_model(record)
    return ATTACK_MODELS.index(model) if model in ATTACK_MODELS else len(ATTACK_MODELS)
