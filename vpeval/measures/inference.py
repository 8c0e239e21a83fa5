"""Inference: what can be learnt about attributes of a speaker from L utterances.

Attackers are trained on the speech of other speakers than those whom they attack, original speech for an ignorant
attacker and anonymised speech for an informed one, and attack every speaker by up to ten vectors, the means of L
utterances each. A category is classified, a quantity predicted and, in three classes of about the same size, classified
as well. How many of N speakers share the inferred classes of all attributes is `vpeval.metrics.inference`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.attribute_inference import (
    NEVER,
    Attacked,
    TrainingData,
    deal_classes,
    deal_values,
    infer_class,
    infer_quantity,
)
from vpeval.asv.attribute_models import MANY_SPEAKERS, Kernels, Space, collect
from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.attributes import FEWEST, Attribute, read_attributes, read_tables, shared_tables
from vpeval.embeddings.speaker_vectors import Embeddings, read_pooled
from vpeval.measures.base import RECORDS, AttackResult, Input, Measure, Resampling, Scorer, Scores, SpeakerValue, option
from vpeval.measures.legal import (
    Sizes,
    UtteranceGroup,
    parse_sizes,
    read_directories,
    sizes_option,
    utterance_groups,
)
from vpeval.metrics.inference import class_weights, entropy, information, rank_correlation, uniqueness
from vpeval.metrics.intervals import (
    SpeakerInterval,
    mean_intervals,
    multiplicities,
    share_intervals,
    studentised_interval,
)
from vpeval.metrics.vectors import Similarity
from vpeval.records.metrics import BITS, INFERENCE, SHARE, Metric
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan

_ATTRIBUTE: Mapping[str, Any] = {"group": INFERENCE, "identified_by": ("attribute", "L")}
METRICS = (
    Metric(
        "inference_bits",
        "Inference, information",
        "The bits about an attribute of a speaker (quantities: about its third) that an attacker who never heard the "
        "speaker gets from L utterances: entropy less cross-entropy of calibrated posteriors, 0 if that is negative.",
        "Inference, bit",
        **BITS,
        **_ATTRIBUTE,
    ),
    Metric(
        "inference_accuracy",
        "Inference, balanced accuracy",
        "How often an attribute is inferred rightly from L utterances, every value of it counting the same.",
        r"Inference, \%",
        **SHARE,
        **_ATTRIBUTE,
    ),
    Metric(
        "inference_correlation",
        "Inference, rank correlation",
        "Spearman's correlation over speakers of a quantity with what is predicted from L utterances.",
        r"Inference, $\rho$",
        digits=2,
        better=-1,
        chance=0.0,
        **_ATTRIBUTE,
    ),
    Metric(
        "attributes_found",
        "Found by inferred attributes",
        "How often a random one of those of N speakers who have all attributes that were inferred from L utterances is "
        "the person.",
        r"Found by attributes, \%",
        **SHARE,
        group=INFERENCE,
        identified_by=("N", "L"),
    ),
    Metric(
        "attributes_alone",
        "Unique by inferred attributes",
        "How often the person is the only one of N speakers with all attributes that were inferred from L utterances.",
        r"Unique by attributes, \%",
        **SHARE,
        group=INFERENCE,
        shown=(),
    ),
    Metric(
        "attributes_left",
        "Left by inferred attributes",
        "How many of N speakers have all attributes that were inferred from L utterances, rightly or wrongly.",
        "Left by attributes",
        unit="speakers",
        digits=1,
        group=INFERENCE,
        shown=(),
    ),
)
log = logging.getLogger(__name__)
MOST_VECTORS = 10


@dataclass(frozen=True)
class Options(Resampling):
    """Numbers L of utterances, sizes N of populations, and one more size that may exceed the speakers (0: none)."""

    n_utts: Sizes = sizes_option("--n-utts", "1,3,30,all", "numbers L of utterances per test vector")
    n_speakers: Sizes = sizes_option("--n-speakers", "20,100,all", "sizes N of populations to look for a person in", 2)
    population: int = option(0, "one more N, also beyond the speakers", "N")
    similarity: Similarity = option("cosine", "euclidean: lengths matter (cosine)", choices=("cosine", "euclidean"))


def score_inference(train: Embeddings, test: Embeddings, attributes: Sequence[Attribute], options: Options) -> Scores:
    """All numbers about every attribute, and about all of them together, for every L.

    An attribute that too few speakers are known to differ in is left out with a notice; so is a speaker whose value is
    unknown, or rare beyond what can be learnt.
    """
    if train.vectors.shape[1] != test.vectors.shape[1]:
        raise InputError(f"has vectors of another size than {train.directory}; use one encoder", test.directory)
    space = Space.from_speech(train, options.similarity)
    train, test = space.project(train), space.project(test)
    records: list[Record] = []
    per_speaker: list[SpeakerValue] = []
    lessons = _Lessons(options.seed)
    for part in utterance_groups(options.n_utts, test, np.arange(len(test.speakers))):
        found = []
        for attribute in attributes:
            attack = _Attack(train, test, attribute, part, options, lessons)
            if reason := attack.obstacle:
                log.info("attribute %s cannot be inferred: %s", attribute.name, reason)
                continue
            records.extend(attack.records())
            per_speaker.extend(attack.per_speaker())
            found.append(attack)
        if found:
            records.extend(_population_records(found, options))
    return Scores(records, per_speaker)


class _Lessons:
    """What attackers learn from: the same for most L, its kernels for most attributes as well, and made once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.kernels: dict[tuple[str, ...], Kernels | None] = {}
        self.made: dict[tuple[tuple[str, ...], bytes, int], TrainingData] = {}

    def lesson(self, learnt: Embeddings, held_out: Counts, n_folds: int) -> TrainingData:
        """From the speech of speakers who are held out in the given folds, of so many."""
        speakers = tuple(learnt.speakers)
        if speakers not in self.kernels:
            self.kernels[speakers] = Kernels.from_speech(learnt, self.seed) if len(speakers) <= MANY_SPEAKERS else None
        key = speakers, held_out.tobytes(), n_folds
        if key not in self.made:
            self.made[key] = TrainingData(collect(learnt, held_out, n_folds), self.kernels[speakers])
        return self.made[key]


@dataclass(frozen=True)
class _Attack:
    """One attribute of the speakers with enough utterances at one L."""

    train: Embeddings
    test: Embeddings
    attribute: Attribute
    part: UtteranceGroup
    options: Options
    lessons: _Lessons

    @property
    def label(self) -> str:
        """What is drawn at random here."""
        return f"inference {self.attribute.name}"

    @cached_property
    def classes(self) -> dict[str, int]:
        """The class of every speaker, of those classes that enough speakers to be attacked have."""
        everyone = dict.fromkeys((*self.train.speakers, *self.test.speakers))
        named = self.attribute.for_speakers(list(everyone)).classes
        attacked = [named[spk] for s in self.part.who if (spk := self.test.speakers[s]) in named]
        names = [name for name in sorted(set(attacked)) if attacked.count(name) >= FEWEST]
        return {spk: names.index(name) for spk, name in named.items() if name in names}

    @cached_property
    def who(self) -> Counts:
        """The speakers who are attacked."""
        return np.array([s for s in self.part.who if self.test.speakers[s] in self.classes], np.int64)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [self.test.speakers[s] for s in self.who]

    @cached_property
    def truth(self) -> Counts:
        """Their classes."""
        return np.array([self.classes[spk] for spk in self.names], np.int64)

    @property
    def prior(self) -> Floats:
        """How frequent the classes are among them."""
        counts = np.bincount(self.truth)
        return counts / counts.sum()

    @cached_property
    def folds(self) -> Counts:
        """Their folds."""
        return deal_classes(self.truth, self.options.seed, self.label)

    @cached_property
    def learnt(self) -> Embeddings:
        """The speech of the speakers who are learnt from."""
        return self.train.with_speakers(self.classes)

    @cached_property
    def known(self) -> Counts:
        """Their classes."""
        return np.array([self.classes[spk] for spk in self.learnt.speakers], np.int64)

    def _held_out(self, folds: Counts) -> Counts:
        """The folds of those who are learnt from, given those of the speakers who are attacked."""
        of = dict(zip(self.names, folds.tolist(), strict=True))
        return np.array([of.get(spk, NEVER) for spk in self.learnt.speakers], np.int64)

    def _lesson(self, folds: Counts) -> TrainingData:
        """What is learnt from, given the folds of the speakers who are attacked."""
        return self.lessons.lesson(self.learnt, self._held_out(folds), int(folds.max()) + 1)

    @property
    def obstacle(self) -> str:
        """Why it cannot be done; empty if it can."""
        if len(set(self.classes.values())) < 2:
            return f"no two values have {FEWEST} speakers each"
        if not set(self.train.speakers) & self.classes.keys():
            return f"none of the speakers of {self.train.directory} has a known value"
        held = self._held_out(self.folds)
        for pair in combinations_with_replacement(np.unique(self.folds).tolist(), 2):
            if len(np.unique(self.known[~np.isin(held, pair)])) < len(self.prior):
                return "too few other speakers to learn every value from"
        return ""

    @cached_property
    def rows(self) -> tuple[Floats, Counts, Counts]:
        """Test vectors, the speaker of each, and its number among the vectors of the speaker."""
        if self.part.n_utts is None:
            vectors = self.test.means(self.who)
            return np.asarray(vectors, np.float64), np.arange(len(self.who)), np.zeros(len(self.who), np.int64)
        vectors, counts = self.test.folds(self.who, self.part.n_utts, MOST_VECTORS, self.options.seed, "inference")
        number, owner = np.nonzero(np.arange(len(vectors))[:, None] < counts)
        return vectors[number, owner].astype(np.float64), owner, number

    @cached_property
    def posteriors(self) -> Floats:
        """Of every row."""
        vectors, owner, _ = self.rows
        test = Attacked(vectors, owner, self.folds)
        return infer_class(self._lesson(self.folds), self.known, test, self.truth, self.prior, self.part.n_utts)

    @cached_property
    def bits(self) -> Floats:
        """Information about every speaker."""
        owner = self.rows[1]
        return _per_speaker(information(self.posteriors, self.truth[owner], self.prior), owner)

    @property
    def params(self) -> dict[str, Any]:
        """What its records are about."""
        return {"attribute": self.attribute.name, "L": self.part.n_utts or "all", "classes": len(self.prior)}

    @property
    def counts(self) -> dict[str, int]:
        """What they rest on."""
        return {
            "test_speakers": len(self.who),
            "left_out": len(self.test.speakers) - len(self.who),
            "vectors": len(self.rows[1]),
            "train_speakers": len(self.learnt.speakers),
        }

    def records(self) -> list[Record]:
        """Accuracy, or rank correlation of a quantity, and bits."""
        return [self._correlation() if self.attribute.is_quantity else self._accuracy(), self._information()]

    def _information(self) -> Record:
        """Bits: the upper limit allows for one more speaker of whom all is learnt, the lower one is studentised.

        A limit that allows for one more speaker about whom the attacker is sure and wrong would be 0 for any small
        corpus, whatever is disclosed.
        """
        resamples, seed = self.options.resamples, self.options.seed
        label, high = f"{self.label} bits", float(-np.log2(self.prior.min()))
        low = min(-float(np.log2(len(self.who) + 1)), float(self.bits.min()))
        (ends,) = mean_intervals(self.bits[:, None], low, high, resamples, seed, label)
        mean = float(self.bits.mean())
        notes = {"chance": 0.0, "entropy": entropy(self.prior), "unclipped": mean}
        record = Record("inference_bits", max(0.0, mean), params=self.params, counts=self.counts, notes=notes)
        if ends.lower is None or ends.upper is None:
            return record.with_interval(ends)
        drawn = multiplicities(len(self.bits), resamples, generator(seed, label))
        samples = np.einsum("rs,s->r", drawn, self.bits) / len(self.bits)
        narrow = studentised_interval(mean, samples, len(self.bits), {}, low, high)
        lower = ends.lower if narrow.lower is None else narrow.lower
        described = {**ends.notes, "interval": "studentised speaker bootstrap below, Gaffke above"}
        return record.with_interval(SpeakerInterval(max(0.0, lower), max(0.0, ends.upper), described))

    def _accuracy(self) -> Record:
        """Of deciding as if all classes were as frequent."""
        owner = self.rows[1]
        decided = np.argmax(self.posteriors / self.prior, axis=1)
        right = _per_speaker(decided == self.truth[owner], owner)
        weights = class_weights(self.truth)
        (ends,) = share_intervals(right[:, None], self.options.resamples, weights)
        value = float(weights @ right / len(right))
        notes = {"chance": 1 / len(self.prior)}
        record = Record("inference_accuracy", value, params=self.params, counts=self.counts, notes=notes)
        return record.with_interval(ends)

    def _correlation(self) -> Record:
        vectors, owner, number = self.rows
        values = np.array([self.attribute.numbers[spk] for spk in self.names])
        folds = deal_values(values, self.options.seed, self.label)
        known = np.array([self.attribute.numbers[spk] for spk in self.learnt.speakers])
        predicted = infer_quantity(
            self._lesson(folds), known, Attacked(vectors, owner, folds), values, self.part.n_utts
        )
        table = np.full((int(number.max()) + 1, len(values)), np.nan)
        table[number, owner] = predicted
        rng = generator(self.options.seed, f"{self.label} correlation")
        drawn = rng.integers(len(values), size=(self.options.resamples, len(values)))
        samples = np.array([_mean_correlation(table[:, some], values[some]) for some in drawn])
        value = _mean_correlation(table, values)
        notes = {"resamples": self.options.resamples, "seed": self.options.seed}
        ends = studentised_interval(value, samples, len(values), notes, -1.0, 1.0)
        params = {name: item for name, item in self.params.items() if name != "classes"}
        record = Record("inference_correlation", value, params=params, counts=self.counts, notes={"chance": 0.0})
        return record.with_interval(ends)

    def per_speaker(self) -> list[SpeakerValue]:
        """The bits that the record is the mean of."""
        name, n_utts = f"inference_bits:{self.attribute.name}", str(self.part.n_utts or "all")
        pairs = zip(self.names, self.bits.tolist(), strict=True)
        return [SpeakerValue(name, spk, len(self.prior), n_utts, value) for spk, value in pairs]


def _mean_correlation(table: Floats, values: Floats) -> float:
    """The rank correlation over speakers of their first vectors, second ones and so on; the mean by their numbers."""
    total = weight = 0.0
    for row in table:
        have = np.flatnonzero(~np.isnan(row))
        if len(have) > 2:
            total += len(have) * rank_correlation(np.round(row[have], 12), values[have])
            weight += len(have)
    return total / weight if weight else 0.0


def _population_records(attacks: Sequence[_Attack], options: Options) -> list[Record]:
    """Whom the inferred classes of all attributes leave of N speakers."""
    shared = sorted(set.intersection(*(set(attack.names) for attack in attacks)))
    if len(shared) < 2:
        return []
    place = {spk: s for s, spk in enumerate(shared)}
    numbers: dict[tuple[int, ...], int] = {}

    def numbered(columns: Sequence[Counts]) -> Counts:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)

    true = numbered([np.array([attack.classes[spk] for spk in shared]) for attack in attacks])
    inferred, owners = [], []
    for attack in attacks:
        own = np.array([place.get(spk, -1) for spk in attack.names])[attack.rows[1]]
        inferred.append(np.argmax(attack.posteriors, axis=1)[own >= 0])
        owners.append(np.lexsort((attack.rows[2][own >= 0], own[own >= 0])))
    owner = np.sort(own[own >= 0])
    guessed = numbered([column[order] for column, order in zip(inferred, owners, strict=True)])
    measured = options.n_speakers.up_to(len(shared), "speakers whose attributes are all known")
    sizes = sorted({*(n for n in measured if n > 1), *([options.population] if options.population > 1 else [])})
    found = uniqueness(guessed, owner, true, sizes)
    return _uniqueness_records(attacks, found, owner, len(shared), options)


def _uniqueness_records(
    attacks: Sequence[_Attack], found: Any, owner: Counts, speakers: int, options: Options
) -> list[Record]:
    names = "+".join(attack.attribute.name for attack in attacks)
    records = []
    for name in ("left", "alone", "found"):
        for row, n in enumerate(found.n_speakers):
            values = _per_speaker(getattr(found, name)[row], owner)
            if name == "left":
                label = f"attributes {name} N={n}"
                (ends,) = mean_intervals(values[:, None], 0.0, float(n), options.resamples, options.seed, label)
            else:
                (ends,) = share_intervals(values[:, None], options.resamples)
            params: Mapping[str, Any] = {
                "N": n,
                "L": attacks[0].part.n_utts or "all",
                "attributes": names,
                "estimator": "exact" if n <= speakers else "frequencies",
            }
            counts = {"test_speakers": speakers, "vectors": len(owner)}
            notes = {"chance": float(found.chance[name][row])}
            record = Record(f"attributes_{name}", float(values.mean()), params=params, counts=counts, notes=notes)
            records.append(record.with_interval(ends))
    return records


def _per_speaker(values: Floats | Bools, owner: Counts) -> Floats:
    """The means over the vectors of every speaker."""
    return np.bincount(owner, weights=values) / np.bincount(owner)


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    tables = inputs["attribute_table"]
    attributes = read_tables(tables.replace(",", " ").split())
    train, test = (read_directories(inputs[name]) for name in ("train_dir", "test_dir"))
    scores = score_inference(train, test, attributes, options)
    if not scores.records:
        raise InputError("hold no attribute that can be inferred; see the messages above", tables)
    return scores


SCORER = Scorer(
    (Input("attribute-table,..."), Input("train-dir"), Input("test-dir")), Options, _score_files, takes_params=True
)


EVALUATION = "evaluation"
"""Attackers who learn from evaluation speakers alone."""


@dataclass(frozen=True)
class InferenceResult(AttackResult):
    """One encoder in one condition: attackers learn from speech of the first kind and attack that of the second.

    They learn from all speech of other speakers, also that of training sets where the encoder has embedded them, and
    attack what linkability links.
    """

    stage = 8

    @property
    def out(self) -> Path:
        """One directory for each encoder, condition, and kind of speakers that are learnt from."""
        found = self.directory("inference")
        return found if self._training_sets else found.with_name(f"{found.name}-{EVALUATION}")

    @property
    def _training_sets(self) -> tuple[str, ...]:
        return self.plan.training_sets(self.attack)

    @property
    def _params(self) -> dict[str, str]:
        """Of attackers who know less than others of the same name; all runs share results on original speech."""
        return {} if self._training_sets else {"learnt_from": EVALUATION}

    @property
    def _tests(self) -> tuple[str, ...]:
        """The sets that are attacked."""
        return self.plan.recipe.linked.tests

    @property
    def _sets(self) -> tuple[str, ...]:
        """The sets that are learnt from, those that are attacked last."""
        plan = self.plan
        return tuple(dict.fromkeys((*self._training_sets, *plan.recipe.linked.enrolls, *self._tests)))

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Embeddings of both kinds of speech, and attributes."""
        attack = self.attack
        speech = [*(attack.enrolled(name) for name in self._sets), *(attack.attacked(name) for name in self._tests)]
        return (*dict.fromkeys(speech), *self.plan.attribute_tables(self._sets))

    @property
    def options(self) -> Mapping[str, object]:
        """Numbers of speakers and utterances, and how vectors are compared."""
        plan = self.plan
        return {
            "sizes": plan.legal_sizes,
            "utts": plan.legal_utts,
            "population": plan.settings.population,
            "similarity": self.attack.attacker.similarity,
            **self.notes,
        }

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack: whoever learns from anonymised speech is informed, whatever the encoder is."""
        vpc, legal = self.attack.inference_names
        return {"attack_model": vpc, "attack_model_legal": legal}

    @property
    def _utts(self) -> str:
        """Numbers of utterances; no paper limits what this attacker may have."""
        return ",".join(dict.fromkeys((*self.plan.legal_utts.split(","), "all")))

    def make(self, out: Path) -> str:
        """Learn and attack."""
        plan, attack, drawn = self.plan, self.attack, self.resampling
        train = read_pooled(tuple(attack.enrolled(name) for name in self._sets))
        test = read_pooled(tuple(attack.attacked(name) for name in self._tests))
        options = Options(
            drawn.resamples,
            drawn.seed,
            parse_sizes("legal_utts", None, self._utts),
            parse_sizes("legal_sizes", None, plan.legal_sizes, least=2),
            plan.settings.population,
            attack.attacker.similarity,
        )
        attributes = read_attributes([plan.original(name) for name in self._sets])
        scores = score_inference(train, test, attributes, options)
        scores.write(out / RECORDS, self.tags, self._params, self.notes)
        names = ", ".join(dict.fromkeys(str(r.params["attribute"]) for r in scores.records if "attribute" in r.params))
        words = f"{len(scores.records)} numbers about {names or 'no attribute'}"
        if plan.recipe.train_sets and not self._training_sets:
            # A weak attacker makes a system look better than it is.
            words += ", learnt from evaluation speakers alone; an attacker with a back end adds training speakers"
        return words

    def commands(self) -> list[list[str]]:
        """Pool the sets, learn and attack."""
        plan, attack = self.plan, self.attack
        tables = ",".join(map(str, shared_tables([plan.original(name) for name in self._sets])))
        words = ["--n-utts", f"{self._utts}?", "--n-speakers", f"{plan.legal_sizes}?"]
        words += ["--population", str(plan.settings.population), "--similarity", attack.attacker.similarity]
        train = ",".join(str(attack.enrolled(name)) for name in self._sets)
        test = ",".join(str(attack.attacked(name)) for name in self._tests)
        files = [tables, train, test, str(self.out / RECORDS)]
        words += [word for name, value in self._params.items() for word in ("--param", f"{name}={value}")]
        return [["local/score_inference.py", *words, *self.tag_words(), *self.param_words(), *files]]


def _results(plan: Plan) -> list[InferenceResult]:
    return [InferenceResult(plan, attack) for attack in plan.encoder_attacks]


MEASURE = Measure("inference", 8, _results, place=2)
