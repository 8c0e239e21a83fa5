"""The key numbers of a system: of every privacy metric the one of the most successful attack, and utility.

A number is a mean over the test sets (those of development where there are none), with the weights of the challenges.
Of the numbers of a privacy metric the one of the most successful attack counts, among all speakers that there are and
with the least speech. Utility is that by the first recogniser of those that decoded most systems.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.editions.headline import headline_eer, in_challenge_mode, is_eer
from vpeval.measures.strongest import strongest_of
from vpeval.records.averages import averages, of_all_speakers
from vpeval.records.metrics import KEY, Metric, describe, shown_in
from vpeval.records.names import ORIGINAL
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
    """The number of the most successful attack on a system; an EER with an interval that accounts for that choice."""
    records = list(records)
    found = _means(record for record in records if record.system == system and record.metric == metric)
    worst = _worst(found)
    if worst is None or not is_eer(metric):
        return worst
    chosen = strongest_of(records, system, metric)
    if chosen is None or (chosen.notes["chosen"], chosen.notes["chosen_condition"]) != (
        worst.attacker,
        worst.condition,
    ):
        return worst
    choice = {name: chosen.notes[name] for name in ("attackers", "attacks")}
    return replace(worst, lower=chosen.lower, upper=chosen.upper).with_notes(choice)


def original_baseline(records: Iterable[Record], number: Record) -> Record | None:
    """The number of original speech to compare that of a system with: by the same attacker, where there is one."""
    own = _means(r for r in records if r.system == ORIGINAL and r.metric == number.metric)
    return _worst([r for r in own if r.attacker == number.attacker] or own)


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
    """At the largest N and the smallest L the number that is farthest from what a participant wants."""
    if sized := [r for r in records if all(isinstance(r.params.get(name), int) for name in ("N", "L"))]:
        size = max((r.params["N"], -r.params["L"]) for r in sized)
        records = [r for r in sized if (r.params["N"], -r.params["L"]) == size]
    return min(records, key=lambda r: describe(r.metric).better * r.value, default=None)
