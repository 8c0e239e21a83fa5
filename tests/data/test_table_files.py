"""Columns are dictionaries that need less room: on whatever file, both ways to read it give the same."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_table
from vpeval.data import table_files
from vpeval.data.directory import DataDir
from vpeval.data.table_files import Column, read_column

words = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
values = st.lists(words, min_size=1, max_size=3).map(" ".join)


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "LARGE", 0)
    monkeypatch.setattr(table_files, "_BLOCK", 40)
    monkeypatch.setattr(table_files, "_ROWS", 3)
    monkeypatch.setattr(table_files, "_FEW", 0)


def read(path: Path, empty: bool = False) -> Column:
    found = read_column(path, empty)
    assert found is not None
    return found


@given(st.dictionaries(words, values, min_size=1, max_size=30), words)
def test_a_column_is_equal_to_the_dictionary_of_its_file(tmp_path: Path, table: dict[str, str], other: str) -> None:
    write_table(tmp_path / "x", table)
    found, expected = read(tmp_path / "x"), read_table(tmp_path / "x")
    assert found == expected == table and len(found) == len(table)
    assert list(found.items()) == list(expected.items()) and list(found) == list(expected)
    assert list(found.values()) == list(expected.values())
    assert all(found[key] == value for key, value in table.items())
    assert (other in found) == (other in table) and found.get(other) == table.get(other)
    assert found.distinct() == sorted(set(table.values()))
    some = sorted({*list(table)[::2], other})
    assert found.select(some) == {key: table[key] for key in some if key in table}
    some = sorted(list(table)[::2])
    cut = found.select(some)
    assert isinstance(cut, Column) and list(cut.items()) == [(key, table[key]) for key in some]
    assert list(found.select(some[::-1])) == some[::-1]


@given(
    st.lists(
        st.sampled_from(["a", "b", "é", " ", "\t", "\n", "\r", "\0", "\u3000", "\x1c", "a b\n", "b c\n"]), max_size=12
    )
)
def test_a_file_that_is_not_as_ours_is_left_to_the_other_reader(tmp_path: Path, fragments: list[str]) -> None:
    (tmp_path / "x").write_text("".join(fragments), newline="")
    for empty in (False, True):
        found = read_column(tmp_path / "x", empty) if fragments else None
        if found is not None:
            assert dict(found) == read_table(tmp_path / "x", empty=empty)


def test_text_may_be_empty_and_bytes_that_are_no_text_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a HELLO\nb\nc\nd YOU ALL\n")
    assert read_column(tmp_path / "x") is None
    assert dict(read(tmp_path / "x", empty=True)) == {"a": "HELLO", "b": "", "c": "", "d": "YOU ALL"}
    for content in (b"a x\nb \xff\n", b"a x\nb y", b"b x\na y\n", b"a x\na y\n", b"a  x\n", b" a x\n", b"a x \n"):
        (tmp_path / "x").write_bytes(content)
        assert read_column(tmp_path / "x") is None, content


def test_an_index_is_shared_where_the_keys_are_the_same(tmp_path: Path) -> None:
    write_table(tmp_path / "x", {f"u{n}": "1" for n in range(9)})
    write_table(tmp_path / "y", {f"u{n}": "a b" for n in range(9)})
    index = read(tmp_path / "x").index
    assert read_column(tmp_path / "y", keys=index).index is index  # type: ignore[union-attr]
    for keys in (range(8), range(10), range(1, 10)):
        write_table(tmp_path / "y", {f"u{n}": "a" for n in keys})
        assert read_column(tmp_path / "y", keys=index) is None


def write_files(path: Path, **files: str) -> Path:
    path.mkdir(exist_ok=True)
    content = {
        "utt2spk": "a-1 a\na-2 a\nb-1 b\n",
        "spk2utt": "a a-1 a-2\nb b-1\n",
        "wav.scp": "a-1 /x/a 1.wav\na-2 cat x |\nb-1 /y.wav\n",
        "text": "a-1 GUTEN TAG\na-2\nb-1 ÄH\n",
        "utt2dur": "a-1 1.5\na-2 2\nb-1 .5\n",
        "spk2gender": "a f\nb m\n",
        "enrolls": "a-1\n",
    }
    for name, text in {**content, **{name.replace("_", "."): text for name, text in files.items()}}.items():
        (path / name).write_text(text)
    return path


def both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[DataDir | str]:
    """The directory, or the complaint, read by columns and by dictionaries."""
    found: list[DataDir | str] = []
    for large in (0, 1 << 40):
        with monkeypatch.context() as patch:
            patch.setattr(table_files, "LARGE", large)
            try:
                found.append(DataDir.load(path))
            except InputError as error:
                found.append(str(error))
    return found


def test_a_directory_of_columns_is_the_same_cut_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = both_ways(write_files(tmp_path / "set"), monkeypatch)
    assert isinstance(large, DataDir) and isinstance(small, DataDir)
    assert isinstance(large.utt2spk, Column) and isinstance(large.wav, Column) and isinstance(small.wav, dict)
    assert large == small and large.spk2utt == small.spk2utt and large.utt2dur == small.utt2dur
    assert large.utts == small.utts and large.speakers == small.speakers
    assert large.subset(["b-1", "a-1"]) == small.subset(["a-1", "b-1"])
    with pytest.raises(InputError, match="has no utterance a-7, x; choose among those listed"):
        large.subset(["a-1", "x", "a-7"])
    for data, name in ((large, "large"), (small, "small")):
        data.write(tmp_path / name)
    for file in (tmp_path / "small").iterdir():
        assert (tmp_path / "large" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    "files",
    [
        {"utt2spk": "a-1 a\na-2 a b\nb-1 b\n"},
        {"utt2spk": "a-1 a\na-1 a\nb-1 b\n"},
        {"utt2spk": "b-1 b\na-2 a\na-1 a\n"},
        {"utt2spk": ""},
        {"utt2spk": "a-1 a\na-2\nb-1 b\n"},
        {"text": "a-1 A\nb-1 B\n"},
        {"text": "a-1 A\na-2 B\nb-1 B\nc-1 C\n"},
        {"wav_scp": "a-1 x\na-2\nb-1 y\n"},
        {"wav_scp": "b-1 x\na-2 y\na-1 y\n"},
        {"utt2dur": "a-1 1\na-2 0\nb-1 1\n"},
        {"utt2dur": "a-1 1\na-2 long\nb-1 1\n"},
        {"utt2dur": "a-1 1\na-2 inf\nb-1 nan\n"},
        {"utt2dur": "a-1 1\na-2 1_0\nb-1 1e1\n"},
        {"spk2gender": "a f\nb x\n"},
        {"spk2gender": "a f\n"},
        {"enrolls": "a-9\n"},
    ],
)
def test_complaints_are_the_same(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = both_ways(write_files(tmp_path / "set", **files), monkeypatch)
    assert large == small
