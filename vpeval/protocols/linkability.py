"""Linkability and 1-EER on embedding directories, over numbers N' of enrolment speakers and L of utterances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vpeval.asv.comparison import Comparison
from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.draws import picked
from vpeval.metrics.linkability import linkability
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import count_rivals_within
from vpeval.metrics.vectors import Vectors
from vpeval.protocols.curve import Curve, warn_of_shared_utts
from vpeval.protocols.extrapolation import carry_on, linkability_law
from vpeval.protocols.side import NOTHING_ELSE, Side, UseCase, candidates
from vpeval.protocols.sizes import Sizes, conversations, parse_sizes
from vpeval.protocols.speaker_values import Scores
from vpeval.records.record import Record


def score_linkability(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    n_enroll: Sizes,
    n_utts: Sizes,
    draws: int,
    resamples: int,
    seed: int,
    case: UseCase = NOTHING_ELSE,
) -> Scores:
    """Linkability and 1-EER for every N' and L; speakers are enrolled by all of their utterances.

    Test speakers who are not enrolled cannot be linked: they are left out and counted. Enrolment speakers without test
    utterances are distractors. `case` adds linkability with side information, and for more speakers than there are.
    """
    owner = enroll.places(test)
    enrolled = np.flatnonzero(owner >= 0)
    if not len(enrolled):
        raise InputError(f"none of the speakers is enrolled in {enroll.directory}", test.directory / "utt2spk")
    warn_of_shared_utts(enroll, test)
    n_all = len(enroll.speakers)
    if n_all < 2:
        raise InputError("linkability needs at least two enrolment speakers", enroll.directory / "utt2spk")
    sizes = n_enroll.up_to(n_all, f"enrolment speakers in {enroll.directory}")
    parts = conversations(n_utts, test, enrolled)
    references = comparison.enroll(enroll, np.arange(n_all))
    estimator = {"estimator": "drawn", "draws": draws} if draws else {"estimator": "exact"}
    notes = {"seed": seed} if draws else {}
    scores = Scores([], [])
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
        curve = Curve("linkability", part.n_utts, sizes, names, link.per_speaker, link.chance, estimator, counts, notes)
        found = curve.records(resamples, seed)
        scores.records.extend(found)
        if case.population is not None:
            law = linkability_law(compared.rivals.above + compared.rivals.tied, n_all, seed)
            chance = 1 / max(case.population, n_all)
            scores.records.extend(carry_on(law, found, case.population, chance, resamples, seed))
        scores.per_speaker.extend(curve.per_speaker())
        for side in case.sides:
            scores.records.extend(_with_side(curve, side, enroll.speakers, references, x, comparison, resamples, seed))
        for eer in compared.eers:
            params = {"N": eer.n_enroll, "L": part.n_utts or "all", "estimator": "rocch"}
            known = {"seed": seed, "chance": 0.5}
            record = Record("one_minus_eer", eer.value, params=params, counts=counts, notes=known)
            scores.records.append(eer.interval.of(record))
    return scores


def _with_side(
    plain: Curve,
    side: Side,
    enrolled: Sequence[str],
    references: Vectors,
    inputs: Vectors,
    comparison: Comparison,
    resamples: int,
    seed: int,
) -> list[Record]:
    """Linkability of the speakers of a curve for an attacker who knows an attribute of each, exactly."""
    groups = side.with_speakers(enrolled)
    place = {spk: i for i, spk in enumerate(enrolled)}
    owner = np.array([place[spk] for spk in plain.speakers])
    known = np.flatnonzero(groups[owner])
    if not len(known):
        return []
    owner = owner[known]
    rivals = count_rivals_within(references, inputs[known], owner, groups, comparison.similarity)
    link = linkability(rivals, len(enrolled), plain.sizes)
    rest = np.bincount(groups)[groups[owner]] - 1
    curve = Curve(
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
    return curve.records(resamples, seed)


def of_recipe(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    sizes: str,
    utts: str,
    case: UseCase,
    resamples: int,
    seed: int,
) -> Scores:
    """Linkability over the sizes and numbers of utterances of a recipe, and with all utterances of a speaker.

    What a recipe asks for and a part of its corpus does not have is left out.
    """
    n_enroll = parse_sizes("legal_sizes", None, sizes, least=2)
    n_utts = parse_sizes("legal_utts", None, f"{utts},all")
    return score_linkability(enroll, test, comparison, n_enroll, n_utts, 0, resamples, seed, case)
