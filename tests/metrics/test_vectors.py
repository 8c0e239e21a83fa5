from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from vpeval.metrics.vectors import (
    angles,
    common_scale,
    comparable,
    directions,
    distinct_rows,
    ordering_product,
    pair_products,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=9))
def test_directions_have_length_one_whatever_the_size_of_the_numbers(vector):
    (found,) = directions(np.array([vector]))
    peak = max(map(abs, vector))
    if peak == 0:
        assert not found.any()
        return
    parts = [Fraction(v) / Fraction(peak) for v in vector]
    with mp.workdps(60):
        norm = mp.sqrt(sum((mp.mpf(p.numerator) / p.denominator) ** 2 for p in parts))
        expected = [float(mp.mpf(p.numerator) / p.denominator / norm) for p in parts]
    assert found == pytest.approx(expected, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_vectors_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        directions(np.array([[1.0, bad]]))
    with pytest.raises(ValueError, match="finite"):
        ordering_product(np.array([[1.0, bad]]), np.ones((2, 2)), "product")


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 0.3, np.pi / 2, np.pi - 1e-9, np.pi])
def test_angles_are_exact_from_parallel_to_opposite(angle):
    x = directions(np.array([[3.0, 4.0, 0.0]]))
    with mp.workdps(40):
        cosine, sine = mp.cos(mp.mpf(angle)), mp.sin(mp.mpf(angle))
        turned = [
            float(cosine * mp.mpf(3) / 5 - sine * mp.mpf(4) / 5),
            float(cosine * mp.mpf(4) / 5 + sine * mp.mpf(3) / 5),
        ]
    assert angles(x, np.array([[*turned, 0.0]]))[0] == pytest.approx(angle, abs=5e-16)


@pytest.mark.parametrize("similarity", ["cosine", "product", "euclidean"])
@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-9])
def test_the_product_keeps_within_its_error_bound(similarity, spread):
    rng = np.random.default_rng(1)
    common = rng.normal(size=12)
    x, y = (common + spread * rng.normal(size=(n, 12)) for n in (5, 40))
    product = ordering_product(x, y, similarity)
    found = (product.left @ product.right.T).astype(float)
    with mp.workdps(60):
        exact = np.array([[_similarity(a, b, similarity) for b in y] for a in x])
    scale = 1.0
    if similarity != "cosine":
        # Only the order counts, so a common power of two is free: find it from the widest pair.
        wide = np.unravel_index(np.argmax(np.abs(exact - exact[:, :1])), exact.shape)
        ratio = float(exact[wide] - exact[wide[0], 0]) / float(found[wide] - found[wide[0], 0])
        scale = 2.0 ** np.rint(np.log2(ratio))
    for i in range(5):
        differences = np.array([float(v) for v in (exact[i] - exact[i, 0]) / scale])
        assert np.abs(found[i] - found[i, 0] - differences).max() <= 2 * product.error[i]
        assert product.error[i] < 1e-4 * np.ptp(differences)


def _similarity(x, y, similarity):
    """What orders the references of x, by high precision."""
    x, y = [mp.mpf(v) for v in x], [mp.mpf(v) for v in y]
    dot = mp.fdot(x, y)
    if similarity == "product":
        return dot
    if similarity == "cosine":
        return dot / mp.sqrt(mp.fdot(x, x) * mp.fdot(y, y))
    return -mp.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / 2


def test_equal_rows_are_found_and_counted():
    rows = np.array([[1.0, 2], [0, 1], [1, 2], [-0.0, 1], [3, 3]])
    first, group, sizes = distinct_rows(rows)
    assert (rows[first][group] == rows).all()
    assert sorted(sizes.tolist()) == [1, 2, 2]
    assert distinct_rows(np.arange(12.0).reshape(6, 2)) is None


@pytest.mark.parametrize("similarity", ["product", "euclidean"])
def test_vectors_are_compared_as_they_are_over_a_power_of_two(similarity):
    x, y = np.array([[3.0, -40.0]]), np.array([[0.1, 0.2]])
    scales = common_scale(x, y, similarity)
    assert scales == ((64, 0.25) if similarity == "product" else (64, 64))
    assert comparable(x, similarity, scales[0]).tolist() == [[3 / 64, -40 / 64]]
    assert comparable(x, similarity).tolist() == x.tolist()
    assert common_scale(np.zeros((1, 2)), np.zeros((3, 2)), similarity) == (1, 1)
    assert common_scale(x, y, "cosine") == (1, 1)


def test_products_are_those_of_rows_whatever_the_shape():
    assert pair_products(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 11
    assert pair_products(np.ones((2, 3, 2)), np.arange(2.0)).tolist() == [[1] * 3] * 2
