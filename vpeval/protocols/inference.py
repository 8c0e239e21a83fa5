"""Inference on embedding directories: what can be learnt about attributes of a speaker from L utterances.

Attackers are trained on the speech of other speakers than those whom they attack, original speech for an ignorant
attacker and anonymised speech for an informed one, and attack every speaker by up to ten vectors, the means of L
utterances each. A category is classified, a quantity predicted and, in three classes of about the same size, classified
as well. What the inferred classes of all attributes leave of a crowd is `metrics.uniqueness`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.asv.attributes import MANY_SPEAKERS, Kernels, Space, collect
from vpeval.asv.inference import NEVER, Attacked, Lesson, deal_classes, deal_values, infer_class, infer_quantity
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.attributes import FEWEST, Attribute
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.bootstrap import interval_notes, multiplicities
from vpeval.metrics.inference import class_weights, entropy, information, rank_correlation
from vpeval.metrics.intervals import SpeakerInterval, mean_intervals, studentised_interval
from vpeval.metrics.uniqueness import uniqueness
from vpeval.metrics.vectors import Counts, Similarity
from vpeval.protocols.sizes import Conversation, Sizes, conversations, parse_sizes
from vpeval.protocols.speaker_values import Scores, SpeakerValue
from vpeval.records.record import Record

Floats = NDArray[np.float64]

MOST_VECTORS = 10


@dataclass(frozen=True)
class Settings:
    """Numbers L of utterances, sizes N of crowds, one more size that may exceed the speakers (0: none), intervals."""

    n_utts: Sizes
    n_speakers: Sizes
    population: int
    resamples: int
    seed: int


def score_inference(
    train: Embeddings, test: Embeddings, attributes: Sequence[Attribute], similarity: Similarity, settings: Settings
) -> Scores:
    """All numbers about every attribute, and about all of them together, for every L.

    An attribute that too few speakers are known to differ in is left out with a notice; so is a speaker whose value is
    unknown, or rare beyond what can be learnt.
    """
    if train.vectors.shape[1] != test.vectors.shape[1]:
        raise InputError(f"has vectors of another size than {train.directory}; use one encoder", test.directory)
    space = Space.of(train, similarity)
    train, test = space.place(train), space.place(test)
    scores, lessons = Scores([], []), _Lessons(settings.seed)
    for part in conversations(settings.n_utts, test, np.arange(len(test.speakers))):
        found = []
        for attribute in attributes:
            attack = _Attack(train, test, attribute, part, settings, lessons)
            if reason := attack.hindrance:
                logging.info("attribute %s cannot be inferred: %s", attribute.name, reason)
                continue
            scores.records.extend(attack.records())
            scores.per_speaker.extend(attack.per_speaker())
            found.append(attack)
        if found:
            scores.records.extend(_crowds(found, settings))
    return scores


class _Lessons:
    """What attackers learn from: the same for most L, its kernels for most attributes as well, and made once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.kernels: dict[tuple[str, ...], Kernels | None] = {}
        self.made: dict[tuple[tuple[str, ...], bytes, int], Lesson] = {}

    def of(self, learnt: Embeddings, held_out: Counts, n_folds: int) -> Lesson:
        """From the speech of speakers who are held out in the given folds, of so many."""
        speakers = tuple(learnt.speakers)
        if speakers not in self.kernels:
            self.kernels[speakers] = Kernels.of(learnt, self.seed) if len(speakers) <= MANY_SPEAKERS else None
        key = speakers, held_out.tobytes(), n_folds
        if key not in self.made:
            self.made[key] = Lesson(collect(learnt, held_out, n_folds), self.kernels[speakers])
        return self.made[key]


@dataclass(frozen=True)
class _Attack:
    """One attribute of the speakers with enough utterances at one L."""

    train: Embeddings
    test: Embeddings
    attribute: Attribute
    part: Conversation
    settings: Settings
    lessons: _Lessons

    @property
    def label(self) -> str:
        """What is drawn at random here."""
        return f"inference {self.attribute.name}"

    @cached_property
    def classes(self) -> dict[str, int]:
        """The class of every speaker, of those classes that enough speakers to be attacked have."""
        everyone = dict.fromkeys((*self.train.speakers, *self.test.speakers))
        named = self.attribute.of(list(everyone)).classes
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
        return deal_classes(self.truth, self.settings.seed, self.label)

    @cached_property
    def learnt(self) -> Embeddings:
        """The speech of the speakers who are learnt from."""
        return self.train.of(self.classes)

    @cached_property
    def known(self) -> Counts:
        """Their classes."""
        return np.array([self.classes[spk] for spk in self.learnt.speakers], np.int64)

    def _held_out(self, folds: Counts) -> Counts:
        """The folds of those who are learnt from, given those of the speakers who are attacked."""
        of = dict(zip(self.names, folds.tolist(), strict=True))
        return np.array([of.get(spk, NEVER) for spk in self.learnt.speakers], np.int64)

    def _lesson(self, folds: Counts) -> Lesson:
        """What is learnt from, given the folds of the speakers who are attacked."""
        return self.lessons.of(self.learnt, self._held_out(folds), int(folds.max()) + 1)

    @property
    def hindrance(self) -> str:
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
        vectors, counts = self.test.folds(self.who, self.part.n_utts, MOST_VECTORS, self.settings.seed, "inference")
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
        resamples, seed = self.settings.resamples, self.settings.seed
        label, high = f"{self.label} bits", float(-np.log2(self.prior.min()))
        low = min(-float(np.log2(len(self.who) + 1)), float(self.bits.min()))
        (ends,) = mean_intervals(self.bits[:, None], low, high, resamples, seed, label)
        mean = float(self.bits.mean())
        notes = {"chance": 0.0, "entropy": entropy(self.prior), "unclipped": mean}
        record = Record("inference_bits", max(0.0, mean), params=self.params, counts=self.counts, notes=notes)
        if ends.lower is None or ends.upper is None:
            return ends.of(record)
        drawn = multiplicities(len(self.bits), resamples, generator(seed, label))
        samples = np.einsum("rs,s->r", drawn, self.bits) / len(self.bits)
        narrow = studentised_interval(mean, samples, len(self.bits), {}, low, high)
        lower = ends.lower if narrow.lower is None else narrow.lower
        told = {**ends.notes, "interval": "studentised speaker bootstrap below, Gaffke above"}
        return SpeakerInterval(max(0.0, lower), max(0.0, ends.upper), told).of(record)

    def _accuracy(self) -> Record:
        """Of deciding as if all classes were as frequent."""
        owner = self.rows[1]
        decided = np.argmax(self.posteriors / self.prior, axis=1)
        right = _per_speaker(decided == self.truth[owner], owner)
        weights = class_weights(self.truth)
        (ends,) = mean_intervals(
            right[:, None],
            resamples=self.settings.resamples,
            seed=self.settings.seed,
            label=f"{self.label} accuracy",
            weights=weights,
        )
        value = float(weights @ right / len(right))
        notes = {"chance": 1 / len(self.prior)}
        return ends.of(Record("inference_accuracy", value, params=self.params, counts=self.counts, notes=notes))

    def _correlation(self) -> Record:
        vectors, owner, number = self.rows
        values = np.array([self.attribute.numbers[spk] for spk in self.names])
        folds = deal_values(values, self.settings.seed, self.label)
        known = np.array([self.attribute.numbers[spk] for spk in self.learnt.speakers])
        predicted = infer_quantity(
            self._lesson(folds), known, Attacked(vectors, owner, folds), values, self.part.n_utts
        )
        table = np.full((int(number.max()) + 1, len(values)), np.nan)
        table[number, owner] = predicted
        rng = generator(self.settings.seed, f"{self.label} correlation")
        drawn = rng.integers(len(values), size=(self.settings.resamples, len(values)))
        samples = np.array([_mean_correlation(table[:, some], values[some]) for some in drawn])
        value = _mean_correlation(table, values)
        told = interval_notes(self.settings.resamples, self.settings.seed)
        ends = studentised_interval(value, samples, len(values), told, -1.0, 1.0)
        params = {name: item for name, item in self.params.items() if name != "classes"}
        return ends.of(Record("inference_correlation", value, params=params, counts=self.counts, notes={"chance": 0.0}))

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


def _crowds(attacks: Sequence[_Attack], settings: Settings) -> list[Record]:
    """Whom the inferred classes of all attributes leave in crowds of N."""
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
    measured = settings.n_speakers.up_to(len(shared), "speakers whose attributes are all known")
    sizes = sorted({*(n for n in measured if n > 1), *([settings.population] if settings.population > 1 else [])})
    found = uniqueness(guessed, owner, true, sizes)
    return _crowd_records(attacks, found, owner, len(shared), settings)


def _crowd_records(
    attacks: Sequence[_Attack], found: Any, owner: Counts, speakers: int, settings: Settings
) -> list[Record]:
    names = "+".join(attack.attribute.name for attack in attacks)
    records = []
    for name in ("left", "alone", "found"):
        for row, n in enumerate(found.n_speakers):
            values = _per_speaker(getattr(found, name)[row], owner)
            high = float(n) if name == "left" else 1.0
            label = f"attributes {name} N={n}"
            (ends,) = mean_intervals(values[:, None], 0.0, high, settings.resamples, settings.seed, label)
            params: Mapping[str, Any] = {
                "N": n,
                "L": attacks[0].part.n_utts or "all",
                "attributes": names,
                "estimator": "exact" if n <= speakers else "frequencies",
            }
            counts = {"test_speakers": speakers, "vectors": len(owner)}
            notes = {"chance": float(found.chance[name][row])}
            record = Record(f"attributes_{name}", float(values.mean()), params=params, counts=counts, notes=notes)
            records.append(ends.of(record))
    return records


def _per_speaker(values: Floats | NDArray[np.bool_], owner: Counts) -> Floats:
    """The means over the vectors of every speaker."""
    return np.bincount(owner, weights=values) / np.bincount(owner)


def of_recipe(
    train: Embeddings,
    test: Embeddings,
    attributes: Sequence[Attribute],
    similarity: Similarity,
    sizes: str,
    utts: str,
    population: int,
    resamples: int,
    seed: int,
) -> Scores:
    """Inference over the numbers of utterances and crowds of a recipe, and with all utterances of a speaker."""
    n_speakers = parse_sizes("legal_sizes", None, sizes, least=2)
    n_utts = parse_sizes("legal_utts", None, f"{utts},all")
    settings = Settings(n_utts, n_speakers, population, resamples, seed)
    return score_inference(train, test, attributes, similarity, settings)
