"""The statistics of listening tests on cases that are computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr
from toy import SYSTEMS, toy_material, toy_test

from vpeval.listening import simulate
from vpeval.listening.analysis import MetricPair, _correlation_records, _fisher, pair_metrics
from vpeval.listening.answers import Names, PlacedBoard, Ratings, Responses
from vpeval.listening.boards import linking_records, mean_map, pair_scores
from vpeval.listening.design import DesignOptions, draw_design
from vpeval.listening.exclusion import _agreement, _is_constant, check_listeners
from vpeval.listening.ratings import (
    Draws,
    _interval,
    compare_systems,
    difference_records,
    mean_records,
    verification_records,
)
from vpeval.listening.simulate import PowerTarget, Quality, Spread, required_listeners, simulate_answers
from vpeval.metrics.intervals import Interval
from vpeval.metrics.paired import mann_whitney
from vpeval.records.record import Record

NAMES = Names(("original", "zorro"), (("s", "f"), ("s", "m")), ("a", "b"))
ROWS = [  # listener, system, cell, is_target, spk, enroll, score
    (0, 0, 0, True, 0, 0, 0.9),
    (0, 0, 1, False, 1, 0, 0.2),
    (1, 1, 0, True, 0, 0, 0.4),
    (1, 1, 1, False, 0, 1, 0.1),
    (0, 1, 0, True, 1, 1, 0.5),
    (1, 0, 0, False, 0, 1, 0.3),
]


def ratings(rows):
    listener, system, cell, is_target, spk, enroll, score = map(np.array, zip(*rows, strict=True))
    return Ratings(NAMES, listener, system, cell, is_target, spk, enroll, 10 * score, score)


TABLES = dict.fromkeys(("naturalness", "similarity", "intelligibility"), ratings(ROWS))
ONE_DRAW = Draws(np.array([[1, 2]]), np.array([[1, 3]]))
TWO_DRAWS = Draws(np.array([[1, 2], [1, 1]]), np.array([[1, 3], [1, 1]]))
"""That draw, and everybody once: the ends of an interval of two resamples are that of the draw and the value."""


def find(records, metric, system, set_="", gender="", **params):
    (found,) = [
        r
        for r in records
        if (r.metric, r.system, r.set, r.gender) == (metric, system, set_, gender)
        and params.items() <= r.params.items()
    ]
    return found


def test_a_rating_counts_as_often_as_its_listener_and_its_speakers_are_drawn():
    (single,) = ONE_DRAW.weights(ratings(ROWS), pairs=False)
    assert single.tolist() == [1, 3, 2, 2, 3, 2]
    (pairs,) = ONE_DRAW.weights(ratings(ROWS), pairs=True)
    assert pairs.tolist() == [1, 3, 2, 6, 3, 6]


def test_means_and_their_resamples_are_weighted_means():
    records = mean_records(TABLES, TWO_DRAWS, {})
    ranks = {"scores": "normalised rank"}
    for metric, system, value, resampled in (
        ("naturalness", "original", 1.4 / 3, 2.1 / 6),
        ("naturalness", "zorro", 1.0 / 3, 2.5 / 7),
        ("similarity_same", "zorro", 0.45, 2.3 / 5),
        ("similarity_different", "original", 0.25, 2.4 / 9),
    ):
        record = find(records, f"listening_{metric}", system, **ranks)
        assert record.value == pytest.approx(value)
        assert [record.lower, record.upper] == pytest.approx(sorted((resampled, value)))
        assert record.condition == ("oo" if system == "original" else "oa")
    assert find(records, "listening_naturalness", "zorro", "s", "f", **ranks).value == pytest.approx(0.45)
    assert find(records, "listening_naturalness", "original", "s", "m", **ranks).value == pytest.approx(0.2)
    assert find(records, "listening_naturalness", "zorro", "s", "m", scores="1 to 10").value == pytest.approx(1)


def test_a_difference_is_that_of_the_system_and_the_one_it_is_compared_with():
    comparisons = compare_systems(TABLES)
    first = comparisons[0]
    assert (first.group, first.system, first.versus, first.test.u) == ("naturalness", "zorro", "original", 4)
    record = find(
        difference_records(TABLES, comparisons, TWO_DRAWS, {}), "listening_difference", "zorro", group="naturalness"
    )
    assert record.value == pytest.approx(-0.4 / 3)
    assert [record.lower, record.upper] == pytest.approx(sorted((record.value, 2.5 / 7 - 0.35)))
    assert record.counts["ratings"] == 6 and record.notes["u"] == 4


def test_same_speaker_pairs_are_the_targets_of_the_eer_and_of_its_resamples():
    record = find(verification_records(TABLES["similarity"], ONE_DRAW, {}), "listening_eer", "zorro")
    # Resamples agree; of two listeners and two speakers, up to 1 - 0.025^(1/2) of others may be taken for somebody else.
    assert (record.value, record.lower, record.upper) == pytest.approx((0, 0, 1 - 0.025**0.5))
    assert (record.counts["targets"], record.counts["nontargets"]) == (2, 1)


def test_an_interval_requires_a_value_in_half_of_the_resamples():
    about = 0.5, (0, 1), {"listeners": 1, "speakers": 9}
    assert _interval(np.array([0, 1, np.nan, np.nan]), *about) == Interval(0, 1)
    assert _interval(np.array([1, np.nan, np.nan]), *about) is None
    assert _interval(np.array([]), *about) is None
    same = _interval(np.array([0.5, 0.5 + 1e-16]), *about)
    assert (same.lower, same.upper) == pytest.approx((0.0125, 0.9875))


def board(listener, positions, spks="aab", utts="123"):
    return PlacedBoard(listener, "x", tuple(utts), tuple(spks), np.array(positions, dtype=float))


def test_pairs_are_scored_by_minus_their_distance_in_units_of_the_mean():
    score, same, number = pair_scores([board(0, [[0, 0], [1, 0], [3, 0]])])
    assert score.tolist() == [-0.5, -1.5, -1] and same.tolist() == [True, False, False] and number.tolist() == [0] * 3


def test_boards_are_resampled_with_their_listeners():
    right, wrong = board(0, [[0, 0], [1, 0], [9, 0]]), board(1, [[0, 0], [9, 0], [1, 0]])
    records = {r.metric: r for r in linking_records([right, wrong], 50, 0, {})}
    accuracy, eer = records["listening_cluster_accuracy"], records["listening_distance_eer"]
    assert (accuracy.lower, accuracy.value, accuracy.upper) == pytest.approx((2 / 3, 5 / 6, 1))
    assert eer.lower == 0 and eer.upper > 0.4
    assert (eer.counts["targets"], eer.counts["nontargets"]) == (2, 4)


@pytest.mark.parametrize("positions", [[[0, 0], [3, 0], [0, 4]], [[0, 0], [1, 0], [3, 0]]])
def test_the_map_has_the_distances_of_the_board_that_most_listeners_placed(positions):
    other = board(0, [[0, 0], [1, 1], [1, 0]], utts="456")
    again = replace(board(2, 2 * np.array(positions)[::-1], spks="baa"), utts=tuple("321"))
    found = mean_map([other, board(1, positions), again])
    points = np.array(found["points"])
    expected = pdist(np.array(positions))
    assert pdist(points) == pytest.approx(expected / expected.mean(), abs=1e-3)
    assert found["listeners"] == 2 and found["speakers"] == [1, 1, 2]
    assert all(column[np.abs(column).argmax()] >= 0 for column in points.T)


def test_correlations_have_fishers_interval():
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    found, expected = _fisher(pearsonr(x, y).statistic, 12), pearsonr(x, y).confidence_interval(0.95)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert _fisher(0.5, 3) is None and _fisher(0.5, 4) is not None and _fisher(1.0, 9) is None


def test_only_numbers_of_one_set_are_paired():
    subjective, objective = (
        [Record(metric, 0.1, params={"estimator": "eer_threshold"}, system="zorro", set=name) for name in ("", "s")]
        for metric in ("listening_eer", "eer_threshold")
    )
    assert pair_metrics(subjective, objective)["listening_eer"] == [
        MetricPair("zorro", "s", "", "eer_threshold", 0.1, 0.1)
    ]


def test_correlations_require_three_points():
    pairs = [
        MetricPair("zorro", "s", g, "eer_threshold", x, y)
        for g, x, y in (("f", 0.1, 0.2), ("m", 0.2, 0.1), ("", 0.4, 0.3))
    ]
    records = _correlation_records({"listening_eer": pairs}, "ecapa", {})
    assert [(r.params["systems"], r.lower, r.counts["points"]) for r in records] == [
        ("all", None, 3),
        ("anonymised", None, 3),
    ]
    assert _correlation_records({"listening_eer": pairs[:2]}, "ecapa", {}) == []


def test_agreement_is_the_correlation_with_the_means_of_the_others_within_tasks():
    groups = [(0, False), (0, True), (1, False), (1, True)]
    own, others = [0.2, 0.6, 0.4, 0.8], [0.1, 0.9, 0.3, 0.5]

    def table(shift):
        rows = [(0, s, 0, t, 0, 0, x + shift) for (s, t), x in zip(groups, own, strict=True)]
        rows += [
            (k, s, 0, t, 0, 0, x + d) for (s, t), x in zip(groups, others, strict=True) for k, d in ((1, 0), (2, 0.1))
        ]
        return ratings(rows)

    expected = np.corrcoef(own, others)[0, 1]
    assert _agreement([table(0)], 0) == pytest.approx(expected)
    assert _agreement([table(0), table(0.3)], 0) == pytest.approx(expected)


def test_rules_are_broken_at_their_limits_and_not_before(data, tmp_path):
    test = toy_test(data, tmp_path / "test", 4, attention=2, headphones=3)
    qualities = {system: Quality(5, 5, 5, 5, 0.5) for system in ("original", *SYSTEMS)}
    answers, wrong = [], []
    for a in simulate_answers(test, qualities, Spread(), 0):
        is_check = (a.listener, a.task) in ((0, "tones"), (1, "quietest")) and (a.listener, a.task) not in wrong
        if is_check:
            wrong.append((a.listener, a.task))
        value = a.value % 3 + 1 if is_check else a.value
        answers.append(replace(a, value=value, seconds=1.0 if a.listener == 2 else 0.99 if a.listener == 3 else 5.0))
    reasons = [set(each.reasons) - {"agreement"} for each in check_listeners(Responses(test, tuple(answers)))]
    assert reasons == [{"attention"}, set(), set(), {"speed"}]
    same = [(0, 0, 0, True, 0, 0, 0.5)] * 4
    assert _is_constant(ratings(same), 0) and not _is_constant(ratings(same[:3]), 0)


def test_the_planned_tests_are_corrected_for_all_groups_and_pairs_of_systems(data):
    pages = draw_design(toy_material(data), DesignOptions(3, 4, boards=0))
    for group, count in (("naturalness", 12), ("similarity_same", 6)):
        p = mann_whitney(np.ones(count), np.zeros(count)).p_value
        power = [
            simulate.simulated_power(
                pages, ("original", *SYSTEMS), PowerTarget(9, alpha=alpha, simulations=3), Spread(0, 0, 0), group
            )
            for alpha in (12 * p * 0.99, 12 * p * 1.01)
        ]
        assert power == [0, 1]


def test_the_smallest_number_of_listeners_with_the_power_is_found(data, monkeypatch):
    sizes_asked = []

    def power(pages, *_):
        sizes_asked.append(len({page.listener for page in pages}))
        return 0.8 if sizes_asked[-1] >= 11 else 0.7

    monkeypatch.setattr(simulate, "simulated_power", power)
    arguments = toy_material(data), DesignOptions(1, 2, boards=0), PowerTarget(), Spread(), "naturalness"
    found = required_listeners(*arguments)
    assert (found.listeners, found.power) == (11, 0.8) and sizes_asked == [4, 8, 16, 12, 10, 11]
    sizes_asked.clear()
    monkeypatch.setattr(simulate, "MAX_LISTENERS", 10)
    assert required_listeners(*arguments).listeners is None and sizes_asked == [4, 8, 10]


def test_ratings_spread_by_listener_recording_and_noise():
    rng = np.random.default_rng(0)
    listener, recording = (each.ravel() for each in np.meshgrid(np.arange(300), np.arange(200)))
    middle = np.full(len(listener), 5.5)
    for spread, expected in ((Spread(1, 0, 0), (1, 0)), (Spread(0, 1, 0), (0, 1)), (Spread(0, 0, 1), (0, 0))):
        found = simulate.rate(middle, listener, recording, spread, rng).reshape(200, 300)
        assert (found.mean(axis=0).std(), found.mean(axis=1).std()) == pytest.approx(expected, abs=0.2)
