import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import betabinom

from vpeval.metrics.linkability import linkability
from vpeval.metrics.ranks import Ranks, Rivals, count_rivals
from vpeval.metrics.srd import beta_binomial, disclosure, fit_beta_binomial, floor, intervals

histograms = st.lists(st.integers(0, 50), min_size=2, max_size=30).filter(any).map(lambda h: np.array([h], float))


def first_rank(count, n_inputs=800, n=40):
    """A histogram with `count` inputs at rank 1 and the rest spread evenly."""
    return np.array([[count] + [(n_inputs - count) / (n - 1)] * (n - 1)])


@pytest.mark.parametrize(
    ("count", "idr", "bits"),
    [
        (453, 0.56625, 4.50),
        (102, 0.1275, 2.35),
        (99, 0.12375, 2.30),
        (61, 0.07625, 1.60),
        (37, 0.04625, 0.88),
        (555, 0.69375, 4.79),
    ],
)
def test_the_counts_of_the_paper_give_its_bits(count, idr, bits):
    for estimator in ("empirical", "beta-binomial"):
        found = disclosure(first_rank(count), estimator)
        assert found.idr[0] == pytest.approx(idr, abs=1e-9)
    assert np.floor(disclosure(first_rank(count)).max_d[0] * 100) / 100 == bits


def test_no_disclosure_is_zero_bits_and_full_disclosure_is_log2_n():
    found = disclosure(np.array([[5.0] * 40, [200] + [0] * 39]))
    assert found.max_d == pytest.approx([0, np.log2(40)])
    assert found.mean_d == pytest.approx([0, np.log2(40)])
    assert found.rank_spread.tolist() == [0, 1 / 40]


def test_a_share_of_exactly_one_over_n_is_not_above_chance():
    assert disclosure(np.array([[3.0, 1, 2, 2, 2]])).rank_spread.tolist() == [0.2]


@given(histograms)
def test_the_mean_lies_between_zero_and_the_maximum(h):
    for estimator in ("empirical", "beta-binomial"):
        found = disclosure(h, estimator)
        assert -1e-9 <= found.mean_d[0] <= found.max_d[0] + 1e-9
        assert found.max_d[0] <= np.log2(h.shape[1]) + 1e-9


@given(histograms.filter(lambda h: h[0, 0] > 0))
def test_the_fit_is_a_distribution_whose_first_rank_is_the_observed_one(h):
    gamma = beta_binomial(h.shape[1], *fit_beta_binomial(h))[0]
    assert gamma.sum() == pytest.approx(1, abs=1e-6)
    assert gamma[0] == pytest.approx(h[0, 0] / h.sum(), abs=1e-7)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 3), (0.2, 8), (0.9, 1.1), (5, 50), (0.3, 0.3)])
def test_the_fit_recovers_the_parameters_of_a_beta_binomial(alpha, beta):
    expected = 1e5 * betabinom.pmf(np.arange(40), 39, alpha, beta)
    found = fit_beta_binomial(expected[None])
    assert (found[0][0], found[1][0]) == pytest.approx((alpha, beta), rel=1e-4)
    assert beta_binomial(40, *found)[0] == pytest.approx(expected / 1e5, abs=1e-6)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0.5, 3), (0.2, 8), (5, 50), (0.05, 30), (2, 0.7), (1, 400)])
def test_bins_of_many_ranks_move_the_fit_by_less_than_is_stated(alpha, beta, monkeypatch):
    n = 3000
    shares = betabinom.pmf(np.arange(n), n - 1, alpha, beta)
    h = np.random.default_rng(4).multinomial([300, 100_000], shares / shares.sum() * (1 - 1e-12)).astype(float)
    binned, disclosed = fit_beta_binomial(h), disclosure(h, "beta-binomial")
    monkeypatch.setattr("vpeval.metrics.srd.EXACT", n)
    exact, expected = fit_beta_binomial(h), disclosure(h, "beta-binomial")
    assert np.log(binned) == pytest.approx(np.log(exact), abs=1e-5)
    assert disclosed.max_d == pytest.approx(expected.max_d, abs=1e-5)
    assert disclosed.mean_d == pytest.approx(expected.mean_d, abs=1e-5)
    assert disclosed.idr == pytest.approx(expected.idr, abs=1e-9)
    assert disclosed.rank_spread == pytest.approx(expected.rank_spread, abs=1.01 / n)


def test_no_other_parameters_that_meet_the_constraint_are_more_likely():
    h = np.bincount(np.random.default_rng(1).geometric(0.15, 800).clip(max=40) - 1, minlength=40).astype(float)
    alpha, beta = (float(p[0]) for p in fit_beta_binomial(h[None]))

    def loss(log_parameters):
        return -h @ betabinom.logpmf(np.arange(40), 39, *np.exp(log_parameters))

    def constraint(log_parameters):
        return betabinom.logpmf(0, 39, *np.exp(log_parameters)) - np.log(h[0] / h.sum())

    second = minimize(
        loss, [0, 1], method="SLSQP", constraints={"type": "eq", "fun": constraint}, options={"ftol": 1e-12}
    )
    assert (np.log(alpha), np.log(beta)) == pytest.approx(second.x, abs=1e-3)


def test_a_first_rank_that_never_occurred_counts_half():
    found = disclosure(np.array([[0, 1, 2, 3, 4.0]]), "beta-binomial")
    assert found.idr[0] == pytest.approx(0.05)


def test_a_perfect_anonymiser_measures_the_floor():
    null = floor(800, 40)
    assert null.mean_d.mean() == pytest.approx(0.036, abs=0.001)
    assert null.max_d.mean() == pytest.approx(0.60, abs=0.015)
    assert floor(800, 40, "beta-binomial", runs=50).mean_d.mean() < 0.01


def test_ties_are_spread_over_their_block_or_counted_as_failures():
    rivals = Rivals(np.array([0, 1, 0]), np.array([0, 1, 3]))
    owner = np.array([0, 0, 1])
    mid = Ranks.from_rivals(rivals, owner, 2, 4)
    assert mid.histograms(np.eye(2)).tolist() == [[1, 0.5, 0.5, 0], [0.25] * 4]
    assert mid.identified.tolist() == [0.5, 0.25] and mid.means.tolist() == [1.75, 2.5]
    assert Ranks.from_rivals(rivals, owner, 2, 4, "strict").histograms(np.eye(2)).tolist() == [
        [1, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_histograms_of_weighted_speakers_are_sums_of_those_of_each():
    rng = np.random.default_rng(5)
    first = rng.integers(50, size=400)
    last = np.minimum(first + rng.integers(3, size=400) * rng.integers(8, size=400), 49)
    ranks = Ranks(first, last, rng.integers(9, size=400), 9, 50)
    expected = np.zeros((9, 50))
    for spk, low, high in zip(ranks.owner, first, last, strict=True):
        expected[spk, low : high + 1] += 1 / (high - low + 1)
    weights = rng.integers(4, size=(6, 9))
    weights[0] = 0
    weights[0, 3] = 1
    assert ranks.histograms(weights) == pytest.approx(weights @ expected, abs=1e-12)
    assert (ranks.histograms(weights)[0][expected[3] == 0] == 0).all()
    assert ranks.identified == pytest.approx(expected[:, 0] / ranks.inputs)
    assert ranks.means == pytest.approx(expected @ np.arange(1, 51) / ranks.inputs)


def test_the_floor_and_intervals_do_not_depend_on_how_many_histograms_are_held_at_once(monkeypatch):
    rng = np.random.default_rng(6)
    rank = rng.integers(30, size=200)
    ranks = Ranks(rank, rank, np.arange(200) % 12, 12, 30)
    found = floor(100, 30, runs=50), intervals(ranks, "beta-binomial", 40)
    monkeypatch.setattr("vpeval.metrics.srd._CELLS", 200)
    again = floor(100, 30, runs=50), intervals(ranks, "beta-binomial", 40)
    assert np.array_equal(found[0].max_d, again[0].max_d) and found[1] == again[1]


def test_the_identification_rate_is_linkability_among_all_references():
    rng = np.random.default_rng(2)
    references = rng.standard_normal((40, 10)).astype(np.float32)
    owner = rng.integers(40, size=300)
    inputs = (references[owner] + rng.standard_normal((300, 10))).astype(np.float32)
    rivals = count_rivals(references, inputs, owner)
    histogram = Ranks.from_rivals(rivals, owner, 40, 40, "strict").histograms(np.ones((1, 40)))
    assert disclosure(histogram).idr[0] == pytest.approx(linkability(rivals, 40, [40]).values[0], abs=1e-15)


def test_intervals_keep_the_inputs_of_a_speaker_together():
    # Ten speakers, each always or never at rank 1: the share of the resamples is that of the speakers, not of the inputs.
    rank, owner = np.repeat([0, 3], 500), np.repeat(np.arange(10), 100)
    per_speaker = Ranks(rank, rank, owner, 10, 4)
    found = intervals(per_speaker, resamples=20_000)["idr"]
    # Five of ten speakers, whatever the number of their inputs: Clopper and Pearson have 0.187 and 0.813.
    assert (found.lower, found.upper) == pytest.approx((0.2083, 0.7917), abs=0.0005)
    assert found == intervals(per_speaker, resamples=20_000)["idr"]


@pytest.mark.parametrize("runs", [1, 50])
def test_the_floor_has_a_value_for_every_run(runs, monkeypatch):
    monkeypatch.setattr("vpeval.metrics.srd._CELLS", 200)
    found = floor(100, 31, runs=runs)
    assert [len(values) for values in (found.max_d, found.mean_d, found.idr, found.rank_spread)] == [runs] * 4
