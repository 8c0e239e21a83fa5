"""Linkability and 1-EER on embeddings, over numbers N' of enrolment speakers and L of utterances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.backend import Comparison
from vpeval.core.arrays import Counts, Floats
from vpeval.core.errors import InputError
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
    linkability_law,
    parse_sizes,
    read_inputs,
    sizes_option,
    utterance_groups,
    warn_about_shared_utts,
)
from vpeval.metrics.linkability import linkability, picked
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import count_rivals, count_rivals_within
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
    draws: int = option(0, "random draws of enrolment speakers; 0: exact expectation (0)")
    utt_draws: int = option(1, "random draws of test utterances, for the values of speakers (1)", least=1)


def score_linkability(
    enroll: Embeddings, test: Embeddings, comparison: Comparison, options: Options, case: UseCase = NOTHING_ELSE
) -> Scores:
    """Linkability and 1-EER for every N' and L; speakers are enrolled by all of their utterances.

    Test speakers who are not enrolled cannot be linked: they are left out and counted. Enrolment speakers without test
    utterances are distractors. `case` adds linkability with side information, and for more speakers than there are.
    The records are about the first draw of test utterances; the values of speakers have all draws.
    """
    if options.draws and options.utt_draws > 1:
        raise InputError("--draws and --utt-draws exclude each other; choose what is drawn again")
    owner = enroll.places(test)
    enrolled = np.flatnonzero(owner >= 0)
    if not len(enrolled):
        raise InputError(f"none of the speakers is enrolled in {enroll.directory}", test.directory / "utt2spk")
    warn_about_shared_utts(enroll, test)
    n_all = len(enroll.speakers)
    if n_all < 2:
        raise InputError("linkability needs at least two enrolment speakers", enroll.directory / "utt2spk")
    sizes = options.n_enroll.up_to(n_all, f"enrolment speakers in {enroll.directory}")
    parts = utterance_groups(options.n_utts, test, enrolled)
    references = comparison.enroll(enroll, np.arange(n_all))
    draws, resamples, seed = options.draws, options.resamples, options.seed
    estimator = {"estimator": "drawn", "draws": draws} if draws else {"estimator": "exact"}
    notes = {"seed": seed} if draws else {}
    per_speaker: list[SpeakerValue] = []
    scores = Scores([], per_speaker)
    further = _further_draws(references, test, owner, comparison, parts, sizes, options)
    for part in parts:
        x = comparison.test(test.means(part.who, part.n_utts, seed))
        compared = compare_all(references, x, owner[part.who], sizes, resamples, seed, comparison.similarity)
        link = linkability(compared.rivals, n_all, sizes, draws, seed)
        counts = {
            "test_speakers": len(x),
            "left_out": len(test.speakers) - len(x),
            "enroll_speakers": n_all,
            **({"not_enrolled": absent} if (absent := len(test.speakers) - len(enrolled)) else {}),
        }
        names = [test.speakers[s] for s in part.who]
        drawn = np.array([link.per_speaker, *further[part.n_utts]]) if part.n_utts in further else link.drawn
        curve = Curve(
            "linkability",
            part.n_utts,
            sizes,
            names,
            link.per_speaker,
            link.chance,
            estimator,
            counts,
            notes,
            draws=drawn,
        )
        found = curve.records(options)
        scores.records.extend(found)
        if case.population is not None:
            law = linkability_law(compared.rivals.above + compared.rivals.tied, n_all, seed)
            chance = 1 / max(case.population, n_all)
            scores.records.extend(extrapolate(law, found, case.population, chance, options))
        per_speaker.extend(curve.per_speaker())
        for side in case.sides:
            known = _with_side(curve, side, enroll.speakers, references, x, comparison.similarity)
            scores.records.extend(known.records(options) if known else [])
        for eer in compared.eers:
            params = {"N": eer.n_enroll, "L": part.n_utts or "all", "estimator": "rocch"}
            about = {"seed": seed, "chance": 0.5}
            record = Record("one_minus_eer", eer.value, params=params, counts=counts, notes=about)
            scores.records.append(record.with_interval(eer.interval))
    return scores


def _further_draws(
    references: Vectors,
    test: Embeddings,
    owner: Counts,
    comparison: Comparison,
    parts: Sequence[UtteranceGroup],
    sizes: Sequence[int],
    options: Options,
) -> dict[int | None, list[Floats]]:
    """The exact linkability N' × speaker at every L, with other test utterances in each draw after the first."""
    found: dict[int | None, list[Floats]] = {}
    for draw in range(1, options.utt_draws):
        for part in parts:
            if part.n_utts:
                means = test.means(part.who, part.n_utts, options.seed, f"utterances of draw {draw}")
                rivals = count_rivals(references, comparison.test(means), owner[part.who], comparison.similarity)
                link = linkability(rivals, len(references), sizes)
                found.setdefault(part.n_utts, []).append(link.per_speaker)
    return found


def _with_side(
    plain: Curve,
    side: SideInformation,
    enrolled: Sequence[str],
    references: Vectors,
    inputs: Vectors,
    similarity: Similarity,
) -> Curve | None:
    """Linkability of the speakers of a curve for an attacker who knows an attribute of each, exactly."""
    groups = side.groups_of(enrolled)
    place = {spk: i for i, spk in enumerate(enrolled)}
    owner = np.array([place[spk] for spk in plain.speakers])
    known = np.flatnonzero(groups[owner])
    if not len(known):
        return None
    owner = owner[known]
    rivals = count_rivals_within(references, inputs[known], owner, groups, similarity)
    link = linkability(rivals, len(enrolled), plain.sizes)
    rest = np.bincount(groups)[groups[owner]] - 1
    return Curve(
        "linkability_side",
        plain.n_utts,
        plain.sizes,
        [plain.speakers[i] for i in known.tolist()],
        link.per_speaker,
        np.array([picked(len(enrolled), n)[rest].mean() for n in plain.sizes]),
        {"estimator": "exact", "side": side.name, "groups": side.groups},
        {**plain.counts, "test_speakers": len(known)},
        {},
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
        """Numbers of enrolment speakers, of utterances and of draws."""
        drawn = ["--utt-draws", str(PAPER_DRAWS)]
        return ["--n-enroll", f"{self.plan.legal_sizes}?", "--n-utts", f"{self.plan.legal_utts},all?", *drawn]

    def score(self, enroll: Embeddings, test: Embeddings, comparison: Comparison, case: UseCase) -> Scores:
        """Link those who are enrolled."""
        n_enroll = parse_sizes("legal_sizes", None, self.plan.legal_sizes, least=2)
        n_utts = parse_sizes("legal_utts", None, f"{self.plan.legal_utts},all")
        resamples, seed = self.resampling.resamples, self.resampling.seed
        options = Options(resamples, seed, n_enroll=n_enroll, n_utts=n_utts, utt_draws=PAPER_DRAWS)
        return score_linkability(enroll, test.with_speakers(enroll.speakers), comparison, options, case)


def _results(plan: Plan) -> list[LinkabilityResult]:
    return [LinkabilityResult(plan, attack) for attack in plan.attacks]


MEASURE = Measure("linkability", 8, _results)
