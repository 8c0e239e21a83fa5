"""A recogniser with language models of its own through stage 10, results.txt and LaTeX; its transcripts are made up."""

import pytest
from toy_recipe import make_toy

from vpeval.core.files import read_table, write_table
from vpeval.editions.vpc2020 import read, render
from vpeval.measures import recognition
from vpeval.plan.plan import Settings, make_plan
from vpeval.records.record import read_records
from vpeval.results.latex_challenge import tables
from vpeval.stages.base import make_results

WORDS = {"small": "one two three", "large": "one two three four"}


def records_of(root, lms):
    """The records of a run whose recogniser has some language models."""
    make_toy(root)
    for lm in lms:
        model = root / "models/kaldi_chain" / lm / "am/final.mdl"
        model.parent.mkdir(parents=True)
        model.write_bytes(b"")
    plan = make_plan(Settings(recipe="toy", asr="kaldi_chain"))
    for name in plan.recipe.speech_sets:
        for version in (name, f"{name}_mcadams"):
            utts = read_table(root / "data" / version / "utt2spk", "speaker")
            for lm in (*lms, ""):
                file = f"text_{lm}" if lm else "text"
                write_table(
                    root / "exp/toy/decode/kaldi_chain" / version / file, dict.fromkeys(utts, WORDS[lm or lms[-1]])
                )
    found = recognition.MEASURE.results(plan)
    make_results(found)
    return [record for result in found for record in read_records(result.out / "records.jsonl")]


@pytest.fixture
def both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return records_of(tmp_path, ("small", "large"))


def test_both_language_models_have_a_line_in_results_txt_the_small_one_first(both, tmp_path):
    (tmp_path / "results.txt").write_text(text := render(both))
    block = text.split("ASR-toy_dev_asr_anon\n")[1].splitlines()[:2]
    assert block[0].startswith("  %WER 25.00 [ 40 / 160, 0 ins, 40 del, 0 sub ] ")
    assert "/decode_tgsmall/wer" in block[0]
    assert block[1].startswith("  %WER 0.00 [ 0 / 160, ")
    assert "/decode_tglarge/wer" in block[1]
    again = read(tmp_path / "results.txt", "mcadams")
    assert {(r.set, r.condition, r.params["lm"]): r.value for r in again}["toy_dev_asr", "a", "small"] == 25


def test_both_language_models_have_a_column_in_the_shape_of_table_9(both):
    table = tables(both, "vpc2020")["ASR_combined"]
    assert r"\multicolumn{2}{c|}{\textbf{WER,\%}}" in table
    assert table.count(r"$\textbf{LM}_{s}$ & $\textbf{LM}_{l}$") == 2
    assert table.count("25.00 & 0.00") == 4


@pytest.mark.parametrize("style", ["vpc2020", "booktabs"])
def test_where_only_one_language_model_exists_the_table_says_which(tmp_path, monkeypatch, style):
    monkeypatch.chdir(tmp_path)
    records = records_of(tmp_path, ("small",))
    assert {record.params["lm"] for record in records} == {"small"}
    texts = tables(records, style)
    assert "small" in texts["ASR_dev"]
    assert ("LM}_{s}" if style == "vpc2020" else "small") in texts["ASR_combined"]
    assert "LM}_{l}" not in texts["ASR_combined"]
    assert "_tgsmall/" in render(records)
