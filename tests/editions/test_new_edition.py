"""An edition is one module and a recipe: nothing else has to know it."""

import sys
from pathlib import Path

import pytest

import vpeval.editions
from vpeval.core.errors import InputError
from vpeval.editions.base import edition_of, editions, rules_for
from vpeval.plan.recipe import read_recipe
from vpeval.records.record import Record, write_records
from vpeval.results import summary
from vpeval.results.load import load

sys.path.insert(0, str(Path(__file__).parents[1] / "local"))

from in_process import call

MODULE = '''
"""The edition of 2030, which ranks by one line."""

from pathlib import Path

from vpeval.core.files import read_lines
from vpeval.editions.base import Edition, ResultFile, Rules
from vpeval.records.record import Record


def read(path, system):
    values = [line.split()[1] for _, line in read_lines(path) if line.startswith("EER2030")]
    return [Record("eer_rocch", float(v), system=system, set="toy_test_trials_f", condition="aa") for v in values]


def render(records):
    eers = [r.value for r in records if r.metric == EDITION.eer and r.condition == "aa"]
    return "".join(f"EER2030 {value}\\n" for value in eers)


EDITION = Edition(
    name="2030",
    eer="eer_rocch",
    text_rules="vpc2026",
    files=(ResultFile("leaderboard.txt", lambda line: line.startswith("EER2030"), read, render, "LEADERBOARD"),),
    rules=Rules("2030", classes=(0.2,), utility=("wer",)),
)
'''
RECIPE = """\
recipe=toy
asv_pairs="toy_test_enrolls:toy_test_trials_f"
asr_sets="toy_test_asr:toy_test_trials_f"
attackers="ecapa"
edition=2030
"""


@pytest.fixture
def edition_2030(tmp_path, monkeypatch):
    """A directory of modules that belong to the package of editions as well."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more/vpc2030.py").write_text(MODULE)
    monkeypatch.setattr(vpeval.editions, "__path__", [*vpeval.editions.__path__, str(tmp_path / "more")])
    editions.cache_clear()
    yield
    editions.cache_clear()
    del sys.modules["vpeval.editions.vpc2030"]


@pytest.fixture
def run(tmp_path):
    tags = {"system": "mine", "set": "toy_test_trials_f", "condition": "aa", "attacker": "ecapa"}
    table = tmp_path / "mine/results.jsonl"
    table.parent.mkdir()
    names = ("eer_kaldi", "eer_threshold", "eer_rocch")
    write_records(table, [Record(name, value, **tags) for name, value in zip(names, (0.1, 0.2, 0.3), strict=True)])
    return table


def test_a_module_adds_an_edition(edition_2030, run, tmp_path):
    assert list(editions()) == ["2020", "2022", "2024", "2026", "2030"]
    recipe = tmp_path / "toy/recipe.conf"
    recipe.parent.mkdir()
    recipe.write_text(RECIPE)
    assert read_recipe(recipe).edition == "2030"
    assert call("write_results.py", "--edition", "2030", run, tmp_path / "mine/leaderboard.txt").returncode == 0
    assert (tmp_path / "mine/leaderboard.txt").read_text() == "EER2030 0.3\n"
    (record,) = load([tmp_path / "mine/leaderboard.txt"])
    assert (record.system, record.value) == ("mine", 0.3)
    printed = call("print_summary.py", "--edition", "2030", run).stdout
    assert "EER (ROCCH): the EER of VoicePrivacy 2030" in printed and "30.00" in printed and "10.00" not in printed
    assert rules_for("2026").classes == (0.2,)


def test_without_its_module_there_is_no_such_edition(run, tmp_path):
    with pytest.raises(InputError, match="no edition '2030' of the challenge; there are 2020, 2022, 2024, 2026"):
        edition_of("2030")
    refused = call("write_results.py", "--edition", "2030", run, tmp_path / "leaderboard.txt")
    assert refused.returncode != 0 and "invalid choice: '2030'" in refused.stderr
    assert "EER (Kaldi): the EER of VoicePrivacy 2020" in summary.render(load([run]), "2020")


def test_an_edition_names_its_result_files(run):
    with pytest.raises(InputError, match=r"edition 2022 has no result file 'x'; it has results\.txt, results_summary"):
        edition_of("2022").file("x")
