"""Seeded choices that depend on names only: not on order, locale, hash seed or what else is drawn."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.core.seeds import generator


def shuffled(items: Iterable[str], seed: int, purpose: str, name: str) -> list[str]:
    """The distinct `items` in an order of its own for every (seed, purpose, name)."""
    ordered = sorted(set(items))
    return [ordered[i] for i in generator(seed, purpose, name).permutation(len(ordered))]


def draw(items: Iterable[str], count: int, seed: int, purpose: str, name: str) -> list[str]:
    """`count` of the distinct `items` (all, if there are fewer), sorted."""
    return sorted(shuffled(items, seed, purpose, name)[:count])
