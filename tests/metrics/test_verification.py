import dataclasses

import numpy as np
import pytest

from vpeval.core.seeds import generator
from vpeval.metrics import verification as module
from vpeval.metrics.intervals import multiplicities, rate_interval, studentised_interval
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.score_metrics import dsys_null, dsys_pav, level_of_strangers
from vpeval.metrics.scores import Eer, bengio_mariethoz, eer_rocch, pool
from vpeval.metrics.verification import paired_difference, verification

NAMES = [
    "eer_kaldi",
    "eer_threshold",
    "eer_rocch",
    "cllr",
    "min_cllr",
    "zebra_population",
    "zebra_individual",
    "dsys",
    "min_dcf",
    "min_dcf",
]


def cross_product(seed=0, enrolled=4, speakers=6, utts=5, shift=1.5):
    """Every enrolled speaker against every utterance, as in the challenges."""
    rng = np.random.default_rng(seed)
    enroll, utt = np.divmod(np.arange(enrolled * speakers * utts), speakers * utts)
    speaker = utt // utts
    is_target = enroll == speaker
    return ScoredTrials(rng.normal(size=len(enroll)) + shift * is_target, is_target, enroll, speaker)


def repeated(trials, drawn):
    """The scores of a resample with every trial written out as often as it counts."""
    targets, nontargets = [], []
    for score, is_target, e, u in zip(trials.score, trials.is_target, trials.enroll, trials.speaker, strict=True):
        if is_target:
            targets += [score] * drawn[e]
        else:
            nontargets += [score] * (drawn[e] * drawn[u])
    return pool(targets, nontargets)


def test_records_name_every_metric_and_what_it_rests_on():
    records = verification(cross_product(), resamples=20)
    assert [record.metric for record in records] == [*NAMES, "dsys_null", "dsys_calibrated"]
    assert [record.params["p"] for record in records if record.metric == "min_dcf"] == [0.01, 0.001]
    assert all(record.counts == {"targets": 20, "nontargets": 100, "speakers": 6} for record in records)
    assert all("estimator" in record.params for record in records)
    assert all(record.interval.lower <= record.interval.upper for record in records if record.metric != "min_dcf")
    assert records[6].notes["tag"] in "ABC"


def test_bengio_mariethoz_stands_beside_the_bootstrap_of_each_eer():
    for record in verification(cross_product(), resamples=20)[:3]:
        lower, upper = record.notes["bengio_mariethoz"]
        assert lower < record.value < upper
        assert (lower, upper) != (record.interval.lower, record.interval.upper)


def test_the_interval_of_an_eer_is_that_of_a_literal_bootstrap():
    trials = cross_product(enrolled=6)
    rng = generator(3, "verification")
    literal = [eer_rocch(repeated(trials, multiplicities(6, 1, rng)[0])).value for _ in range(40)]
    record = verification(trials, 40, seed=3)[2]
    expected = rate_interval(record.value, np.array(literal), 30, 6, {}, highest=0.5, bias=2)
    assert (record.interval.lower, record.interval.upper) == pytest.approx((expected.lower, expected.upper))
    assert record.interval.lower < record.value < record.interval.upper <= 0.5


def test_separated_scores_of_few_speakers_are_no_proof_of_an_eer_of_zero():
    records = {r.metric: r for r in verification(cross_product(enrolled=6, shift=100), 50)}
    for name in ("eer_kaldi", "eer_threshold", "eer_rocch", "min_cllr"):
        assert (records[name].value, records[name].interval.lower) == (0, 0)
        assert records[name].interval.upper > 0.1
    assert records["zebra_population"].interval.upper == pytest.approx(1 / np.log(4))
    assert records["zebra_population"].interval.lower < 0.5
    assert records["dsys_calibrated"].value == records["dsys_calibrated"].interval.upper == 1
    assert records["dsys_calibrated"].interval.lower < 0.9


@pytest.mark.parametrize("enrolled", [2, 3])
def test_few_speakers_have_no_interval_and_a_reason(enrolled):
    for record in verification(cross_product(enrolled=enrolled, speakers=enrolled), 20):
        if record.metric != "dsys_null":
            assert (record.interval.lower, record.interval.upper) == (None, None)
            assert f"{enrolled} speakers" in record.interval.notes["no_interval"]


def test_resamples_without_both_classes_are_drawn_again_and_counted():
    # One target speaker of three: a draw misses it with probability 8/27, and needs a second speaker besides.
    trials = ScoredTrials(
        np.array([2.0, 0.0, 1.0]), np.array([True, False, False]), np.array([0, 0, 0]), np.array([0, 1, 2])
    )
    assert 10 < module._resample(trials, 50, 0)[1] < 60


def test_the_same_seed_gives_the_same_records_and_another_seed_others():
    trials = cross_product()
    assert verification(trials, 30, seed=1) == verification(trials, 30, seed=1)
    assert verification(trials, 30, seed=1)[3].interval.lower != verification(trials, 30, seed=2)[3].interval.lower


def test_the_order_of_the_trials_does_not_matter():
    trials = cross_product()
    order = np.random.default_rng(5).permutation(len(trials.score))
    moved = ScoredTrials(*(column[order] for column in (trials.score, trials.is_target, trials.enroll, trials.speaker)))
    assert verification(moved, 20) == verification(trials, 20)


def test_no_resamples_give_values_without_intervals():
    records = verification(cross_product(), resamples=0)
    assert all(
        record.interval.lower is None and record.interval.upper is None
        for record in records
        if record.metric != "dsys_null"
    )
    assert all("interval" not in record.params for record in records)


def test_a_system_does_not_differ_from_itself():
    trials = cross_product()
    for record in paired_difference(trials, trials.score, 30):
        assert (record.value, record.interval.lower, record.interval.upper, record.notes["p_value"]) == (0, 0, 0, 1)


def test_differences_are_those_of_the_values_and_change_sign_when_swapped():
    trials = cross_product(speakers=8, enrolled=8)
    other = cross_product(seed=1, speakers=8, enrolled=8, shift=0.2)
    forth = paired_difference(trials, other.score, 50)
    back = paired_difference(other, trials.score, 50)
    own, theirs = verification(trials, 0), verification(other, 0)
    assert [record.metric for record in forth] == [f"{name}_difference" for name in NAMES]
    for record, mirrored, a, b in zip(forth, back, own, theirs, strict=False):
        assert record.value == a.value - b.value
        assert (mirrored.value, mirrored.interval.lower, mirrored.interval.upper) == (
            -record.value,
            -record.interval.upper,
            -record.interval.lower,
        )
        assert mirrored.notes["p_value"] == record.notes["p_value"]


def test_a_clear_difference_has_a_small_p_value():
    trials = cross_product(speakers=8, enrolled=8, shift=4)
    eer = paired_difference(trials, cross_product(seed=1, speakers=8, enrolled=8, shift=0).score, 200)[2]
    assert eer.interval.upper < 0
    assert eer.notes["p_value"] == 2**-7, "as small as eight speakers allow"


def test_differences_without_resamples_have_no_interval():
    trials = cross_product()
    record = paired_difference(trials, trials.score + 1, 0)[0]
    assert (record.interval.lower, record.interval.upper) == (None, None)
    assert "p_value" not in record.params


def test_calibrated_dsys_says_what_it_was_corrected_by_and_that_its_chance_is_zero():
    trials = cross_product()
    notes = verification(trials, 0)[-1].notes
    level = level_of_strangers(trials.score, trials.is_target, trials.enroll, trials.speaker)
    assert notes == {"chance": 0.0, "strangers": level}
    raw = dsys_pav(trials.pooled())
    assert verification(trials, 0)[-1].value == pytest.approx((raw - level) / (1 - level))


def test_the_level_of_dsys_without_information_has_the_interval_of_shuffled_labels():
    trials = cross_product(utts=10, enrolled=6)
    null, found = dsys_null(trials.pooled(), seed=4), verification(trials, 0, seed=4)[-2]
    assert (found.metric, found.value, found.notes) == ("dsys_null", null.mean, {"seed": 4})
    assert (found.interval.lower, found.interval.upper) == (null.interval.lower, null.interval.upper)


def test_the_interval_of_bengio_and_mariethoz_by_hand():
    # 20 % of 25 nontargets and 10 % of 100 targets: variance 0.16/100 + 0.09/400.
    found = bengio_mariethoz(Eer(0.15, 0.2, 0.1), 100, 25)
    half = 1.96 * np.sqrt(0.0016 + 0.000225)
    assert (found.lower, found.upper) == pytest.approx((0.15 - half, 0.15 + half))
    certain = bengio_mariethoz(Eer(0.5, 0.5, 0.5), 1, 1)
    assert (certain.lower, certain.upper) == (0, 1)


@pytest.mark.parametrize(
    ("place", "name", "kind"),
    [
        (0, "eer_kaldi", (1, 1, 1)),
        (1, "eer_threshold", (1, 1, 1)),
        (2, "eer_rocch", (0.5, 1, 2)),
        (4, "min_cllr", (1, 4, 2)),
        (9, "min_dcf", (1, 4, 2)),
    ],
)
def test_error_rates_and_costs_have_the_interval_of_a_rate(place, name, kind, monkeypatch):
    # The end of the scale, how many trials of an EER an error costs as much as, and how often the bias counts.
    unlimited = [dataclasses.replace(metric, nontargets=0) for metric in module._METRICS]
    monkeypatch.setattr(module, "_METRICS", tuple(unlimited))
    trials = cross_product(enrolled=6)
    samples, _ = module._resample(trials, 30, 1)
    found = verification(trials, 30, seed=1)[place]
    expected = rate_interval(found.value, samples[:, place], 30, 6, {}, *kind)
    assert (found.metric, found.interval.lower, found.interval.upper) == (name, expected.lower, expected.upper)


@pytest.mark.parametrize(
    ("place", "gain", "kind"), [(5, 1 / np.log(4), (4, 2)), (-1, 1, (2, 2))], ids=["zebra", "dsys"]
)
def test_what_an_attacker_gains_has_the_interval_of_what_is_lost(place, gain, kind):
    trials = cross_product(enrolled=6)
    found = verification(trials, 30, seed=1)[place]
    metrics = (*module._METRICS, module._calibrated(verification(trials, 0, seed=1)[-1].notes["strangers"]))
    samples, _ = module._resample(trials, 30, 1, metrics)
    lost = rate_interval(1 - found.value / gain, 1 - samples[:, place] / gain, 30, 6, {}, 1.0, *kind)
    limits = gain * (1 - lost.upper), gain * (1 - lost.lower)
    assert (found.interval.lower, found.interval.upper) == pytest.approx(limits)


def test_a_detection_cost_needs_thirty_false_alarms_at_the_rate_that_costs_all():
    # 30 · 0.99/0.01 = 2970 nontarget trials: 20 · 19 · 8 are enough, 12 · 11 · 8 are not.
    for enrolled, lower in ((12, None), (20, 0)):
        rows = verification(cross_product(enrolled=enrolled, speakers=enrolled, utts=8), 10)
        found = next(row for row in rows if row.params.get("p") == 0.01).interval
        assert (found.lower is None) == (lower is None)
        if lower is None:
            assert found.notes == {"no_interval": "1056 nontarget trials; an interval needs 2970 or more"}
    few = next(row for row in verification(cross_product(enrolled=3), 10) if row.params.get("p") == 0.01)
    assert "needs 4 or more" in few.interval.notes["no_interval"]


@pytest.mark.parametrize("place", [3, 6, 7], ids=["cllr", "zebra", "dsys"])
def test_numbers_without_an_upper_end_have_a_studentised_interval_from_zero_on(place):
    trials = cross_product(enrolled=6)
    samples, _ = module._resample(trials, 30, 1)
    found = verification(trials, 30, seed=1)[place]
    expected = studentised_interval(found.value, samples[:, place], 6, {}, low=0.0)
    assert (found.interval.lower, found.interval.upper) == (expected.lower, expected.upper)


def test_intervals_say_how_many_resamples_were_drawn_and_drawn_again():
    trials = cross_product(enrolled=4, speakers=5)
    notes = verification(trials, 25, seed=6)[0].interval.notes
    assert (notes["resamples"], notes["seed"]) == (25, 6)
    assert notes["redrawn"] == module._resample(trials, 25, 6)[1]


def test_two_systems_that_differ_by_the_same_for_all_have_that_difference_for_certain():
    found = module._difference_interval(0.25, np.full(9, 0.25), 8, {"seed": 0})
    assert (found.lower, found.upper) == (0.25, 0.25)
    assert module._difference_interval(0.25, np.full(9, 0.25), 3, {}).lower is None
    assert module._difference_interval(0.25, np.empty(0), 8, {}).lower is None


def test_nothing_is_drawn_again_where_every_resample_has_both_classes():
    trials = cross_product(enrolled=6, speakers=6)
    drawn = multiplicities(6, 20, generator(0, "verification"))
    assert (np.count_nonzero(drawn, axis=1) > 1).all()
    assert module._resample(trials, 20, 0)[1] == 0
