import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.records.record import TAGS, Record, parse_tags, read_records, write_records

EER = Record(
    "eer_kaldi",
    0.25,
    0.125,
    0.5,
    {"estimator": "k/Nt"},
    {"targets": 8, "nontargets": 80},
    recipe="mini",
    system="mcadams",
    set="mini_dev",
    gender="f",
    condition="oa",
    attacker="ecapa",
)
LINE = EER.to_json()


@pytest.fixture
def jsonl(tmp_path: Path):
    def write(*lines: str) -> Path:
        (tmp_path / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return tmp_path / "results.jsonl"

    return write


def test_a_record_is_one_json_object_with_its_tags_first() -> None:
    assert list(json.loads(LINE)) == [*TAGS, "metric", "params", "value", "lower", "upper", "counts", "notes"]
    assert json.loads(LINE)["value"] == 0.25


def test_infinities_are_strings_as_json_has_no_such_numbers(tmp_path: Path) -> None:
    record = Record("cllr", math.inf, -math.inf, math.inf)
    row = json.loads(record.to_json())
    assert (row["value"], row["lower"], row["upper"]) == ("inf", "-inf", "inf")
    write_records(tmp_path / "r", [record])
    assert read_records(tmp_path / "r") == [record]


def test_nan_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="NaN"):
        Record("eer", math.nan).to_json()
    with pytest.raises(ValueError, match="JSON"):
        Record("eer", 0.5, params={"threshold": math.nan}).to_json()


def test_tags_are_set_on_a_copy_and_unknown_ones_refused() -> None:
    tagged = Record("eer", 0.5).tagged({"system": "mcadams", "set": "mini_dev"})
    assert (tagged.system, tagged.set, tagged.value) == ("mcadams", "mini_dev", 0.5)
    with pytest.raises(ValueError, match="not a tag"):
        Record("eer", 0.5).tagged({"metric": "cllr"})


def test_tags_of_the_command_line_are_name_equals_value() -> None:
    assert parse_tags(["system=x=y", "set="]) == {"system": "x=y", "set": ""}
    for bad in ("system", "colour=red", "=x"):
        with pytest.raises(InputError, match=f"--tag {bad}: expected NAME=VALUE with NAME one of recipe"):
            parse_tags([bad])


def test_only_metric_and_value_are_needed(jsonl) -> None:
    assert read_records(jsonl('{"metric": "eer", "value": 1}')) == [Record("eer", 1.0)]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (LINE[:-20], "is the file cut short?"),
        ("eer 0.5", "is the file cut short?"),
        ("[1, 2]", "is not a record"),
        ("3", "is not a record"),
        ('{"metric": "eer"}', "is not a record"),
        ('{"utt": "a-1", "words": 3}', "is not a record"),
        ('{"metric": "eer", "value": 0.5, "colour": "red"}', "unknown field colour"),
        ('{"metric": "eer", "value": "high"}', "must be numbers"),
        ('{"metric": "eer", "value": NaN}', "must be numbers"),
        ('{"metric": "eer", "value": "nan"}', "must be numbers"),
        ('{"metric": "eer", "value": [0.5]}', "must be numbers"),
        ('{"metric": "eer", "value": 1' + "0" * 400 + "}", "must be numbers"),
        ('{"metric": "eer", "value": 1' + "0" * 5000 + "}", "is not a JSON record"),
        ('{"metric": "eer", "value": ' + "[" * 100000 + "}", "is not a JSON record"),
        ('{"metric": "eer", "value": null}', "value must be a number"),
        ('{"metric": 3, "value": 0.5}', "metric"),
        ('{"metric": "eer", "value": 0.5, "set": ["a"]}', "set must be text"),
        ('{"metric": "eer", "value": 0.5, "params": [1]}', "params, counts and notes"),
        ('{"metric": "eer", "value": 0.5, "counts": null}', "params, counts and notes"),
        ('{"metric": "eer", "value": true}', "must be numbers"),
        ('{"metric": "eer", "value": 1e300}', "beyond all measure"),
        ('{"metric": "eer_kaldi", "value": 7.66}', "a eer_kaldi of 7.66 cannot be: it is from 0 to 1"),
        ('{"metric": "eer_kaldi", "value": "inf"}', "cannot be"),
        (r'{"metric": "\\input{x}", "value": 0.5}', "metric must be a word"),
        (r'{"metric": "eer", "value": 0.5, "system": "a\ud800"}', "system must be text without control characters"),
        (r'{"metric": "eer", "value": 0.5, "set": "a\u001b[2J"}', "set must be text without control characters"),
        ('{"metric": "eer", "value": 0.5, "notes": {"chance": [0.5]}}', "notes 'chance' must be a number"),
        ('{"metric": "eer", "value": 0.5, "notes": {"chance": NaN}}', "notes 'chance' must be a number"),
        ('{"metric": "wer", "value": 5, "params": {"lm": ["small"]}}', "params 'lm' must be text"),
        ('{"metric": "wer", "value": 5, "counts": {"ins": 1.5}}', "counts 'ins' must be a whole number"),
        ('{"metric": "eer", "value": 0.5, "notes": {"files": {"scores": "/etc/passwd"}}}', "relative to the table"),
        ('{"metric": "eer", "value": 0.5, "notes": {"files": {"scores": "../../x/y"}}}', "relative to the table"),
        ('{"metric": "linkability", "value": 0.5, "params": {"L": 3}}', "a linkability needs 'N' among its params"),
        ('{"metric": "emotion_accuracy", "value": 50}', "needs 'emotion' among its params"),
    ],
    ids=range(34),
)
def test_a_line_that_is_no_record_is_named(jsonl, line: str, complaint: str) -> None:
    path = jsonl(LINE, line)
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert complaint in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_records(tmp_path / "results.jsonl")


NUMBERS = st.floats(-1e12, 1e12) | st.sampled_from([float("inf"), float("-inf")])
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]))
INTEGERS = st.integers(-(10**12), 10**12)
RECORDS = st.builds(
    Record,
    metric=st.from_regex(r"x_[a-z0-9_]{0,9}", fullmatch=True),
    value=NUMBERS,
    lower=st.none() | NUMBERS,
    upper=st.none() | NUMBERS,
    params=st.dictionaries(NAMES.map("x {}".format), NAMES | INTEGERS | st.none()),
    notes=st.dictionaries(NAMES.map("x {}".format), NAMES | INTEGERS | st.none()),
    counts=st.dictionaries(NAMES, st.integers(0, 10**12)),
    **dict.fromkeys(TAGS, NAMES),
)


@settings(max_examples=40)
@given(st.lists(RECORDS, max_size=3))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    path = tmp_path_factory.mktemp("records") / "results.jsonl"
    write_records(path, records)
    assert read_records(path) == records


def test_an_older_table_has_notes_among_its_parameters(tmp_path: Path) -> None:
    row = {
        "metric": "linkability",
        "value": 0.5,
        "params": {"N": 20, "L": 1, "chance": 0.05, "seed": 1, "attack_model": "none"},
    }
    write_text(tmp_path / "results.jsonl", json.dumps(row) + "\n")
    (record,) = read_records(tmp_path / "results.jsonl")
    assert record.params == {"N": 20, "L": 1}
    assert record.notes == {"chance": 0.05, "seed": 1, "attack_model": "none"}


def test_notes_are_not_part_of_the_identity() -> None:
    record = Record("linkability", 0.5, params={"N": 20}, system="a")
    assert record.identity == replace(record, value=0.6, notes={"seed": 3}).identity
    assert record.identity != record.with_params({"L": 1}).identity
    assert record.identity != record.tagged({"system": "b"}).identity
