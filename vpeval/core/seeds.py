"""Seeds from names: SHA-256 of what a random choice is for, so that nothing depends on order, locale or hash seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

Level = Literal["spk", "utt"]


def derive(*parts: object) -> int:
    """A 64-bit seed for the given names.

    >>> derive(0, "trial", "f002") == derive(0, "trial", "f002") != derive(0, "enroll", "f002")
    True
    """
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little")


def generator(*parts: object) -> np.random.Generator:
    """A random generator of its own for the given names."""
    return np.random.default_rng(derive(*parts))


def utt2seed(utt2spk: Mapping[str, str], base: int, role: str, level: Level) -> dict[str, str]:
    """The seed of every utterance for an anonymiser.

    At speaker level the utterances of a speaker share a seed; enrolment, trial and training sets (`role`) never do.
    """
    return {utt: str(derive(base, role, level, spk if level == "spk" else utt)) for utt, spk in utt2spk.items()}


def shuffled(items: Iterable[str], seed: int, purpose: str, name: str) -> list[str]:
    """The distinct `items` in an order of its own for every (seed, purpose, name)."""
    ordered = sorted(set(items))
    return [ordered[i] for i in generator(seed, purpose, name).permutation(len(ordered))]


def draw(items: Iterable[str], count: int, seed: int, purpose: str, name: str) -> list[str]:
    """`count` of the distinct `items` (all, if there are fewer), sorted."""
    return sorted(shuffled(items, seed, purpose, name)[:count])
