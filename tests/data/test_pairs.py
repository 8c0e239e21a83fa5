"""Trials and scores of any number: what looks like a tuple of trials, and text that is read and written in blocks."""

from dataclasses import replace

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.data import table_files
from vpeval.data.cut import rename
from vpeval.data.directory import DataDir
from vpeval.data.trials import (
    CrossTrials,
    PairRows,
    TrialFile,
    count_targets,
    read_pair_scores,
    read_scores,
    read_trials,
    score_blocks,
    trial_speakers,
    write_pair_scores,
)
from vpeval.data.validate import validate

OWNER = {"a-1": "a", "a-2": "a", "b-1": "b", "x-1": "x"}
LISTED = tuple((spk, utt, "target" if OWNER[utt] == spk else "nontarget") for spk in "ab" for utt in OWNER)


@pytest.fixture
def large(monkeypatch):
    """Every file counts as a large one, and is read a line or two at a time."""
    monkeypatch.setattr(table_files, "LARGE", 1)
    monkeypatch.setattr("vpeval.core.files._BLOCK", 24)


@pytest.fixture
def directory(tmp_path):
    return DataDir(tmp_path / "set", OWNER, spk_tables={}, trials=LISTED).write(tmp_path / "set").path


def test_a_cross_product_looks_like_the_list_of_its_trials():
    cross = CrossTrials(("a", "b"), OWNER)
    assert cross == LISTED and cross == LISTED
    assert len(cross) == len(LISTED) and cross[5] == LISTED[5] and cross[-1] == LISTED[-1] and cross[2:4] == LISTED[2:4]
    assert cross.targets == count_targets(LISTED) == 3
    assert cross.with_utterances(["a-2", "x-1"]) == tuple(trial for trial in LISTED if trial[1] in ("a-2", "x-1"))
    with pytest.raises(IndexError):
        cross[len(LISTED)]


def test_a_cross_product_of_five_billion_trials_is_described_in_a_moment():
    cross = CrossTrials(tuple(f"s{n:04d}" for n in range(5000)), {f"u{n:07d}": "s0000" for n in range(1_000_000)})
    assert len(cross) == 5_000_000_000 and cross.targets == 1_000_000
    assert len(cross.with_utterances({"u0000003"})) == 5000


@pytest.mark.usefixtures("large")
def test_a_large_file_of_trials_is_what_a_small_one_is(directory, tmp_path):
    data = DataDir.load(directory)
    assert isinstance(data.trials, TrialFile)
    assert data.trials == LISTED and count_targets(data.trials) == 3
    some = {"a-2", "x-1"}
    assert data.subset(some).trials == replace(data, trials=LISTED).subset(some).trials
    affixes = {"utt_suffix": "~x", "spk_suffix": "!"}
    assert rename(data, **affixes).trials == rename(replace(data, trials=LISTED), **affixes).trials
    data.write(tmp_path / "copy")
    assert (tmp_path / "copy/trials").read_bytes() == (directory / "trials").read_bytes()


@pytest.mark.usefixtures("large")
def test_a_large_file_is_sorted_where_it_is_written_whatever_its_order(directory, tmp_path):
    sorted_text = (directory / "trials").read_text()
    (directory / "trials").write_text("".join(reversed(sorted_text.splitlines(keepends=True))))
    DataDir.load(directory).write(tmp_path / "copy")
    assert (tmp_path / "copy/trials").read_text() == sorted_text


@pytest.mark.usefixtures("large")
def test_nobody_reads_a_large_file_of_trials_without_asking_for_them(directory):
    (directory / "trials").write_text("this is no trial\n")
    data = DataDir.load(directory)
    assert data.trials is not None
    with pytest.raises(InputError, match="trials:1: 4 fields where 3"):
        len(data.trials)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a a-1 imposter\n", "trials:9: 'imposter' is not a label"),
        ("a a-1 target\n", "trials:9: trial 'a a-1' appears twice"),
        ("a a-9 nontarget\n", "trials:9: utterance 'a-9' is not in utt2spk"),
        ("a a-9\n", "trials:9: 2 fields where 3"),
        ("\n", "trials:9: blank line"),
        ("é é nontarget\n", "trials:9: utterance 'é' is not in utt2spk"),
    ],
)
def test_a_fault_is_named_with_its_line_wherever_blocks_begin(directory, line, message):
    with open(directory / "trials", "a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(InputError, match=message):
        count_targets(DataDir.load(directory).trials or ())


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text + "a a-1 target\n",
        lambda text: text.replace("a a-1 target", "a a-1 nontarget"),
        lambda text: text.replace("a a-1 target", "a a-9 target"),
        lambda text: text.replace(" target", " nontarget"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
    ],
)
def test_the_validator_says_the_same_of_large_trials_as_of_small_ones(directory, change, monkeypatch):
    text = (directory / "trials").read_text()
    (directory / "trials").write_bytes(change(text).encode())
    found = list(map(str, validate(directory, text=False, wav=False)))
    monkeypatch.setattr(table_files, "LARGE", 1 << 30)
    assert found == list(map(str, validate(directory, text=False, wav=False)))
    assert bool(found) == (change(text) != text)


@pytest.mark.usefixtures("large")
def test_scores_survive_text_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(f"s{n % 7}", f"u{n}") for n in rng.permutation(100)]
    scores = rng.standard_normal(100) * 10.0 ** rng.integers(-300, 300, 100)
    scores[:4] = 0, -2, 1e22, 0.1
    rows = PairRows.from_pairs(pairs)
    assert list(rows) == pairs
    write_pair_scores(tmp_path / "scores", score_blocks(rows, scores))
    first, second = (" ".join(pair) for pair in pairs[:2])
    assert (tmp_path / "scores").read_text().startswith(f"{first} 0\n{second} -2\n")
    read, found = read_pair_scores(tmp_path / "scores", "speaker", "utterance")
    assert list(read) == pairs and found.tolist() == scores.tolist()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("score", ["1_0", "٣", "0x10", "nan", "1e999"])
def test_what_only_some_programs_take_for_a_number_is_refused(tmp_path, score):
    (tmp_path / "scores").write_text(f"a u1 1\na u2 2\na u3 3\na u4 {score}\na u5 5\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores:4: score .* is not (a number|finite)"):
        read_pair_scores(tmp_path / "scores", "speaker", "utterance")


@pytest.mark.usefixtures("large")
def test_trials_and_scores_of_many_blocks_agree_with_a_dictionary(tmp_path):
    rng = np.random.default_rng(1)
    owner = {f"s{n % 5}-{n}": f"s{n % 5}" for n in range(40)}
    pairs = [(spk, utt) for spk in ("s0", "s3", "s4") for utt in owner]
    order = rng.permutation(len(pairs))
    score_of = {pair: float(rng.standard_normal()) for pair in pairs}
    lines = [f"{s} {u} {'target' if owner[u] == s else 'nontarget'}\n" for s, u in (pairs[i] for i in order)]
    (tmp_path / "trials").write_text("".join(lines))
    (tmp_path / "scores").write_text("".join(f"{s} {u} {score!r}\n" for (s, u), score in score_of.items()))
    trials = read_trials(tmp_path / "trials")
    assert read_scores(tmp_path / "scores", trials).tolist() == [score_of[pairs[i]] for i in order]
    speakers = trial_speakers(trials, owner)
    assert [speakers.names[i] for i in speakers.trial] == [owner[pairs[i][1]] for i in order]
    assert [speakers.names[i] for i in speakers.enroll] == [pairs[i][0] for i in order]
