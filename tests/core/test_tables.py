from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, read_rows, read_table, write_table

IDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1)
VALUES = st.lists(IDS).map(" ".join)


@pytest.fixture
def table(tmp_path: Path):
    def write(content: bytes) -> Path:
        (tmp_path / "table").write_bytes(content)
        return tmp_path / "table"

    return write


@pytest.mark.parametrize(
    "content", [b"a 1 2\nb 3\n", b"a 1 2\nb 3", b"a 1 2\r\nb 3\r\n", b"a\t1 2\nb\t\t3 \n", b"  a   1 2\n b 3\n"]
)
def test_line_ends_tabs_and_surplus_blanks_make_no_difference(table, content: bytes) -> None:
    assert read_table(table(content)) == {"a": "1 2", "b": "3"}


def test_the_value_is_the_rest_of_the_line_as_it_stands(table) -> None:
    assert read_table(table(b"a flac -dcs 'my  file.flac' |\n")) == {"a": "flac -dcs 'my  file.flac' |"}


def test_an_empty_file_is_an_empty_table(table) -> None:
    assert read_table(table(b"")) == {}


def test_a_key_may_stand_alone_only_where_empty_values_are_allowed(table) -> None:
    path = table(b"a HELLO\nb\n")
    assert read_table(path, empty=True) == {"a": "HELLO", "b": ""}
    with pytest.raises(InputError, match=r"table:2: 'b' has no speaker; expected <key> <speaker>"):
        read_table(path, value="speaker")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a 1\n\nb 2\n", "table:2: blank line; remove it"),
        (b"a 1\n \t\r\nb 2\n", "table:2: blank line"),
        (b"a 1\n\n", "table:2: blank line"),
        (b"\n", "table:1: blank line"),
        (b"a 1\nb \0\n", "table:2: holds a NUL byte"),
        (b"a 1\nb \xff\n", "table:2: is not UTF-8 text"),
        ("a 1\nb 2\n".encode("utf-16"), "table:1: is not UTF-8 text"),
        (b"a 1\nb 2\na 3\n", "table:3: 'a' appears twice; keep one line"),
    ],
)
def test_a_bad_line_is_named(table, content: bytes, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(table(content))
    assert complaint in str(caught.value)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/utt2spk: no such file"):
        read_table(tmp_path / "nowhere/utt2spk")
    with pytest.raises(InputError, match="is not a file"):
        read_table(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is not a file"):
        read_table(tmp_path / "file" / "utt2spk")


def test_rows_must_have_exactly_the_fields_that_are_named(table) -> None:
    path = table(b"s u target\ns2\tu2 nontarget\r\n")
    assert list(read_rows(path, "speaker", "utterance", "label")) == [
        (1, ["s", "u", "target"]),
        (2, ["s2", "u2", "nontarget"]),
    ]
    with pytest.raises(InputError, match=r"table:1: 3 fields where 2 are expected: <utterance> <speaker>"):
        list(read_rows(path, "utterance", "speaker"))


def test_lines_keep_their_inner_blanks_and_lose_only_their_end(table) -> None:
    assert list(read_lines(table(b" a  b\t\r\nc"))) == [(1, " a  b\t"), (2, "c")]


def test_a_table_is_sorted_by_the_bytes_of_its_keys_whatever_the_locale(tmp_path: Path) -> None:
    write_table(tmp_path / "t", {"é": "4", "b": "2", "B": "1", "b-1": "3", "a": ""})
    assert (tmp_path / "t").read_text() == "B 1\na\nb 2\nb-1 3\né 4\n"


@settings(max_examples=40)
@given(st.dictionaries(IDS, VALUES))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, table: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("tables") / "t"
    write_table(path, table)
    assert read_table(path, empty=True) == table
