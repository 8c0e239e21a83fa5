"""Damaged files: whatever is cut off, changed or put in, a reader answers with records or with one line."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from result_samples import RANK_2024, RESULTS_2022, SUMMARY_2022, TRACK2_2026, UNTIDY_2024
from test_legal import TEXT as LEGAL
from test_vpc2020 import POST_EVALUATION_SHAPE, PUBLISHED_SHAPE

from vpeval.core.errors import InputError
from vpeval.records.record import Record
from vpeval.results.load import Source, read

RECORDS = "".join(
    Record("wer", 1.5, 1.0, 2.0, {"lm": "x"}, {"sub": 1}, set=name, system="s").to_json() + "\n" for name in "abc"
)
FILES = {
    "2020": PUBLISHED_SHAPE,
    "2020 post": POST_EVALUATION_SHAPE,
    "2022": RESULTS_2022,
    "2022 summary": SUMMARY_2022,
    "2024": RANK_2024,
    "2024 untidy": UNTIDY_2024,
    "2026": TRACK2_2026,
    "legal": LEGAL,
    "jsonl": RECORDS,
}


@pytest.fixture
def answer(tmp_path):
    path = tmp_path / "file"

    def answer_to(content: bytes):
        """The records of a file, or None after a proper complaint."""
        path.write_bytes(content)
        try:
            return read(Source(path))
        except InputError as error:
            assert re.match(rf"{re.escape(str(path))}:\d+: \S", str(error)), str(error)
            assert "\n" not in str(error)
            return None

    return answer_to


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_is_read(answer, name):
    assert answer(FILES[name].encode())


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_after_any_line_gives_the_first_records_or_a_complaint(answer, name):
    whole = answer(FILES[name].encode())
    lines = FILES[name].splitlines(keepends=True)
    for n in range(len(lines)):
        found = answer("".join(lines[:n]).encode())
        assert found is None or all(record in whole for record in found)
        assert n or found is None


def test_a_summary_that_ends_before_its_averages_is_an_error(answer):
    lines = SUMMARY_2022.splitlines(keepends=True)
    assert all(answer("".join(lines[:n]).encode()) is None for n in range(len(lines)))


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_anywhere_never_breaks_a_reader(answer, name):
    content = FILES[name].encode()
    for n in random.Random(0).sample(range(len(content)), 60):
        answer(content[:n])


@settings(max_examples=60)
@given(st.sampled_from(sorted(FILES)), st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_changed_bytes_never_break_a_reader(answer, name, place, content):
    text = bytearray(FILES[name].encode())
    place %= len(text)
    text[place : place + len(content)] = content
    answer(bytes(text))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\0\0\0\0",
        b"\x89PNG\r\n",
        b"<html>\n",
        b"RIFF....WAVEfmt ",
        b"a b c\n",
        b"[]\n",
        b"{}\n",
        b'{"metric": 1, "value": 2}\n',
        b'{"metric": "a", "value": null}\n',
        b'{"metric": "a", "value": NaN}\n',
        b'{"metric": "a", "value": 1, "params": 3}\n',
        b'{"metric": "a", "value": 1, "set": []}\n',
    ],
)
def test_a_foreign_file_is_one_line(answer, content):
    assert answer(content) is None
