"""Speaker linkability by ear: listeners place utterances of similar voices close together on a board.

The distance of two points is the perceived dissimilarity (VoicePrivacy 2020 evaluation plan, section 5.2.2), divided by
the mean distance of the board, because listeners use the field differently. Results are the clustering accuracy
(average linkage, as many clusters as speakers, best assignment), EER and D_sys of same-speaker against
different-speaker pairs, and a map of the mean distances (classical scaling).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vpeval.core.seeds import generator
from vpeval.listening.answers import Floats, PlacedBoard
from vpeval.listening.ratings import Estimate, make_record, reweighted
from vpeval.metrics.intervals import Interval, multiplicities, percentile_interval, widened
from vpeval.metrics.score_metrics import dsys, dsys_null
from vpeval.metrics.scores import eer_threshold, pool
from vpeval.records.record import Record

_SHUFFLES = 200


def distances(board: PlacedBoard) -> Floats:
    """Distances of all points, in units of their mean; zero where all points coincide."""
    gap = board.positions[:, None] - board.positions[None]
    matrix = np.sqrt(np.square(gap).sum(axis=-1))
    count = len(matrix)
    mean = matrix.sum() / (count * (count - 1))
    return matrix / mean if mean > 0 else matrix


def cluster_accuracy(board: PlacedBoard) -> float:
    """The share of points in the cluster of their speaker, under the best assignment of clusters to speakers."""
    return _best_share(_clusters(board), board.spks)


def _clusters(board: PlacedBoard) -> np.ndarray:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distances(board), checks=False), "average")
    return np.asarray(fcluster(tree, len(set(board.spks)), "maxclust"))


def _best_share(clusters: np.ndarray, spks: Sequence[str]) -> float:
    from scipy.optimize import linear_sum_assignment

    _, column = np.unique(np.asarray(spks), return_inverse=True)
    table = np.zeros((clusters.max(), column.max() + 1), dtype=np.int64)
    np.add.at(table, (clusters - 1, column), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(spks))


def _chance(board: PlacedBoard, seed: int) -> float:
    """The accuracy of the same clusters for shuffled speakers."""
    clusters = _clusters(board)
    rng = generator(seed, "chance", board.listener, board.system, *board.utts)
    spks = np.asarray(board.spks)
    return float(np.mean([_best_share(clusters, rng.permutation(spks).tolist()) for _ in range(_SHUFFLES)]))


def linking_records(
    boards: Sequence[PlacedBoard], resamples: int, seed: int, notes: Mapping[str, object]
) -> list[Record]:
    """All linkability records, system by system; intervals over listeners."""
    records = []
    for system in dict.fromkeys(board.system for board in boards):
        own = [board for board in boards if board.system == system]
        records += _system_records(own, resamples, seed, notes)
    return records


def pair_scores(boards: Sequence[PlacedBoard]) -> tuple[Floats, np.ndarray, np.ndarray]:
    """For every pair of points of every board: minus its distance, whether it is one speaker, and its board."""
    scores, same, number = [], [], []
    for k, board in enumerate(boards):
        i, j = np.triu_indices(len(board.spks), 1)
        spks = np.asarray(board.spks)
        scores.append(-distances(board)[i, j])
        same.append(spks[i] == spks[j])
        number.append(np.full(len(i), k))
    return np.concatenate(scores), np.concatenate(same), np.concatenate(number)


def _system_records(
    boards: Sequence[PlacedBoard], resamples: int, seed: int, notes: Mapping[str, object]
) -> list[Record]:
    system = boards[0].system
    accuracy = np.array([cluster_accuracy(board) for board in boards])
    score, same, number = pair_scores(boards)
    pooled = pool(score[same], score[~same])
    listeners = sorted({board.listener for board in boards})
    owner = np.array([listeners.index(board.listener) for board in boards])
    samples = []
    for weight in multiplicities(len(listeners), resamples, generator(seed, "boards", system))[:, owner]:
        again = reweighted(pooled, score, same, weight[number])
        samples.append((np.average(accuracy, weights=weight), eer_threshold(again).value, dsys(again)))
    counts = {
        "boards": len(boards),
        "listeners": len(listeners),
        "speakers": len({spk for board in boards for spk in board.spks}),
        "targets": int(same.sum()),
        "nontargets": int((~same).sum()),
    }
    values = (float(accuracy.mean()), eer_threshold(pooled).value, dsys(pooled))
    ends: list[Interval | None] = [None] * 3
    if resamples:
        columns = zip(*samples, strict=True)
        # All three go from 0 to 1.
        ends = [
            widened(percentile_interval(column), value, 0, 1, len(listeners))
            for column, value in zip(columns, values, strict=True)
        ]
    kind = {"interval": "listener bootstrap"} if resamples else {}
    null = dsys_null(pooled, seed=seed)
    chance = float(np.mean([_chance(board, seed) for board in boards]))
    found = (
        ("listening_cluster_accuracy", values[0], ends[0], {**kind, "chance": chance}),
        ("listening_distance_eer", values[1], ends[1], {**kind, "chance": 0.5}),
        ("listening_dsys", values[2], ends[2], {**kind, "floor": null.mean}),
        ("listening_dsys_null", null.mean, *_of_permutations(null.interval)),
    )
    place, params = (system, "", ""), {"task": "board"}
    return [
        make_record(name, Estimate(value, interval, counts), place, params, {**notes, **own})
        for name, value, interval, own in found
    ]


def _of_permutations(interval: Interval) -> tuple[Interval | None, dict[str, str]]:
    """Their interval; none where all permutations agree, as with few points."""
    return (interval, {"interval": "label permutation"}) if interval.lower < interval.upper else (None, {})


def mean_map(boards: Sequence[PlacedBoard]) -> dict[str, Any]:
    """The board of a system that most listeners answered, as one map: classical scaling of the mean distances."""
    by_utts: dict[tuple[str, ...], list[PlacedBoard]] = {}
    for board in boards:
        by_utts.setdefault(tuple(sorted(board.utts)), []).append(board)
    utts, chosen = max(by_utts.items(), key=lambda item: (len(item[1]), item[0]))
    mean = np.zeros((len(utts), len(utts)))
    for board in chosen:
        order = [board.utts.index(utt) for utt in utts]
        mean += distances(board)[np.ix_(order, order)] / len(chosen)
    spk_of = dict(zip(chosen[0].utts, chosen[0].spks, strict=True))
    names = sorted(set(spk_of.values()))
    # Speakers are numbered: a figure needs no identities.
    speakers = [names.index(spk_of[utt]) + 1 for utt in utts]
    return {"points": _classical_scaling(mean).round(4).tolist(), "speakers": speakers, "listeners": len(chosen)}


def _classical_scaling(matrix: Floats) -> Floats:
    """Points in two dimensions with distances close to those of the matrix (Torgerson 1952); signs are fixed."""
    centre = np.eye(len(matrix)) - 1 / len(matrix)
    values, vectors = np.linalg.eigh(-0.5 * centre @ np.square(matrix) @ centre)
    top = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    biggest = np.abs(top).argmax(axis=0)
    return top * np.where(top[biggest, range(2)] < 0, -1, 1)
