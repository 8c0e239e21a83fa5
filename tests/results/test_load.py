import pytest

from vpeval.errors import InputError
from vpeval.records import Record, write_records
from vpeval.results.load import load

ASR = "ASR-toy_dev_asr\n  %WER 4.00 [ 1 / 25, 0 ins, 0 del, 1 sub ]\n"
ANON = "ASR-toy_dev_asr_anon\n  %WER 8.00 [ 2 / 25, 0 ins, 0 del, 2 sub ]\n"


def test_a_results_txt_is_named_by_its_directory_and_a_copy_by_itself(tmp_path):
    inside, copy = tmp_path / "mcadams" / "results.txt", tmp_path / "RESULTS_pool"
    inside.parent.mkdir()
    inside.write_text(ASR + ANON)
    copy.write_text(ASR + ANON)
    assert [record.system for record in load([inside, copy])] == ["original", "mcadams", "pool"]


def test_numbers_of_the_original_data_are_taken_once_and_from_the_first_file(tmp_path, caplog):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_records(first, [Record("wer", 1.0, system="original", set="x", params={"source": "first"})])
    write_records(second, [Record("wer", 2.0, system="original", set="x", params={"source": "second"})])
    assert [record.value for record in load([first, second])] == [1.0]
    assert "1 numbers of the original data differ" in caplog.text
    assert [record.value for record in load([second, first])] == [2.0]


def test_two_values_for_a_number_of_a_system_are_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    write_records(path, [Record("wer", value, system="mine", set="x", condition="a") for value in (1.0, 1.0, 2.0)])
    with pytest.raises(InputError, match="a second, different wer for mine x a"):
        load([path])


def test_parameters_tell_numbers_apart(tmp_path):
    path = tmp_path / "a.jsonl"
    write_records(path, [Record("linkability", 0.5, params={"N": n}) for n in (20, 50)])
    assert len(load([path])) == 2
