import logging
from pathlib import Path

import numpy as np
import pytest

from vpeval.asv import backend
from vpeval.asv.attackers import read_attacker
from vpeval.asv.backend import LogLikelihoodRatio, Settings
from vpeval.asv.backend_training import estimate_calibrated
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import group
from vpeval.metrics.score_metrics import cllr, min_cllr
from vpeval.metrics.scores import pool

ROOT = Path(__file__).parents[2]
FEW = Settings(lda=0, iterations=20, prior=Prior(0.5, 0.5), calibration=5)


def speakers(count, utts, seed, name="s", dimension=40):
    rng = np.random.default_rng(seed)
    scale = np.linspace(1.5, 0.2, dimension)
    owner = {f"{name}{s:02d}-{u:02d}": f"{name}{s:02d}" for s in range(count) for u in range(utts)}
    points = {speaker: scale * rng.standard_normal(dimension) for speaker in sorted(set(owner.values()))}
    vectors = {utt: (points[spk] + rng.standard_normal(dimension)).astype(np.float32) for utt, spk in owner.items()}
    return group(Path("somewhere"), vectors, owner)


def costs(model):
    enroll, trial = speakers(20, 5, 5, "t"), speakers(20, 4, 5, "t")
    matrix = model.scores(enroll, trial)
    same = np.arange(20)[:, None] == trial.owners
    scores = pool(matrix[same], matrix[~same])
    return cllr(scores), min_cllr(scores)


def test_calibration_on_training_speakers_brings_the_cost_near_its_minimum():
    train = speakers(12, 25, 0)
    raw, least = costs(backend.estimate(train, FEW).backend)
    calibrated, same = costs(estimate_calibrated(train, FEW).backend)
    assert same == pytest.approx(least, abs=1e-9), "a rising line changes no order"
    assert calibrated < raw
    assert calibrated < least + 0.15


def test_the_calibration_is_stored_with_the_back_end(tmp_path):
    model = estimate_calibrated(speakers(12, 25, 0), FEW).backend
    backend.save(tmp_path / "backend.npz", model)
    again = backend.load(tmp_path / "backend.npz")
    assert again.calibration == model.calibration
    enroll, trial = speakers(3, 4, 1), speakers(3, 2, 2)
    assert (again.scores(enroll, trial) == model.scores(enroll, trial)).all()


def test_every_comparison_is_calibrated():
    model = estimate_calibrated(speakers(12, 25, 0), FEW).backend
    enroll, trial = speakers(3, 4, 1), speakers(3, 2, 2)
    comparison = LogLikelihoodRatio(model)
    product = comparison.enroll(enroll, np.arange(3)) @ comparison.test(trial.vectors).T
    assert product == pytest.approx(model.scores(enroll, trial), abs=1e-3)


@pytest.mark.parametrize(("count", "utts"), [(3, 10), (10, 1)])
def test_too_few_speakers_or_utterances_leave_the_scores_as_they_are_with_a_warning(caplog, count, utts):
    train = speakers(count, 10, 0)
    if utts == 1:
        rows = np.flatnonzero(np.r_[True, train.owners[1:] >= 1])
        train = group(Path("somewhere"), *train.rows(rows))
    with caplog.at_level(logging.WARNING):
        model = estimate_calibrated(train, FEW).backend
    assert (model.calibration.slope, model.calibration.offset) == (1.0, 0.0)
    assert "are too few to calibrate the back end" in caplog.text


def test_scores_that_tell_nothing_are_not_flattened(caplog, monkeypatch):
    from vpeval.asv import backend_training

    monkeypatch.setattr(backend_training, "held_out_scores", lambda *_: (np.zeros(5) - 1, np.ones(9)))
    with caplog.at_level(logging.WARNING):
        assert estimate_calibrated(speakers(12, 8, 0), FEW).backend.calibration.slope == 1.0
    assert "carry no information" in caplog.text


def test_only_attackers_with_a_back_end_give_llrs(tmp_path):
    assert read_attacker(ROOT / "conf/asv/ecapa_plda_original.yaml").scores_are_llrs
    assert read_attacker(ROOT / "conf/asv/ecapa_plda_original.yaml").conditions == ("oo", "oa", "aa")
    assert not read_attacker(ROOT / "conf/asv/ecapa.yaml").scores_are_llrs
    conf = tmp_path / "kaldi.yaml"
    conf.write_text("encoder: kaldi_xvector\ndirectory: model\n")
    assert not read_attacker(conf).scores_are_llrs
    (tmp_path / "model/xvect_train").mkdir(parents=True)
    (tmp_path / "model/xvect_train/plda").write_text("")
    assert read_attacker(conf).backend == str(tmp_path / "model")
    assert read_attacker(conf).scores_are_llrs
