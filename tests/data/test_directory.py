import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir, invert
from vpeval.data.layout import is_safe_id

IDS = st.text("aB1-_", min_size=1, max_size=5).filter(is_safe_id)


def spoil(data: DataDir, name: str, text: str) -> Path:
    (data.path / name).write_text(text)
    return data.path / name


def test_what_was_written_is_what_is_loaded(toy: DataDir) -> None:
    assert DataDir.load(toy.path) == toy
    assert toy.name == "toy"
    assert toy.utts == ["a-1", "a-2", "b-1", "b-2", "c-1", "c-2"]
    assert toy.speakers == ["a", "b", "c"]
    assert toy.spk2utt["b"] == ["b-1", "b-2"]
    assert toy.utt2dur["c-2"] == pytest.approx(0.6)
    assert toy.spk2gender == {"a": "f", "b": "m", "c": "f"}
    assert toy.text["a-1"] == "HELLO A"
    assert toy.wav["a-1"].endswith("a-1.wav")


def test_the_files_are_in_kaldi_format(toy: DataDir) -> None:
    assert (toy.path / "spk2utt").read_text() == "a a-1 a-2\nb b-1 b-2\nc c-1 c-2\n"
    assert (toy.path / "enrolls").read_text() == "a-1\nb-1\n"
    assert (toy.path / "trials").read_text().splitlines()[:2] == ["a a-2 target", "a b-2 nontarget"]


@settings(max_examples=25)
@given(st.dictionaries(IDS, IDS, min_size=1))
def test_files_are_sorted_as_sort_does_in_the_c_locale(
    tmp_path_factory: pytest.TempPathFactory, utt2spk: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("data") / "x"
    DataDir(path, utt2spk).write(path)
    for name in ("utt2spk", "spk2utt"):
        assert (
            subprocess.run(["sort", "-k1,1", "-u", "-C", path / name], env={**os.environ, "LC_ALL": "C"}).returncode
            == 0
        )
    assert DataDir.load(path).utt2spk == utt2spk
    pairs = {(utt, spk) for spk, utts in invert(utt2spk).items() for utt in utts}
    assert pairs == set(utt2spk.items())


def test_unsorted_files_are_sorted_on_loading(toy: DataDir) -> None:
    lines = (toy.path / "utt2spk").read_text().splitlines(keepends=True)
    spoil(toy, "utt2spk", "".join(reversed(lines)))
    assert DataDir.load(toy.path).utts == toy.utts


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("utt2spk", "a-1 a\na-1 a\n", "utt2spk:2: utterance 'a-1' appears twice"),
        ("utt2spk", "a 1 a\n", "utt2spk:1: 3 fields where 2 are expected"),
        ("utt2spk", "", "utt2spk: is empty"),
        ("spk2gender", "a f\nb x\nc f\n", "spk2gender:2: speaker 'b' has 'x' where f or m is needed"),
        ("spk2gender", "a f\n", "spk2gender: has no line for speaker b, c of utt2spk"),
        ("utt2dur", "a-1 1\na-2 1\nb-1 -3\nb-2 1\nc-1 1\nc-2 1\n", "utt2dur:3: utterance 'b-1' has '-3'"),
        ("utt2dur", "a-1 nan\na-2 1\nb-1 3\nb-2 1\nc-1 1\nc-2 1\n", "utt2dur:1: utterance 'a-1' has 'nan'"),
        ("utt2emo", "a-1 sad\nz-1 sad\n", "utt2emo:2: utterance z-1 is not in utt2spk"),
        ("enrolls", "a-1\nz-1\n", "enrolls:2: utterance 'z-1' is not in utt2spk"),
        ("enrolls", "a-1\na-1\n", "enrolls:2: utterance 'a-1' appears twice"),
        ("trials", "a a-1 target\na a-2 yes\n", "trials:2: 'yes' is not a label"),
        ("trials", "a z-1 target\n", "trials:1: utterance 'z-1' is not in utt2spk"),
        ("trials", "a a-1 target\na a-1 nontarget\n", "trials:2: trial 'a a-1' appears twice"),
        ("segments", "a-1 r 0 1\n", "segments: segments are not supported"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(toy: DataDir, name: str, text: str, complaint: str) -> None:
    spoil(toy, name, text)
    with pytest.raises(InputError) as caught:
        DataDir.load(toy.path)
    assert str(caught.value).startswith(f"{toy.path}/{complaint}")


def test_a_directory_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such data directory"):
        DataDir.load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["wav", "text", "utt2dur", "spk2gender"])
def test_asking_for_a_file_that_is_missing_names_it(name: str) -> None:
    data = DataDir(Path("data/x"), {"a-1": "a"})
    with pytest.raises(InputError, match=rf"data/x/{name}.*: no such file; add it"):
        getattr(data, name)


def test_an_empty_transcript_survives_the_round_trip(toy: DataDir) -> None:
    silent = toy.with_table("text", dict.fromkeys(toy.utts, ""))
    silent.write(toy.path)
    assert set(DataDir.load(toy.path).text.values()) == {""}


def test_a_subset_cuts_every_table(toy: DataDir) -> None:
    part = toy.subset(["b-2", "b-1", "a-1"])
    assert part.utts == ["a-1", "b-1", "b-2"]
    assert part.wav.keys() == part.text.keys() == part.utt2dur.keys() == part.utt2spk.keys()
    assert part.spk2gender == {"a": "f", "b": "m"}
    assert part.enrolls == ("a-1", "b-1")
    assert part.trials == (("a", "b-2", "nontarget"), ("b", "b-2", "target"))
    assert part.path == toy.path


def test_a_subset_of_unknown_utterances_is_an_input_error(toy: DataDir) -> None:
    with pytest.raises(InputError, match="has no utterance z-9"):
        toy.subset(["a-1", "z-9"])


def test_a_table_can_be_added_and_must_be_complete(toy: DataDir) -> None:
    seeded = toy.with_table("utt2seed", dict.fromkeys(reversed(toy.utts), "7"))
    assert list(seeded.utt_tables["utt2seed"]) == toy.utts
    assert "utt2seed" not in toy.utt_tables
    assert toy.with_table("spk2fold", dict.fromkeys("abc", "1")).spk_tables["spk2fold"]["a"] == "1"
    with pytest.raises(InputError, match="has no line for utterance a-2"):
        toy.with_table("utt2seed", {"a-1": "7"})
    with pytest.raises(ValueError, match="is not a table"):
        toy.with_table("trials", {})


def test_writing_replaces_a_data_directory_and_its_splits(toy: DataDir) -> None:
    (toy.path / "split2").mkdir()
    (toy.path / "utt2emo").write_text("old\n")
    written = toy.subset(["a-1"]).write(toy.path)
    assert DataDir.load(toy.path) == written
    assert sorted(path.name for path in toy.path.iterdir()) == sorted(
        [".made", "utt2spk", "spk2utt", "wav.scp", "text", "utt2dur", "spk2gender", "enrolls", "trials"]
    )
    assert {path.name for path in toy.path.parent.iterdir()} == {"audio", "toy"}


def test_writing_never_deletes_what_is_not_a_data_file(toy: DataDir, tmp_path: Path) -> None:
    (tmp_path / "home" / "wav").mkdir(parents=True)
    with pytest.raises(InputError, match="holds 'wav' and was not made by this toolkit"):
        toy.write(tmp_path / "home")
    assert (tmp_path / "home" / "wav").is_dir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        toy.write(tmp_path / "file")


def test_writing_through_a_link_keeps_the_link(toy: DataDir, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(toy.path)
    toy.subset(["a-1"]).write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert DataDir.load(toy.path).utts == ["a-1"]


def test_a_failed_write_leaves_the_old_directory(toy: DataDir) -> None:
    broken = replace(toy, trials=(("a",),))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        broken.write(toy.path)
    assert DataDir.load(toy.path) == toy
    assert {path.name for path in toy.path.parent.iterdir()} == {"audio", "toy"}


def test_nothing_is_not_written(toy: DataDir, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no utterances to write"):
        toy.subset([]).write(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
