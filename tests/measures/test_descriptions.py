"""What the metrics of the measures are to their readers: which values are good, possible, chance, and where shown."""

from math import inf

import pytest

from vpeval.measures import (
    disclosure,
    emotion,
    inference,
    linkability,
    pitch,
    quality,
    recognition,
    similarity,
    singling_out,
    speaker_overlap,
    strongest,
    verification,
)

MODULES = (
    verification,
    strongest,
    linkability,
    singling_out,
    inference,
    disclosure,
    similarity,
    recognition,
    emotion,
    pitch,
    quality,
    speaker_overlap,
)
METRICS = {metric.name: metric for module in MODULES for metric in module.METRICS}
UNIT, CORRELATION, ANY, POSITIVE = (0, 1), (-1, 1), (-inf, inf), (0, inf)
BETTER_CHANCE_RANGE = {
    "eer_kaldi": (+1, 0.5, UNIT),
    "eer_threshold": (+1, 0.5, UNIT),
    "eer_rocch": (+1, 0.5, UNIT),
    "strongest_attack": (+1, 0.5, UNIT),
    "min_cllr": (+1, 1, UNIT),
    "cllr": (0, None, POSITIVE),
    "min_dcf": (+1, 1, ANY),
    "tpr_at_1_percent": (-1, 0.01, UNIT),
    "tpr_at_0.1_percent": (-1, 0.001, UNIT),
    "dsys": (-1, 0, UNIT),
    "dsys_calibrated": (-1, 0, UNIT),
    "dsys_null": (0, None, UNIT),
    "zebra_population": (-1, 0, POSITIVE),
    "zebra_individual": (-1, 0, POSITIVE),
    "singling_out": (-1, None, UNIT),
    "linkability": (-1, None, UNIT),
    "one_minus_eer": (-1, 0.5, UNIT),
    "singling_out_side": (-1, None, ANY),
    "linkability_side": (-1, None, ANY),
    "singling_out_extrapolated": (-1, None, ANY),
    "linkability_extrapolated": (-1, None, ANY),
    "singling_out_extrapolation_error": (0, None, ANY),
    "linkability_extrapolation_error": (0, None, ANY),
    "inference_bits": (-1, 0, ANY),
    "inference_accuracy": (-1, None, ANY),
    "inference_correlation": (-1, 0, ANY),
    "attributes_found": (-1, None, ANY),
    "attributes_alone": (-1, None, ANY),
    "attributes_left": (0, None, ANY),
    "srd_max": (-1, 0, ANY),
    "srd_mean": (-1, 0, ANY),
    "srd_idr": (-1, None, UNIT),
    "srd_rank_spread": (+1, None, UNIT),
    "deid": (+1, 1, (-inf, 1)),
    "g_vd": (+1, None, ANY),
    "d_diag": (0, None, ANY),
    "wer": (-1, None, POSITIVE),
    "cer": (-1, None, POSITIVE),
    "pitch_correlation": (+1, None, CORRELATION),
    "uar": (+1, None, (0, 100)),
    "emotion_accuracy": (+1, None, (0, 100)),
    "dnsmos_ovrl": (+1, None, ANY),
    "dnsmos_sig": (+1, None, ANY),
    "dnsmos_bak": (+1, None, ANY),
    "dnsmos_p808": (+1, None, ANY),
    "stoi": (+1, None, CORRELATION),
    "estoi": (+1, None, CORRELATION),
    "jaccard_easy": (0, None, UNIT),
    "jaccard_hard": (0, None, UNIT),
    "jaccard_easy_mean": (0, None, UNIT),
    "jaccard_hard_mean": (0, None, UNIT),
}


def test_no_metric_is_left_out():
    assert METRICS.keys() == BETTER_CHANCE_RANGE.keys()


@pytest.mark.parametrize("name", BETTER_CHANCE_RANGE)
def test_what_is_wanted_what_chance_gives_and_what_is_possible(name):
    metric = METRICS[name]
    assert (metric.better, metric.chance, metric.range) == BETTER_CHANCE_RANGE[name]


def test_what_records_must_state():
    sizes, overlap = ("N", "L"), ("across", "chance")
    assert {name: metric.requires for name, metric in METRICS.items() if metric.requires} == {
        "strongest_attack": ("eer", "sets", "chosen"),
        "zebra_individual": ("tag",),
        **dict.fromkeys(("linkability", "one_minus_eer", "singling_out"), sizes),
        "emotion_accuracy": ("emotion",),
        **{name: overlap for name in METRICS if name.startswith("jaccard")},
    }


def names(place):
    return {name for name, metric in METRICS.items() if place in metric.shown}


def test_where_metrics_are_shown():
    eers = {"eer_kaldi", "eer_threshold", "eer_rocch"}
    key = eers | {"min_cllr", "dsys_calibrated", "singling_out", "linkability", "srd_idr"}
    assert names("key") == key | {"wer", "uar", "pitch_correlation", "g_vd"}
    assert names("overview") == names("key") - {"singling_out", "linkability", "srd_idr"} | {"deid"}
    assert names("by set") == eers | {"min_cllr", "cllr", "wer", "cer", "uar"}
    hidden = {"strongest_attack", "min_dcf", "dsys_null", "attributes_alone", "attributes_left", "d_diag"}
    hidden |= {"tpr_at_1_percent", "tpr_at_0.1_percent"}
    hidden |= {"singling_out_extrapolation_error", "linkability_extrapolation_error", "emotion_accuracy"}
    assert METRICS.keys() - names("summary") == hidden


@pytest.mark.parametrize(
    ("aspect", "places"),
    [
        ("privacy", {"eer": 0, "min_cllr": 1, "dsys_calibrated": 2, "linkability": 3, "singling_out": 4, "srd_idr": 5}),
        ("utility", {"wer": 1, "uar": 2, "pitch_correlation": 3, "g_vd": 4}),
    ],
)
def test_the_order_of_key_numbers(aspect, places):
    shown = [metric for metric in METRICS.values() if "key" in metric.shown and metric.aspect == aspect]
    assert {
        metric.name.removesuffix(f"_{metric.name.split('_')[-1]}") if metric.estimator_of else metric.name: (
            metric.key_place
        )
        for metric in shown
    } == places


@pytest.mark.parametrize(
    ("group", "steps"),
    [
        (
            "Speaker verification",
            "eer_kaldi,eer_threshold,eer_rocch strongest_attack min_cllr cllr min_dcf tpr_at_1_percent,tpr_at_0.1_percent "
            "dsys dsys_calibrated dsys_null zebra_population zebra_individual",
        ),
        (
            "Legal criteria",
            "singling_out linkability one_minus_eer singling_out_side linkability_side singling_out_extrapolated "
            "linkability_extrapolated singling_out_extrapolation_error linkability_extrapolation_error",
        ),
        (
            "Utility",
            "wer cer pitch_correlation uar,emotion_accuracy dnsmos_ovrl,dnsmos_sig,dnsmos_bak,dnsmos_p808 stoi,estoi",
        ),
    ],
)
def test_the_order_of_metrics_in_tables(group, steps):
    own = {name: metric.place for name, metric in METRICS.items() if metric.group == group}
    assert own == {name: place for place, step in enumerate(steps.split()) for name in step.split(",")}


def test_how_many_digits_are_shown():
    by_digits = {1: set(), 2: set(), 3: set()}
    for name, metric in METRICS.items():
        by_digits[metric.digits].add(name)
    assert by_digits[2] == {
        *("eer_kaldi", "eer_threshold", "eer_rocch", "strongest_attack", "wer", "cer", "uar", "emotion_accuracy"),
        *("inference_bits", "inference_correlation", "srd_max", "srd_mean", "srd_idr", "g_vd"),
        *("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808"),
    }
    legal = {name for name, metric in METRICS.items() if metric.group == "Legal criteria"}
    assert by_digits[1] == legal | {
        *("inference_accuracy", "attributes_found", "attributes_alone", "attributes_left"),
        *("tpr_at_1_percent", "tpr_at_0.1_percent"),
        *("srd_rank_spread", "deid"),
    }


def test_what_a_verdict_grades():
    graded = {name: metric.success.graded for name, metric in METRICS.items() if metric.success}
    assert graded == {"linkability": True, "singling_out": False, "srd_idr": True}
    criteria = {"linkability", "linkability_side", "srd_idr", "singling_out", "singling_out_side"}
    assert {name for name, metric in METRICS.items() if metric.criterion} == criteria


def test_the_language_models_of_the_challenge():
    assert recognition.LMS == {"small": (3, 2), "large": (4, 1)}
