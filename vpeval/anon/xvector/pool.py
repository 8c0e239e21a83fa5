"""Step 2 of B1: a pseudo-speaker from the vectors of other people.

Of the pool, N speakers are taken by their affinity to the source speaker (the farthest of them, the nearest, those
where the pool is densest, or any); N* of these are drawn at random and averaged (VPC 2020 plan, section 6.1;
Srivastava et al., Interspeech 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from vpeval.core.arrays import Counts, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_arrays
from vpeval.embeddings.plda import Plda

Proximity = Literal["farthest", "nearest", "dense", "random"]
Gender = Literal["same", "cross", "any"]
Weights = Literal["equal", "random"]
Affinity = Callable[[Floats, Floats], Floats]
PROXIMITIES: tuple[Proximity, ...] = get_args(Proximity)
GENDERS: tuple[Gender, ...] = get_args(Gender)

_CHALLENGE_POOL = 580  # speakers of one gender in LibriTTS train-other-500, for which N = 200 and N* = 100 were meant
_NEIGHBOURHOOD = 4  # of so many speakers, one is a neighbour when density is measured


@dataclass(frozen=True)
class Pool:
    """Speakers to make pseudo-speakers of: their vectors (unit length), genders and mean log F0."""

    speakers: tuple[str, ...]
    vectors: Floats
    genders: tuple[str, ...]
    log_f0: Floats

    def save(self, path: Path) -> None:
        """Write the pool as an .npz file."""
        arrays = {
            "speakers": np.array(self.speakers),
            "vectors": self.vectors,
            "genders": np.array(self.genders),
            "log_f0": self.log_f0,
        }
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Pool:
        """Read what `save` wrote."""
        kinds = {"speakers": 1, "genders": 1, "vectors": 2, "log_f0": 1}
        found = read_arrays(path, "pool", "prepare the anonymiser again (stage 2)", kinds)
        speakers, genders = found["speakers"].tolist(), found["genders"].tolist()
        return cls(tuple(speakers), found["vectors"], tuple(genders), found["log_f0"])


@dataclass(frozen=True)
class Rule:
    """How a pseudo-speaker is chosen; `world` (N) and `region` (N*) are numbers for a pool of the challenge's size."""

    proximity: Proximity = "farthest"
    gender: Gender = "same"
    world: int = 200
    region: int = 100
    weights: Weights = "equal"

    def sizes(self, candidates: int) -> tuple[int, int]:
        """N and N* for a pool with so many candidates.

        >>> Rule().sizes(580), Rule().sizes(4)
        ((200, 100), (3, 2))
        """
        scale = min(1.0, candidates / _CHALLENGE_POOL)
        world = min(candidates, max(3, round(self.world * scale)))
        return world, min(world, max(2, round(self.region * scale)))


@dataclass(frozen=True)
class PseudoSpeaker:
    """A voice that nobody has: vector, mean log F0, and the pool speakers that it was made of."""

    vector: Floats
    log_f0: float
    members: tuple[str, ...]


def plda_affinity(plda: Plda) -> Affinity:
    """Log-likelihood ratio of "these two are one speaker"."""
    return lambda source, others: plda.llr(source[None], np.ones(1, np.int64), others)[0]


def cosine(source: Floats, others: Floats) -> Floats:
    """Cosine of a vector and each of the others."""
    return _unit(others) @ _unit(source)


def choose(
    pool: Pool,
    source: Floats,
    gender: str | None,
    rule: Rule,
    rng: np.random.Generator,
    affinity: Affinity = cosine,
) -> PseudoSpeaker:
    """The pseudo-speaker for a source speaker; `rng` draws N* of N."""
    candidates = _candidates(pool, gender, rule.gender)
    vectors = pool.vectors[candidates]
    world, region = rule.sizes(len(candidates))
    ranked = np.argsort(_rank_values(rule.proximity, source, vectors, affinity, rng), kind="stable")
    chosen = candidates[rng.choice(ranked[:world], region, replace=False)]
    shares = np.full(region, 1 / region) if rule.weights == "equal" else rng.dirichlet(np.ones(region))
    return PseudoSpeaker(
        _unit(shares @ pool.vectors[chosen]),
        float(shares @ pool.log_f0[chosen]),
        tuple(pool.speakers[number] for number in chosen),
    )


def _candidates(pool: Pool, gender: str | None, wanted: Gender) -> Counts:
    genders = np.array(pool.genders)
    if wanted == "any" or gender is None:
        return np.arange(len(genders))
    found = np.flatnonzero((genders == gender) == (wanted == "same"))
    if not len(found):
        raise InputError(f"the pool has no speaker for gender rule '{wanted}' and a source of gender '{gender}'")
    return found


def _rank_values(
    proximity: Proximity,
    source: Floats,
    vectors: Floats,
    affinity: Affinity,
    rng: np.random.Generator,
) -> Floats:
    """The smaller, the rather taken."""
    if proximity == "random":
        return rng.random(len(vectors))
    if proximity == "dense":
        among = np.sort(np.stack([affinity(vector, vectors) for vector in vectors]), axis=1)
        neighbours = max(1, len(vectors) // _NEIGHBOURHOOD)
        return -among[:, -1 - neighbours : -1].mean(axis=1)
    closeness = affinity(source, vectors)
    return closeness if proximity == "farthest" else -closeness


def _unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
