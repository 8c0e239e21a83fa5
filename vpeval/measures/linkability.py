"""Linkability and 1-EER on embeddings, over numbers N' of enrolment speakers and L of utterances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.backend import Comparison
from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError, TooFew
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
    candidates,
    extrapolate,
    linkability_law,
    parse_sizes,
    read_inputs,
    sizes_option,
    utterance_groups,
    warn_about_shared_utts,
)
from vpeval.metrics.linkability import linkability, picked
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import Rivals, count_rivals_within
from vpeval.metrics.vectors import Similarity, Vectors
from vpeval.records.metrics import KEY, LEGAL, LINKABILITY, PERCENT, SHARE, SUMMARY, Metric, Success
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan
    from vpeval.plan.recipe import Sides

_SIZES = ("N", "L")
PAPER_DRAWS = 5
METRICS = (
    Metric(
        "linkability",
        "Linkability",
        "How often the nearest one of N enrolled speakers is the right one, with L utterances to test.",
        r"Linkability, \%",
        **SHARE,
        group=LEGAL,
        range=(0.0, 1.0),
        requires=_SIZES,
        identified_by=_SIZES,
        shown=(KEY, SUMMARY),
        key_place=3,
        place=1,
        criterion=LINKABILITY,
        success=Success("Linked", "links a recording to the right one of {N} speakers"),
    ),
    Metric(
        "one_minus_eer",
        "1-EER (ROCCH)",
        "1 minus the ROCCH-EER, on the same vectors as the legal metrics.",
        r"$1-$EER, \%",
        **SHARE,
        chance=0.5,
        group=LEGAL,
        range=(0.0, 1.0),
        requires=_SIZES,
        identified_by=_SIZES,
        place=2,
    ),
    Metric(
        "linkability_side",
        "Linkability, side info",
        "Linkability by an attacker who knows an attribute of the person and looks only at those of the N enrolled "
        "speakers who share it; the details name the attribute and the number of its groups.",
        r"Linkability, side information, \%",
        **SHARE,
        group=LEGAL,
        identified_by=(*_SIZES, "side"),
        place=4,
        criterion=LINKABILITY,
    ),
    Metric(
        "linkability_extrapolated",
        "Linkability, extrapolated",
        "Linkability among more speakers than there are, by a beta-binomial fitted to the ranks of the true speakers; "
        "not measured.",
        r"Linkability, extrapolated, \%",
        **SHARE,
        group=LEGAL,
        identified_by=_SIZES,
        place=6,
    ),
    Metric(
        "linkability_extrapolation_error",
        "Linkability, error of extrapolation",
        "What the extrapolation from smaller numbers of speakers says about the largest one, less what was measured "
        "there.",
        r"Linkability, error of extrapolation, \%",
        **PERCENT,
        digits=1,
        group=LEGAL,
        shown=(),
        place=8,
    ),
)


@dataclass(frozen=True)
class Options(PopulationOptions):
    """Numbers of enrolment speakers and of utterances."""

    n_enroll: Sizes = sizes_option("--n-enroll", "20,100,all", "numbers N' of enrolment speakers", least=2)
    n_utts: Sizes = sizes_option("--n-utts", "1,3,30,all", "numbers L of utterances per test vector")
    draws: int = option(0, "random draws of enrolment speakers and test utterances; 0: exact for the former (0)")
    utt_draws: int | None = option(None, f"random draws of test utterances ({PAPER_DRAWS})", "N", least=1)


def score_linkability(
    enroll: Embeddings, test: Embeddings, comparison: Comparison, options: Options, case: UseCase = NOTHING_ELSE
) -> Scores:
    """Linkability and 1-EER for every N' and L; speakers are enrolled by all of their utterances.

    Test speakers who are not enrolled cannot be linked: they are left out and counted. Enrolment speakers without test
    utterances are distractors. `case` adds linkability with side information, and for more speakers than there are.
    Everything is the mean over draws of the L test utterances; the values of speakers have those of every draw.
    """
    if options.draws and options.utt_draws:
        raise InputError("--draws and --utt-draws exclude each other; choose what is drawn again")
    owner = enroll.places(test)
    enrolled = np.flatnonzero(owner >= 0)
    if not len(enrolled):
        raise InputError(f"none of the speakers is enrolled in {enroll.directory}", test.directory / "utt2spk")
    warn_about_shared_utts(enroll, test)
    n_all = len(enroll.speakers)
    if n_all < 2:
        raise TooFew("linkability needs at least two enrolment speakers", enroll.directory / "utt2spk")
    sizes = options.n_enroll.up_to(n_all, f"enrolment speakers in {enroll.directory}")
    parts = utterance_groups(options.n_utts, test, enrolled)
    references = comparison.enroll(enroll, np.arange(n_all))
    draws, resamples, seed = options.draws, options.resamples, options.seed
    estimator = {"estimator": "drawn", "draws": draws} if draws else {"estimator": "exact"}
    per_speaker: list[SpeakerValue] = []
    scores = Scores([], per_speaker)
    for part in parts:
        several = (draws or options.utt_draws or PAPER_DRAWS) if part.n_utts else 1
        means = [test.means(part.who, part.n_utts, seed, _label(draw)) for draw in range(several)]
        tested = [comparison.test(mean) for mean in means]
        compared = compare_all(references, tested, owner[part.who], sizes, resamples, seed, comparison.similarity)
        drawn = _drawn(compared.rivals, n_all, sizes, draws, seed)
        notes = {"seed": seed} if draws or several > 1 else {}
        notes |= {"utt_draws": several} if several > 1 else {}
        counts = {
            "test_speakers": len(part.who),
            "left_out": len(test.speakers) - len(part.who),
            "enroll_speakers": n_all,
            **({"not_enrolled": absent} if (absent := len(test.speakers) - len(enrolled)) else {}),
        }
        names = [test.speakers[s] for s in part.who]
        curve = Curve(
            "linkability",
            part.n_utts,
            sizes,
            names,
            drawn.mean(axis=0),
            1 / np.array(sizes),
            estimator,
            counts,
            notes,
            draws=drawn if len(drawn) > 1 else None,
        )
        found = curve.records(options)
        scores.records.extend(found)
        if case.population is not None:
            rivals = np.array([each.above + each.tied for each in compared.rivals])
            law = linkability_law(rivals, n_all, seed)
            chance = 1 / max(case.population, n_all)
            scores.records.extend(extrapolate(law, found, case.population, chance, options))
        per_speaker.extend(curve.per_speaker())
        for side in case.sides:
            known = _with_side(curve, side, enroll.speakers, references, tested, comparison.similarity)
            scores.records.extend(known.records(options) if known else [])
        for eer in compared.eers:
            params = {"N": eer.n_enroll, "L": part.n_utts or "all", "estimator": "rocch"}
            about = {**notes, "seed": seed, "chance": 0.5}
            record = Record("one_minus_eer", eer.value, params=params, counts=counts, notes=about)
            scores.records.append(record.with_interval(eer.interval))
    return scores


def _label(draw: int) -> str:
    """What seeds the choice of utterances in a draw."""
    return f"utterances of draw {draw}" if draw else "utterances"


def _drawn(rivals: Sequence[Rivals], n_all: int, sizes: Sequence[int], draws: int, seed: int) -> Floats:
    """The linkability draw × N' × speaker, exact or with enrolment speakers of every draw."""
    if not draws:
        return np.array([linkability(each, n_all, sizes).per_speaker for each in rivals])
    every = rivals if len(rivals) > 1 else list(rivals) * draws  # all utterances are the same in every draw
    return np.array(
        [linkability(each, n_all, sizes, 1, seed, first=draw).per_speaker for draw, each in enumerate(every)]
    )


def _with_side(
    plain: Curve,
    side: SideInformation,
    enrolled: Sequence[str],
    references: Vectors,
    tested: Sequence[Vectors],
    similarity: Similarity,
) -> Curve | None:
    """Linkability of the speakers of a curve, by their vectors in each draw, for an attacker who knows an attribute."""
    groups = side.groups_of(enrolled)
    place = {spk: i for i, spk in enumerate(enrolled)}
    owner = np.array([place[spk] for spk in plain.speakers])
    known = np.flatnonzero(groups[owner])
    if not len(known):
        return None
    owner = owner[known]
    drawn = [count_rivals_within(references, inputs[known], owner, groups, similarity) for inputs in tested]
    rest = np.bincount(groups)[groups[owner]] - 1
    return Curve(
        "linkability_side",
        plain.n_utts,
        plain.sizes,
        [plain.speakers[i] for i in known.tolist()],
        np.mean([linkability(rivals, len(enrolled), plain.sizes).per_speaker for rivals in drawn], axis=0),
        np.array([picked(len(enrolled), n)[rest].mean() for n in plain.sizes]),
        {"estimator": "exact", "side": side.name, "groups": side.groups},
        {**plain.counts, "test_speakers": len(known)},
        plain.notes,
        [float(candidates(groups, owner, n).mean()) for n in plain.sizes],
    )


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    enroll, test, comparison, case = read_inputs(inputs, options)
    return score_linkability(enroll, test, comparison, options, case)


SCORER = Scorer(INPUTS, Options, _score_files, takes_params=True)


@dataclass(frozen=True)
class LinkabilityResult(PopulationResult):
    """Linkability under one attack, over all speakers of the recipe."""

    measure = "linkability"

    @property
    def sides(self) -> Sides:
        """The sets that the recipe links."""
        return self.plan.recipe.linked

    @property
    def sizes(self) -> list[str]:
        """Numbers of enrolment speakers and of utterances."""
        return ["--n-enroll", f"{self.plan.legal_sizes}?", "--n-utts", f"{self.plan.legal_utts}?"]

    def score(self, enroll: Embeddings, test: Embeddings, comparison: Comparison, case: UseCase) -> Scores:
        """Link those who are enrolled."""
        n_enroll = parse_sizes("legal_sizes", None, self.plan.legal_sizes, least=2)
        n_utts = parse_sizes("legal_utts", None, self.plan.legal_utts)
        options = Options(self.resampling.resamples, self.resampling.seed, n_enroll=n_enroll, n_utts=n_utts)
        return score_linkability(enroll, test.with_speakers(enroll.speakers), comparison, options, case)


def _results(plan: Plan) -> list[LinkabilityResult]:
    return [LinkabilityResult(plan, attack) for attack in plan.attacks]


MEASURE = Measure("linkability", 8, _results)
