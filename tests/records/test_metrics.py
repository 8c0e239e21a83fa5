import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.editions.headline import eer_of, headline_eer, in_challenge_mode
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.similarity import voice_similarity
from vpeval.metrics.verification import paired_difference, verification
from vpeval.records.metrics import GROUPS, LISTENING, METRICS, OTHER, describe, rank
from vpeval.records.record import Record
from vpeval.results.text_tables import chance_level, show_chance, with_null_levels, with_tables

ROOT = Path(__file__).parents[2]


def test_numbers_are_printed_in_the_unit_of_their_metric():
    assert describe("eer_kaldi").typeset(0.07142) == "7.14"
    assert describe("wer").typeset(10.006) == "10.01"
    assert describe("g_vd").typeset(-0.291) == "−0.29"
    assert describe("zebra_individual").typeset(float("inf")) == "∞"


def test_what_is_not_zero_is_not_shown_as_zero():
    show = describe("linkability").show
    assert [show(value) for value in (1 / 5000, 1 / 22024, -0.0003, 0.00049, 0.0005)] == [
        "0.02",
        "0.005",
        "-0.03",
        "0.05",
        "0.1",
    ]
    assert [show(value) for value in (0.0, 1e-9, 0.25)] == ["0.0", "0.0", "25.0"]


def test_every_eer_says_which_one_it_is():
    names = [name for name, metric in METRICS.items() if "eer" in name and metric.group != LISTENING]
    assert {describe(name).title for name in names} == {
        "EER (Kaldi)",
        "EER (threshold)",
        "EER (ROCCH)",
        "1-EER (ROCCH)",
    }
    assert all(describe(name).title[-8:] in describe(name).latex for name in names if name != "one_minus_eer")
    heard = [metric for name, metric in METRICS.items() if "eer" in name and metric.group == LISTENING]
    assert all("(" in metric.title or metric.identified_by == ("estimator",) for metric in heard)


def test_every_description_is_whole():
    for metric in METRICS.values():
        assert metric.explanation[0].isupper() or metric.explanation[0].isdigit()
        assert metric.explanation.endswith(".") and ". " not in metric.explanation.replace("et al. ", "")
        assert metric.group in GROUPS and metric.group != OTHER
        assert metric.better in (-1, 0, 1)
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)


def test_an_unknown_metric_keeps_its_name_and_comes_last():
    assert (describe("new_thing").title, describe("new_thing").group) == ("new thing", OTHER)
    assert describe("new_thing").latex == r"new\_thing"
    assert sorted(["new_thing", "wer", "eer_kaldi"], key=rank) == ["eer_kaldi", "wer", "new_thing"]


def written_by_name():
    """The names of metrics in calls like Record("wer", …) of the library and of the scripts."""
    for path in [*(ROOT / "vpeval").rglob("*.py"), *(ROOT / "local").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Record" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str) and "Record(" not in first.value:
                    yield first.value


def test_every_metric_that_is_written_is_described():
    score, same = np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False])
    trials = ScoredTrials(score, same, np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0]))
    matrix = np.array([[0.9, 0.1], [0.1, 0.8]])
    written = {
        *written_by_name(),
        *(record.metric for record in verification(trials, resamples=0)),
        *(record.metric for record in voice_similarity({"oo": matrix, "oa": matrix, "aa": matrix}, resamples=0)),
        *("srd_max", "srd_mean", "srd_idr", "srd_rank_spread", "linkability", "singling_out"),
        *(f"jaccard_{kind}{mean}" for kind in ("easy", "hard") for mean in ("", "_mean")),
        *("wer", "cer", "pitch_correlation", "stoi", "estoi"),
        *(f"dnsmos_{part}" for part in ("ovrl", "sig", "bak", "p808")),
    }
    assert {"uar", "emotion_accuracy", "dsys_null", "one_minus_eer"} <= written
    written |= {record.metric for record in paired_difference(trials, score[::-1], resamples=0)}
    assert {name for name in written if describe(name).group == OTHER} == set()


def test_every_edition_has_an_eer():
    assert {edition: eer_of(edition) for edition in editions()} == {
        "2020": "eer_kaldi",
        "2022": "eer_kaldi",
        "2024": "eer_threshold",
        "2026": "eer_threshold",
    }
    with pytest.raises(InputError, match="no edition '2021' of the challenge; there are 2020, 2022, 2024, 2026"):
        eer_of("2021")


def test_a_page_shows_the_eer_of_its_edition_or_one_that_is_there():
    assert headline_eer(["wer", "eer_kaldi", "eer_threshold"], "2024") == "eer_threshold"
    assert headline_eer(["eer_threshold"], "2020") == "eer_threshold"
    assert headline_eer(["wer"], "2020") == "eer_kaldi"


def test_the_mode_of_the_challenge_is_preferred_system_by_system():
    records = [
        Record("deid", value, params={"mode": mode}, system=system)
        for system, mode, value in (("a", "full", 0.4), ("a", "vpc", 0.5), ("b", "full", 0.6))
    ]
    assert [record.value for record in in_challenge_mode(records, lambda record: record)] == [0.5, 0.6]


def test_of_several_encoders_the_first_one_trained_on_original_speech_is_shown():
    def gain(value, system, encoder, **notes):
        return Record("g_vd", value, params={"mode": "vpc"}, system=system, attacker=encoder, notes=notes)

    def shown(*records):
        return [record.value for record in in_challenge_mode(records, lambda record: record)]

    pitch = Record("pitch_correlation", 0.9, system="a", attacker="other")
    trained = gain(1, "a", "ecapa_finetune", trained_on="a")
    assert shown(trained, gain(2, "a", "ecapa"), gain(3, "a", "resnet"), pitch) == [2, 0.9]
    # One that more systems have comes before; a system without it keeps its own.
    a, b, c = (gain(2, "a", "ecapa"), gain(3, "a", "resnet")), gain(4, "b", "resnet"), gain(5, "c", "published")
    assert shown(*a, b, c) == [3, 4, 5]
    assert shown(trained) == []


def test_chance_is_what_finite_data_measure_where_that_is_known():
    record = Record("srd_max", 1.0, notes={"chance": 0.0, "floor": 0.2})
    assert (chance_level(record), show_chance(record)) == (0.2, "0.20")
    assert show_chance(Record("eer_kaldi", 0.1)) == "50"
    assert show_chance(Record("wer", 0.1)) == ""


def test_the_chance_of_an_identification_rate_is_exactly_one_of_n():
    record = Record("srd_idr", 0.5, params={"N": 38}, notes={"chance": 1 / 38, "floor": 0.0263859649122807})
    assert chance_level(record) == 1 / 38
    assert show_chance(record) == "2.63"


def test_d_sys_is_compared_with_shuffled_labels_of_the_same_trials():
    tags = {"system": "s", "set": "x_trials_f", "condition": "aa", "attacker": "a"}
    records = [Record("dsys", 0.5, **tags), Record("dsys_null", 0.06, **tags), Record("dsys", 0.5, system="other")]
    found = with_null_levels(records)
    assert [record.notes.get("floor") for record in found if record.metric == "dsys"] == [0.06, None]


def test_the_page_of_the_metrics_is_up_to_date():
    path = ROOT / "docs/metrics.md"
    page = path.read_text(encoding="utf-8")
    assert page == with_tables(page, path), "docs/metrics.md is stale: run utils/describe_metrics.py"
    assert all(f"| `{name}` |" in page for name in METRICS)


def test_a_page_without_a_place_for_a_group_is_an_error():
    with pytest.raises(InputError, match=r"x\.md: must have lines .* check .*Utility"):
        with_tables("<!-- metrics: Legal criteria -->\n<!-- end of metrics -->\n", Path("x.md"))


def test_metrics_are_described_without_scipy_which_costs_half_a_second():
    """Every scorer and every stage describes them."""
    program = (
        "import sys; from vpeval.records.metrics import known_metrics; known_metrics();"
        "print([name for name in sys.modules if name.partition('.')[0] in ('scipy', 'torch', 'matplotlib')])"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
