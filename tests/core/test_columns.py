from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.core.files import read_columns, read_rows

PIECES = st.lists(
    st.sampled_from(["a", "b-1", "1.5", " ", "  ", "\t", "\n", "\r\n", "\x1c", "\x0b", "\0", "é", "\u2003"])
)


def by_lines(path: Path) -> object:
    try:
        rows = [fields for _, fields in read_rows(path, "one", "other")]
    except InputError as error:
        return str(error)
    return [list(column) for column in zip(*rows, strict=True)] or [[], []]


def by_columns(path: Path) -> object:
    try:
        return read_columns(path, "one", "other")
    except InputError as error:
        return str(error)


@settings(max_examples=300)
@given(PIECES, st.integers(1, 12))
def test_columns_are_what_line_by_line_gives_and_so_are_complaints(
    tmp_path_factory: pytest.TempPathFactory, fragments: list[str], block: int
) -> None:
    path = tmp_path_factory.mktemp("columns") / "table"
    path.write_bytes("".join(fragments).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vpeval.core.files._BLOCK", block)
        assert by_columns(path) == by_lines(path)


def test_a_bad_line_far_into_a_large_file_is_named(tmp_path: Path) -> None:
    lines = [f"speaker{n % 7} utt-{n:06d}" for n in range(300_000)]
    (tmp_path / "table").write_text("".join(f"{line}\n" for line in lines))
    spks, utts = read_columns(tmp_path / "table", "speaker", "utterance")
    assert utts[123_456] == "utt-123456" and spks[8] == "speaker1" and len(utts) == 300_000
    # As many fields as there should be in all, but not in every line.
    lines[250_000] += " more"
    lines[250_001] = "less"
    (tmp_path / "table").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(InputError, match="table:250001: 3 fields where 2 are expected: <speaker> <utterance>"):
        read_columns(tmp_path / "table", "speaker", "utterance")


def test_a_file_that_is_not_there_or_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file"):
        read_columns(tmp_path / "none", "one")
    with pytest.raises(InputError, match="is not a file"):
        read_columns(tmp_path, "one")
