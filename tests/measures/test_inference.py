"""Inference of attributes from vectors whose attributes are known by construction."""

from dataclasses import replace
from math import log2
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vpeval.asv.attribute_inference import FEW_FOLDS, MANY_FOLDS, _shares, deal_classes
from vpeval.core.errors import InputError
from vpeval.data.attributes import Attribute
from vpeval.embeddings.speaker_vectors import group
from vpeval.measures import inference as protocol
from vpeval.measures.inference import Options, _mean_correlation, _population_records, score_inference
from vpeval.measures.legal import parse_sizes


def voices(values, n_utts=6, noise=0.5, seed=0, dimension=8, share=1.0):
    """Utterances of speakers s00, s01 …: the first dimension tells the value, as far as `share`, the others nothing."""
    rng = np.random.default_rng(seed)
    vectors, speaker_of = {}, {}
    for k, value in enumerate(values):
        centre = rng.standard_normal(dimension)
        centre[0] = share * value + (1 - share) * centre[0]
        for n in range(n_utts):
            utt = f"s{k:02d}-{n}"
            vectors[utt] = (centre + noise * rng.standard_normal(dimension)).astype(np.float32)
            speaker_of[utt] = f"s{k:02d}"
    return group(Path("voices"), vectors, speaker_of)


def named(values, name="sex"):
    return Attribute(name, {f"s{k:02d}": str(value) for k, value in enumerate(values)})


def settings(n_utts="1", n_speakers="all", population=0, resamples=200):
    sizes = parse_sizes("--n-utts", n_utts, ""), parse_sizes("--n-speakers", n_speakers, "", 2)
    return Options(resamples, 0, *sizes, population, "euclidean")


def score(train, test, attributes, chosen=None):
    found = score_inference(train, test, attributes, chosen or settings())
    return {(r.metric, r.params.get("attribute"), r.params["L"], r.params.get("N")): r for r in found.records}


SEXES = ["f", "m"] * 20
SIGNS = [{"f": -4.0, "m": 4.0}[sex] for sex in SEXES]


def test_what_every_utterance_tells_is_known_to_a_bit():
    found = score(voices(SIGNS), voices(SIGNS), [named(SEXES)], settings("1,3,all"))
    for n_utts in (1, 3, "all"):
        accuracy, bits = found["inference_accuracy", "sex", n_utts, None], found["inference_bits", "sex", n_utts, None]
        assert (accuracy.value, accuracy.notes["chance"]) == (1, 0.5)
        # Forty speakers, no error: nobody may be surer than that.
        assert 1 + log2(1 - 0.5 / 41) - 0.01 <= bits.value <= 1
        assert 0 < bits.lower < bits.value <= bits.upper <= 1
        assert (bits.notes["chance"], bits.notes["entropy"]) == (0, 1)
        assert found["attributes_found", None, n_utts, 40].value == pytest.approx(1 / 20)
        assert found["attributes_left", None, n_utts, 40].value == pytest.approx(20)


@pytest.mark.parametrize("seed", range(4))
def test_an_attribute_that_has_nothing_to_do_with_the_voice_gives_no_bits_within_the_interval(seed):
    speech = voices(np.zeros(40), seed=seed, share=0)
    found = score(speech, speech, [named(SEXES), named(range(20, 60), "age")])
    for metric, attribute in (
        ("inference_bits", "sex"),
        ("inference_bits", "age"),
        ("inference_accuracy", "sex"),
    ):
        record = found[metric, attribute, 1, None]
        assert record.lower <= record.notes["chance"] <= record.upper
    bits = found["inference_bits", "sex", 1, None]
    assert bits.value == max(0, bits.notes["unclipped"]) < 0.1
    assert bits.lower == 0


def test_a_channel_that_errs_gives_what_its_capacity_says():
    # A discrete voice: the sex is heard rightly of 7 speakers in 8, and that is all there is to be heard.
    speakers = 640
    sexes = ["f", "m"] * (speakers // 2)
    heard = [(-1 if (sex == "f") == (k // 2 % 8 > 0) else 1) for k, sex in enumerate(sexes)]
    vectors = {f"s{k:03d}-0": np.array([h, 1], np.float32) for k, h in enumerate(heard)}
    speech = group(Path("voices"), vectors, {utt: utt[:4] for utt in vectors})
    attribute = Attribute("sex", {f"s{k:03d}": sex for k, sex in enumerate(sexes)})
    exact = 1 + 7 / 8 * log2(7 / 8) + 1 / 8 * log2(1 / 8)
    found = score(speech, speech, [attribute])
    assert found["inference_accuracy", "sex", 1, None].value == pytest.approx(7 / 8)
    bits = found["inference_bits", "sex", 1, None]
    assert bits.value == pytest.approx(exact, abs=0.01)
    assert bits.lower <= exact <= bits.upper


def test_a_quantity_is_predicted_in_its_order():
    ages = np.random.default_rng(5).integers(18, 80, 40)
    speech = voices((ages - 50) / 5)
    found = score(speech, speech, [named(ages, "age")])
    correlation = found["inference_correlation", "age", 1, None]
    assert correlation.value > 0.9
    assert 0 < correlation.lower <= correlation.value <= correlation.upper <= 1
    assert found["inference_bits", "age", 1, None].value > 0.8
    assert ("inference_accuracy", "age", 1, None) not in found


def test_nobody_is_attacked_with_what_was_learnt_from_the_same_speaker():
    # Every speaker has a voice of its own and a sex by lot: only who knows the speaker knows the sex.
    rng = np.random.default_rng(1)
    sexes = rng.permutation(SEXES)
    speech = voices(np.zeros(40), noise=0.01, seed=2, share=0, dimension=30)
    record = score(speech, speech, [named(sexes)])["inference_accuracy", "sex", 1, None]
    assert record.lower <= 0.5 <= record.upper


def test_an_ignorant_attacker_is_not_called_misled_where_the_scores_still_tell():
    moved = voices(SIGNS, seed=3)
    moved = replace(moved, vectors=moved.vectors + np.float32(9))
    found = score(voices(SIGNS), moved, [named(SEXES)])
    assert found["inference_bits", "sex", 1, None].value > 0.9


def test_who_is_only_learnt_from_may_be_others_than_those_attacked():
    train, test = voices(SIGNS), voices(SIGNS[:12], seed=9)
    names = {spk: f"t{spk[1:]}" for spk in test.speakers}
    test = replace(test, speakers=tuple(names.values()))
    values = {**named(SEXES).values, **{names[spk]: SEXES[int(spk[1:])] for spk in names}}
    found = score(train, test, [Attribute("sex", values)])
    record = found["inference_accuracy", "sex", 1, None]
    assert record.value == 1
    assert record.counts["train_speakers"] == 40
    assert record.counts["test_speakers"] == 12


def test_unknown_values_are_left_out_and_counted_and_too_few_are_not_measured(caplog):
    values = {spk: value for spk, value in named(SEXES).values.items() if spk not in ("s00", "s01", "s02")}
    speech = voices(SIGNS)
    with caplog.at_level("INFO"):
        found = score(speech, speech, [Attribute("rare", {"s00": "x", "s01": "y"}), Attribute("sex", values)])
    assert found["inference_bits", "sex", 1, None].counts["left_out"] == 3
    assert not any(key[1] == "rare" for key in found)
    assert "attribute rare cannot be inferred: no two values have 3 speakers each" in caplog.text


def test_crowds_beyond_the_speakers_are_told_as_such():
    speech = voices(SIGNS)
    found = score(speech, speech, [named(SEXES)], settings(population=1000))
    assert found["attributes_found", None, 1, 40].params["estimator"] == "exact"
    record = found["attributes_found", None, 1, 1000]
    assert record.params["estimator"] == "frequencies"
    assert record.value == pytest.approx(2 / 1000, rel=0.03)


def test_the_same_seed_gives_the_same_records():
    speech = voices(SIGNS, share=0.3)
    one, other = (
        score_inference(speech, speech, [named(SEXES)], replace(settings("1,3"), similarity="cosine")) for _ in range(2)
    )
    assert [r.to_json() for r in one.records] == [r.to_json() for r in other.records]
    assert one.per_speaker == other.per_speaker


def test_three_speakers_of_a_class_are_in_three_folds():
    for seed in range(20):
        for others, count in ((20, MANY_FOLDS), (120, FEW_FOLDS)):
            classes = np.array([0] * 3 + [1] * 3 + [2] * others)
            folds = deal_classes(classes, seed, "x")
            assert len(set(folds[:3])) == len(set(folds[3:6])) == 3
            assert set(folds.tolist()) == set(range(count))


def test_few_speakers_do_not_decide_between_kinds_of_attackers_and_many_do():
    losses = [0.50, 0.51, 0.70]
    few, many = (_shares(losses, speakers) for speakers in (20, 20_000))
    assert few.sum() == pytest.approx(1) and few[0] / few[1] == pytest.approx(np.exp(0.01 * 20 / 2))
    assert many == pytest.approx([1, 0, 0])


def test_linear_attackers_do_where_speakers_are_many(monkeypatch):
    monkeypatch.setattr(protocol, "MANY_SPEAKERS", 10)
    speech = voices(SIGNS)
    found = score(speech, speech, [named(SEXES), named([20 + sign for sign in SIGNS], "age")])
    assert found["inference_accuracy", "sex", 1, None].value == 1
    assert found["inference_correlation", "age", 1, None].value > 0.8


def test_a_kernel_hears_what_no_direction_tells():
    # Women in the middle, men on both sides of them.
    sides = [0.0 if sex == "f" else (-4.0, 4.0)[k // 2 % 2] for k, sex in enumerate(SEXES)]
    speech = voices(sides, noise=0.3, dimension=3)
    assert score(speech, speech, [named(SEXES)])["inference_accuracy", "sex", 1, None].value > 0.9


def test_records_of_two_attributes_and_of_both_together():
    kinds = ["x" if k // 2 % 2 else "y" for k in range(40)]
    speech = voices(SIGNS)
    scores = score_inference(speech, speech, [named(SEXES), named(kinds, "kind")], settings("1,all", "20,all", 50, 0))
    found = [(r.metric, r.params.get("attribute"), r.params.get("N"), r.params["L"]) for r in scores.records]
    single = [(f"inference_{what}", name, None) for name in ("sex", "kind") for what in ("accuracy", "bits")]
    both = [(f"attributes_{what}", None, n) for what in ("left", "alone", "found") for n in (20, 40, 50)]
    assert found == [(*one, n_utts) for n_utts in (1, "all") for one in (*single, *both)]
    utts = len(speech.utts)
    for record in scores.records:
        vectors = utts if record.params["L"] == 1 else 40
        if "attribute" in record.params:
            assert record.params["classes"] == 2
            assert record.counts == {"test_speakers": 40, "left_out": 0, "vectors": vectors, "train_speakers": 40}
        else:
            assert record.params["attributes"] == "sex+kind"
            assert record.params["estimator"] == ("exact" if record.params["N"] <= 40 else "frequencies")
            assert record.counts == {"test_speakers": 40, "vectors": vectors}
    chance = {(r.metric, r.params["N"]): r.notes["chance"] for r in scores.records if "N" in r.params}
    # Nothing is known about all N by chance, or the most frequent combination is guessed: one of N.
    assert chance["attributes_found", 40] == pytest.approx(1 / 40)
    assert [v.L for v in scores.per_speaker] == ["1"] * 80 + ["all"] * 80
    values = [v for v in scores.per_speaker if v.metric == "inference_bits:sex" and v.L == "all"]
    assert [v.speaker for v in values] == list(speech.speakers) and {v.N for v in values} == {2}
    bits = next(r for r in scores.records if r.metric == "inference_bits" and r.params["L"] == "all")
    assert bits.notes["unclipped"] == pytest.approx(np.mean([v.value for v in values]))
    assert bits.lower is bits.upper is None


def test_vectors_of_two_encoders_are_refused():
    for one, other in ((3, 4), (4, 3)):
        with pytest.raises(InputError, match="another size"):
            score(voices(SIGNS, dimension=one), voices(SIGNS, dimension=other), [named(SEXES)])


def test_correlations_are_averaged_by_the_speakers_behind_them():
    values, nan = np.array([1.0, 2.0, 3.0, 4.0]), np.nan
    rows = np.array([[1, 2, 3, 4.0], [3, 2, 1, nan], [1, 2, nan, nan]])
    assert _mean_correlation(rows, values) == pytest.approx((4 * 1 + 3 * -1) / 7)
    assert _mean_correlation(rows[2:], values) == 0


def test_two_speakers_whose_attributes_are_all_known_are_enough_for_a_population():
    def attack(names):
        rows = np.zeros((len(names), 1)), np.arange(len(names)), np.zeros(len(names), int)
        classes = {name: k % 2 for k, name in enumerate(names)}
        posteriors = np.eye(2)[[classes[name] for name in names]]
        part, attribute = SimpleNamespace(n_utts=None), SimpleNamespace(name="x")
        return SimpleNamespace(
            names=names, classes=classes, rows=rows, posteriors=posteriors, part=part, attribute=attribute
        )

    chosen = settings(resamples=0)
    assert _population_records([attack(["a", "b"]), attack(["b", "c"])], chosen) == []
    found = {r.metric: r.value for r in _population_records([attack(["a", "b"]), attack(["a", "b", "c"])], chosen)}
    assert found == {"attributes_left": 1, "attributes_alone": 1, "attributes_found": 1}


def test_every_value_must_be_learnt_from_speakers_of_other_folds(caplog):
    # Three men are in three folds: without those of two, one is left to learn from, unless one has no training speech.
    sexes = ["m"] * 3 + ["f"] * 9
    speech = voices([4.0] * 3 + [-4.0] * 9)
    assert score(speech, speech, [named(sexes)])
    with caplog.at_level("INFO"):
        assert score(speech.with_speakers(speech.speakers[1:]), speech, [named(sexes)]) == {}
    assert "too few other speakers to learn every value from" in caplog.text
