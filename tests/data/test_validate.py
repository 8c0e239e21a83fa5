from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vpeval.audio import io
from vpeval.audio.io import Inspected, write_wave
from vpeval.data import table_files
from vpeval.data.directory import DataDir
from vpeval.data.validate import Problem, check_disjoint, validate


def put(data: DataDir, name: str, text: str | bytes) -> None:
    (data.path / name).write_bytes(text.encode() if isinstance(text, str) else text)


def edit(data: DataDir, name: str, old: str, new: str) -> None:
    text = (data.path / name).read_text()
    assert old in text
    put(data, name, text.replace(old, new, 1))


def messages(problems: list[Problem]) -> list[str]:
    """The problems without the directory, as a participant reads them."""
    return [str(problem).split("/toy/")[-1] for problem in problems]


def test_a_good_directory_has_no_problems(toy: DataDir) -> None:
    assert validate(toy.path) == []


def test_audio_that_another_directory_has_named_is_not_opened_again(toy: DataDir, monkeypatch) -> None:
    inspected: dict[str, Inspected] = {}
    wrong = toy.path / "wav.scp"
    wrong.write_text(wrong.read_text().replace(".wav", ".nowhere", 1))
    found = validate(toy.path, inspected=inspected)
    assert [problem.kind for problem in found] == ["audio"]
    assert set(inspected) == set(toy.wav.values()) - {next(iter(toy.wav.values()))} | {
        next(iter(toy.wav.values())).replace(".wav", ".nowhere", 1)
    }
    monkeypatch.setattr(io, "_inspect", None)
    assert validate(toy.path, inspected=inspected) == found


@pytest.mark.parametrize("large", [False, True])
def test_an_utterance_that_is_enrolled_and_tried_is_a_problem(toy: DataDir, monkeypatch, large: bool) -> None:
    if large:
        monkeypatch.setattr(table_files, "LARGE", 1)
    edit(toy, "enrolls", "b-1", "b-2")
    assert messages(validate(toy.path)) == [
        "trials: 1 enrolment utterances are in trials as well (b-2); use other utterances for one of them"
    ]


def test_sets_that_share_an_utterance_are_told(toy: DataDir, tmp_path: Path) -> None:
    sets = {
        name: toy.subset(utts.split()).write(tmp_path / name).path
        for name, utts in {"e": "a-1 b-1", "f": "a-2 b-2", "m": "b-1 b-2 c-1"}.items()
    }
    assert check_disjoint([sets["e"]], [sets["f"]]) == []
    found = [problem.message for problem in check_disjoint([sets["e"]], [sets["f"], sets["m"]])]
    assert [text.partition(" (")[0] for text in found] == [
        f"shares 1 utterances with the enrolment set {sets['e']}",
        f"shares 1 utterances with the other trial set {sets['f']}",
    ]


def test_a_problem_reads_as_file_line_message_remedy() -> None:
    problem = Problem(Path("data/x/text"), 3, "blank line", "remove it", "blank line")
    assert str(problem) == "data/x/text:3: blank line; remove it"
    assert problem.severity == "error"


@pytest.mark.parametrize(
    ("name", "old", "new", "start"),
    [
        ("utt2spk", "a-1 a\n", "", "spk2utt:1: is not the inverse of utt2spk for 1 speakers (a)"),
        ("utt2spk", "a-1 a", "a 1 a", "utt2spk:1: 3 fields where '<utterance> <speaker>' is expected; fix the line; ids must not hold blanks"),
        ("utt2spk", "a-2 a\n", "a-2 a\na-2 a\n", "utt2spk:3: 'a-2' appears twice, here and in line 2"),
        ("utt2spk", "a-1 a\na-2 a\n", "a-2 a\na-1 a\n", "utt2spk:2: not sorted in the C locale: line 1 'a-2 a' stands before line 2 'a-1 a'"),
        ("text", "HELLO B\n", "HELLO <s> B\n", "text:3: the transcript of 'b-1' holds <s>, </s> or #0"),
        ("text", "HELLO B\n", "HELLO\u00a0B\n", "text:3: the transcript of 'b-1' holds the non-printable character U+00A0"),
        ("text", "HELLO B\n", "HELLO \x07\n", "text:3: the transcript of 'b-1' holds the non-printable character U+0007"),
        ("text", "b-1 HELLO B\n", "", "text: lacks 1 of the 6 utterances of utt2spk (b-1)"),
        ("text", "b-1 HELLO B\n", "b-1 HELLO B\nb-1x HELLO\n", "text:4: names 1 utterances that are not in utt2spk (b-1x)"),
        ("text", "b-1 HELLO B\n", "\nb-1 HELLO B\n", "text:3: blank line"),
        ("text", "b-1 HELLO B\n", "b-1 HELLO B\r\n", "text:3: 1 lines end in Windows style"),
        ("spk2gender", "b m", "b M", "spk2gender:2: 'b' has 'M' where f or m is needed"),
        ("spk2gender", "b m\n", "", "spk2gender: lacks 1 of the 3 speakers of utt2spk (b)"),
        ("spk2gender", "c f\n", "c f\nd f\n", "spk2gender:4: names 1 speakers that are not in utt2spk (d)"),
        ("utt2dur", "0.3", "0", "utt2dur:3: 'b-1' has '0' where a positive number of seconds is needed"),
        ("enrolls", "a-1\n", "a-1\na-1\n", "enrolls:2: 'a-1' appears twice, here and in line 1"),
        ("enrolls", "a-1\n", "a-0\n", "enrolls:1: names 1 utterances that are not in utt2spk (a-0)"),
        ("trials", "a a-2 target", "a a-2 genuine", "trials:1: 'genuine' is not a label"),
        ("trials", "a a-2 target", "a a-2 nontarget", "trials:1: 'a a-2' is called nontarget, but utt2spk says that a speaks"),
        ("trials", "a a-2 target", "a a-0 target", "trials:1: names 1 utterances that are not in utt2spk (a-0)"),
        ("trials", "a a-2 target\n", "a a-2 target\na a-2 target\n", "trials:2: 'a a-2' appears twice, here and in line 1"),
        ("trials", "a a-2 target", "a a-2", "trials:1: 2 fields"),
        ("wav.scp", "a-1 /", "a-1 ~/", "wav.scp:1: 'a-1' has a path that begins with ~"),
        ("wav.scp", "/", "|/", "wav.scp:1: 'a-1': |/"),
        ("wav.scp", "c-2 ", "c-2\n", "wav.scp:6: 1 fields"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_its_line(toy: DataDir, name: str, old: str, new: str, start: str) -> None:
    edit(toy, name, old, new)
    assert any(line.startswith(start) for line in messages(validate(toy.path))), messages(validate(toy.path))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("text", "", "text: is empty"),
        ("text", b"a-1 \xff\n", "text:1: is not UTF-8 text"),
        ("text", b"a-1 \0\n", "text:1: is not UTF-8 text"),
        ("trials", "a a-1 target\n", "trials: holds no nontarget trial"),
        ("trials", "a b-1 nontarget\n", "trials: holds no target trial"),
        ("segments", "a-1 r 0 1\n", "segments: segments are not supported"),
        ("spk2utt", "a a-1 a-2\nb b-1 b-2\nc c-2 c-1\n", "spk2utt:3: is not the inverse of utt2spk for 1 speakers (c)"),
    ],
)
def test_a_bad_file_is_named(toy: DataDir, name: str, content: str | bytes, complaint: str) -> None:
    put(toy, name, content)
    assert any(line.startswith(complaint) for line in messages(validate(toy.path)))


def test_a_missing_final_newline_is_found(toy: DataDir) -> None:
    put(toy, "text", (toy.path / "text").read_bytes().removesuffix(b"\n"))
    assert [line.split(";")[0] for line in messages(validate(toy.path))] == ["text: the last line has no newline"]


@pytest.mark.parametrize("name", ["utt2spk", "spk2utt", "text", "wav.scp"])
def test_a_missing_file_is_named(toy: DataDir, name: str) -> None:
    (toy.path / name).unlink()
    assert messages(validate(toy.path))[0].startswith(f"{name}: no such file; ")


def test_text_and_audio_are_optional_on_demand(toy: DataDir) -> None:
    (toy.path / "text").unlink()
    (toy.path / "wav.scp").unlink()
    assert validate(toy.path, text=False, wav=False) == []


def test_all_problems_are_found_at_once(toy: DataDir) -> None:
    edit(toy, "spk2gender", "b m", "b x")
    edit(toy, "text", "HELLO B", "#0")
    edit(toy, "utt2dur", "0.1", "-1")
    (toy.path / "spk2utt").unlink()
    assert {problem.kind for problem in validate(toy.path)} == {"value", "transcript", "missing file"}
    assert len(validate(toy.path)) == 4


def test_ids_that_cannot_be_file_names_are_problems(tmp_path: Path) -> None:
    DataDir(tmp_path / "toy", {"a/1": "a", "b-é": "b"}).write(tmp_path / "toy")
    problems = messages(validate(tmp_path / "toy", text=False, wav=False))
    assert [line.split(" holds")[0] for line in problems] == ["utt2spk:1: id 'a/1'", "utt2spk:2: id 'b-é'"]


def test_speakers_out_of_order_are_found_and_may_be_allowed(tmp_path: Path) -> None:
    """'13_1' sorts before '1_2': the underscore and unpadded numbers break the order of speakers."""
    DataDir(tmp_path / "toy", {"1_2": "1", "13_1": "13"}).write(tmp_path / "toy")
    [problem] = validate(tmp_path / "toy", text=False, wav=False)
    assert problem.kind == "order"
    assert "line 1 '13_1 13' stands before line 2 '1_2 1'" in problem.message
    assert validate(tmp_path / "toy", text=False, wav=False, spk_sort=False) == []


def test_ids_joined_by_a_hyphen_are_always_in_order(tmp_path: Path) -> None:
    DataDir(tmp_path / "toy", {"1-2": "1", "13-1": "13"}).write(tmp_path / "toy")
    assert validate(tmp_path / "toy", text=False, wav=False) == []


def test_a_single_speaker_and_ids_without_speaker_are_only_warnings(tmp_path: Path) -> None:
    DataDir(tmp_path / "toy", {"x1": "set", "x2": "set"}).write(tmp_path / "toy")
    problems = validate(tmp_path / "toy", text=False, wav=False)
    assert {(problem.kind, problem.severity) for problem in problems} == {
        ("prefix", "warning"),
        ("one speaker", "warning"),
    }


def tone(samples: int = 1600) -> np.ndarray:
    return np.sin(np.arange(samples) / 9) / 4


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-400])


def write_flac_cut_off(path: Path) -> None:
    sf.write(path, np.random.default_rng(0).uniform(-0.5, 0.5, 8000), 16000, format="FLAC")
    cut_off(path)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (Path.unlink, "no such audio file"),
        (lambda path: path.write_bytes(b""), "audio file is empty (0 bytes)"),
        (lambda path: path.write_text("Not Found: the server has no such page. " * 20), "is not readable audio"),
        (lambda path: write_wave(path, tone(), 8000), "has 8000 Hz; convert it to 16000 Hz"),
        (lambda path: sf.write(path, np.stack([tone()] * 2, axis=1), 16000), "has 2 channels; convert it to mono"),
        (cut_off, "is cut off"),
        (lambda path: write_wave(path, tone(4000)), "lasts 0.1 s by utt2dur, but its audio lasts 0.250 s"),
    ],
    ids=["missing", "empty", "text", "rate", "stereo", "truncated", "duration"],
)
def test_broken_audio_is_found(toy: DataDir, damage: Callable[[Path], object], complaint: str) -> None:
    damage(Path(toy.wav["a-1"]))
    problems = validate(toy.path)
    assert any(complaint in str(problem) for problem in problems)
    assert {problem.line for problem in problems} == {1}
    assert validate(toy.path, audio=False) == []


def test_a_cut_off_flac_file_is_found(toy: DataDir, tmp_path: Path) -> None:
    write_flac_cut_off(tmp_path / "x.flac")
    toy.with_table("wav.scp", {**toy.wav, "b-1": str(tmp_path / "x.flac")}).write(toy.path)
    [problem] = [problem for problem in validate(toy.path) if problem.kind == "audio"]
    assert "'b-1'" in str(problem)
    assert problem.line == 3


def test_pipes_are_run_and_their_exit_status_counts(toy: DataDir) -> None:
    wav = dict(toy.wav)
    wav["a-1"] = f"cat {wav['a-1']} |"
    wav["b-1"] = f"cat {wav['b-1']}; exit 3 |"
    toy.with_table("wav.scp", wav).write(toy.path)
    [problem] = validate(toy.path)
    assert problem.line == 3
    assert "failed with exit code 3" in str(problem)


def test_attributes_are_numbers_or_words_and_ages_are_ages(tmp_path):
    (tmp_path / "utt2spk").write_text("".join(f"{s}-1 {s}\n" for s in "abcd"))
    (tmp_path / "spk2utt").write_text("".join(f"{s} {s}-1\n" for s in "abcd"))
    (tmp_path / "spk2age").write_text("a 23\nb 400\nc unknown\nd 31\n")
    (tmp_path / "spk2height").write_text("a 170\nb 180\nc tall\nd unknown\n")
    found = {(p.path.name, p.severity): str(p) for p in validate(tmp_path, text=False, wav=False)}
    assert found.keys() == {("spk2age", "error"), ("spk2height", "warning")}
    assert "'b' has '400' where an age in years" in found["spk2age", "error"]
    assert "1 of 4 values are no numbers (c)" in found["spk2height", "warning"]
