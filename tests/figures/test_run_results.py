import pytest
from toy_runs import make_runs

from vpeval.core.errors import InputError
from vpeval.figures.run_results import load_results, read_side_file, speaker_values
from vpeval.results.load import Source


@pytest.fixture
def results(tmp_path):
    return load_results(make_runs(tmp_path), tmp_path / "data")


def test_original_comes_first_and_attackers_from_weak_to_strong(results):
    assert results.systems == ["original", "toy"]
    series = results.series(results.select("eer_kaldi"))
    assert [each.attack_model for each in series] == ["unprotected", "ignorant", "lazy-informed"]


def test_the_configuration_of_an_attacker_says_what_it_was_trained_on(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/cosine.yaml").write_text("mode: backend\nstart: ecapa\nprofile: plda\ntrained_on: same\n")
    results = load_results(make_runs(tmp_path), tmp_path / "data", attackers=tmp_path / "conf")
    assert {entry.attack_model for entry in results.select("eer_kaldi")} == {"unprotected", "ignorant", "semi-informed"}


def test_values_of_speakers_come_with_their_series(results):
    values = speaker_values(results.entries, "linkability")
    assert len(values) == 3 * 2 * 2 * 6
    assert {entry.attack_model for entry, _ in values} == {"unprotected", "ignorant", "lazy-informed"}


def test_a_run_without_records_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty/results\.jsonl: no such table of results"):
        load_results([tmp_path / "empty"])


@pytest.mark.parametrize("content", ["{", "[1]", b"\xff"])
def test_a_broken_side_file_is_an_error(results, content):
    entry = results.select("srd_max")[0]
    path = entry.file("ranks")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=r"records.ranks.json: is not.* run the scorer again|Run the scorer again"):
        read_side_file(entry, "ranks")


def test_a_missing_side_file_is_an_error_and_an_unnamed_one_is_none(results):
    entry = results.select("srd_max")[0]
    entry.file("ranks").unlink()
    with pytest.raises(InputError, match="is missing"):
        read_side_file(entry, "ranks")
    assert read_side_file(entry, "curves") is None


def test_a_result_file_of_a_challenge_has_the_name_that_it_is_given(tmp_path):
    run = make_runs(tmp_path)[1]
    text = "ASV-libri_test_enrolls-libri_test_trials_f_anon\n  EER: 47.260%\n  Cllr (min/act): 0.995/151.000\n"
    (tmp_path / "RESULTS").write_text(text + "  ROCCH-EER: 47.000%\n")
    results = load_results([run, Source(tmp_path / "RESULTS", "friend")], tmp_path / "data")
    assert results.anonymised == ["toy", "friend"]
    assert results.published == {"friend"}


def test_two_different_numbers_of_a_system_are_an_error(tmp_path):
    run = make_runs(tmp_path)[1]
    changed = tmp_path / "changed/results.jsonl"
    changed.parent.mkdir()
    changed.write_text((run / "results.jsonl").read_text().replace('"value": 10.0', '"value": 11.0'))
    with pytest.raises(InputError, match="a second, different wer for toy toy_test_asr a; give each run once"):
        load_results([run, changed], tmp_path / "data")
    assert load_results([run, Source(changed, "other")], tmp_path / "data").anonymised == ["toy", "other"]
