"""Published baselines: how they are read, and that they are what the challenges published."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.records.record import Record
from vpeval.results.load import Source, load
from vpeval.results.overview import means
from vpeval.results.published import PUBLISHED_FILE, published

SHARED = Path(__file__).parents[3] / "shared/reference/published_results"


def test_baselines_belong_to_the_corpus_of_their_edition():
    found = published("vpc2024", "2024")
    assert list(found.systems) == ["original", "B1", "B2", "B3", "B4", "B5", "B6"]
    assert found.systems["B5"]["eer_threshold"].value == pytest.approx((0.33946 + 0.34729) / 2)
    assert found.systems["B5"]["wer"] == Record("wer", 4.369, system="B5", set="test")
    assert published("mini", "2024") is None
    assert published("vpc2022", "2024") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("attack: semi-informed", "attack: strong"),
        ("eer: 7.769", "eer: low"),
        ("pitch_correlation: 0.62", "pitch: 0.62"),
        ("systems:", "system:"),
    ],
)
def test_a_mistake_in_the_table_is_an_error_that_names_it(tmp_path, before, after):
    text = PUBLISHED_FILE.read_text().replace(before, after)
    assert text != PUBLISHED_FILE.read_text()
    (tmp_path / "published.yaml").write_text(text)
    with pytest.raises(InputError, match=r"published\.yaml: '20"):
        published("vpc2022", "2022", tmp_path / "published.yaml")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not at hand")
@pytest.mark.parametrize(
    ("edition", "system", "file", "attacker"),
    [
        ("2020", "B1", "2020/RESULTS_baseline", ""),
        ("2020", "B2", "2020/RESULTS_mcadams", ""),
        ("2022", "B2", "2022/results.anon_mcadams", "ASV_eval_anon"),
        ("2022", "B1.a", "2022/results.anon_tts_old_c", "ASV_eval_anon"),
        ("2024", "B2", "2024/result_for_rank_mcadams", "ASV_eval_anon"),
        ("2024", "B3", "2024/result_for_rank_sttts", "ASV_eval_anon"),
        ("2024", "B4", "2024/result_for_rank_nac", "ASV_eval_anon"),
        ("2026", "B2", "2026/track1_result_for_rank_mcadams", "ASV_eval_anon"),
    ],
)
def test_the_numbers_are_those_of_the_published_files(edition, system, file, attacker):
    own = published(f"vpc{edition}", edition).systems[system]
    read = [r for r in means(load([Source(SHARED / file, "s")])) if r.set == "test" and r.system == "s"]
    for metric, record in own.items():
        found = [
            r.value
            for r in read
            if r.metric == metric and r.condition in ("", "a", "aa") and (r.attacker == attacker or "eer" not in metric)
        ]
        # Means of rates that were printed with two digits, where we have the counts of errors.
        digits = {"wer": 6e-3, "eer_kaldi": 6e-6}.get(metric, 6e-4)
        assert found == [pytest.approx(record.value, abs=digits)], metric
