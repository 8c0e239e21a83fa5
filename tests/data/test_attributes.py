from collections import Counter

import pytest

from vpeval.core.errors import InputError
from vpeval.data.attributes import Attribute, combined, read_attribute, read_attributes


def attribute(*values, name="x"):
    return Attribute(name, {f"s{k:02d}": value for k, value in enumerate(values)})


def test_numbers_are_a_quantity_and_anything_else_is_a_category():
    assert attribute("20", "31.5", "1e1").is_quantity
    assert not attribute("20", "thirties").is_quantity
    assert not attribute("f", "m").is_quantity
    assert not attribute("nan", "inf").is_quantity


def test_rare_values_are_one_class_or_are_left_out():
    found = attribute(*"aaabbbcd").classes
    assert Counter(found.values()) == {"a": 3, "b": 3}
    assert Counter(attribute(*"aaabbbcde").classes.values()) == {"a": 3, "b": 3, "other": 3}


def test_a_quantity_has_three_classes_and_equal_values_share_one():
    found = attribute(*map(str, [20, 20, 20, 20, 30, 40, 41, 42, 50])).classes
    assert Counter(found.values()) == {"20": 4, "41–50": 3}
    assert len(set(attribute(*map(str, range(20, 50))).classes.values())) == 3


def test_resolutions_go_from_coarse_to_fine_and_each_is_finer():
    halves = attribute(*map(str, range(10))).resolutions
    assert [len(set(groups.values())) for groups in halves] == [2, 4, 8, 10]
    places = attribute("Scotland/Edinburgh", "Scotland/Glasgow", "Wales", "Wales").resolutions
    assert [len(set(groups.values())) for groups in places] == [2, 3]
    assert attribute("f", "f").resolutions == [{"s00": "f", "s01": "f"}]
    assert [len(set(groups.values())) for groups in attribute("1", "1", "2").resolutions] == [2]


def test_tables_of_several_sets_are_one_and_unknown_is_no_value(tmp_path):
    for name, lines in {"a": "s1 23\ns2 unknown\n", "b": "s1 23\ns3 40\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "spk2age").write_text(lines)
    (tmp_path / "a/spk2accent").write_text("s1 x\ns2 y\n")
    (tmp_path / "a/spk2fold").write_text("s1 1\ns2 2\n")
    (tmp_path / "b/spk2fold").write_text("s1 1\ns3 2\n")
    assert read_attributes([tmp_path / "a", tmp_path / "b"]) == [Attribute("age", {"s1": "23", "s3": "40"})]
    assert read_attribute(tmp_path / "a/spk2accent").name == "accent"


def test_two_values_of_a_speaker_are_an_error(tmp_path):
    for name, sex in {"a": "f", "b": "m"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "spk2gender").write_text(f"s1 {sex}\n")
    with pytest.raises(InputError, match=r"b/spk2gender: speaker 's1' is 'm' here, but 'f'"):
        read_attributes([tmp_path / "a", tmp_path / "b"])


def test_a_combination_is_known_of_those_of_whom_all_is_known():
    assert combined([{"a": "f", "b": "m"}, {"b": "old"}]) == {"b": "m old"}
