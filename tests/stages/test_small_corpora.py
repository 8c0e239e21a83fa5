"""A corpus that is too small for a measure goes through all stages; the run says what it leaves out, and why."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import toy_recipe
from toy_recipe import make_toy

from vpeval.embeddings.speaker_vectors import read_cached, read_pooled
from vpeval.measures.base import RECORDS
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.records.record import read_records
from vpeval.stages.base import LEFT_OUT, make_results, results, why_left_out
from vpeval.stages.results import collect, is_verified


def measured(root: Path, monkeypatch: pytest.MonkeyPatch, speakers: int, utts: int, genders: str = "fm") -> Plan:
    """Stages 6 to 9 on a corpus with so many speakers of each gender, and so many utterances of each in every set."""
    monkeypatch.setattr(toy_recipe, "SPEAKERS", speakers)
    monkeypatch.setattr(toy_recipe, "UTTS", utts)
    make_toy(root, ("dev",))
    conf = root / "egs/toy/recipe.conf"
    if genders == "f":
        text = conf.read_text().replace(" toy_dev_enrolls:toy_dev_trials_m", "").replace(",toy_dev_trials_m", "")
        conf.write_text(text)
    conf.write_text(conf.read_text().replace("srd_inputs=2\n", "").replace('legal_utts="1"\n', ""))
    monkeypatch.chdir(root)
    read_cached.cache_clear()  # they know sets by their paths, which are the same in every test
    read_pooled.cache_clear()
    plan = make_plan(Settings(recipe="toy", attackers="ecapa", bootstrap=5))
    for stage in (6, 7, 8, 9):
        make_results(results(plan, stage))
    return plan


def left_out(plan: Plan) -> dict[str, str]:
    """The measures that have no numbers, by the beginning of their names."""
    found = {one.out: why_left_out(one.out) for stage in (6, 7, 8, 9) for one in results(plan, stage)}
    assert all(reason or not (out / LEFT_OUT).exists() for out, reason in found.items())
    assert all(bool(reason) <= (not read_records(out / RECORDS)) for out, reason in found.items())
    return {out.name.replace("-", "_").split("_")[0]: reason for out, reason in found.items() if reason}


@pytest.mark.parametrize(
    ("speakers", "utts", "genders", "expected"),
    [
        (2, 3, "f", {"srd": "more than 20 utterances"}),
        (1, 3, "fm", {"srd": "try 5 (--srd-inputs of run.sh)", "ASV": "holds no nontarget trials"}),
        (3, 1, "fm", {"VSM": "no pair of two utterances of one speaker", "singling": "too few utterances for any L"}),
        (3, 1, "f", {"VSM": "no pair of two utterances of one speaker", "srd": "more than 20 utterances"}),
    ],
)
def test_what_cannot_be_measured_is_left_out_with_its_reason_and_the_rest_is_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    speakers: int,
    utts: int,
    genders: str,
    expected: dict[str, str],
) -> None:
    plan = measured(tmp_path, monkeypatch, speakers, utts, genders)
    found = left_out(plan)
    for name, reason in expected.items():
        assert reason in found[name]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        collect(plan)
    for name in expected:
        assert any(name in line and "has no numbers" in line for line in caplog.messages)
    records = read_records(plan.run / "results.jsonl")
    assert records and is_verified(plan)
    assert ("eer_kaldi" in {record.metric for record in records}) == ("ASV" not in found)


def test_a_result_that_was_left_out_is_made_when_there_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = measured(tmp_path, monkeypatch, 2, 4, "f")
    assert left_out(plan).keys() == {"srd"}
    conf = tmp_path / "egs/toy/recipe.conf"
    conf.write_text(conf.read_text() + "srd_inputs=2\n")
    again = make_plan(Settings(recipe="toy", attackers="ecapa", bootstrap=5))
    make_results(results(again, 9))
    assert left_out(again) == {}
