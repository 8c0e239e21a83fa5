import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.metrics import ranks
from vpeval.metrics.ranks import count_rivals


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
    monkeypatch.setattr(ranks, "_BLOCK", 7)
    monkeypatch.setattr(ranks, "_PAIRS", 5)
    blocks = count_rivals(references, inputs, owner)
    assert np.array_equal(whole.above, blocks.above)
    assert np.array_equal(whole.tied, blocks.tied)


@given(st.integers(0, 2**32), st.sampled_from([0.25, 2.0, 1024.0]))
def test_cosine_rivals_do_not_depend_on_the_length_of_vectors_or_the_order_of_references(seed, scale):
    rng = np.random.default_rng(seed)
    references, inputs = rng.standard_normal((12, 5)).astype(np.float32), rng.standard_normal((9, 5)).astype(np.float32)
    owner = rng.integers(12, size=9)
    order = rng.permutation(12)
    plain = count_rivals(references, inputs, owner)
    other = count_rivals((scale * references)[order], inputs / scale, np.argsort(order)[owner])
    assert np.array_equal(plain.above, other.above)
