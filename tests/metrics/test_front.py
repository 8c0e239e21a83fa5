"""The functions for lists and arrays give what the functions of the recipes give."""

import numpy as np
import pytest

from vpeval.metrics.front import linkability_of, point_estimates, rank_disclosure, word_errors
from vpeval.metrics.verification import POINT_ESTIMATES


def test_point_estimates_are_named_as_in_records():
    found = point_estimates([2, 3], [0, 1])
    assert found.keys() == POINT_ESTIMATES.keys()
    assert (found["eer_rocch"], found["min_cllr"], found["zebra_population"]) == (0, 0, pytest.approx(1 / np.log(4)))


def test_voices_that_differ_are_all_linked_and_disclose_who_speaks():
    assert linkability_of(np.eye(4), np.eye(4), range(4), [2, 4]).values.tolist() == [1, 1]
    found = rank_disclosure(np.eye(4), np.eye(4)[[2, 0, 1, 3, 3]], [2, 0, 1, 3, 3])
    summary = [float(values[0]) for values in (found.max_d, found.mean_d, found.idr, found.rank_spread)]
    assert summary == [2, 2, 1, 0.25]  # log2(4) bits, and one rank of four


def test_a_tied_rank_is_spread_and_a_tied_rival_prevents_a_link():
    # Both references have the direction of the input; one is nearer to it.
    references, inputs = [[1.0, 0.0], [10.0, 0.0]], [[9.0, 0.0]]
    assert linkability_of(references, inputs, [1], [2]).values.tolist() == [0]
    assert linkability_of(references, inputs, [1], [2], "euclidean").values.tolist() == [1]
    assert rank_disclosure(references, inputs, [1]).idr.tolist() == [0.5]
    assert rank_disclosure(references, inputs, [1], similarity="euclidean").idr.tolist() == [1]


def test_the_fit_of_ranks_keeps_the_share_of_the_first():
    rng = np.random.default_rng(0)
    references = rng.standard_normal((30, 4))
    owner = np.repeat(np.arange(30), 3)
    inputs = references[owner] + rng.standard_normal((90, 4))
    counted, fitted = (rank_disclosure(references, inputs, owner, kind) for kind in ("empirical", "beta-binomial"))
    assert fitted.idr == pytest.approx(counted.idr)
    assert fitted.max_d[0] != counted.max_d[0]


def test_word_errors_are_added_over_texts():
    found = word_errors(["a b c", "d"], ["a c", "e f"])
    assert (found.insertions, found.deletions, found.substitutions, found.words, found.utts) == (1, 1, 1, 4, 2)
