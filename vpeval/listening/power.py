"""How many listeners are needed to see a difference: simulation on the design itself.

Listeners who judge as `vpeval.listening.simulate` says hear the pages that the design gives them; one system is better
than all others by the wanted difference. The difference is seen when its Mann-Whitney p value, multiplied by the number
of all tests of the analysis, is below the level. Holm's correction never asks for more, so that the power of the real
analysis is at least the planned one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from vpeval.core.seeds import generator
from vpeval.listening.design import Page, Plan, draw_design
from vpeval.listening.material import Material
from vpeval.listening.opinions import GROUPS
from vpeval.listening.simulate import MIDDLE, Habits, rate
from vpeval.metrics.mann_whitney import mann_whitney
from vpeval.metrics.normalised_rank import ranks_within

MOST = 3000


@dataclass(frozen=True)
class Wish:
    """What is to be seen: a difference in points, with which chance, at which level of the corrected tests."""

    difference: float = 1.0
    power: float = 0.8
    alpha: float = 0.01
    simulations: int = 200
    seed: int = 0


@dataclass(frozen=True)
class Needed:
    """The smallest number of listeners that reaches the power; None where `MOST` do not."""

    group: str
    listeners: int | None
    power: float


def needed_listeners(
    material: Material, plan: Plan, wish: Wish, habits: Habits, said: Callable[[str], None] = lambda _: None
) -> list[Needed]:
    """The answer for naturalness and intelligibility (all pages), and for similarity (half of them)."""
    return [_search(material, plan, wish, habits, group, said) for group in ("naturalness", "similarity_same")]


def simulated_power(pages: Sequence[Page], systems: Sequence[str], wish: Wish, habits: Habits, group: str) -> float:
    """The share of simulated experiments in which the last system is told from the one before it."""
    task, kind = GROUPS[group]
    rated = [page for page in pages if page.kind == "rating"]
    clips = {clip: i for i, clip in enumerate(dict.fromkeys(page.clips[0] for page in rated))}
    listener = np.array([page.listener for page in rated], dtype=np.intp)
    recording = np.array([clips[page.clips[0]] for page in rated], dtype=np.intp)
    system = np.array([systems.index(page.system) for page in rated], dtype=np.intp)
    counted = np.array([kind is None or (page.label == "target") == kind for page in rated])
    last = len(systems) - 1
    shift = wish.difference * ((system == last) & counted)
    mean = MIDDLE - wish.difference / 2 + shift
    tests = len(GROUPS) * comb(len(systems), 2)
    seen = 0
    for k in range(wish.simulations):
        rng = generator(wish.seed, "power", group, task, k)
        scores = ranks_within(rate(mean, listener, recording, habits, rng), listener)
        test = mann_whitney(scores[(system == last) & counted], scores[(system == last - 1) & counted])
        seen += tests * test.p_value < wish.alpha
    return seen / wish.simulations


def _search(
    material: Material, plan: Plan, wish: Wish, habits: Habits, group: str, said: Callable[[str], None]
) -> Needed:
    """Double until the power is reached, then halve the interval."""
    low, size = 0, 4
    while True:
        drawn = draw_design(material, replace(plan, listeners=size, boards=0), wish.seed)

        def power(listeners: int, drawn: Sequence[Page] = drawn) -> float:
            pages = [page for page in drawn if page.listener < listeners]
            value = simulated_power(pages, material.systems, wish, habits, group)
            said(f"{group}: {listeners} listeners, power {value:.2f}")
            return value

        reached = power(size)
        if reached >= wish.power:
            break
        if size >= MOST:
            return Needed(group, None, reached)
        low, size = size, min(MOST, 2 * size)
    high = size
    while high - low > 1:
        middle = (low + high) // 2
        found = power(middle)
        if found >= wish.power:
            high, reached = middle, found
        else:
            low = middle
    return Needed(group, high, reached)
