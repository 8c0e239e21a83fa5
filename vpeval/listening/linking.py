"""Speaker linkability by ear: utterances that a listener placed close together were taken for one speaker.

The distance of two points is the perceived dissimilarity (VoicePrivacy 2020 evaluation plan, section 5.2.2), divided by
the mean distance of the board, as listeners use the field differently. From the distances: how well the points fall
apart into the speakers (average linkage, cut into as many clusters as there are speakers, best assignment), the EER and
D_sys of same-speaker against different-speaker pairs, and a map of the mean distances (classical scaling).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vpeval.core.seeds import generator
from vpeval.listening.describe import make_record
from vpeval.listening.responses import Floats, Placing
from vpeval.metrics.bootstrap import Interval, multiplicities, percentile_interval
from vpeval.metrics.dsys import dsys, dsys_null
from vpeval.metrics.eer import eer_threshold
from vpeval.metrics.scores import PooledScores, pool
from vpeval.records.record import Record

_SHUFFLES = 200


def distances(placing: Placing) -> Floats:
    """Distances of all points of a board, in units of their mean; zero where all lie in one place."""
    gap = placing.positions[:, None] - placing.positions[None]
    matrix = np.sqrt(np.square(gap).sum(axis=-1))
    count = len(matrix)
    mean = matrix.sum() / (count * (count - 1))
    return matrix / mean if mean > 0 else matrix


def cluster_accuracy(matrix: Floats, spks: Sequence[str]) -> float:
    """The share of points in the cluster of their speaker, under the best assignment of clusters to speakers."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    clusters = fcluster(linkage(squareform(matrix, checks=False), "average"), len(set(spks)), "maxclust")
    return _best_share(clusters, spks)


def _best_share(clusters: np.ndarray, spks: Sequence[str]) -> float:
    from scipy.optimize import linear_sum_assignment

    _, column = np.unique(np.asarray(spks), return_inverse=True)
    table = np.zeros((clusters.max(), column.max() + 1), dtype=np.int64)
    np.add.at(table, (clusters - 1, column), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(spks))


def linking_records(
    placings: Sequence[Placing], resamples: int, seed: int, notes: Mapping[str, object]
) -> list[Record]:
    """All linkability records, system by system; intervals over listeners."""
    records = []
    for system in dict.fromkeys(placing.system for placing in placings):
        own = [placing for placing in placings if placing.system == system]
        records += _system_records(system, own, resamples, seed, notes)
    return records


def pair_scores(placings: Sequence[Placing]) -> tuple[Floats, np.ndarray, np.ndarray]:
    """For every pair of points of every board: minus its distance, whether it is one speaker, and its board."""
    scores, same, board = [], [], []
    for k, placing in enumerate(placings):
        i, j = np.triu_indices(len(placing.spks), 1)
        spks = np.asarray(placing.spks)
        scores.append(-distances(placing)[i, j])
        same.append(spks[i] == spks[j])
        board.append(np.full(len(i), k))
    return np.concatenate(scores), np.concatenate(same), np.concatenate(board)


def _system_records(
    system: str, placings: Sequence[Placing], resamples: int, seed: int, notes: Mapping[str, object]
) -> list[Record]:
    accuracy = np.array([cluster_accuracy(distances(placing), placing.spks) for placing in placings])
    chance = np.mean([_chance(placing, seed) for placing in placings])
    score, same, board = pair_scores(placings)
    pooled = pool(score[same], score[~same])
    listeners = sorted({placing.listener for placing in placings})
    owner = np.array([listeners.index(placing.listener) for placing in placings])
    drawn = multiplicities(len(listeners), resamples, generator(seed, "boards", system))[:, owner]
    samples = np.array([_resampled(pooled, score, same, board, accuracy, weight) for weight in drawn]).reshape(-1, 3)
    counts = {
        "boards": len(placings),
        "listeners": len(listeners),
        "speakers": len({spk for placing in placings for spk in placing.spks}),
        "targets": int(same.sum()),
        "nontargets": int((~same).sum()),
    }

    def record(name: str, value: float, interval: Interval | None, own: Mapping[str, object]) -> Record:
        return make_record(
            name, value, interval, system, params={"task": "board"}, notes={**notes, **own}, counts=counts
        )

    ends = [percentile_interval(column) for column in samples.T] if resamples else [None] * 3
    over = {"interval": "listener bootstrap"} if resamples else {}
    null = dsys_null(pooled, seed=seed)
    return [
        record("listening_cluster_accuracy", float(accuracy.mean()), ends[0], {**over, "chance": float(chance)}),
        record("listening_distance_eer", eer_threshold(pooled).value, ends[1], {**over, "chance": 0.5}),
        record("listening_dsys", dsys(pooled), ends[2], {**over, "floor": null.mean}),
        record("listening_dsys_null", null.mean, null.interval, {"interval": "label permutation"}),
    ]


def _resampled(
    pooled: PooledScores, score: Floats, same: np.ndarray, board: np.ndarray, accuracy: Floats, weight: np.ndarray
) -> tuple[float, float, float]:
    position = np.searchsorted(pooled.score, score)
    targets, nontargets = (
        np.bincount(position, weight[board] * mask, len(pooled.score)).astype(np.int64) for mask in (same, ~same)
    )
    again = pooled.reweighted(targets, nontargets)
    return float(np.average(accuracy, weights=weight)), eer_threshold(again).value, dsys(again)


def _chance(placing: Placing, seed: int) -> float:
    """The accuracy of clusters of the same sizes that know nothing: speakers shuffled."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    matrix = distances(placing)
    clusters = fcluster(linkage(squareform(matrix, checks=False), "average"), len(set(placing.spks)), "maxclust")
    rng = generator(seed, "chance", placing.listener, placing.system, *placing.utts)
    spks = np.asarray(placing.spks)
    return float(np.mean([_best_share(clusters, rng.permutation(spks).tolist()) for _ in range(_SHUFFLES)]))


def listeners_map(placings: Sequence[Placing]) -> dict[str, Any] | None:
    """The most judged board of a system as one map: classical scaling of the mean distances, speaker by point."""
    boards: dict[tuple[str, ...], list[Placing]] = {}
    for placing in placings:
        boards.setdefault(tuple(sorted(placing.utts)), []).append(placing)
    if not boards:
        return None
    utts, chosen = max(boards.items(), key=lambda item: (len(item[1]), item[0]))
    mean = np.zeros((len(utts), len(utts)))
    spk_of: dict[str, str] = {}
    for placing in chosen:
        order = [placing.utts.index(utt) for utt in utts]
        mean += distances(placing)[np.ix_(order, order)] / len(chosen)
        spk_of |= dict(zip(placing.utts, placing.spks, strict=True))
    points = _classical_scaling(mean)
    names = sorted(set(spk_of.values()))
    # Speakers are numbered: a figure needs no identities.
    speakers = [names.index(spk_of[utt]) + 1 for utt in utts]
    return {"points": points.round(4).tolist(), "speakers": speakers, "listeners": len(chosen)}


def _classical_scaling(matrix: Floats) -> Floats:
    """Two coordinates whose distances come near those of the matrix (Torgerson 1952); signs are fixed."""
    centre = np.eye(len(matrix)) - 1 / len(matrix)
    values, vectors = np.linalg.eigh(-0.5 * centre @ np.square(matrix) @ centre)
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    biggest = np.abs(top).argmax(axis=0)
    return top * np.where(top[biggest, range(2)] < 0, -1, 1)
