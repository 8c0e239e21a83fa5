"""The result file of singling out and linkability: what it says, and that reading and writing are inverse."""

import pytest

from vpeval.core.errors import InputError
from vpeval.editions.base import edition_of, editions, render, shared_files, system_of
from vpeval.editions.legal import RESULT_FILE
from vpeval.records.record import Record
from vpeval.results.load import Source, load

TEXT = """\
LEGAL-toy_all-toy_all plda unprotected/Original
  Linkability (N=20, L=all, estimator=exact): 98.665% [90.150%, 99.900%], chance 5.000%
LEGAL-toy_all-toy_all_anon plda ignorant/Ignorant
  Singling out (N=5, L=1, draws=5): 40.000%
  1-EER (ROCCH) (N=5, L=1, estimator=rocch): 51.000%, chance 50.000%
  Linkability, side info (N=5, L=1, side=a%2Cb+c, groups=2): 45.000%, chance 40.000%
LEGAL-toy_all_anon-toy_all_anon - semi-informed/Informed
  Linkability (N=5, L=1, estimator=exact): 60.000%, chance 20.000%
  Linkability (N=20, L=1, estimator=exact): 30.000%, chance 5.000%
"""


def linked(value=0.5, n=5, system="mine", condition="aa", attacker="plda", **more):
    tags = {"system": system, "set": "toy_all", "condition": condition, "attacker": attacker}
    return Record("linkability", value, params={"N": n, "L": 1}, notes={"chance": 1 / n}, **{**tags, **more})


@pytest.fixture
def path(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/results_legal.txt").write_text(TEXT)
    return tmp_path / "mine/results_legal.txt"


def test_what_is_read_is_written_again(path):
    records = load([path])
    for edition in editions():
        assert render(records, edition, "results_legal.txt") == TEXT
    shuffled = sorted(records, key=lambda record: (record.attacker == "", record.identity[::-1]))
    assert render(shuffled, "2020", "results_legal.txt") == TEXT, "in the order of conditions, metrics, N and L"


def test_numbers_tags_and_names_of_the_attack_are_those_of_the_record(path):
    first, *_, last = load([path])
    assert first == Record(
        "linkability",
        0.98665,
        0.9015,
        0.999,
        {"N": 20, "L": "all", "estimator": "exact"},
        notes={
            "attack_model": "unprotected",
            "attack_model_legal": "Original",
            "chance": 0.05,
            "published": "results_legal.txt",
        },
        system="original",
        set="toy_all",
        condition="oo",
        attacker="plda",
    )
    assert (last.system, last.condition, last.attacker, last.lower) == ("mine", "aa", "", None)
    side = next(record for record in load([path]) if record.metric == "linkability_side")
    assert side.params == {"N": 5, "L": 1, "side": "a,b+c", "groups": 2}
    assert load([Source(path, "other")])[-1].system == "other"


def test_all_attackers_stand_in_the_file_and_no_edition_submits_it():
    text = render([linked(attacker=name) for name in ("b", "a")], "2024", "results_legal.txt", attacker="b")
    assert [line.split()[1] for line in text.splitlines() if line.startswith("LEGAL")] == ["b", "a"]
    assert shared_files() == (RESULT_FILE,)
    assert not any("results_legal.txt" in edition.file_names for edition in editions().values())
    assert RESULT_FILE.render in edition_of("2022").makers


def test_remarks_follow_and_a_run_without_legal_metrics_says_so(tmp_path):
    text = render([linked().with_notes({"missing_files": "2 files are missing"})], "2020", "results_legal.txt")
    assert text.endswith("# partial: toy_all: 2 files are missing\n")
    empty = render([Record("wer", 5.0, params={"normalizer": "x"})], "2020", "results_legal.txt")
    assert empty == "# neither singling out nor linkability was measured (stage 8)\n"
    (tmp_path / "results_legal.txt").write_text(empty)
    with pytest.raises(InputError, match="results_legal"):
        load([tmp_path / "results_legal.txt"])


def test_two_systems_and_two_values_are_refused():
    with pytest.raises(InputError, match=r"several systems \(a, b\); choose one with --system"):
        RESULT_FILE.render([linked(system=name) for name in "ab"])
    with pytest.raises(InputError, match="two values of linkability for LEGAL-toy_all_anon-toy_all_anon plda"):
        RESULT_FILE.render([linked(0.5), linked(0.6)])


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("98.665%", "198.665%", 2, "a linkability of 1.98665 cannot be"),
        ("98.665%", "98.665", 2, "is no line of a results_legal.txt"),
        ("Singling out", "Standing out", 4, "is no line of a results_legal.txt"),
        ("N=20, L=1", "N=5, L=1", 9, "a second linkability of the same attack, N and L"),
        ("N=20, L=all", "L=all", 2, "a linkability needs 'N' among its params"),
        ("toy_all-toy_all_anon plda", "toy_all_anon-toy_all plda", 3, "are no pair o-o, o-a or a-a"),
    ],
)
def test_a_line_that_is_wrong_is_named(path, before, after, line, message):
    path.write_text(TEXT.replace(before, after))
    with pytest.raises(InputError, match=f"results_legal.txt:{line}: .*{message}"):
        load([path])


def test_the_directory_or_the_name_of_a_copy_names_the_system(path, tmp_path):
    assert system_of(path) == "mine"
    assert system_of(tmp_path / "results_legal_mine") == "mine"
