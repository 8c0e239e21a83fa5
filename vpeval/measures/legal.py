"""What linkability, singling out and inference share: sizes N and L, side information, curves, extrapolation.

Extrapolation to more speakers than a corpus has is allowed only where it works on the corpus: the law is fitted to all
numbers of speakers but the largest and has to predict what was measured there, within its interval or by one point
(0.01). The error is always a record of its own. Only where the law holds, and where more speakers are asked for than
there are, is the prediction a record, under a name of its own and with the number of speakers that it comes from.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.errors import InputError, TooFew
from vpeval.core.seeds import generator
from vpeval.data.attributes import Attribute, combined, read_attributes, read_tables, shared_tables
from vpeval.embeddings.speaker_vectors import Embeddings, join, read_embeddings, read_pooled
from vpeval.measures.base import RECORDS, AttackResult, Input, Resampling, Scores, SpeakerValue, option, split_paths
from vpeval.metrics.intervals import multiplicities, share_intervals, studentised_interval
from vpeval.metrics.jaccard import KINDS, extreme_speakers
from vpeval.metrics.linkability import continued, linkability_at, rank_counts, subsample_ranks
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.asv.backend import Comparison
    from vpeval.plan.plan import Attack
    from vpeval.plan.recipe import Sides


@dataclass(frozen=True)
class Sizes:
    """Sizes to evaluate; `chosen` says that the participant asked for them, so that none may be dropped silently."""

    option: str
    numbers: tuple[int, ...]
    everything: bool
    chosen: bool

    def up_to(self, limit: int, what: str) -> list[int]:
        """The sizes that fit into `limit`, ascending, ``all`` being `limit`; a chosen one that does not is an error."""
        too_large = [n for n in self.numbers if n > limit]
        if too_large and self.chosen:
            raise InputError(f"{self.option} {too_large[0]}: there are only {limit} {what}; ask for at most {limit}")
        fitting = {n for n in self.numbers if n <= limit}
        return sorted(fitting | {limit} if self.everything or not self.chosen else fitting)


def sizes_option(flag: str, default: str, help: str, least: int = 1, has_all: bool = True) -> Any:
    """A field of an options dataclass that takes a list of sizes; after a question mark, missing ones are left out."""

    def parse(text: str) -> Sizes:
        numbers = text.removesuffix("?")
        return parse_sizes(flag, None if numbers != text else numbers, numbers, least, has_all)

    return option(parse(f"{default}?"), f"{help}; 'LIST?': those that there are ({default}?)", "LIST", parse, flag=flag)


def parse_sizes(option: str, given: str | None, default: str, least: int = 1, has_all: bool = True) -> Sizes:
    """Parse the value of `option` (None: not given, so `default` holds); `has_all` says that ``all`` is a size.

    >>> parse_sizes("--n-enroll", None, "20,100,all").up_to(50, "enrolment speakers")
    [20, 50]
    """
    items = (default if given is None else given).split(",")
    for item in items:
        number = item.isascii() and item.isdigit() and int(item) >= least
        if not number and not (has_all and item == "all"):
            wanted = f"a whole number of at least {least}" + (" or 'all'" if has_all else "")
            shown = default if given is None else given
            raise InputError(f"{option} {shown}: '{item}' is not {wanted}; separate several by commas")
    numbers = sorted({int(item) for item in items if item != "all"})
    return Sizes(option, tuple(numbers), "all" in items, given is not None)


@dataclass(frozen=True)
class UtteranceGroup:
    """A number L of utterances per vector (None: all of a speaker) and the speakers who have enough of them."""

    n_utts: int | None
    who: Counts


def utterance_groups(
    sizes: Sizes, test: Embeddings, among: Counts, vectors: int = 1, speakers: int = 1
) -> list[UtteranceGroup]:
    """For every L in `sizes` the speakers, among those given, with enough utterances for `vectors` vectors.

    A chosen L for which there are less than `speakers` is an error; one of the default list is left out with a notice.
    """
    found = []
    for n_utts in sizes.numbers:
        who = among[test.counts[among] >= vectors * n_utts]
        if len(who) >= speakers:
            found.append(UtteranceGroup(n_utts, who))
            continue
        lack = f"L = {n_utts} needs {speakers} speaker(s) with {vectors * n_utts} utterances, but there are {len(who)}"
        if sizes.chosen:
            raise InputError(f"{lack}; choose a smaller number for {sizes.option}", test.directory)
        logging.info("%s: %s; it is left out", test.directory, lack)
    if sizes.everything:
        found.append(UtteranceGroup(None, among))
    if not found:
        raise TooFew(f"too few utterances for any L; give a smaller number to {sizes.option}", test.directory)
    return found


@dataclass(frozen=True)
class SideInformation:
    """Side information: the value of an attribute, at some resolution, of every speaker for whom it is known."""

    name: str
    values: Mapping[str, str]

    @property
    def groups(self) -> int:
        """How many values there are."""
        return len(set(self.values.values()))

    def groups_of(self, speakers: Sequence[str]) -> Counts:
        """The groups of speakers, from 1; those of whom nothing is known are group 0."""
        number = {value: place for place, value in enumerate(sorted(set(self.values.values())), start=1)}
        return np.array([number.get(self.values.get(spk, ""), 0) for spk in speakers], np.int64)


@dataclass(frozen=True)
class UseCase:
    """Side information that attackers may have, and a number of speakers that may exceed those measured.

    With population 0 the extrapolation is only tested on the measured speakers, with None it is left out.
    """

    sides: tuple[SideInformation, ...] = ()
    population: int | None = None


NOTHING_ELSE = UseCase()


def side_information(attributes: Sequence[Attribute]) -> tuple[SideInformation, ...]:
    """Every attribute at each of its resolutions, and all of them together as finely as they are known."""
    several = [(attribute.name, attribute.resolutions) for attribute in attributes]
    found = [SideInformation(name, values) for name, resolutions in several for values in resolutions]
    finest = [(name, resolutions[-1]) for name, resolutions in several if resolutions]
    if len(finest) > 1:
        found.append(SideInformation("+".join(name for name, _ in finest), combined([values for _, values in finest])))
    return tuple(found)


def candidates(groups: Counts, who: Counts, n: int) -> Floats:
    """How many of `n` speakers, those of `who` among them, share the group of each, expected over the draw."""
    sizes = np.bincount(groups)[groups[who]]
    return 1 + (n - 1) * (sizes - 1) / max(1, len(groups) - 1)


@dataclass(frozen=True)
class Curve:
    """A metric over N at one L: values N × speaker, whose means over the speakers are the records."""

    metric: str
    n_utts: int | None
    sizes: Sequence[int]
    speakers: Sequence[str]
    values: Floats
    chance: Floats
    params: Mapping[str, Any]
    counts: Mapping[str, int]
    notes: Mapping[str, Any]
    candidates: Sequence[float] = ()
    """Among how many of the N the attacker has to choose, where side information excludes the others."""
    draws: Floats | None = None
    """The values of every random draw: draw × N × speaker."""

    def records(self, options: Resampling) -> list[Record]:
        """Means over the speakers, with their intervals."""
        ends = share_intervals(self.values.T, options.resamples)
        records = []
        for i, (n, row, chance, interval) in enumerate(
            zip(self.sizes, self.values, self.chance.tolist(), ends, strict=True)
        ):
            params = {"N": n, "L": self.n_utts or "all", **self.params}
            notes = {**self.notes, "chance": chance, **({"candidates": self.candidates[i]} if self.candidates else {})}
            record = Record(self.metric, float(row.mean()), params=params, counts=self.counts, notes=notes)
            records.append(record.with_interval(interval))
        return records

    def per_speaker(self) -> list[SpeakerValue]:
        """The values that the records are means of, with those of the draws, and who is easy or hard to attack."""
        length, found = str(self.n_utts or "all"), []
        for i, (n, row) in enumerate(zip(self.sizes, self.values.tolist(), strict=True)):
            drawn = [()] * len(row) if self.draws is None else map(_rounded, self.draws[:, i].T.tolist())
            several = zip(self.speakers, row, drawn, strict=True)
            values = [SpeakerValue(self.metric, spk, n, length, value, draws) for spk, value, draws in several]
            ends = extreme_speakers({value.speaker: value.score for value in values})
            list_of = {spk: kind for kind in KINDS for spk in ends.usable(kind) or ()}
            found += [value._replace(extreme=list_of.get(value.speaker, "")) for value in values]
        return found


def _rounded(draws: Sequence[float]) -> tuple[float, ...]:
    """The values of draws as they are written, so that who reads them finds the same ties."""
    return tuple(float(f"{value:g}") for value in draws)


def warn_about_shared_utts(enroll: Embeddings, test: Embeddings) -> None:
    """Warn about utterances on both sides: they are recognised far too easily."""
    if shared := len(set(enroll.utts) & set(test.utts)):
        logging.warning(
            "warning: %d utterances of %s are also enrolled; the risk is overestimated", shared, test.directory
        )


TOLERANCE = 0.01
_MOST_RESAMPLES = 200
"""Fits are slow compared with means, and the limits of what is extrapolated need no more digits than these give."""


@dataclass(frozen=True)
class Law:
    """How a metric depends on the number of speakers; `fewest` numbers of speakers determine it.

    `held_out` predicts it for n from no more than `most` speakers (arguments: n, most); `beyond` gives it for n and
    every row of weights of the speakers (arguments: weights, n).
    """

    metric: str
    fewest: int
    speakers: int
    held_out: Callable[[int, int], float]
    beyond: Callable[[Floats, int], Floats]


def linkability_law(rivals: Counts, n_all: int, seed: int) -> Law:
    """By the rivals that every test speaker has among all: draw × speaker."""

    def held_out(n: int, most: int) -> float:
        ranks = subsample_ranks(rivals.ravel(), n_all, most, seed) / len(rivals)
        return float(linkability_at(ranks[None], n)[0])

    def beyond(weights: Floats, n: int) -> Floats:
        return linkability_at(rank_counts(rivals, n_all, weights), n)

    return Law("linkability", 1, rivals.shape[1], held_out, beyond)


def singling_out_law(sizes: Sequence[int], values: Floats, chance: Floats) -> Law:
    """By the values N × speaker, as shares of what chance leaves, so that none gets below it.

    A line needs two numbers of speakers. The chance level hardly depends on N: beyond, it is that of the largest.
    """
    every, speakers = np.array(sizes), values.shape[1]

    def extrapolated(means: Floats, few: Bools, n: int, level: float) -> Floats:
        share = (means - chance[few]) / (1 - chance[few])
        return level + (1 - level) * continued(every[few], share, speakers, n)

    def held_out(n: int, most: int) -> float:
        few = every <= most
        return float(extrapolated(values[few].mean(axis=1)[None], few, n, float(chance[every == n][0]))[0])

    def beyond(weights: Floats, n: int) -> Floats:
        means = np.einsum("rs,ns->rn", weights, values) / weights.sum(axis=1, keepdims=True)
        return extrapolated(means, every > 0, n, float(chance[-1]))

    return Law("singling_out", 2, speakers, held_out, beyond)


def extrapolate(law: Law, curve: Sequence[Record], population: int, chance: float, options: Resampling) -> list[Record]:
    """The error at the largest number of speakers of a curve (records, in its order), and the prediction beyond it.

    A law needs `law.fewest` smaller numbers of speakers to be tested on the largest; with fewer there is no result.
    """
    if len(curve) <= law.fewest:
        return []
    measured, most = curve[-1], int(curve[-2].params["N"])
    n_all = int(measured.params["N"])
    predicted = law.held_out(n_all, most)
    error = predicted - measured.value
    holds = _holds(predicted, measured)
    records = [
        Record(
            f"{law.metric}_extrapolation_error",
            error,
            params={"N": n_all, "L": measured.params["L"], "from": most},
            counts={"test_speakers": law.speakers},
            notes={"predicted": predicted, "measured": measured.value, "holds": holds},
        )
    ]
    if population <= n_all:
        return records
    if not holds:
        logging.warning(
            f"warning: {law.metric} is not extrapolated to {population} speakers: from the smaller numbers of "
            f"speakers, {predicted:.3f} is predicted for the largest instead of {measured.value:.3f}"
        )
        return records
    value = float(law.beyond(np.ones((1, law.speakers)), population)[0])
    count, seed = min(options.resamples, _MOST_RESAMPLES), options.seed
    rng = generator(seed, f"extrapolation {law.metric} L={measured.params['L']}")
    weights = multiplicities(law.speakers, count, rng).astype(np.float64)
    samples = law.beyond(weights, population) if count else np.empty(0)
    ends = studentised_interval(value, samples, law.speakers, {"resamples": count, "seed": seed}, 0.0, 1.0)
    notes = {"chance": chance, "held_out_error": error, "held_out_factor": n_all / most, "factor": population / n_all}
    record = Record(
        f"{law.metric}_extrapolated",
        value,
        params={"N": population, "L": measured.params["L"], "from": n_all},
        counts=measured.counts,
        notes=notes,
    )
    return [*records, record.with_interval(ends)]


def _holds(predicted: float, measured: Record) -> bool:
    if abs(predicted - measured.value) <= TOLERANCE:
        return True
    return measured.lower is not None and measured.upper is not None and measured.lower <= predicted <= measured.upper


@dataclass(frozen=True)
class PopulationOptions(Resampling):
    """The use case: among how many speakers, also beyond those measured."""

    population: int | None = option(None, "extrapolate to N speakers", "N")


INPUTS = (
    Input("--side", "an attribute that the attacker knows", "TABLE", repeated=True),
    Input("--backend", "compare by the LLRs of this PLDA back end (by cosines)", "NPZ"),
    Input("enroll-dir"),
    Input("test-dir"),
)
"""What the scorers of linkability and singling out read; several embedding directories are separated by commas."""


def read_inputs(
    inputs: Mapping[str, Any], options: PopulationOptions
) -> tuple[Embeddings, Embeddings, Comparison, UseCase]:
    """Embeddings of both sides, how they are compared, and what the attacker knows besides."""
    from vpeval.asv.backend import read_comparison

    enroll, test = (read_directories(inputs[name]) for name in ("enroll_dir", "test_dir"))
    sides = side_information(read_tables(inputs["side"]))
    return enroll, test, read_comparison(inputs["backend"]), UseCase(sides, options.population)


def read_directories(names: str) -> Embeddings:
    """One embedding directory, or several that are separated by commas and pooled."""
    paths = split_paths(names)
    return read_embeddings(paths[0]) if len(paths) == 1 else read_pooled(tuple(paths))


@dataclass(frozen=True)
class PopulationResult(AttackResult):
    """A result that compares pooled enrolment sets with pooled test sets under one attack."""

    stage = 8
    measure: ClassVar[str]
    """Its name, which its directory and its scorer share."""

    @property
    @abstractmethod
    def sides(self) -> Sides:
        """The sets that are compared."""

    @property
    @abstractmethod
    def sizes(self) -> list[str]:
        """The options of its scorer for numbers of speakers and utterances."""

    @abstractmethod
    def score(self, enroll: Embeddings, test: Embeddings, comparison: Comparison, case: UseCase) -> Scores:
        """Measure; what the recipe asks for and a part of its corpus does not have is left out."""

    @property
    def out(self) -> Path:
        """One directory for each attack."""
        return self.directory(self.measure)

    def make(self, out: Path) -> str:
        """Read the embeddings, measure, write."""
        scores = self.score(*self.read())
        scores.write(out / RECORDS, self.tags, notes=self.notes)
        return f"{len(scores.records)} numbers"

    def commands(self) -> list[list[str]]:
        """Pool the sets and measure; a fusion has no scorer of its own."""
        if self.attack.members:
            return []
        return [[f"local/score_{self.measure}.py", *self.sizes, *self._scorer_words()]]

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """The attacks of the members of a fusion, or the attack itself."""
        return self.attack.members or (self.attack,)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Embeddings of both sides, back ends, weights of a fusion, and attributes."""
        found = [path for one in self.attacks for path in (*self._enrolled(one), *self._tested(one))]
        found += [path for one in self.attacks for path in one.made_of]
        found += [self.attack.weights] if self.attack.members else []
        found += self.plan.attribute_tables((*self.sides.enrolls, *self.sides.tests))
        return tuple(dict.fromkeys(found))

    @property
    def options(self) -> Mapping[str, object]:
        """Numbers of speakers and utterances."""
        plan = self.plan
        population = plan.settings.population
        return {"sizes": plan.legal_sizes, "utts": plan.legal_utts, "population": population, **self.notes}

    def _enrolled(self, attack: Attack) -> tuple[Path, ...]:
        return tuple(attack.enrolled(name) for name in self.sides.enrolls)

    def _tested(self, attack: Attack) -> tuple[Path, ...]:
        return tuple(attack.attacked(name) for name in self.sides.tests)

    def read(self) -> tuple[Embeddings, Embeddings, Comparison, UseCase]:
        """Embeddings of both sides, how they are compared, and the use case."""
        enrolled, tested = (
            [read_pooled(side(attack)) for attack in self.attacks] for side in (self._enrolled, self._tested)
        )
        names = dict.fromkeys((*self.sides.enrolls, *self.sides.tests))
        known = side_information(read_attributes([self.plan.original(name) for name in names]))
        case = UseCase(tuple(side for side in known if side.groups > 1), self.plan.settings.population)
        comparison = self._comparison([part.vectors.shape[1] for part in enrolled])
        return join(enrolled), join(tested), comparison, case

    def _comparison(self, sizes: Sequence[int]) -> Comparison:
        """How vectors are compared, which have `sizes` dimensions by the encoders of the attacks."""
        from vpeval.asv.backend import Fused, read_comparison
        from vpeval.asv.fusion import read_weights

        found = tuple(read_comparison(str(one.backend) if one.backend else None) for one in self.attacks)
        if not self.attack.members:
            return found[0]
        return Fused(found, tuple(sizes), tuple(read_weights(self.attack.weights).weights.tolist()))

    def _scorer_words(self) -> list[str]:
        """Inputs and options that both scorers share."""
        plan, attack = self.plan, self.attack
        tables = shared_tables([plan.original(name) for name in (*self.sides.enrolls, *self.sides.tests)])
        words = [word for table in tables for word in ("--side", str(table))]
        words += ["--backend", str(attack.backend)] if attack.backend else []
        words += ["--population", str(plan.settings.population), *self.tag_words(), *self.param_words()]
        sides = (",".join(map(str, side(attack))) for side in (self._enrolled, self._tested))
        return [*words, *sides, str(self.out / RECORDS)]
