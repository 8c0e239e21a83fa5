import json

import pytest
from in_process import call


@pytest.fixture
def score(tmp_path):
    """Run the script in a directory with a reference, a hypothesis and the speakers."""
    (tmp_path / "ref").write_text("a-1 HELLO WORLD\na-2 GOOD DAY\nb-1 YES\n")
    (tmp_path / "hyp").write_text("a-1 Hello, word.\na-2 good day\nb-1\n")
    (tmp_path / "utt2spk").write_text("a-1 a\na-2 a\nb-1 b\n")

    def run(*arguments):
        return call("score_wer.py", *arguments, cwd=tmp_path)

    return run


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_both_rates_are_written_with_counts_and_the_line_of_kaldi_is_printed(score, tmp_path):
    done = score("--tag", "set=toy_dev_asr", "ref", "hyp", "out/wer.jsonl")
    line, _, wer, cer = done.stdout.splitlines()
    assert line == "%WER 40.00 [ 2 / 5, 0 ins, 1 del, 1 sub ]"
    assert (wer.split()[:3], cer.split()[:3]) == (["WER", "%", "40.00"], ["CER", "%", "18.18"])
    wer, cer = read(tmp_path / "out/wer.jsonl")
    assert (wer["metric"], wer["value"], wer["set"], wer["lower"]) == ("wer", 40, "toy_dev_asr", None)
    assert (wer["params"], wer["notes"]) == ({"normalizer": "vpc2020"}, {"unit": "%", "source": "hyp"})
    assert wer["counts"] == {"ref_words": 5, "ins": 0, "del": 1, "sub": 1, "utts": 3, "missing": 0}
    assert (cer["metric"], cer["value"], cer["counts"]["ref_chars"]) == ("cer", 100 * 4 / 22, 22)


def test_speakers_give_an_interval_if_there_are_enough(score, tmp_path):
    (tmp_path / "ref").write_text("".join(f"{s}-1 one two three four\n" for s in "abcd"))
    (tmp_path / "hyp").write_text("".join(f"{s}-1 one two three {s}\n" for s in "abcd"))
    (tmp_path / "utt2spk").write_text("".join(f"{s}-1 {s}\n" for s in "abcd"))
    assert score("--utt2spk", "utt2spk", "ref", "hyp", "wer.jsonl").returncode == 0
    wer = read(tmp_path / "wer.jsonl")[0]
    assert wer["lower"] < wer["value"] == 25 < wer["upper"]
    assert wer["notes"]["interval"] == "log-normal, over speakers"


def test_speakers_have_a_file_of_their_own(score, tmp_path):
    done = score("--utt2spk", "utt2spk", "--per-speaker", "spk.jsonl", "--seed", "3", "ref", "hyp", "wer.jsonl")
    assert done.returncode == 0
    wer = read(tmp_path / "wer.jsonl")[0]
    assert "2 speakers" in wer["notes"]["no_interval"]
    assert wer["notes"]["files"]["per_speaker"] == "spk.jsonl"
    speakers = [(r["metric"], r["params"]["spk"], r["value"]) for r in read(tmp_path / "spk.jsonl")]
    assert speakers[:2] == [("wer", "a", 25), ("wer", "b", 100)]


def test_the_normaliser_of_2024_counts_case_and_punctuation(score):
    assert score("--normalizer", "vpc2024", "ref", "hyp", "wer.jsonl").stdout.startswith("%WER 100.00 [ 5 / 5,")


def test_missing_hypotheses_are_named_and_counted(score, tmp_path, caplog):
    (tmp_path / "hyp").write_text("a-2 GOOD DAY\n")
    score("ref", "hyp", "wer.jsonl")
    assert "2 utterances have no hypothesis" in caplog.text
    assert "a-1, b-1" in caplog.text
    assert read(tmp_path / "wer.jsonl")[0]["counts"]["missing"] == 2


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"hyp": "x-9 HI\n"}, [], "score_wer.py: hyp: hypothesis 'x-9' has no reference;"),
        ({"ref": "a-1\n", "hyp": "a-1 hm\n"}, [], "score_wer.py: ref: no words to score;"),
        ({"utt2spk": "a-1 a\n"}, ["--utt2spk", "utt2spk"], "utt2spk: utterance 'a-2' of the reference has no speaker"),
        ({}, ["--per-speaker", "spk.jsonl"], "--per-speaker needs --utt2spk"),
        ({}, ["--tag", "colour=red"], "--tag colour=red: expected NAME=VALUE"),
        ({"ref": "a-1 HI\na-1 HO\n"}, [], "ref:2: 'a-1' appears twice"),
    ],
)
def test_a_mistake_is_one_message_and_leaves_no_file(score, tmp_path, change, arguments, message):
    for name, text in change.items():
        (tmp_path / name).write_text(text)
    done = score(*arguments, "ref", "hyp", "wer.jsonl")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "wer.jsonl").exists()


def test_unknown_hypotheses_may_be_allowed(score, tmp_path):
    (tmp_path / "hyp").write_text((tmp_path / "hyp").read_text() + "x-9 HI\n")
    assert score("--allow-extra", "true", "ref", "hyp", "wer.jsonl").returncode == 0


def test_genders_have_rates_and_counts_of_their_own(score, tmp_path):
    (tmp_path / "spk2gender").write_text("a f\nb m\n")
    done = score("--utt2spk", "utt2spk", "--spk2gender", "spk2gender", "--param", "lm=small", "ref", "hyp", "wer.jsonl")
    assert done.returncode == 0
    records = [r for r in read(tmp_path / "wer.jsonl") if r["metric"] == "wer"]
    assert [(r["gender"], r["value"], r["counts"]["utts"]) for r in records] == [
        ("", 40, 3),
        ("f", 25, 2),
        ("m", 100, 1),
    ]
    assert all(r["params"]["lm"] == "small" for r in records)


def test_two_systems_are_compared_on_the_same_speakers(score, tmp_path):
    for name, last in (("ref", "c"), ("hyp", "x"), ("other", "c")):
        rows = [
            f"{s}-{n} a b {last if n < count else 'c'}\n"
            for s, count in zip("abcd", (1, 2, 2, 4), strict=True)
            for n in range(4)
        ]
        (tmp_path / name).write_text("".join(rows))
    (tmp_path / "utt2spk").write_text("".join(f"{s}-{n} {s}\n" for s in "abcd" for n in range(4)))
    done = score("--utt2spk", "utt2spk", "--versus", "other", "ref", "hyp", "wer.jsonl")
    difference = read(tmp_path / "wer.jsonl")[-1]
    assert (difference["metric"], difference["value"]) == ("wer_difference", pytest.approx(100 * 9 / 48))
    assert 0 < difference["lower"] < difference["value"] < difference["upper"]
    ends = f"[{difference['lower']:+.2f}, {difference['upper']:+.2f}]"
    assert done.stdout.splitlines()[1].startswith(f"difference to other: +18.75 % {ends}, p = 0.")
    assert difference["params"]["versus"] == "other"
    assert difference["notes"]["interval"] == "studentised speaker bootstrap"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--spk2gender", "spk2gender"], "--spk2gender needs --utt2spk"),
        (["--utt2spk", "utt2spk", "--spk2gender", "utt2spk"], "utt2spk: speaker 'a' has no gender"),
        (["--param", "small"], "--param small: expected NAME=VALUE"),
        (["--versus", "nobody"], "nobody: no such file"),
        (["--versus", "hyp", "--bootstrap", "0"], "--versus needs resamples"),
    ],
)
def test_a_mistake_about_genders_or_systems_is_one_message(score, tmp_path, arguments, message):
    done = score(*arguments, "ref", "hyp", "wer.jsonl")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "wer.jsonl").exists()
