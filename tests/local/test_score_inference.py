import pytest
from embedding_dirs import failure, records, run, speakers, write

SCRIPT = "score_inference.py"


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path / "speech", speakers(24, 6, 0.5, seed=1))
    (tmp_path / "spk2gender").write_text("".join(f"s{k:02d} {'fm'[k % 2]}\n" for k in range(24)))
    (tmp_path / "spk2age").write_text("".join(f"s{k:02d} {20 + k}\n" for k in range(24)))
    return tmp_path


def test_every_attribute_and_all_together_have_their_records(corpus):
    done = run(SCRIPT, "--n-utts", "1,all", "spk2gender,spk2age", "speech", "speech", "out.jsonl", cwd=corpus)
    assert done.returncode == 0
    assert {"attribute", "L", "value", "95", "%", "interval", "chance"} <= set(done.stdout.splitlines()[0].split())
    rows = records(corpus / "out.jsonl")
    kinds = {(row["metric"], row["params"].get("attribute"), row["params"]["L"]) for row in rows}
    for n_utts in (1, "all"):
        assert ("inference_accuracy", "gender", n_utts) in kinds
        assert ("inference_correlation", "age", n_utts) in kinds
        assert {("inference_bits", name, n_utts) for name in ("gender", "age")} <= kinds
    assert {row["params"]["attributes"] for row in rows if "attributes" in row["params"]} == {"gender+age"}
    for row in rows:
        assert row["lower"] <= row["value"] <= row["upper"]
        assert "chance" in row["notes"]
        assert row["value"] >= 0 or row["metric"] == "inference_correlation"
    assert (corpus / "out.speakers.tsv").read_text().startswith("metric\tspeaker\tN\tL\tvalue\tdraws\tlist\n")


def test_a_table_that_tells_nothing_is_an_error(corpus):
    (corpus / "spk2gender").write_text("s00 f\n")
    message = failure(SCRIPT, "spk2gender", "speech", "speech", "out.jsonl", cwd=corpus)
    assert "no attribute that can be inferred" in message
    assert not (corpus / "out.jsonl").exists()
