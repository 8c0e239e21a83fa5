"""Published baselines: how they are read, and that they are what the challenges published."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.records.names import PUBLICATION, PUBLISHED, attack_model
from vpeval.records.record import Record
from vpeval.results.load import Source, load
from vpeval.results.overview import means
from vpeval.results.published import PUBLISHED_DIR, baselines_file, published, read_baselines

SHARED = Path(__file__).parents[3] / "shared/reference/published_results"


def test_baselines_belong_to_the_corpus_of_their_edition():
    found = published("vpc2024", "2024")
    assert list(found.systems) == ["original", "B1", "B2", "B3", "B4", "B5", "B6"]
    assert found.systems["B5"]["eer_threshold"].value == pytest.approx((0.33946 + 0.34729) / 2)
    assert found.systems["B5"]["wer"].value == 4.369
    assert published("mini", "2024") is None
    assert published("vpc2022", "2024") is None


def test_systems_are_in_the_order_of_the_file():
    assert list(published("vpc2022", "2022").systems) == ["original", "B1.a", "B1.b", "B2"]


def test_the_report_shows_the_attack_that_the_edition_ranks_by():
    eers = {edition: published(f"vpc{edition}", edition).systems["B2"] for edition in ("2020", "2026")}
    assert eers["2020"]["eer_kaldi"].value == pytest.approx(0.13061, abs=5e-6)
    assert attack_model(eers["2020"]["eer_kaldi"]) == "lazy-informed"
    assert eers["2026"]["eer_threshold"].value == pytest.approx(0.04713)
    assert attack_model(eers["2026"]["eer_threshold"]) == "semi-informed"


@pytest.mark.parametrize("edition", editions())
def test_every_edition_has_baselines_set_by_set(edition):
    records = load([baselines_file(edition)])
    assert {"original", "B2"} <= {record.system for record in records}
    assert {record.recipe for record in records} == {f"vpc{edition}"}
    assert {record.notes[PUBLICATION] for record in records} == {f"published {edition}"}
    assert all(record.notes[PUBLISHED] and record.lower is None and record.upper is None for record in records)
    b2 = {record.set for record in records if record.system == "B2" and attack_model(record)}
    assert len(b2) == {"2020": 12, "2022": 12, "2024": 4, "2026": 2}[edition]


FILE = """edition: "2024"
recipe: vpc2024
source: "a paper"
attack: semi-informed
models: "an attacker"
numbers:
  - {system: X1, metric: eer, attack: semi-informed, values: {libri_test_trials_f: 12.5, test: 13}}
  - {system: X1, metric: wer, recogniser: ASR_eval, lm: large, values: {libri_test_asr: 4.5}}
"""


def test_an_entry_is_the_numbers_of_a_system_by_a_metric(tmp_path):
    (tmp_path / "x.yaml").write_text(FILE)
    notes = {PUBLISHED: "a paper", PUBLICATION: "published 2024"}
    attacked = {"condition": "aa", "attacker": "ASV_eval_anon", "notes": {**notes, "attack_model": "semi-informed"}}
    own = {"recipe": "vpc2024", "system": "X1"}
    assert read_baselines(tmp_path / "x.yaml") == [
        Record("eer_threshold", 0.125, set="libri_test_trials_f", gender="f", **own, **attacked),
        Record("eer_threshold", 0.13, set="test", **own, **attacked),
        Record(
            *("wer", 4.5),
            params={"lm": "large"},
            notes=notes,
            set="libri_test_asr",
            condition="a",
            recogniser="ASR_eval",
            **own,
        ),
    ]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("attack: semi-informed\n", "attack: strong\n", "'attack' one of its attack models"),
        ("semi-informed,", "strong,", "entry 1: attack 'strong' is not known"),
        ("semi-informed,", "unprotected,", "entry 1: X1 cannot have the attack model unprotected"),
        ("12.5", "low", "entry 1: 'low' of libri_test_trials_f is no number"),
        ("12.5", "112.5", "entry 1: a eer_threshold of 1.125 cannot be"),
        ("metric: wer", "metric: words", "entry 2: metric 'words' is not known"),
        ("lm: large", "model: large", "entry 2: must have system, metric and values, and may have attack, lm, recog"),
        ("libri_test_asr", "all", "entry 2: 'all' is no set of a challenge"),
        ("{libri_test_asr: 4.5}", "4.5", "entry 2: must have words, and values by the names of sets"),
        ("models:", "model:", "models"),
        (
            "test: 13}}\n",
            "test: 13}}\n  - {system: X1, metric: eer, attack: semi-informed, values: {test: 1}}\n",
            "twice",
        ),
    ],
)
def test_a_mistake_in_the_file_is_an_error_that_names_it(tmp_path, before, after, words):
    assert before in FILE
    (tmp_path / "x.yaml").write_text(FILE.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        load([tmp_path / "x.yaml"])
    assert "x.yaml: " in str(error.value)
    assert words in str(error.value)


def test_another_edition_is_an_error():
    with pytest.raises(InputError, match="no edition '2021'"):
        baselines_file("2021")
    assert {path.stem for path in PUBLISHED_DIR.glob("*.yaml")} == set(editions())


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not at hand")
@pytest.mark.parametrize(
    ("edition", "system", "file"),
    [
        ("2020", "B1", "2020/RESULTS_baseline"),
        ("2020", "B2", "2020/RESULTS_mcadams"),
        ("2022", "B2", "2022/RESULTS_summary_mcadams"),
        ("2022", "B1.a", "2022/RESULTS_summary_tts_old_c"),
        ("2024", "B2", "2024/result_for_rank_mcadams"),
        ("2024", "B3", "2024/result_for_rank_sttts"),
        ("2024", "B4", "2024/result_for_rank_nac"),
        ("2026", "B2", "2026/track1_result_for_rank_mcadams"),
    ],
)
def test_the_numbers_are_those_of_the_published_files(edition, system, file):
    def number(record):
        return record.metric, record.set, attack_model(record), record.params.get("lm", "")

    theirs = {number(r): r.value for r in load([Source(SHARED / file, system)]) if r.system == system}
    own = {number(r): r.value for r in load([baselines_file(edition)]) if r.system == system}
    # Error rates were printed with two digits, where we have the counts of errors, and G_VD with all digits.
    digits = {"wer": 6e-3, "g_vd": 6e-4}
    for key, value in own.items():
        assert theirs[key] == pytest.approx(value, abs=digits.get(key[0], 1e-9)), key
    left = {metric for metric, _, _, lm in theirs.keys() - own.keys() if lm != "small"}
    assert left <= {"emotion_accuracy"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not at hand")
def test_the_averages_are_the_published_ones():
    rows = [line.split("\t") for line in (SHARED / "baselines.tsv").read_text().splitlines()]
    theirs = {row[4]: float(row[8]) for row in rows if row[:2] == ["2022", "tts_joint_nsf_hifigan"]}
    own = {(r.metric, r.set): r.value for r in means(load([baselines_file("2022")])) if r.system == "B1.b"}
    for partition in ("dev", "test"):
        assert 100 * own["eer_kaldi", partition] == pytest.approx(theirs[f"Weighted average EER {partition} anon"])
        assert own["wer", partition] == theirs[f"Average WER {partition} anon"]
        assert own["g_vd", partition] == theirs[f"Weighted average gain of voice distinctiveness {partition}"]
        assert own["pitch_correlation", partition] == theirs[f"Weighted average pitch correlation {partition}"]
