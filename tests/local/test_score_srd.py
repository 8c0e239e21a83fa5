import subprocess
import sys

import pytest
from embedding_dirs import ROOT, failure, records, run, speakers, write

from vpeval.asv import backend
from vpeval.embeddings.speaker_vectors import read_embeddings

SCRIPT = "score_srd.py"


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path / "reference", speakers(12, 5, 1, seed=1))
    write(tmp_path / "input", dict(list(speakers(12, 6, 1.5, seed=2).items())[:10]))
    return tmp_path


def test_both_estimators_have_four_records_with_floor_and_interval(corpus):
    done = run(SCRIPT, "--tag", "system=toy", "reference", "input", "srd.jsonl", cwd=corpus)
    assert (done.returncode, done.stderr) == (0, "")
    rows = records(corpus / "srd.jsonl")
    names = ["srd_max", "srd_mean", "srd_idr", "srd_rank_spread"]
    assert [(row["metric"], row["params"]["estimator"]) for row in rows] == [
        (name, estimator) for estimator in ("empirical", "beta-binomial") for name in names
    ]
    for row in rows:
        assert row["lower"] <= row["upper"]
        assert row["counts"] == {"inputs": 60, "input_speakers": 10, "reference_speakers": 12}
        assert row["params"]["N"] == 12
        assert row["notes"]["floor"] <= row["notes"]["floor_95"]
    by_name = {(row["metric"], row["params"]["estimator"]): row for row in rows}
    assert by_name["srd_idr", "empirical"]["value"] * 60 == pytest.approx(
        round(by_name["srd_idr", "empirical"]["value"] * 60)
    )
    assert by_name["srd_idr", "beta-binomial"]["value"] == pytest.approx(by_name["srd_idr", "empirical"]["value"])
    assert by_name["srd_idr", "empirical"]["notes"]["chance"] == 1 / 12
    assert by_name["srd_max", "empirical"]["notes"]["floor"] > 0


@pytest.mark.e2e
def test_two_runs_with_the_same_seed_are_equal_to_the_byte(corpus):
    for name in ("a", "b"):
        run(
            SCRIPT,
            "--similarity",
            "euclidean",
            "--ties",
            "strict",
            "--bootstrap",
            "50",
            "reference",
            "input",
            f"{name}/s.jsonl",
            cwd=corpus,
        )
    for file in ("s.jsonl", "s.speakers.tsv"):
        assert (corpus / "a" / file).read_bytes() == (corpus / "b" / file).read_bytes()


def test_an_unknown_speaker_is_an_error_that_names_it(corpus):
    write(corpus / "more", speakers(13, 2, 1, seed=3))
    message = failure(SCRIPT, "reference", "more", "o.jsonl", cwd=corpus)
    assert "more/utt2spk:25: speaker 's12' is not in reference" in message
    assert not list(corpus.glob("o.*"))


def test_pooled_directories_are_split_into_disjoint_inputs_and_references(corpus):
    arguments = ["--n-inputs", "5", "reference", "input", "ref", "in"]
    assert run("split_embeddings.py", *arguments, cwd=corpus).returncode == 0
    references, inputs, pooled = (read_embeddings(corpus / name) for name in ("ref", "in", "input"))
    assert inputs.counts.tolist() == [5] * 10
    assert references.counts.tolist() == [6] * 10
    assert not set(inputs.utts) & set(references.utts)
    assert set(pooled.utts) < {*inputs.utts, *references.utts}
    assert run(SCRIPT, "ref", "in", "srd.jsonl", cwd=corpus).returncode == 0
    assert "more than 11 utterances" in failure(
        "split_embeddings.py", "--n-inputs", "11", "input", "x", "y", cwd=corpus
    )
    assert "earlier directory" in failure("split_embeddings.py", "input", "input", "x", "y", cwd=corpus)


def test_a_back_end_ranks_by_its_scores(corpus):
    references, inputs = (read_embeddings(corpus / name) for name in ("reference", "input"))
    model = backend.estimate(references, backend.Settings(lda=8)).backend
    backend.save(corpus / "backend.npz", model)
    run(SCRIPT, "--bootstrap", "0", "--backend", "backend.npz", "reference", "input", "llr.jsonl", cwd=corpus)
    run(SCRIPT, "--bootstrap", "0", "reference", "input", "cosine.jsonl", cwd=corpus)
    by_llr, by_cosine = records(corpus / "llr.jsonl"), records(corpus / "cosine.jsonl")
    assert {row["params"]["similarity"] for row in by_llr} == {"llr"}
    assert [row["value"] for row in by_llr] != [row["value"] for row in by_cosine]
    best = model.scores(references, inputs).argmax(axis=0)
    names = [references.speakers[place] for place in best]
    right = sum(name == inputs.speakers[owner] for name, owner in zip(names, inputs.owners, strict=True))
    assert by_llr[2]["metric"] == "srd_idr" and by_llr[2]["value"] == right / len(inputs.utts)


def test_scorers_do_not_import_torch():
    code = "import sys, vpeval.measures.linkability, vpeval.measures.singling_out, vpeval.measures.disclosure, vpeval.measures.speaker_overlap; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n"
