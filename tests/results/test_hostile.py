"""Result files that say what cannot be: errors with file and line, never a number."""

from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.editions import vpc2020, vpc2022, vpc2024
from vpeval.records.names import ASR_EVAL, ASR_EVAL_ANON
from vpeval.records.record import Record
from vpeval.results import latex, latex_challenge

BLOCK = """ASV-libri_dev_enrolls-libri_dev_trials_f
  EER: {eer}%
  Cllr (min/act): 0.304/42.857
  ROCCH-EER: 8.2%
  linkability: {dsys}
  Population: 0.5 bit
  Individual: {individual} ({tag})
"""
RANK = """---- ASV_eval results ----
  dataset split gender enrollment     trial     EER
0   libri   dev      f   original  original  {eer}
"""


def text_2020(tmp_path: Path, eer="8.665", dsys="0.8", individual="2.5", tag="C") -> Path:
    path = tmp_path / "results.txt"
    path.write_text(BLOCK.format(eer=eer, dsys=dsys, individual=individual, tag=tag))
    return path


@pytest.mark.parametrize("eer", ["-8.7", "866", "inf", "-inf", "100.01"])
def test_an_eer_that_is_no_percentage_is_an_error(tmp_path, eer):
    with pytest.raises(InputError, match=r"results\.txt:2: eer_kaldi .* is not from 0 to 100"):
        vpc2020.read(text_2020(tmp_path, eer=eer))


@pytest.mark.parametrize("eer", ["-8.7", "866.0", "inf", "1_0", "NaN", "١"])
def test_an_eer_of_2024_that_is_no_percentage_is_an_error(tmp_path, eer):
    path = tmp_path / "result_for_rank"
    path.write_text(RANK.format(eer=eer))
    with pytest.raises(InputError, match="result_for_rank:3"):
        vpc2024.read(path)


def test_linkability_beyond_one_is_an_error(tmp_path):
    with pytest.raises(InputError, match="dsys"):
        vpc2020.read(text_2020(tmp_path, dsys="1.2"))


@pytest.mark.parametrize(("individual", "tag", "right"), [("2.5", "A", False), ("2.5", "C", True), ("0", "A", False)])
def test_a_tag_that_contradicts_its_value_is_an_error(tmp_path, individual, tag, right):
    path = text_2020(tmp_path, individual=individual, tag=tag)
    if right:
        assert vpc2020.read(path)
    else:
        with pytest.raises(InputError, match=r"results\.txt:7: tag 'A' contradicts"):
            vpc2020.read(path)


@pytest.mark.parametrize(
    ("printed", "tag"), [("1.000", "A"), ("1.000", "B"), ("4.000", "D"), ("5e-04", "A"), ("0", "0")]
)
def test_a_tag_may_be_that_of_any_value_which_is_printed_so(tmp_path, printed, tag):
    assert vpc2020.read(text_2020(tmp_path, individual=printed, tag=tag))


def test_the_retrained_recogniser_is_never_used_for_original_speech():
    counts = {"ref_words": 100, "ins": 1, "del": 2, "sub": 3}
    wer = Record("wer", 6.0, counts=counts, set="libri_dev_asr", system="original", condition="o")
    records = [wer.tagged({"attacker": ASR_EVAL_ANON})]
    records.append(wer.tagged({"attacker": ASR_EVAL_ANON, "condition": "a", "system": "x"}))
    text = vpc2022.render_summary(records)
    assert "Average WER dev anon" in text
    assert "orig" not in text
    both = vpc2022.render_summary([*records, wer.tagged({"attacker": ASR_EVAL})])
    assert "Average WER dev orig" in both


HOSTILE = r"\input{/etc/passwd} & 50 % $x$ _^~#"


@pytest.mark.parametrize("style", ["booktabs", "vpc2020"])
def test_no_field_of_a_record_reaches_a_table_as_latex(style):
    def attack(system: str, metric: str, **fields):
        tags = {"set": "x_dev_trials_f", "gender": "f", "condition": "aa", "attacker": HOSTILE, "recipe": HOSTILE}
        return Record(metric, 0.25, 0.2, 0.3, system=system, **{**tags, **fields})

    records = [
        attack(system, metric, **fields)
        for system in (HOSTILE, f"{HOSTILE} 2")
        for metric, fields in (
            ("eer_kaldi", {}),
            ("eer_kaldi", {"set": f"{HOSTILE}_test_trials_f"}),
            ("wer", {"condition": HOSTILE, "gender": "", "set": f"{HOSTILE}_dev_asr"}),
            ("linkability", {"condition": HOSTILE, "params": {"N": HOSTILE, "L": HOSTILE}}),
            ("srd_max", {"params": {"estimator": "empirical"}}),
            ("deid", {"params": {"mode": HOSTILE}, "condition": HOSTILE}),
            ("stoi", {"gender": HOSTILE, "condition": HOSTILE}),
        )
    ]
    texts = dict(latex_challenge.tables(records, style))
    if style == "booktabs":
        texts |= latex.tables(records)
    assert texts
    for text in texts.values():
        assert r"\input" not in text and "$x$" not in text and " 50 % " not in text
    assert any(r"\textbackslash{}input\{/etc/passwd\}" in text for text in texts.values())
