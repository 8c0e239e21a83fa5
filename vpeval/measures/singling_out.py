"""Singling out on embeddings, over numbers N of test speakers and L of utterances per test vector.

What is drawn anew: in every draw the utterances of each fold, which all enrolment speakers of the draw share, and for
every enrolment speaker the test speakers, those of a smaller N being among those of a larger one. The enrolment
speakers (495 in the paper) and their utterances are drawn once; where some have too few test utterances for a larger L,
the next in the same order take their places.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.backend import Comparison
from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.measures.base import Measure, Scorer, Scores, SpeakerValue, option
from vpeval.measures.legal import (
    INPUTS,
    NOTHING_ELSE,
    Curve,
    PopulationOptions,
    PopulationResult,
    SideInformation,
    Sizes,
    UseCase,
    UtteranceGroup,
    candidates,
    extrapolate,
    parse_sizes,
    read_inputs,
    singling_out_law,
    sizes_option,
    utterance_groups,
    warn_about_shared_utts,
)
from vpeval.metrics.singling_out import singling_out_within
from vpeval.records.metrics import KEY, LEGAL, PERCENT, SHARE, SINGLING_OUT, SUMMARY, Metric, Success
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan
    from vpeval.plan.recipe import Sides

_SIZES = ("N", "L")
METRICS = (
    Metric(
        "singling_out",
        "Singling out",
        "How often a threshold that is meant to isolate one of N speakers isolates exactly one, with L utterances of "
        "each.",
        r"Singling out, \%",
        **SHARE,
        group=LEGAL,
        range=(0.0, 1.0),
        requires=_SIZES,
        identified_by=_SIZES,
        shown=(KEY, SUMMARY),
        key_place=4,
        place=0,
        criterion=SINGLING_OUT,
        success=Success("Singled out", "isolates exactly one of {N} speakers", graded=False),
    ),
    Metric(
        "singling_out_side",
        "Singling out, side info",
        "Singling out by an attacker who knows an attribute of the person and looks only at those of the N who share "
        "it; the details name the attribute and the number of its groups.",
        r"Singling out, side information, \%",
        **SHARE,
        group=LEGAL,
        identified_by=(*_SIZES, "side"),
        place=3,
        criterion=SINGLING_OUT,
    ),
    Metric(
        "singling_out_extrapolated",
        "Singling out, extrapolated",
        "Singling out among more speakers than there are, by a line over log N of the logit of what it has beyond "
        "chance; not measured.",
        r"Singling out, extrapolated, \%",
        **SHARE,
        group=LEGAL,
        identified_by=_SIZES,
        place=5,
    ),
    Metric(
        "singling_out_extrapolation_error",
        "Singling out, error of extrapolation",
        "What the extrapolation from smaller numbers of speakers says about the largest one, less what was measured "
        "there.",
        r"Singling out, error of extrapolation, \%",
        **PERCENT,
        digits=1,
        group=LEGAL,
        shown=(),
        place=7,
    ),
)
log = logging.getLogger(__name__)
_LONG = 1_000_000  # pairs of speakers from which on a draw takes long enough to be announced
MOST_FOLDS = 10
PAPER_ENROLLED = 495


@dataclass(frozen=True)
class Options(PopulationOptions):
    """Numbers of test speakers and utterances, and how enrolment speakers are made; defaults as in the paper."""

    n_speakers: Sizes = sizes_option("--n-speakers", "20,100,all", "numbers N of test speakers", least=2)
    n_utts: Sizes = sizes_option("--n-utts", "1,3,30", "numbers L of utterances per test vector", has_all=False)
    n_enroll: int | None = option(None, "enrolment speakers (495, or all)", "N", least=1)
    enroll_utts: int = option(30, "utterances per enrolment vector (30)", "N", least=1)
    draws: int = option(5, "random draws of test speakers (5)", least=1)


def score_singling_out(
    enroll: Embeddings, test: Embeddings, comparison: Comparison, options: Options, case: UseCase = NOTHING_ELSE
) -> Scores:
    """Singling out for every N and L.

    An attack on an enrolment speaker needs that speaker among the test speakers: those who are not there are left out
    and counted. A speaker with fewer than 2·L test utterances takes no part at L, neither as test speaker nor enrolled.
    `case` adds singling out with side information, and among more speakers than there are.
    """
    place = test.places(enroll)
    if (place < 0).all():
        raise InputError(f"none of the speakers is in {test.directory}", enroll.directory / "utt2spk")
    warn_about_shared_utts(enroll, test)
    records: list[Record] = []
    per_speaker: list[SpeakerValue] = []
    for part in utterance_groups(options.n_utts, test, np.arange(len(test.speakers)), vectors=2, speakers=2):
        plain, *others = _Attack(enroll, test, comparison, place, part, options).curves(case.sides)
        found = plain.records(options)
        records.extend(found)
        if case.population is not None:
            law = singling_out_law(plain.sizes, plain.values, plain.chance)
            records.extend(extrapolate(law, found, case.population, float(plain.chance[-1]), options))
        records.extend(record for curve in others for record in curve.records(options))
        per_speaker.extend(plain.per_speaker())
    return Scores(records, per_speaker)


@dataclass(frozen=True)
class _Attack:
    """Enrolled speakers looked for among test speakers, at one number L of utterances.

    `place` is the test speaker that an enrolment speaker is, or -1.
    """

    enroll: Embeddings
    test: Embeddings
    comparison: Comparison
    place: Counts
    part: UtteranceGroup
    options: Options

    def curves(self, sides: Sequence[SideInformation]) -> list[Curve]:
        """The plain curve, and one for every side information that is known of somebody."""
        options, test, who, n_utts = self.options, self.test, self.part.who, self.part.n_utts or 1
        sizes = options.n_speakers.up_to(len(who), f"speakers with {2 * n_utts} utterances in {test.directory}")
        chosen = self._chosen()
        vectors = self.comparison.enroll(self.enroll, chosen, options.enroll_utts, options.seed)
        owner = np.searchsorted(who, self.place[chosen])
        names = [test.speakers[s] for s in who]
        groups = [np.zeros(len(who), np.int64), *(side.groups_of(names) for side in sides)]
        draws = []
        for draw in range(options.draws):
            if len(chosen) * len(test.speakers) >= _LONG:
                log.info("singling out: L = %d, draw %d of %d", n_utts, draw + 1, options.draws)
            folds, counts = test.folds(who, n_utts, MOST_FOLDS, options.seed, f"folds of draw {draw}")
            tested, similarity = self.comparison.test(folds), self.comparison.similarity
            draws.append(
                singling_out_within(vectors, owner, tested, counts, sizes, groups, options.seed, draw, similarity)
            )
        speakers = [self.enroll.speakers[s] for s in chosen]
        per_draw = np.array([found[0].per_speaker for found in draws])
        plain = Curve(
            "singling_out",
            self.part.n_utts,
            sizes,
            speakers,
            per_draw.mean(axis=0),
            np.mean([found[0].chance for found in draws], axis=0),
            {"draws": options.draws},
            self._counts(chosen, counts),
            {"seed": options.seed, "folds": int(counts.max()), "paper_chance": math.exp(-1)},
            draws=per_draw,
        )
        curves = [plain]
        for number, (side, group) in enumerate(zip(sides, groups[1:], strict=True), start=1):
            known = np.flatnonzero(group[owner])
            results = [found[number] for found in draws]
            if len(known):
                curves.append(
                    replace(
                        plain,
                        metric="singling_out_side",
                        speakers=[speakers[e] for e in known],
                        values=np.mean([found.per_speaker[:, known] for found in results], axis=0),
                        chance=np.mean([found.chance_per_speaker[:, known].mean(axis=1) for found in results], axis=0),
                        params={**plain.params, "side": side.name, "groups": side.groups},
                        counts={**plain.counts, "enroll_speakers": len(known)},
                        notes={"seed": options.seed, "folds": int(counts.max())},
                        candidates=[float(candidates(group, owner[known], n).mean()) for n in sizes],
                        draws=None,
                    )
                )
        return curves

    def _chosen(self) -> Counts:
        """The enrolment speakers: those with enough test utterances, at most as many as are asked for."""
        n_utts, asked = self.part.n_utts or 1, self.options.n_enroll
        able = np.flatnonzero(np.isin(self.place, self.part.who))
        if not len(able):
            raise InputError(
                f"no enrolment speaker has {2 * n_utts} utterances in {self.test.directory}", self.enroll.directory
            )
        if asked and asked > len(able):
            raise InputError(
                f"--n-enroll {asked}: only {len(able)} enrolment speakers have {2 * n_utts} test utterances; ask for "
                f"at most {len(able)}"
            )
        # One order of all enrolment speakers for every L: whoever is chosen at one L is also chosen at the next.
        order = generator(self.options.seed, "enrolment speakers").permutation(len(self.place))
        return np.sort(order[np.isin(order, able)][: asked or PAPER_ENROLLED])

    def _counts(self, chosen: Counts, vectors: Counts) -> dict[str, int]:
        """What the numbers rest on."""
        absent = int(np.count_nonzero(self.place < 0))
        return {
            "enroll_speakers": len(chosen),
            "test_speakers": len(self.part.who),
            "left_out": len(self.test.speakers) - len(self.part.who),
            "short_enroll": int(np.count_nonzero(self.enroll.counts[chosen] < self.options.enroll_utts)),
            "short_test": int(np.count_nonzero(vectors < MOST_FOLDS)),
            **({"enroll_left_out": absent} if absent else {}),
        }


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    enroll, test, comparison, case = read_inputs(inputs, options)
    return score_singling_out(enroll, test, comparison, options, case)


SCORER = Scorer(INPUTS, Options, _score_files, takes_params=True)


@dataclass(frozen=True)
class SinglingOutResult(PopulationResult):
    """Singling out under one attack, over all speakers of the recipe."""

    measure = "singling_out"

    @property
    def sides(self) -> Sides:
        """The sets that the recipe singles speakers out of."""
        return self.plan.recipe.singled_out

    @property
    def sizes(self) -> list[str]:
        """Numbers of test speakers and of utterances."""
        return ["--n-speakers", f"{self.plan.legal_sizes}?", "--n-utts", f"{self._utts}?"]

    @property
    def _utts(self) -> str:
        """Numbers of utterances: the vectors of a speaker's folds have equally many, so that there is no 'all'."""
        return ",".join(size for size in self.plan.legal_utts.split(",") if size != "all") or "1"

    def score(self, enroll: Embeddings, test: Embeddings, comparison: Comparison, case: UseCase) -> Scores:
        """Single out those who are among the test speakers."""
        n_speakers = parse_sizes("legal_sizes", None, self.plan.legal_sizes, least=2)
        n_utts = parse_sizes("legal_utts", None, self._utts, has_all=False)
        options = Options(self.resampling.resamples, self.resampling.seed, n_speakers=n_speakers, n_utts=n_utts)
        return score_singling_out(enroll.with_speakers(test.speakers), test, comparison, options, case)


def _results(plan: Plan) -> list[SinglingOutResult]:
    return [SinglingOutResult(plan, attack) for attack in plan.attacks]


MEASURE = Measure("singling_out", 8, _results, place=1)
