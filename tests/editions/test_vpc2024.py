import pytest
from result_samples import RANK_2024, TRACK2_2026, UNTIDY_2024

from vpeval.core.errors import InputError
from vpeval.editions import vpc2024
from vpeval.editions.base import edition_of
from vpeval.records.record import Record


@pytest.fixture
def read(tmp_path):
    def read_text(text, system=""):
        (tmp_path / "result_for_rank").write_text(text)
        return vpc2024.read(tmp_path / "result_for_rank", system)

    return read_text


@pytest.mark.parametrize("text", [RANK_2024, TRACK2_2026])
def test_writing_what_was_read_gives_the_same_bytes(read, text):
    assert vpc2024.render(read(text)) == text


def test_of_an_untidy_file_only_blanks_and_row_numbers_are_lost(read):
    again = vpc2024.render(read(UNTIDY_2024))
    assert again.split() == UNTIDY_2024.split()
    assert vpc2024.render(read(again)) == again


def test_rows_become_records_with_set_condition_and_attacker(read):
    eers = [r for r in read(RANK_2024, "mcadams") if r.metric == "eer_threshold"]
    assert [(r.set, r.gender, r.condition, r.system, r.attacker, r.value) for r in (eers[0], eers[-1])] == [
        ("toy_dev_trials_f", "f", "oo", "original", "ASV_eval", 0.10511),
        ("toy_test_trials_m", "m", "aa", "mcadams", "ASV_eval_anon", 0.01557),
    ]
    assert eers[0].notes == {"written": "29-03-24_10:45"}
    wers = [(r.set, r.condition, r.system, r.value) for r in read(RANK_2024, "mcadams") if r.metric == "wer"]
    assert wers[1] == ("toy_dev_asr", "a", "mcadams", 10.442)


def test_columns_are_found_by_their_names(read):
    sad = [r for r in read(TRACK2_2026) if r.params.get("emotion") == "sad"]
    assert (sad[0].metric, sad[0].value, sad[0].set) == ("emotion_accuracy", 75.09, "emodata_dev")
    assert (sad[0].params, sad[0].notes) == ({"emotion": "sad"}, {"written": "13-06-26_05:45"})
    assert [r.notes["folds"] for r in read(RANK_2024) if r.metric == "uar"] == [5] * 4


def test_a_row_number_may_be_absent(read):
    text = "---- ASR results ----\ndataset split asr WER\ntoy dev anon 1.000\n7 toy test anon 2.000\n"
    assert [r.value for r in read(text)] == [1, 2]


def test_the_editions_show_different_rows_of_asv_eval(read):
    lazy = Record("eer_threshold", 0.25, system="x", set="toy_dev_trials_f", condition="aa", attacker="ASV_eval")
    asv = {}
    for year in ("2024", "2026"):
        text = edition_of(year).files[0].render([*read(RANK_2024, "x"), lazy])
        asv[year] = text.partition("ASV_eval results ----\n")[2].partition("\n\n")[0]
    assert asv["2024"].count("original  original") == 4 and "25.000" not in asv["2024"]
    assert asv["2026"].split()[6:] == ["2", "toy", "dev", "f", "anon", "anon", "25.000"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "is empty"),
        ("\n\n", 1, "is empty"),
        ("hello\n", 1, "is no line of a VPC 2024 or 2026 result file"),
        ("---- Time: 29-03-24_10:45 ----\n", 1, "is empty"),
        ("---- XYZ results ----\n", 1, "'XYZ results' is no known section"),
        ("---- ASR results ----\n", 1, "has no rows"),
        ("---- ASR results ----\ndataset split asr WER\n", 2, "has no rows"),
        ("---- ASR results ----\ndataset split WER\ntoy dev 1.0\n", 2, "the columns dataset split asr WER"),
        ("---- ASR results ----\ndataset split asr WER XYZ\na dev anon 1 2\n", 2, "the columns dataset split asr WER"),
        ("---- ASR results ----\ndataset split asr WER\n0 toy dev anon\n", 3, "dev' is none of dev, test"),
        ("---- ASR results ----\ndataset split asr WER\ntoy dev\n", 3, "2 fields do not fit"),
        ("---- ASR results ----\ndataset split asr WER\n0 toy dev anon nan\n", 3, "a number is expected"),
        ("---- ASR results ----\ndataset split asr WER\n0 toy train anon 1.0\n", 3, "split 'train' is none of"),
        ("---- ASR results ----\ndataset split asr WER\ntoy dev anon 1.25\ntoy test anon 1.2\n", 4, "other decimals"),
        ("---- ASR results ----\ndataset split asr WER\ntoy dev anon 1.2\ntoy dev anon 1.2\n", 4, "a second row"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(read, tmp_path, text, line, message):
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value).startswith(f"{tmp_path / 'result_for_rank'}:{line}: ")
    assert message.replace("dev' is none of dev, test", "is none of dev, test") in str(error.value)


def test_records_that_make_no_file_are_refused():
    with pytest.raises(InputError, match="no verification or recognition records"):
        vpc2024.render([])
    two = [Record("wer", 1.0, system=s, set="toy_dev_asr", condition="a") for s in ("x", "y")]
    with pytest.raises(InputError, match="several systems"):
        vpc2024.render(two)
    twice = [Record("wer", 1.0, system="x", set="toy_dev_asr", condition="a", recogniser=a) for a in ("p", "q")]
    with pytest.raises(InputError, match="two values of wer for toy dev anon"):
        vpc2024.render(twice)


def test_recognisers_that_were_trained_beside_the_one_of_the_recipe_are_left_out():
    rates = {"p": 1.0, "ASR_eval": 2.0, "ASR_eval_anon": 3.0}
    tags = {"system": "x", "set": "toy_dev_asr", "condition": "a"}
    both = [Record("wer", rate, recogniser=name, **tags) for name, rate in rates.items()]
    assert vpc2024.render(both) == vpc2024.render(both[:1])
