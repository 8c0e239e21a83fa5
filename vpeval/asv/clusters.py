"""k-means (Lloyd, 1982) with seeds as Arthur & Vassilvitskii (2007) draw them: centres that stand for many frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vectors = NDArray[np.floating]

_ROWS = 4096


def nearest(frames: Vectors, centres: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The index of the nearest centre of every frame (the first of equals), and the squared distance to it."""
    index, distance = np.empty(len(frames), np.int64), np.empty(len(frames))
    lengths = np.square(centres).sum(axis=1)
    for start in range(0, len(frames), _ROWS):
        rows = np.asarray(frames[start : start + _ROWS], np.float64)
        apart = lengths - 2 * (rows @ centres.T)
        index[start : start + len(rows)] = best = apart.argmin(axis=1)
        distance[start : start + len(rows)] = apart[np.arange(len(rows)), best] + np.square(rows).sum(axis=1)
    return index, np.maximum(distance, 0)


def find_centres(frames: Vectors, count: int, iterations: int, rng: np.random.Generator) -> Floats:
    """`count` centres of the frames; fewer than `iterations` rounds are made where nothing moves any more.

    A centre that no frame is nearest to goes to the frame that is farthest from its own.
    """
    if len(frames) < count:
        raise ValueError(f"{len(frames)} frames for {count} centres")
    centres = _seeds(frames, count, rng)
    owner = np.full(len(frames), -1)
    for _ in range(iterations):
        found, distance = nearest(frames, centres)
        if np.array_equal(found, owner):
            break
        owner = found
        sizes = np.bincount(owner, minlength=count)
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        farthest = iter(np.argsort(-distance, kind="stable"))
        for centre in range(count):
            own = order[starts[centre] : starts[centre + 1]]
            centres[centre] = (
                frames[own].mean(axis=0, dtype=np.float64) if len(own) else np.asarray(frames[next(farthest)])
            )
    return centres


def _seeds(frames: Vectors, count: int, rng: np.random.Generator) -> Floats:
    """Frames drawn one after the other, each with a probability in proportion to its squared distance to the others."""
    chosen = [int(rng.integers(len(frames)))]
    distance = np.full(len(frames), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, nearest(frames, np.asarray(frames[chosen[-1:]], np.float64))[1])
        total = np.cumsum(distance)
        if total[-1] <= 0:
            raise ValueError(f"only {len(chosen)} different frames for {count} centres")
        chosen.append(int(np.searchsorted(total, rng.random() * total[-1], side="right").clip(0, len(frames) - 1)))
    return np.asarray(frames[chosen], np.float64)
