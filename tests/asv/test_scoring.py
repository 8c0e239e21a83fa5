from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from vpeval.asv.backend import score_trials
from vpeval.data.trials import PairRows, read_scores, read_trials, write_scores
from vpeval.embeddings.pair_scores import UtteranceCosines, cosines
from vpeval.embeddings.speaker_vectors import group
from vpeval.metrics.scores import eer_kaldi_fair, eer_rocch, eer_threshold, pool


def crowded(spread, n=20, utts=6, noise=0.6, seed=0, scale=1.0):
    """Enrolment and trial vectors that differ by `spread` of what they have in common."""
    rng = np.random.default_rng(seed)
    common, centres = rng.standard_normal(32), rng.standard_normal((n, 32))
    sides = []
    for name in ("e", "t"):
        vectors, speaker_of = {}, {}
        for k in range(n):
            for u in range(utts):
                utt = f"s{k:02d}-{name}{u}"
                vector = common + spread * (centres[k] + 4 * noise * rng.standard_normal(32))
                vectors[utt], speaker_of[utt] = (scale * vector).astype(np.float32), f"s{k:02d}"
        sides.append(group(Path(name), vectors, speaker_of))
    return sides


def exact_ranks(enroll, trial):
    """Ranks of all cosines of mean vectors with trial vectors, by 40 digits."""
    with mp.workdps(40):
        means = [
            [mp.fsum(mp.mpf(float(v)) for v in column) for column in enroll.vectors[a:b].T]
            for a, b in zip(enroll.starts, enroll.starts[1:], strict=False)
        ]
        tests = [[mp.mpf(float(v)) for v in row] for row in trial.vectors]
        units = [[[v / mp.norm(row) for v in row] for row in side] for side in (means, tests)]
        scores = [[mp.fdot(x, y) for y in units[1]] for x in units[0]]
    order = {score: rank for rank, score in enumerate(sorted({s for row in scores for s in row}))}
    return np.array([[order[s] for s in row] for row in scores])


@pytest.mark.parametrize("scale", [1.0, 1e25])
@pytest.mark.parametrize("spread", [1.0, 1e-3, 3e-5])
def test_a_score_file_has_the_eer_of_the_exact_cosines_however_they_crowd(tmp_path, spread, scale):
    enroll, trial = crowded(spread, n=8, utts=4, scale=scale)
    pairs = [(spk, utt) for spk in enroll.speakers for utt in trial.utts]
    target = np.array([utt.startswith(spk) for spk, utt in pairs])
    labels = ["target" if own else "nontarget" for own in target]
    lines = [f"{spk} {utt} {label}\n" for (spk, utt), label in zip(pairs, labels, strict=True)]
    (tmp_path / "trials").write_text("".join(lines))
    trials = read_trials(tmp_path / "trials")
    scores = score_trials(enroll, trial, trials.rows)
    write_scores(tmp_path / "scores", trials, scores)
    read = read_scores(tmp_path / "scores", trials)
    assert read.tolist() == scores.tolist()
    ranks = exact_ranks(enroll, trial).ravel()
    for eer in (eer_kaldi_fair, eer_threshold, eer_rocch):
        expected = eer(pool(ranks[target], ranks[~target])).value
        assert eer(pool(read[target], read[~target])).value == pytest.approx(expected, abs=1e-12)
    assert 0.02 < expected < 0.4


def test_one_pair_has_the_same_score_wherever_it_is_computed():
    enroll, trial = crowded(0.1, n=5, utts=2)
    matrix = cosines(enroll, trial)
    pairs = [(spk, utt) for spk in enroll.speakers for utt in trial.utts]
    assert score_trials(enroll, trial, PairRows.from_pairs(pairs)).tolist() == matrix.ravel().tolist()
    assert score_trials(enroll, trial, PairRows.from_pairs(pairs[7:8])).tolist() == [matrix.ravel()[7]]
    between = UtteranceCosines.between(trial, trial).rows(slice(None))
    assert np.array_equal(between, between.T)
    assert np.diag(between).tolist() == [1.0] * len(trial.utts)


@pytest.mark.parametrize("dimension", [2, 3, 192, 1000])
def test_cosines_of_utterances_are_the_same_to_the_bit_in_blocks_of_any_size(dimension):
    rng = np.random.default_rng(dimension)
    vectors = {f"{n % 3}-{n:02d}": rng.standard_normal(dimension).astype(np.float32) for n in range(40)}
    found = group(Path("x"), vectors, {utt: utt[0] for utt in vectors})
    cosines = UtteranceCosines.between(found, found)
    whole = cosines.rows(slice(None))
    unit = found.vectors / np.linalg.norm(found.vectors.astype(float), axis=1, keepdims=True)
    assert whole == pytest.approx(unit @ unit.T, abs=1e-13)
    assert np.array_equal(whole, whole.T) and (np.diag(whole) == 1).all()
    for start in (0, 7, 39):
        assert np.array_equal(cosines.rows(slice(start, start + 1), start), whole[start : start + 1, start:])
