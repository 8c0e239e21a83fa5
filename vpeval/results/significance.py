"""Systems beside each other: overview, paired differences and the ranking of the challenges.

Overview and ranking use averages over the sets of a partition (`averages`). Differences need the scores of both systems
for the same trials: they are resampled together, speaker by speaker, which is far more sensitive than looking whether
two intervals overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.data.trials import read_scores, read_trials, trial_speakers
from vpeval.metrics.holm import holm
from vpeval.metrics.verification import ScoredTrials, paired_difference
from vpeval.results.attacks import LAZY, SEMI, attack_model
from vpeval.results.averages import averages
from vpeval.results.headline import EERS, eer_of, headline_eer, in_challenge_mode, with_one_eer
from vpeval.results.limits import Rules
from vpeval.results.load import Source, read
from vpeval.results.metrics import describe, rank
from vpeval.results.names import CONDITIONS, ORIGINAL, SetName
from vpeval.results.records import Record
from vpeval.results.remarks import MISSING
from vpeval.results.shown import show_interval

_OVERVIEW = ("min_cllr", "dsys_calibrated", "deid", "wer", "uar", "pitch_correlation", "g_vd")


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


@dataclass(frozen=True)
class Scored:
    """Scores for one set of trials by one attacker, and the record of their EER."""

    scores: Path
    record: Record

    @property
    def trials(self) -> tuple[str, str, str]:
        """What must agree for a comparison: set, condition and attacker."""
        return self.record.set, self.record.condition, self.record.attacker


Scores = Mapping[tuple[str, str, str], Scored]


def means(records: Iterable[Record]) -> list[Record]:
    """Averages per partition.

    Of recognition those of all speakers, with the large language model if there is one; of metrics with several
    estimators the challenge's, if it is there.
    """
    records = [r for r in records if _partition(r) and not (r.metric in ("wer", "cer") and r.gender)]
    refuse_unlike(records)
    records = in_challenge_mode(records, lambda record: record)
    large = {(r.system, r.attacker) for r in records if r.metric == "wer" and r.params.get("lm") == "large"}
    return averages(r for r in records if (r.system, r.attacker) not in large or r.params.get("lm") != "small")


def refuse_unlike(records: Iterable[Record]) -> None:
    """Averages stand beside each other only if they are over the same sets of a corpus, and by the same text rules."""
    sets: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    rules: dict[str, tuple[str, str]] = {}
    for record in records:
        name = SetName.parse(record.set)
        if name and name.partition and record.system != ORIGINAL:
            key = record.metric, record.condition, record.attacker, name.corpus, name.partition
            sets[key][record.system].add(record.set)
        if stated := record.params.get("normalizer"):
            first, system = rules.setdefault(record.metric, (stated, record.system))
            if first != stated and system != record.system:
                message = (
                    f"{record.metric} of {system} was counted by the text rules {first}, of {record.system} by {stated}"
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
    all_means = [r for r in with_one_eer(means(records), edition) if r.metric in (*EERS, *_OVERVIEW)]
    systems = [ORIGINAL, *dict.fromkeys(r.system for r in all_means if r.system != ORIGINAL)]
    for r in all_means:
        condition = CONDITIONS.index(r.condition) if r.condition in CONDITIONS else len(CONDITIONS)
        found = rows[rank(r.metric), condition, systems.index(r.system), r.attacker, r.condition]
        if r.set in found:
            raise InputError(f"two values of {r.metric} for {r.system} {r.set} {r.condition}; choose one estimator")
        found[r.set] = r
    if not rows:
        raise InputError("no verification or recognition results to compare; run the scoring stages first")
    partitions = sorted({name for found in rows.values() for name in found})
    table = [["", "system", "condition", "attacker", *partitions]]
    for key in sorted(rows):
        one = next(iter(rows[key].values()))
        cells = [_cell(rows[key][name]) if name in rows[key] else "-" for name in partitions]
        names = [describe(one.metric).label, one.system, "-".join(one.condition), one.attacker]
        table.append([*names, *cells])
    return _aligned(table)


def ranking(records: Iterable[Record], rules: Rules) -> list[Standing]:
    """Systems by class, the highest first, then by the first utility; those below every threshold come last."""
    tests = [record for record in means(records) if record.set == "test"]
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
    """The ranking as a table, with a word on what it rests on."""
    eer = describe(eer_of(rules.edition)).label
    heads = ["class", "system", "attack", "attacker", eer, *(describe(name).label for name in rules.utility), ""]
    table = [heads]
    for s in standings:
        name = f">= {100 * s.least_eer:g} %" if s.least_eer is not None else "none"
        cells = [
            f"{s.places[metric]}. {_cell(s.utility[metric])}" if metric in s.places else "-" for metric in rules.utility
        ]
        table.append([name, s.system, s.model, s.attacker, _cell(s.eer), *cells, s.note])
    steps = "/".join(f"{100 * least:g}" for least in rules.classes)
    note = (
        f"Minimum-EER classes {steps} % (thresholds unconfirmed), utility inside a class; averages of the test sets.\n"
    )
    return f"Ranking by the rules of VoicePrivacy {rules.edition}\n{_aligned(table)}{note}"


def scored_systems(sources: Sequence[Source | str | PathLike[str]], edition: str) -> dict[str, Scores]:
    """The scores that tables name, by system, with the edition's EER; a result file of a challenge names none."""
    found: defaultdict[str, dict[tuple[str, str, str], Scored]] = defaultdict(dict)
    for given in sources:
        source = given if isinstance(given, Source) else Source(Path(given))
        records = read(source)
        eer = headline_eer((record.metric for record in records), edition)
        for record in records:
            if record.metric != eer or record.condition not in ("oa", "aa") or "scores" not in record.files:
                continue
            scored = Scored(source.path.parent / record.files["scores"], record)
            if scored.scores.is_file():
                found[record.system][scored.trials] = scored
    return dict(found)


def differences(
    systems: Mapping[str, Scores], versus: str, data: Path, edition: str, resamples: int = 1000, seed: int = 0
) -> list[Record]:
    """Paired differences of every system from `versus`, where both have scores of the same trials by one attacker.

    `data` holds the data directories; of the EERs it is the edition's. A record has the two-sided p value of "no
    difference", and that value after Holm's correction for the number of tests of its metric.
    """
    wanted = f"{eer_of(edition)}_difference", "min_cllr_difference"
    reference = systems[versus]
    records = []
    for system, scores in systems.items():
        if system == versus:
            continue
        for trials, scored in scores.items():
            if other := reference.get(trials):
                found = _difference(system, versus, scored, other, data, resamples, seed)
                records += [r for r in found if r.metric in wanted]
    return _holm(records)


def render_differences(records: Sequence[Record], significance: float) -> str:
    """Differences as a table; a star marks those that stay significant after Holm's correction."""
    table = [["system", "minus", "set", "condition", "attacker", "", "difference", "p", "p (Holm)"]]
    for r in records:
        kind = describe(r.metric.removesuffix("_difference"))
        ends = f" [{kind.show(r.lower)},{kind.show(r.upper)}]" if r.lower is not None and r.upper is not None else ""
        p, corrected = r.notes.get("p_value"), r.notes.get("p_holm")
        shown = [f"{p:.3f}", f"{corrected:.3f}" + "*" * (corrected < significance)] if p and corrected else ["-", "-"]
        names = [r.system, r.params["versus"], r.set, "-".join(r.condition), r.attacker, kind.label]
        table.append([*names, f"{kind.scale * r.value:+.{kind.digits}f}{ends}", *shown])
    note = (
        f"Paired speaker bootstrap on the same trials. * p < {significance:g} after Holm's correction for all tests of "
        "the metric.\n"
    )
    return f"Differences\n{_aligned(table)}{note}"


def _partition(record: Record) -> str:
    name = SetName.parse(record.set)
    return name.partition if name else ""


def _counting_eer(own: Sequence[Record], rules: Rules) -> Record | None:
    """The EER that counts: of the semi-informed attacker, else of the lazy-informed one, against the best of them."""
    eers = [r for r in with_one_eer(own, rules.edition) if r.metric in EERS]
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


def _difference(
    system: str, versus: str, scored: Scored, other: Scored, data: Path, resamples: int, seed: int
) -> list[Record]:
    if any(MISSING in one.record.notes for one in (scored, other)):
        return []  # a partial set has other trials
    place = data / scored.record.set
    trials = read_trials(place / "trials")
    speakers = trial_speakers(trials, read_table(place / "utt2spk", "speaker"), place / "utt2spk")
    scores = read_scores(scored.scores, trials)
    of_trials = ScoredTrials(scores, trials.is_target, speakers.enroll, speakers.trial)
    theirs = read_scores(other.scores, trials)
    tags = {name: getattr(scored.record, name) for name in ("recipe", "set", "gender", "condition", "attacker")}
    return [
        record.with_params({"versus": versus}).tagged({**tags, "system": system})
        for record in paired_difference(of_trials, theirs, resamples, seed)
    ]


def _holm(records: Sequence[Record]) -> list[Record]:
    """The records with Holm's corrected p values, metric by metric."""
    corrected: dict[int, float] = {}
    for metric in dict.fromkeys(record.metric for record in records):
        own = [i for i, r in enumerate(records) if r.metric == metric and "p_value" in r.notes]
        corrected |= zip(own, holm([records[i].notes["p_value"] for i in own]).tolist(), strict=True)
    return [r.with_notes({"p_holm": corrected[i]}) if i in corrected else r for i, r in enumerate(records)]


def _cell(record: Record) -> str:
    return f"{describe(record.metric).show(record.value)} {show_interval(record)}".rstrip()


def _aligned(table: Sequence[Sequence[str]]) -> str:
    """Cells in columns: words to the left, numbers to the right; empty columns are left out, repeated names blank."""
    columns = [i for i in range(len(table[0])) if any(row[i] for row in table[1:])]
    widths = {i: max(len(row[i]) for row in table) for i in columns}
    lines = []
    for row in table:
        cells = (row[i].rjust(widths[i]) if row[i][:1] in "0123456789+-" else row[i].ljust(widths[i]) for i in columns)
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)
