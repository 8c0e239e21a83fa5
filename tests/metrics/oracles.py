"""Slow, literal versions of the definitions, and score sets to try them on."""

import numpy as np
from hypothesis import strategies as st

# Few distinct values make ties frequent; floats make them rare.
_score = st.one_of(st.integers(-3, 3).map(float), st.floats(-20, 20, allow_nan=False))
score_sets = st.tuples(st.lists(_score, min_size=1, max_size=25), st.lists(_score, min_size=1, max_size=25))


def error_rates(targets, nontargets):
    """(Pfa, Pmiss) below all scores and at every distinct score, by counting."""
    t, n = np.array(targets), np.array(nontargets)
    thresholds = [-np.inf, *sorted({*targets, *nontargets})]
    return [(float(np.mean(n > x)), float(np.mean(t <= x))) for x in thresholds]


def pav(labels, weights):
    """Isotonic regression by its max-min formula: the largest, over starts, of the smallest mean of a run."""
    labels, weights = np.array(labels, dtype=float), np.array(weights, dtype=float)
    n = len(labels)

    def mean(i, j):
        return (labels[i:j] * weights[i:j]).sum() / weights[i:j].sum()

    return np.array([max(min(mean(i, j) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)])


def pav_llrs(targets, nontargets, laplace=False):
    """Log-likelihood ratios of the target and of the nontarget trials, straight from the definition."""
    scores = sorted({*targets, *nontargets})
    t = [targets.count(s) for s in scores]
    n = [nontargets.count(s) for s in scores]
    if laplace:
        t, n = [1, 0, *t, 1, 0], [0, 1, *n, 0, 1]
    t, n = np.array(t), np.array(n)
    posterior = pav(t / (t + n), t + n)
    if laplace:
        posterior = posterior[2:-2]
    with np.errstate(divide="ignore"):
        llr = np.log(posterior) - np.log1p(-posterior) - np.log(len(targets) / len(nontargets))
    by_score = dict(zip(scores, llr, strict=True))
    return np.array([by_score[s] for s in targets]), np.array([by_score[s] for s in nontargets])
