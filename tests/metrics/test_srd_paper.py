"""Tables 1 and 2 of Chandra et al. (arXiv 2605.07291) from counts of ranks: 800 inputs among 40 references.

Every identification rate is a count c of first ranks over 800, and a maximum disclosure is log2(40 c / 800), printed
with what is beyond the second digit cut off. The paper does not print its histograms: any that has the counts of a row
must give the row, so some that has is built here.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import betabinom

from vpeval.metrics.srd import disclosure
from vpeval.records.record import Record
from vpeval.results import latex

N, INPUTS, EVEN = 40, 800, 20
ORIGINAL = ("original", 453, 453, 4.50, 2.19, 56.63, 7.5)
TABLE_1 = {
    # system, count of rank 1, greatest count; MaxD, MeanD, IdR, RS as printed
    "original": [
        ORIGINAL,
        ("B3", 29, 31, 0.63, 0.06, 3.63, 45.0),
        ("B4", 25, 29, 0.53, 0.02, 3.12, 47.5),
        ("B5", 20, 29, 0.53, 0.02, 2.50, 42.5),
        ("T8-5", 50, 50, 1.32, 0.06, 6.25, 40.0),
        ("T10-2", 166, 166, 3.05, 0.52, 20.75, 20.0),
        ("T12-5", 24, 29, 0.53, 0.02, 3.00, 47.5),
        ("T25-1", 32, 32, 0.67, 0.05, 4.00, 40.0),
    ],
    "anonymised": [
        ("B3", 102, 102, 2.35, 0.52, 12.75, 37.5),
        ("B4", 99, 99, 2.30, 0.26, 12.37, 25.0),
        ("B5", 61, 61, 1.60, 0.14, 7.63, 30.0),
        ("T8-5", 37, 37, 0.88, 0.03, 4.62, 32.5),
        ("T10-2", 555, 555, 4.79, 3.12, 69.37, 7.5),
        ("T12-5", 43, 50, 1.32, 0.11, 5.37, 40.0),
        ("T25-1", 39, 39, 0.96, 0.05, 4.87, 32.5),
    ],
}
TABLE_2 = [
    # system, count of rank 1, an α that gives the printed mean disclosure; MaxD, MeanD, IdR, RS as printed
    ("original", 453, 0.220, 4.50, 2.75, 56.62, 15.0),
    ("B3", 102, 0.669, 2.35, 0.59, 12.74, 37.5),
    ("B4", 99, 0.609, 2.30, 0.41, 12.37, 35.0),
    ("B5", 61, 0.686, 1.60, 0.12, 7.62, 32.5),
    ("T8-5", 37, 0.792, 0.88, 0.02, 4.62, 27.5),
    ("T10-2", 555, 0.149, 4.79, 3.39, 69.37, 10.0),
    ("T12-5", 43, 0.790, 1.10, 0.05, 5.37, 37.5),
    ("T25-1", 39, 0.766, 0.96, 0.02, 4.87, 30.0),
]
ROWS = [(training, *row) for training, rows in TABLE_1.items() for row in rows]


def printed(value, digits=2):
    """Cut off as the paper does."""
    return np.floor(value * 10**digits + 1e-9) / 10**digits


def entropy_gap(counts):
    """Mean disclosure, from its definition."""
    shares = counts[counts > 0] / counts.sum()
    return float((shares * np.log2(shares * len(counts))).sum())


def histogram(first, greatest, above, mean):
    """Counts of 40 ranks: of the first, of the most frequent, how many are above 20, and the mean disclosure.

    Starts from the flattest one and moves inputs from rare to frequent ranks until the mean is reached.
    """
    h = np.zeros(N, int)
    h[0] = first
    free = np.arange(1 + (greatest != first), N)
    h[1 : free[0]] = greatest
    more = above - np.count_nonzero(h > EVEN)
    h[free[:more]] = EVEN + 1
    rest = free[more:]
    h[rest] = np.diff(np.linspace(0, INPUTS - h.sum(), len(rest) + 1).round().astype(int))
    assert h.sum() == INPUTS and h[rest].max() <= EVEN
    target = mean + 0.004
    while entropy_gap(h) < target:
        before = h.copy()
        donor = rest[np.flatnonzero(h[rest])[-1]]
        takers = [r for r in free[:more] if h[r] < greatest] or [r for r in rest if h[r] < EVEN and r != donor]
        taker = min(takers, key=lambda r: (-h[r], r))
        h[donor] -= 1
        h[taker] += 1
        if entropy_gap(h) >= mean + 0.0099:
            return before
    assert (h > EVEN).sum() == above
    return h


@pytest.mark.parametrize(
    ("training", "system", "first", "greatest", "max_d", "mean_d", "idr", "spread"), ROWS, ids=lambda v: str(v)
)
def test_table_1_follows_from_counts_of_ranks(training, system, first, greatest, max_d, mean_d, idr, spread):
    found = disclosure(histogram(first, greatest, round(spread * N / 100), mean_d)[None].astype(float))
    assert found.idr[0] == first / INPUTS
    assert 100 * found.idr[0] == pytest.approx(idr, abs=0.0051)
    assert found.max_d[0] == pytest.approx(np.log2(N * greatest / INPUTS))
    assert printed(found.max_d[0]) == max_d
    assert found.mean_d[0] == pytest.approx(mean_d, abs=0.01)
    assert 100 * found.rank_spread[0] == pytest.approx(spread)


@pytest.mark.parametrize(
    ("system", "first", "alpha", "max_d", "mean_d", "idr", "spread"), TABLE_2, ids=lambda v: str(v)
)
def test_table_2_follows_from_a_fit_to_such_ranks(system, first, alpha, max_d, mean_d, idr, spread):
    beta = np.exp(brentq(lambda log: betabinom.pmf(0, N - 1, alpha, np.exp(log)) - first / INPUTS, -4, 8))
    found = disclosure(INPUTS * betabinom.pmf(np.arange(N), N - 1, alpha, beta)[None], "beta-binomial")
    assert found.idr[0] == pytest.approx(first / INPUTS, abs=1e-7)
    assert 100 * found.idr[0] == pytest.approx(idr, abs=0.011)
    assert printed(found.max_d[0]) == max_d
    assert printed(found.mean_d[0]) == mean_d
    assert 100 * found.rank_spread[0] == pytest.approx(spread)


def test_the_latex_table_has_the_rows_of_table_1_side_by_side():
    records = []
    for training, rows in TABLE_1.items():
        for system, first, greatest, _, mean_d, _, spread in rows:
            found = disclosure(histogram(first, greatest, round(spread * N / 100), mean_d)[None].astype(float))
            model = "semi-informed" if training == "anonymised" else "lazy-informed"
            condition = "oo" if system == "original" else "aa"
            notes = {"representation": "ET", "attack_model": "unprotected" if condition == "oo" else model}
            tags = {"system": system, "condition": condition, "set": "libri_all", "attacker": f"ET_{training}"}
            for metric, value in zip(
                ("srd_max", "srd_mean", "srd_idr", "srd_rank_spread"),
                (found.max_d, found.mean_d, found.idr, found.rank_spread),
                strict=True,
            ):
                params = {"estimator": "empirical"}
                records.append(Record(metric, float(value[0]), params=params, notes=notes, **tags))
    text = latex.tables(records)["srd"]
    assert r"\multicolumn{4}{c}{trained on original speech} & \multicolumn{4}{c}{trained on anonymised speech}" in text
    cells = {line.split(" & ")[0].strip(): line.strip(" \\").split(" & ") for line in text.splitlines()}
    cells = {system: [cell.replace(r"\textbf{", "").strip("} ") for cell in row] for system, row in cells.items()}
    assert cells["original"][1::2] == ["4.50", "56.62", "--", "--"] and cells["original"][4] == "7.5"
    expected = {system: row[:] for system, *row in TABLE_1["original"] if system != "original"}
    for system, first, greatest, _, _, _, spread in TABLE_1["anonymised"]:
        row = cells[system]
        before = expected[system]
        bits = [np.log2(N * before[1] / INPUTS), np.log2(N * greatest / INPUTS)]
        assert [float(row[1]), float(row[5])] == pytest.approx(bits, abs=0.0051)
        assert [float(row[3]), float(row[7])] == pytest.approx([before[0] / 8, first / 8], abs=0.0051)
        assert [float(row[4]), float(row[8])] == [before[5], spread]
