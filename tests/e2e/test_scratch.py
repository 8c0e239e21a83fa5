"""./run.sh where the pretrained speaker encoder cannot be had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vpeval.core import models
from vpeval.records.record import read_records

pytestmark = pytest.mark.e2e

NOWHERE = "http://127.0.0.1:9"


def test_without_network_and_encoder_small_ones_are_trained_if_asked(make_clone, tmp_path):
    (tmp_path / "whisper_base").symlink_to(models.store() / "whisper_base")
    offline = {"VPEVAL_MODELS": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    offline |= dict.fromkeys(("https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY"), NOWHERE)
    clone = replace(make_clone("scratch"), environment=offline)
    output = clone.run("--allow-scratch", "true", "--edition", "2024", "--stop-stage", "8")
    assert "attackers are trained from scratch instead" in output
    output = clone.run("--allow-scratch", "true", "--edition", "2024", "--stage", "11", "--stop-stage", "11")
    assert "small_scratch" in output
    run = clone.path / "exp/tiny/runs/mcadams"
    linked = [record for record in read_records(run / "results.jsonl") if record.metric == "linkability"]
    wanted = {("small_original", condition) for condition in ("oo", "oa", "aa")} | {("small_scratch", "aa")}
    assert {(record.attacker, record.condition) for record in linked} == wanted
    assert (run / "result_for_rank").is_file()
