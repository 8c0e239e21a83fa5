"""./run.sh by what is heard besides the voice: both are learnt in stage 4 and attack in all stages after it."""

from __future__ import annotations

import re

import pytest

from vpeval.records.record import read_records

pytestmark = pytest.mark.e2e


def test_units_and_nontimbral_embeddings_are_learnt_and_attack(finished):
    for name, quick in (("units", "units: 60"), ("nontimbral", "voices: 1")):
        profile = finished.path / f"conf/asv/train/{name}.yaml"
        text = re.sub(rf"^{quick.partition(' ')[0]} \d+", quick, profile.read_text(), flags=re.MULTILINE)
        profile.write_text(re.sub(r"^minutes: [\d.]+", "minutes: 0.5", text, flags=re.MULTILINE))
    options = ("--stage", "4", "--stop-stage", "9", "--attackers", "units nontimbral_anon")
    output = finished.run(*options, "--nj", "2")
    assert "attacker is there (units on data/tiny_train)" in output
    assert "attacker is there (nuisance on data/tiny_train_mcadams)" in output

    found = {}
    for system in ("original", "mcadams"):
        for path in (finished.path / f"exp/tiny/runs/{system}").glob("*/records.jsonl"):
            for record in read_records(path):
                found.setdefault((record.attacker, record.metric), {})[record.condition] = record.value
    for metric in ("eer_kaldi", "linkability", "singling_out", "inference_accuracy"):
        assert found["units", metric].keys() == {"oo", "oa", "aa"}
        assert found["nontimbral_anon", metric].keys() == {"aa"}
    # Similarity ranks are taken within original and within anonymised speech.
    assert found["units", "srd_idr"].keys() == {"oo", "aa"} and found["nontimbral_anon", "srd_idr"].keys() == {"aa"}
    # Among six speakers by chance one input in six; units hardly tell three of one gender apart.
    assert found["units", "srd_idr"]["oo"] > 2 / 6
    assert found["nontimbral_anon", "srd_idr"]["aa"] > 5 / 6 and found["nontimbral_anon", "eer_kaldi"]["aa"] < 0.25

    again = finished.run(*options, "--nj", "1")
    assert "attacker is there" not in again and "embeddings of" not in again
