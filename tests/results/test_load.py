import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "editions"))

from result_samples import RANK_2024, RESULTS_2022, SUMMARY_2022, TRACK2_2026, UNTIDY_2024
from test_vpc2020 import PUBLISHED_SHAPE

from vpeval.core.errors import InputError
from vpeval.records.names import PUBLISHED
from vpeval.records.record import Record, write_records
from vpeval.results.load import Source, load

ASR = "ASR-toy_dev_asr\n  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ]\n"
ANON = "ASR-toy_dev_asr_anon\n  %WER 8.00 [ 2 / 25, 0 ins, 0 del, 2 sub ]\n"


def test_a_results_txt_is_named_by_its_directory_and_a_copy_by_itself(tmp_path):
    inside, copy = tmp_path / "mcadams" / "results.txt", tmp_path / "RESULTS_pool"
    inside.parent.mkdir()
    inside.write_text(ASR + ANON)
    copy.write_text(ASR + ANON)
    assert [record.system for record in load([inside, copy])] == ["original", "mcadams", "pool"]


def test_published_numbers_of_the_original_data_are_those_of_the_first_file(tmp_path, caplog):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_records(first, [Record("wer", 1.0, system="original", set="x", notes={PUBLISHED: "first"})])
    write_records(second, [Record("wer", 2.0, system="original", set="x", notes={PUBLISHED: "second"})])
    assert [record.value for record in load([first, second])] == [1.0]
    assert "1 numbers of the original data differ" in caplog.text
    assert [record.value for record in load([second, first])] == [2.0]


def test_two_values_for_a_number_of_a_system_are_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    write_records(path, [Record("wer", value, system="mine", set="x", condition="a") for value in (1.0, 1.0, 2.0)])
    with pytest.raises(InputError, match="a second, different wer for mine x a"):
        load([path])


def test_numbers_with_different_parameters_are_different(tmp_path):
    path = tmp_path / "a.jsonl"
    write_records(path, [Record("linkability", 0.5, params={"N": n, "L": 1}) for n in (20, 50)])
    assert len(load([path])) == 2


@pytest.mark.parametrize(
    ("name", "text", "system", "attackers"),
    [
        ("RESULTS_pool", PUBLISHED_SHAPE, "pool", {"", "ASR_eval_anon"}),
        ("results.anon_pool", RESULTS_2022, "pool", {"", "ASV_eval_anon", "ASR_eval", "ASR_eval_anon"}),
        ("results.orig_pool", RESULTS_2022, "pool", {"", "ASV_eval", "ASR_eval", "ASR_eval_anon"}),
        ("RESULTS_summary_pool", SUMMARY_2022, "pool", {"", "ASV_eval", "ASV_eval_anon", "ASR_eval", "ASR_eval_anon"}),
        ("result_for_rank_pool", RANK_2024, "pool", {"", "ASV_eval", "ASV_eval_anon"}),
        ("track1_result_for_rank_pool", UNTIDY_2024, "pool", {"ASV_eval", "ASV_eval_anon"}),
        ("my_file.txt", RANK_2024, "my_file", {"", "ASV_eval", "ASV_eval_anon"}),
        ("result_for_rank", TRACK2_2026, "mine", {"", "ASV_eval", "ASV_eval_anon"}),
        ("results_summary.txt", SUMMARY_2022, "mine", {"", "ASV_eval", "ASV_eval_anon", "ASR_eval", "ASR_eval_anon"}),
    ],
)
def test_the_first_line_shows_the_edition_and_the_name_the_system(tmp_path, name, text, system, attackers):
    path = tmp_path / "mine" / name
    path.parent.mkdir()
    path.write_text(text)
    records = load([path])
    assert {record.system for record in records} - {"original"} == {system}
    if name != "RESULTS_pool":
        assert {record.model for record in records} == attackers


def test_a_name_before_the_path_names_the_system(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("results.txt", "a=b.txt"):
        (tmp_path / name).write_text(ANON)
    write_records(tmp_path / "r.jsonl", [Record("wer", 1.0, system=s, set="x") for s in ("original", "x")])
    assert {r.system for r in load([Source.parse("mine=results.txt")])} == {"mine"}
    assert {r.system for r in load([Source.parse("a=b.txt")])} == {"a=b"}
    assert {r.system for r in load([Source.parse("mine=r.jsonl")])} == {"original", "mine"}


def test_a_file_of_several_systems_cannot_be_renamed(tmp_path):
    write_records(tmp_path / "r.jsonl", [Record("wer", 1.0, system=s, set="x") for s in ("x", "y")])
    with pytest.raises(InputError, match="holds 2 systems"):
        load([Source(tmp_path / "r.jsonl", "mine")])
