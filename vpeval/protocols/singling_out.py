"""Singling out on embedding directories, over numbers N of test speakers and L of utterances per test vector.

What is drawn anew: in every draw the utterances of each fold, which all enrolment speakers of the draw share, and for
every enrolment speaker the test speakers, those of a smaller N being among those of a larger one. The enrolment
speakers (495 in the paper) and their utterances are drawn once; where some have too few test utterances for a larger L,
the next in the same order take their places.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vpeval.asv.comparison import Comparison
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.singling_out import singling_out_within
from vpeval.protocols.curve import Curve, warn_of_shared_utts
from vpeval.protocols.extrapolation import carry_on, singling_out_law
from vpeval.protocols.side import NOTHING_ELSE, Side, UseCase, candidates
from vpeval.protocols.sizes import Conversation, Sizes, conversations, parse_sizes
from vpeval.protocols.speaker_values import Scores

_LONG = 1_000_000  # pairs of speakers from which on a draw takes long enough to be announced

MOST_FOLDS = 10


@dataclass(frozen=True)
class SinglingOutOptions:
    """How enrolment speakers are made and how often test speakers are drawn; the defaults are those of the paper."""

    n_enroll: int = 495
    n_enroll_chosen: bool = False
    enroll_utts: int = 30
    draws: int = 5


def score_singling_out(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    n_speakers: Sizes,
    n_utts: Sizes,
    options: SinglingOutOptions,
    resamples: int,
    seed: int,
    case: UseCase = NOTHING_ELSE,
) -> Scores:
    """Singling out for every N and L.

    An attack on an enrolment speaker needs that speaker among the test speakers: those who are not there are left out
    and counted. A speaker with fewer than 2·L test utterances takes no part at L, neither as test speaker nor enrolled.
    `case` adds singling out with side information, and among more speakers than there are.
    """
    place = test.places(enroll)
    if (place < 0).all():
        raise InputError(f"none of the speakers is in {test.directory}", enroll.directory / "utt2spk")
    warn_of_shared_utts(enroll, test)
    scores = Scores([], [])
    for part in conversations(n_utts, test, np.arange(len(test.speakers)), vectors=2, speakers=2):
        plain, *others = _curves(enroll, test, comparison, place, part, n_speakers, options, seed, case.sides)
        found = plain.records(resamples, seed)
        scores.records.extend(found)
        if case.population is not None:
            law = singling_out_law(plain.sizes, plain.values, plain.chance)
            scores.records.extend(carry_on(law, found, case.population, float(plain.chance[-1]), resamples, seed))
        scores.records.extend(record for curve in others for record in curve.records(resamples, seed))
        scores.per_speaker.extend(plain.per_speaker())
    return scores


def _curves(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    place: NDArray[np.int64],
    part: Conversation,
    n_speakers: Sizes,
    options: SinglingOutOptions,
    seed: int,
    sides: Sequence[Side],
) -> list[Curve]:
    """The plain curve, and one for every side information that is had of somebody."""
    n_utts = part.n_utts or 1
    who = part.who
    sizes = n_speakers.up_to(len(who), f"speakers with {2 * n_utts} utterances in {test.directory}")
    able = np.flatnonzero(np.isin(place, who))
    if not len(able):
        raise InputError(f"no enrolment speaker has {2 * n_utts} utterances in {test.directory}", enroll.directory)
    if options.n_enroll_chosen and options.n_enroll > len(able):
        raise InputError(
            f"--n-enroll {options.n_enroll}: only {len(able)} enrolment speakers have {2 * n_utts} test utterances; "
            f"ask for at most {len(able)}"
        )
    # One order of all enrolment speakers for every L: who is chosen at one L is so at the next, if able to.
    order = generator(seed, "enrolment speakers").permutation(len(place))
    chosen = np.sort(order[np.isin(order, able)][: options.n_enroll])
    vectors = comparison.enroll(enroll, chosen, options.enroll_utts, seed)
    owner = np.searchsorted(who, place[chosen])

    names = [test.speakers[s] for s in who]
    groups = [np.zeros(len(who), np.int64), *(side.of(names) for side in sides)]
    draws = []
    for draw in range(options.draws):
        if len(chosen) * len(test.speakers) >= _LONG:
            logging.info("singling out: L = %d, draw %d of %d", n_utts, draw + 1, options.draws)
        folds, counts = test.folds(who, n_utts, MOST_FOLDS, seed, f"folds of draw {draw}")
        folds = comparison.test(folds)
        draws.append(
            singling_out_within(vectors, owner, folds, counts, sizes, groups, seed, draw, comparison.similarity)
        )
    speakers = [enroll.speakers[s] for s in chosen]
    plain = Curve(
        "singling_out",
        part.n_utts,
        sizes,
        speakers,
        np.mean([found[0].per_speaker for found in draws], axis=0),
        np.mean([found[0].chance for found in draws], axis=0),
        {"draws": options.draws},
        {
            "enroll_speakers": len(chosen),
            "test_speakers": len(who),
            "left_out": len(test.speakers) - len(who),
            "short_enroll": int(np.count_nonzero(enroll.counts[chosen] < options.enroll_utts)),
            "short_test": int(np.count_nonzero(counts < MOST_FOLDS)),
            **({"enroll_left_out": absent} if (absent := int(np.count_nonzero(place < 0))) else {}),
        },
        {"seed": seed, "folds": int(counts.max()), "paper_chance": math.exp(-1)},
    )
    curves = [plain]
    for number, (side, of) in enumerate(zip(sides, groups[1:], strict=True), start=1):
        known = np.flatnonzero(of[owner])
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
                    notes={"seed": seed, "folds": int(counts.max())},
                    candidates=[float(candidates(of, owner[known], n).mean()) for n in sizes],
                )
            )
    return curves


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
    """Singling out over the sizes and numbers of utterances of a recipe, with the paper's enrolment and draws.

    What a recipe asks for and a part of its corpus does not have is left out.
    """
    n_speakers = parse_sizes("legal_sizes", None, sizes, least=2)
    n_utts = parse_sizes("legal_utts", None, utts, has_all=False)
    return score_singling_out(enroll, test, comparison, n_speakers, n_utts, SinglingOutOptions(), resamples, seed, case)
