import pytest
from embedding_dirs import failure, records, run, speakers, write

from vpeval.asv import backend
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.measures.base import read_speaker_values
from vpeval.metrics.jaccard import extreme_speakers

SCRIPT = "score_linkability.py"


@pytest.fixture
def corpus(tmp_path):
    write(tmp_path / "enroll", speakers(25, 6, 1.5, seed=1))
    write(tmp_path / "test", dict(list(speakers(25, 4, 1.5, seed=2).items())[:18]))
    return tmp_path


def test_every_n_and_l_of_the_default_lists_that_fits_has_its_records(corpus):
    done = run(SCRIPT, "--tag", "system=toy", "enroll", "test", "out/link.jsonl", cwd=corpus)
    assert done.returncode == 0
    assert "L = 30" in done.stderr
    rows = records(corpus / "out/link.jsonl")
    found = [(row["metric"], row["params"]["N"], row["params"]["L"]) for row in rows]
    assert sorted(found, key=str) == sorted(
        [
            (metric, n, n_utts)
            for metric in ("linkability", "one_minus_eer")
            for n in (20, 25)
            for n_utts in (1, 3, "all")
        ],
        key=str,
    )
    for row in rows:
        assert row["system"] == "toy"
        assert row["lower"] <= row["value"] <= row["upper"]
        assert row["notes"]["chance"] == (1 / row["params"]["N"] if row["metric"] == "linkability" else 0.5)
        assert row["notes"]["files"]["per_speaker"] == "link.speakers.tsv"
        assert row["counts"] == {"test_speakers": 18, "left_out": 0, "enroll_speakers": 25}


def test_the_record_is_the_mean_of_the_per_speaker_file(corpus):
    run(SCRIPT, "--n-enroll", "20", "--n-utts", "3", "enroll", "test", "link.jsonl", cwd=corpus)
    header, *lines = (corpus / "link.speakers.tsv").read_text().splitlines()
    assert header.split("\t") == ["metric", "speaker", "N", "L", "value", "draws", "list"]
    assert [line.split("\t")[:4] for line in lines] == [["linkability", f"s{k:02d}", "20", "3"] for k in range(18)]
    values = [float(line.split("\t")[4]) for line in lines]
    assert records(corpus / "link.jsonl")[0]["value"] == pytest.approx(sum(values) / 18)


def test_records_are_the_mean_over_five_draws_of_utterances(corpus):
    options = ("--n-enroll", "20,all", "--n-utts", "1,all", "enroll", "test")
    run(SCRIPT, *options, "five.jsonl", cwd=corpus)
    run(SCRIPT, "--utt-draws", "1", *options, "one.jsonl", cwd=corpus)
    values = read_speaker_values(corpus / "five.speakers.tsv")
    first = {(v.speaker, v.N, v.L): v.value for v in read_speaker_values(corpus / "one.speakers.tsv")}
    single = [value for value in values if value.L == "1"]
    assert all(len(value.draws) == 5 and value.value == pytest.approx(value.score, abs=1e-6) for value in single)
    assert all(value.draws[0] == pytest.approx(first[value.speaker, value.N, "1"], abs=1e-6) for value in single)
    assert any(len(set(value.draws)) > 1 for value in single)
    assert all(value.draws == () and value.value == first[value.speaker, value.N, "all"] for value in values[-36:])
    found = {(r["metric"], r["params"]["N"], r["params"]["L"]): r for r in records(corpus / "five.jsonl")}
    for n in (20, 25):
        record = found["linkability", n, 1]
        assert record["value"] == pytest.approx(sum(v.value for v in single if n == v.N) / 18)
        assert record["notes"]["utt_draws"] == found["one_minus_eer", n, 1]["notes"]["utt_draws"] == 5
        assert "utt_draws" not in found["linkability", n, "all"]["notes"]
    ends = extreme_speakers({value.speaker: value.score for value in single if value.N == 20})
    listed = {kind: {v.speaker for v in single if (v.N, v.extreme) == (20, kind)} for kind in ("easy", "hard")}
    assert listed == {kind: ends.usable(kind) or set() for kind in listed}
    assert listed["hard"]


def test_in_every_draw_of_enrolment_speakers_the_test_utterances_are_drawn_as_well(corpus):
    options = ("--n-enroll", "20,all", "--n-utts", "1,all")
    run(SCRIPT, "--draws", "4", *options, "enroll", "test", "o.jsonl", cwd=corpus)
    run(SCRIPT, "--utt-draws", "4", *options, "enroll", "test", "exact.jsonl", cwd=corpus)
    drawn, exact = (read_speaker_values(corpus / f"{name}.speakers.tsv") for name in ("o", "exact"))
    for value in drawn:
        assert set(value.draws) <= {0, 1} and len(value.draws) == 4
        assert value.value == value.score
    # Among all speakers there is nothing to draw but the utterances: the draws are those of the exact value.
    assert [v.draws for v in drawn if (v.N, v.L) == (25, "1")] == [v.draws for v in exact if (v.N, v.L) == (25, "1")]


@pytest.mark.e2e
def test_two_runs_with_the_same_seed_are_equal_to_the_byte(corpus):
    for name in ("a", "b"):
        run(
            SCRIPT,
            "--draws",
            "3",
            "--bootstrap",
            "50",
            "--seed",
            "7",
            "enroll",
            "test",
            f"{name}/link.jsonl",
            cwd=corpus,
        )
    for file in ("link.jsonl", "link.speakers.tsv"):
        assert (corpus / "a" / file).read_bytes() == (corpus / "b" / file).read_bytes()
    assert records(corpus / "a/link.jsonl")[0]["params"]["estimator"] == "drawn"


def test_speakers_with_too_few_utterances_are_left_out_and_counted(corpus):
    short = speakers(25, 4, 1.5, seed=2)
    short["s00"] = short["s00"][:2]
    write(corpus / "short", short)
    run(SCRIPT, "--n-utts", "2,3", "--n-enroll", "all", "--bootstrap", "0", "enroll", "short", "o.jsonl", cwd=corpus)
    rows = [row for row in records(corpus / "o.jsonl") if row["metric"] == "linkability"]
    assert [(row["params"]["L"], row["counts"]["left_out"], row["lower"]) for row in rows] == [
        (2, 0, None),
        (3, 1, None),
    ]


def test_mistakes_are_one_line_and_leave_nothing_behind(corpus):
    def fails(*arguments, parts):
        message = failure(SCRIPT, *arguments, "o.jsonl", cwd=corpus)
        assert all(part in message for part in parts), message
        assert not list(corpus.glob("o.*"))

    fails("--n-enroll", "26", "enroll", "test", parts=["--n-enroll 26", "25 enrolment speakers"])
    fails("--n-utts", "5", "enroll", "test", parts=["L = 5", "--n-utts"])
    fails("--n-utts", "x", "enroll", "test", parts=["--n-utts x"])
    fails("--draws", "2", "--utt-draws", "2", "enroll", "test", parts=["--draws and --utt-draws"])
    fails("--tag", "colour=red", "enroll", "test", parts=["--tag"])
    fails("enroll", "nowhere", parts=["nowhere", "no such"])
    write(corpus / "wide", speakers(3, 4, 1, seed=3, dimension=17))
    fails("enroll", "wide", parts=["wide/embedding.scp", "dimension"])
    write(corpus / "strangers", {"x": speakers(1, 4, 1, seed=3)["s00"]})
    fails("enroll", "strangers", parts=["strangers/utt2spk", "none of the speakers is enrolled"])


def test_a_back_end_compares_by_its_log_likelihood_ratios(corpus):
    train = read_embeddings(corpus / "enroll")
    backend.save(corpus / "backend.npz", backend.estimate(train, backend.Settings(lda=8)).backend)
    options = ("--n-enroll", "all", "--n-utts", "1", "--param", "scoring=plda")
    run(SCRIPT, *options, "--backend", "backend.npz", "enroll", "test", "plda.jsonl", cwd=corpus)
    run(SCRIPT, *options, "enroll", "test", "cosine.jsonl", cwd=corpus)
    by_llr, by_cosine = records(corpus / "plda.jsonl")[0], records(corpus / "cosine.jsonl")[0]
    assert by_llr["notes"]["scoring"] == "plda"
    assert 0.3 < by_cosine["value"] != by_llr["value"] > 0.3


def test_a_missing_back_end_is_a_message(corpus):
    message = failure(SCRIPT, "--backend", "none.npz", "enroll", "test", "out.jsonl", cwd=corpus)
    assert "none.npz: no such file" in message


def test_a_parameter_without_a_value_is_a_message(corpus):
    assert "expected NAME=VALUE" in failure(SCRIPT, "--param", "x", "enroll", "test", "out.jsonl", cwd=corpus)


def sided(corpus, script_options, *tables):
    sides = [word for table in tables for word in ("--side", table)]
    run(SCRIPT, "--n-utts", "1", *sides, *script_options, "enroll", "test", "link.jsonl", cwd=corpus)
    return records(corpus / "link.jsonl")


def test_side_information_of_one_group_is_plain_and_of_groups_of_one_is_certain(corpus):
    (corpus / "spk2planet").write_text("".join(f"s{k:02d} earth\n" for k in range(25)))
    (corpus / "spk2parity").write_text("".join(f"s{k:02d} {'eo'[k % 2]}\n" for k in range(25)))
    (corpus / "spk2name").write_text("".join(f"s{k:02d} n{k}\n" for k in range(25)))
    rows = sided(corpus, [], "spk2planet", "spk2parity", "spk2name")
    plain = {row["params"]["N"]: row["value"] for row in rows if row["metric"] == "linkability"}
    found = {(r["params"]["side"], r["params"]["N"]): r for r in rows if r["metric"] == "linkability_side"}
    assert {side for side, _ in found} == {"planet", "parity", "name", "planet+parity+name"}
    for n, value in plain.items():
        assert found["planet", n]["value"] == value <= found["parity", n]["value"] <= found["name", n]["value"] == 1
        assert found["name", n]["notes"]["chance"] == found["name", n]["notes"]["candidates"] == 1
    assert found["parity", 25]["params"]["groups"] == 2
    assert found["parity", 25]["notes"]["candidates"] == pytest.approx((9 * 13 + 9 * 12) / 18)


def test_the_extrapolation_tells_its_error_and_goes_beyond_only_if_asked(corpus):
    rows = sided(corpus, ["--population", "0"])
    (error,) = [row for row in rows if row["metric"] == "linkability_extrapolation_error"]
    assert error["params"] == {"N": 25, "L": 1, "from": 20}
    assert error["value"] == pytest.approx(error["notes"]["predicted"] - error["notes"]["measured"])
    assert not any("extrapolated" in row["metric"] for row in rows)
    (beyond,) = [r for r in sided(corpus, ["--population", "500"]) if r["metric"] == "linkability_extrapolated"]
    assert beyond["params"] == {"N": 500, "L": 1, "from": 25}
    assert 0 <= beyond["lower"] <= beyond["value"] <= beyond["upper"] <= 1
    assert beyond["value"] < next(r["value"] for r in rows if r["metric"] == "linkability" and r["params"]["N"] == 25)
    assert beyond["notes"]["chance"] == 1 / 500
