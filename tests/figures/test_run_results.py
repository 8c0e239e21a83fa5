import pytest
from toy_runs import make_runs

from vpeval.core.errors import InputError
from vpeval.figures.run_results import load_results, read_side_file, speaker_values


@pytest.fixture
def results(tmp_path):
    return load_results(make_runs(tmp_path), tmp_path / "data")


def test_original_comes_first_and_attackers_from_weak_to_strong(results):
    assert results.systems == ["original", "toy"]
    series = results.series(results.select("eer_kaldi"))
    assert [results.title(each) for each in series] == ["original", "ignorant", "lazy-informed"]


def test_the_system_is_named_where_there_are_several(tmp_path):
    runs = [*make_runs(tmp_path, "a"), make_runs(tmp_path, "b")[1]]
    results = load_results(runs, tmp_path / "data")
    titles = [results.title(each) for each in results.series(results.select("eer_kaldi"))]
    assert titles == ["original", "a, ignorant", "a, lazy-informed", "b, ignorant", "b, lazy-informed"]


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
