"""Systems side by side: averages over the sets of a partition in one table, and the ranking of the challenges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.core.errors import InputError
from vpeval.editions.base import Rules
from vpeval.editions.headline import eer_of, in_challenge_mode, is_eer, with_one_eer
from vpeval.records.averages import averages
from vpeval.records.metrics import OVERVIEW, describe, rank
from vpeval.records.names import (
    CONDITIONS,
    LAZY,
    ORIGINAL,
    OTHER_DATA,
    SEMI,
    SetName,
    attack_model,
    partition_of,
)
from vpeval.records.record import Record
from vpeval.results.origins import footnotes, is_average
from vpeval.results.published import without_repeats
from vpeval.results.text_tables import aligned, cell
from vpeval.results.worst import with_choice


def means(records: Iterable[Record]) -> list[Record]:
    """Averages per partition, and those that were published.

    Of recognition those of all speakers, with the large language model if there is one; of metrics with several
    estimators the challenge's, if it is there.
    """
    records = [r for r in without_repeats(records) if _is_averaged(r)]
    refuse_unlike(records)
    records = in_challenge_mode(records, lambda record: record)
    large = {(r.system, r.model) for r in records if r.metric == "wer" and r.params.get("lm") == "large"}
    found = averages(r for r in records if (r.system, r.model) not in large or r.params.get("lm") != "small")
    return with_choice(found, records)


def _is_averaged(record: Record) -> bool:
    is_of_all = not (record.metric in ("wer", "cer") and record.gender)
    return is_average(record) or (bool(partition_of(record.set)) and is_of_all)


def refuse_unlike(records: Iterable[Record]) -> None:
    """Averages are compared only if they are over the same sets of a corpus, and by the same text rules.

    Those on other data are shown, but not compared.
    """
    sets: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    rules: dict[str, tuple[str, str]] = {}
    for record in records:
        if OTHER_DATA in record.notes:
            continue
        name = SetName.parse(record.set)
        if name and name.partition and record.system != ORIGINAL:
            key = record.metric, record.condition, record.model, name.corpus, name.partition
            sets[key][record.system].add(record.set)
        if used := record.params.get("normalizer"):
            first, system = rules.setdefault(record.metric, (used, record.system))
            if first != used and system != record.system:
                message = (
                    f"{record.metric} of {system} was counted by the text rules {first}, of {record.system} by {used}"
                )
                raise InputError(f"{message}; run both for the same edition to compare them")
    for (metric, *_), systems in sets.items():
        (one, have), *others = systems.items()
        for other, found in others:
            if odd := sorted(have ^ found):
                message = f"{metric}: {one} and {other} were not measured on the same sets ({odd[0]}); run both on all"
                raise InputError(message)


def overview(records: Iterable[Record], edition: str) -> str:
    """A table with a line per system, attack and metric, and the averages of both partitions with their intervals."""
    rows: defaultdict[tuple[object, ...], dict[str, Record]] = defaultdict(dict)
    all_means = [r for r in with_one_eer(means(records), edition) if OVERVIEW in describe(r.metric).shown]
    systems = [ORIGINAL, *dict.fromkeys(r.system for r in all_means if r.system != ORIGINAL)]
    for r in all_means:
        condition = CONDITIONS.index(r.condition) if r.condition in CONDITIONS else len(CONDITIONS)
        found = rows[rank(r.metric), condition, systems.index(r.system), r.model, r.condition]
        if r.set in found:
            raise InputError(f"two values of {r.metric} for {r.system} {r.set} {r.condition}; choose one estimator")
        found[r.set] = r
    if not rows:
        raise InputError("no verification or recognition results to compare; run the scoring stages first")
    partitions = sorted({name for found in rows.values() for name in found})
    table = [["", "system", "condition", "attacker", *partitions]]
    for key in sorted(rows):
        one = next(iter(rows[key].values()))
        cells = [cell(rows[key][name]) if name in rows[key] else "-" for name in partitions]
        names = [describe(one.metric).label, one.system, "-".join(one.condition), one.model]
        table.append([*names, *cells])
    return aligned(table) + "".join(f"{line}\n" for line in footnotes(all_means))


@dataclass(frozen=True)
class Standing:
    """A system in a ranking: its EER against the attacker that counts, its class, and its place by every utility."""

    system: str
    model: str
    attacker: str
    eer: Record
    least_eer: float | None
    utility: Mapping[str, Record]
    places: Mapping[str, int]
    note: str = ""


def ranking(records: Iterable[Record], rules: Rules) -> list[Standing]:
    """Systems by class, the highest first, then by the first utility; those below every threshold come last.

    Systems on other data are not ranked.
    """
    tests = [record for record in means(records) if record.set == "test" and OTHER_DATA not in record.notes]
    standings = []
    for system in dict.fromkeys(r.system for r in tests if r.system != ORIGINAL):
        own = [record for record in tests if record.system == system]
        if eer := _counting_eer(own, rules):
            standings.append(_standing(system, own, eer, rules))
    classes = defaultdict(list)
    for standing in standings:
        classes[standing.least_eer].append(standing)
    return [s for least in sorted(classes, key=lambda c: -(c or 0)) for s in _placed(classes[least], rules)]


def render_ranking(standings: Sequence[Standing], rules: Rules) -> str:
    """The ranking as a table, with a note on its rules."""
    eer = describe(eer_of(rules.edition)).label
    heads = ["class", "system", "attack", "attacker", eer, *(describe(name).label for name in rules.utility), ""]
    table = [heads]
    for s in standings:
        name = f">= {100 * s.least_eer:g} %" if s.least_eer is not None else "none"
        cells = [
            f"{s.places[metric]}. {cell(s.utility[metric])}" if metric in s.places else "-" for metric in rules.utility
        ]
        table.append([name, s.system, s.model, s.attacker, cell(s.eer), *cells, s.note])
    steps = "/".join(f"{100 * least:g}" for least in rules.classes)
    note = (
        f"Minimum-EER classes {steps} % (thresholds unconfirmed), utility inside a class; averages of the test sets.\n"
    )
    return f"Ranking by the rules of VoicePrivacy {rules.edition}\n{aligned(table)}{note}"


def _counting_eer(own: Sequence[Record], rules: Rules) -> Record | None:
    """The EER that counts: that of the strongest semi-informed attacker, else of the strongest lazy-informed one."""
    eers = [r for r in with_one_eer(own, rules.edition) if is_eer(r.metric)]
    for model in (SEMI, LAZY):
        if found := [record for record in eers if attack_model(record) == model]:
            return min(found, key=lambda record: record.value)
    return None


def _standing(system: str, own: Sequence[Record], eer: Record, rules: Rules) -> Standing:
    reached = [least for least in rules.classes if eer.value >= least]
    utility = {r.metric: r for r in own if r.metric in rules.utility and r.condition == "a"}
    notes = [] if attack_model(eer) == SEMI else ["no semi-informed attacker: not what the challenge ranks"]
    if eer.metric != eer_of(rules.edition):
        notes.append(f"by its {describe(eer.metric).title}: the results have no other")
    if rules.pitch:
        pitch = next((r.value for r in own if r.metric == "pitch_correlation"), None)
        if pitch is None:
            notes.append("pitch correlation unknown")
        elif pitch <= rules.pitch:
            notes.append(f"pitch correlation {pitch:.3f} is not above {rules.pitch:g}")
    least = reached[-1] if reached else None
    return Standing(system, attack_model(eer), eer.attacker, eer, least, utility, {}, "; ".join(notes))


def _placed(standings: Sequence[Standing], rules: Rules) -> list[Standing]:
    """The systems of a class with their places; equal values share a place."""
    places: dict[str, dict[str, int]] = {s.system: {} for s in standings}
    for metric in rules.utility:
        values = {
            s.system: -describe(metric).better * s.utility[metric].value for s in standings if metric in s.utility
        }
        for system, value in values.items():
            places[system][metric] = 1 + sum(other < value for other in values.values())
    placed = [replace(s, places=places[s.system]) for s in standings]
    return sorted(placed, key=lambda s: (s.places.get(rules.utility[0], len(placed) + 1), s.system))
