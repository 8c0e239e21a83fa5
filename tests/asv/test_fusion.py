import numpy as np
import pytest

from vpeval.asv.fusion import fit, fuse_held_out
from vpeval.core.errors import InputError
from vpeval.metrics.score_metrics import cllr, min_cllr
from vpeval.metrics.scores import eer_rocch, pool


def trials(seed, speakers=20, utts=6, separations=(2.0, 1.5)):
    """All speakers against all utterances; every attacker sees the truth through a noise of its own."""
    rng = np.random.default_rng(seed)
    enroll = np.repeat(np.arange(speakers), speakers * utts)
    speaker = np.tile(np.repeat(np.arange(speakers), utts), speakers)
    is_target = enroll == speaker
    scores = np.stack([s * is_target + rng.standard_normal(len(enroll)) for s in separations], axis=1)
    return scores, is_target, enroll, speaker


def eer(score, is_target):
    return eer_rocch(pool(score[is_target], score[~is_target])).value


def test_two_independent_attackers_are_stronger_together():
    fusion = fit(["a", "b"], *trials(0)[:2])
    scores, is_target, *_ = trials(1)
    fused = fusion(scores)
    # Optimal for unit noise: 2a + 1.5b, a separation of 2.5 instead of 2.
    assert fusion.weights == pytest.approx([2.0, 1.5], rel=0.25)
    assert eer(fused, is_target) < eer(scores[:, 0], is_target) - 0.03
    assert cllr(pool(fused[is_target], fused[~is_target])) < min_cllr(pool(fused[is_target], fused[~is_target])) + 0.06


def test_an_attacker_that_knows_nothing_changes_next_to_nothing():
    scores, is_target, *_ = trials(2, separations=(2.0, 0.0, 0.0))
    fusion = fit(["a", "noise", "more"], scores, is_target)
    test_scores, test_target, *_ = trials(3, separations=(2.0, 0.0, 0.0))
    assert eer(fusion(test_scores), test_target) < eer(test_scores[:, 0], test_target) + 0.01
    assert fusion.weights[1:].max() < 0.1 * fusion.weights[0]


def test_no_attacker_is_turned_round():
    scores, is_target, *_ = trials(4, separations=(2.0, -1.0))
    assert fit(["a", "inverted"], scores, is_target).weights[1] == 0


def test_scale_and_offset_of_an_attacker_do_not_matter():
    scores, is_target, *_ = trials(5)
    one, other = fit(["a", "b"], scores, is_target), fit(["a", "b"], scores * [100, 0.01] + [7, -3], is_target)
    assert one(scores) == pytest.approx(other(scores * [100, 0.01] + [7, -3]), abs=1e-3)


def test_attackers_that_agree_share_the_weight():
    scores, is_target, *_ = trials(6, separations=(2.0,))
    twice = np.hstack((scores, scores))
    fusion = fit(["a", "again"], twice, is_target)
    assert fusion.weights[0] == pytest.approx(fusion.weights[1], rel=0.01)


def test_attackers_that_development_speakers_speak_against_are_averaged_and_claim_next_to_nothing(caplog):
    scores, is_target, *_ = trials(7, separations=(-1.0, -1.0))
    fusion = fit(["a", "b"], scores, is_target)
    assert "none of a, b is better than chance on the development trials" in caplog.text
    assert fusion.weights[0] == pytest.approx(fusion.weights[1], rel=0.1)
    # Where the attackers do know something, the fusion does as well, and its ratios say little all the same.
    known, truth, *_ = trials(8)
    assert eer(fusion(known), truth) < min(eer(known[:, 0], truth), eer(known[:, 1], truth))
    assert np.abs(fusion(known)).max() < 0.01


def test_separated_scores_have_finite_weights():
    scores, is_target, *_ = trials(8, separations=(100.0, 100.0))
    assert np.isfinite(fit(["a", "b"], scores, is_target)(scores)).all()


def test_development_trials_are_fused_without_looking_at_their_speakers():
    scores, is_target, enroll, speaker = trials(9)
    fused = fuse_held_out(["a", "b"], scores, is_target, enroll, speaker)
    assert eer(fused, is_target) < eer(scores[:, 0], is_target)
    changed = scores.copy()
    changed[(enroll == 3) & is_target] -= 2  # one speaker becomes unrecognisable
    again = fuse_held_out(["a", "b"], changed, is_target, enroll, speaker)
    own = enroll == 3
    others = fit(["a", "b"], scores[~own & (speaker != 3)], is_target[~own & (speaker != 3)])
    assert np.isfinite(again).all()
    # What became of speaker 3 has no influence on the weights of its own fold.
    assert again[own & ~is_target] == pytest.approx(fused[own & ~is_target])
    assert others.weights == pytest.approx([2.0, 1.5], rel=0.25)


def test_too_few_development_speakers_are_told():
    scores, is_target, enroll, speaker = trials(10, speakers=2)
    with pytest.raises(InputError, match="2 development speakers are too few"):
        fuse_held_out(["a", "b"], scores, is_target, enroll, speaker)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], []])
def test_a_fusion_is_of_several_attackers(names):
    scores, is_target, *_ = trials(11)
    with pytest.raises(InputError, match="two or more different attackers"):
        fit(names, scores[:, : len(names)], is_target)
