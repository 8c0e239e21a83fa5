from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics import ranks
from vpeval.metrics.ranks import count_rivals, count_rivals_within


def brute_force(references, inputs, owner, similarity):
    """(above, tied) by loops in float64."""
    above, tied = [], []
    for x, own in zip(inputs.astype(float), owner, strict=True):
        if similarity == "cosine":
            scores = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in references.astype(float)]
        else:
            scores = [-np.linalg.norm(x - y) for y in references.astype(float)]
        others = [score for j, score in enumerate(scores) if j != own]
        above.append(sum(score > scores[own] + 1e-9 for score in others))
        tied.append(sum(abs(score - scores[own]) <= 1e-9 for score in others))
    return above, tied


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_rivals_equal_those_of_a_plain_loop(similarity):
    rng = np.random.default_rng(1)
    references = rng.standard_normal((40, 8)).astype(np.float32)
    references[7] = references[3]
    inputs = rng.standard_normal((90, 8)).astype(np.float32)
    owner = rng.integers(40, size=90)
    owner[:5] = 3
    found = count_rivals(references, inputs, owner, similarity)
    assert (found.above.tolist(), found.tied.tolist()) == brute_force(references, inputs, owner, similarity)
    assert found.tied[:5].tolist() == [1] * 5


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_equal_references_tie_wherever_they_stand(similarity):
    rng = np.random.default_rng(2)
    references = np.tile(rng.standard_normal(192).astype(np.float32), (57, 1))
    found = count_rivals(references, rng.standard_normal((9, 192)).astype(np.float32), np.arange(9), similarity)
    assert found.above.tolist() == [0] * 9
    assert found.tied.tolist() == [56] * 9


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    # Whole numbers make exact ties frequent.
    references = rng.integers(-1, 2, (30, 4)).astype(np.float32) + np.array([0, 0, 0, 2], np.float32)
    inputs = rng.integers(-1, 2, (50, 4)).astype(np.float32) + np.array([0, 0, 0, 2], np.float32)
    owner = rng.integers(30, size=50)
    whole = count_rivals(references, inputs, owner)
    monkeypatch.setattr(ranks, "_CHUNK", 20)
    monkeypatch.setattr(ranks, "_BLOCK", 7)
    monkeypatch.setattr(ranks, "_PAIRS", 5)
    blocks = count_rivals(references, inputs, owner)
    assert np.array_equal(whole.above, blocks.above)
    assert np.array_equal(whole.tied, blocks.tied)


def exact_rivals(references, inputs, owner):
    """(above, tied) of cosines by rational numbers: cos² with its sign has the same order and needs no root."""
    above, tied = [], []
    for x, own in zip(inputs, owner, strict=True):
        x = [Fraction(float(v)) for v in x]
        keys = []
        for y in references:
            y = [Fraction(float(v)) for v in y]
            dot = sum(a * b for a, b in zip(x, y, strict=True))
            keys.append(dot * abs(dot) / sum(b * b for b in y))
        others = [key for j, key in enumerate(keys) if j != own]
        above.append(sum(key > keys[own] for key in others))
        tied.append(sum(key == keys[own] for key in others))
    return above, tied


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e25])
def test_rivals_are_exact_where_voices_crowd_and_whatever_their_length(kind, spread, scale):
    rng = np.random.default_rng(4)
    common, centres = rng.standard_normal(16), rng.standard_normal((30, 16))
    owner = rng.integers(30, size=25)
    references = ((common + spread * centres) * scale).astype(kind)
    references[5], references[6], references[7] = references[3], 2 * references[3], references[4]
    owner[:6] = 3, 4, 5, 6, 7, 8
    inputs = ((common + spread * (centres[owner] + rng.standard_normal((25, 16)))) * scale).astype(kind)
    found = count_rivals(references, inputs, owner)
    assert (found.above.tolist(), found.tied.tolist()) == exact_rivals(references, inputs, owner)
    assert found.tied[:4].tolist() == [2, 1, 2, 2]


def test_an_attacker_who_finds_every_voice_finds_them_as_well_when_they_crowd():
    rng = np.random.default_rng(5)
    common, centres = rng.standard_normal(192), rng.standard_normal((200, 192))
    for spread in (1e-1, 1e-3, 1e-5):
        references = (common + spread * centres).astype(np.float32)
        inputs = (common + spread * (centres + rng.standard_normal((200, 192)))).astype(np.float32)
        assert not count_rivals(references, inputs, np.arange(200)).above.any()


seeds = st.integers(0, 2**32)
scales = st.floats(-30, 30).map(lambda exponent: 10.0**exponent)


@given(seeds, scales, st.sampled_from([1.0, 1e-3]))
def test_cosine_rivals_depend_neither_on_scale_nor_on_order(seed, scale, spread):
    rng = np.random.default_rng(seed)
    # Whole numbers make ties frequent.
    references = 3 + spread * rng.integers(-2, 3, (12, 5)).astype(float)
    inputs = 3 + spread * rng.integers(-2, 3, (9, 5)).astype(float)
    owner = rng.integers(12, size=9)
    order, moved = rng.permutation(12), rng.permutation(9)
    plain = count_rivals(references, inputs, owner)
    other = count_rivals((scale * references)[order], (scale * inputs)[moved], np.argsort(order)[owner][moved])
    assert np.array_equal(plain.above[moved], other.above)
    assert np.array_equal(plain.tied[moved], other.tied)


@given(seeds, st.sampled_from(["cosine", "product", "euclidean"]))
def test_rivals_do_not_depend_on_the_precision_of_storage(seed, similarity):
    rng = np.random.default_rng(seed)
    references, inputs = (1 + 1e-3 * rng.standard_normal((n, 6)).astype(np.float32) for n in (15, 10))
    owner = rng.integers(15, size=10)
    narrow = count_rivals(references, inputs, owner, similarity)
    wide = count_rivals(references.astype(float), inputs.astype(float), owner, similarity)
    assert np.array_equal(narrow.above, wide.above)
    assert np.array_equal(narrow.tied, wide.tied)


def test_an_input_of_zeros_is_equally_far_from_all():
    found = count_rivals(np.eye(4), np.zeros((1, 4)), np.array([2]))
    assert (found.above.tolist(), found.tied.tolist()) == ([0], [3])


def test_a_vector_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="finite"):
        count_rivals(np.array([[1, np.inf], [0, 1]]), np.ones((1, 2)), np.array([0]))


@pytest.mark.parametrize("similarity", ["cosine", "product", "euclidean"])
def test_references_that_are_mirrored_at_the_input_tie(similarity):
    # The true reference and its mirror image have the same angle, product and distance to x; the third is behind it.
    references = np.array([[3.0, 1.0], [3.0, -1.0], [1.0, 2.5], [4.0, 0.0]])
    found = count_rivals(references, np.array([[2.0, 0.0]]), np.array([0]), similarity)
    ahead = {"cosine": 1, "product": 1, "euclidean": 0}[similarity]
    assert (found.above.tolist(), found.tied.tolist()) == ([ahead], [1])


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_distances_that_differ_by_rounding_alone_tie_at_any_scale(scale):
    rng = np.random.default_rng(6)
    x = rng.standard_normal(20)
    steps = rng.standard_normal((30, 20))
    references = scale * (x + steps / np.linalg.norm(steps, axis=1, keepdims=True))
    found = count_rivals(references, scale * x[None], np.array([4]), "euclidean")
    assert (found.above.tolist(), found.tied.tolist()) == ([0], [29])


def test_rivals_within_groups_are_counted_among_those_of_the_group():
    rng = np.random.default_rng(7)
    references, inputs = rng.standard_normal((20, 4)), rng.standard_normal((15, 4))
    owner, groups = rng.integers(20, size=15), rng.integers(3, size=20)
    found = count_rivals_within(references, inputs, owner, groups)
    for i, own in enumerate(owner):
        members = [j for j in range(20) if groups[j] == groups[own]]
        alone = count_rivals(references[members], inputs[i : i + 1], np.array([members.index(own)]))
        assert (found.above[i], found.tied[i]) == (alone.above[0], alone.tied[0])


def test_products_of_crowded_vectors_are_ordered_exactly():
    rng = np.random.default_rng(8)
    common = rng.standard_normal(6)
    references, inputs = (common + 1e-6 * rng.standard_normal((n, 6)) for n in (25, 12))
    owner = rng.integers(25, size=12)
    found = count_rivals(references, inputs, owner, "product")
    for i, own in enumerate(owner):
        x = [Fraction(float(v)) for v in inputs[i]]
        products = [sum(a * Fraction(float(b)) for a, b in zip(x, y, strict=True)) for y in references]
        assert found.above[i] == sum(product > products[own] for product in products)
        assert found.tied[i] == 0


@pytest.mark.parametrize("similarity", ["cosine", "product", "euclidean"])
def test_a_rival_that_is_ahead_by_less_than_single_precision_sees_is_ahead(similarity):
    rng = np.random.default_rng(9)
    references = rng.standard_normal((40, 5))
    x = references[3] + 0.5
    references[7] = references[3] + 1e-10 * (x - references[3])
    found = count_rivals(references, np.stack([x, x]), np.array([3, 7]), similarity)
    assert (found.above[0] - found.above[1], found.tied.tolist()) == (1, [0, 0])
