from itertools import pairwise

import pytest
import yaml

from vpeval.core.errors import InputError
from vpeval.editions.base import rules_for
from vpeval.records.limits import FILE, read_limits


@pytest.fixture
def changed(tmp_path):
    """The file of limits with one value set; None takes it away."""

    def write(place, value):
        config = yaml.safe_load(FILE.read_text(encoding="utf-8"))
        *above, key = place.split(".")
        section = config
        for name in above:
            section = section[name]
        if value is None:
            del section[key]
        else:
            section[key] = value
        (tmp_path / "verdict.yaml").write_text(yaml.safe_dump(config))
        return tmp_path / "verdict.yaml"

    return write


def test_the_limits_of_the_verdict_above_that_of_original_speech_are_the_classes_of_2024():
    assert read_limits().verdict.eer[1:] == rules_for("2024").classes == (0.1, 0.2, 0.3, 0.4)


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        ("audit.passed", None, "'audit.passed' is missing"),
        ("audit.pased", 0.9, "unknown key 'audit.pased'; there are weak_on_original"),
        ("audit.passed", 97, "'audit.passed' must be made of fractions between 0 and 1, not 97"),
        ("audit.passed", "high", "'audit.passed' must be of type float, not 'high'"),
        ("audit", [1], "'audit' must be of type dict"),
        ("verdict.eer", [0.1, 0.2, 0.3], "'verdict.eer' must have 5 limits, for 6 grades"),
        ("verdict.eer", [0.5, 0.4, 0.3, 0.2, 0.1], "'verdict.eer' must rise and 'verdict.found' must fall"),
        ("verdict.found", [0.5, 0.25, 0.25, 0.03], "'verdict.found' must be a list of fractions that rises or falls"),
        ("verdict.found", [True, 0.25, 0.1, 0.03], "between 0 and 1, not True"),
        ("verdict.untrained_grade", 6, "'verdict.untrained_grade' must be a number of grades from 0 to 5"),
        ("significance", 0, "'significance' must be made of fractions between 0 and 1, not 0"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_an_error_with_its_name(changed, place, value, complaint):
    path = changed(place, value)
    with pytest.raises(InputError) as caught:
        read_limits(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


def test_the_grades_are_documented_with_their_limits():
    page = (FILE.parents[1] / "docs/metrics.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith(("| protects", "| hardly protects"))]
    limits = read_limits().verdict
    eers = [*(f"{100 * a:g} to {100 * b:g} %" for a, b in pairwise(limits.eer)), f"{100 * limits.eer[-1]:g} % or more"]
    found = [
        *(f"{100 * b:g} to {100 * a:g} %" for a, b in pairwise(limits.found)),
        f"{100 * limits.found[-1]:g} % or less",
    ]
    assert [[cell.strip() for cell in row] for row in rows] == [list(row) for row in zip(eers, found, strict=True)]
