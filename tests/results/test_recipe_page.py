"""RESULTS.md of a recipe: numbers of the records, who found more, what was not measured; and the script that writes it."""

import os
import subprocess
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.records.names import IGNORANT, LAZY, SEMI, UNPROTECTED
from vpeval.records.record import Record, write_records
from vpeval.results.recipe_page import About, Made, recipe_page

ROOT = Path(__file__).resolve().parents[2]
NOON = 1767268800
"""Of the first day of 2026."""
MODELS = {("ecapa", "oo"): UNPROTECTED, ("ecapa", "oa"): IGNORANT, ("ecapa", "aa"): LAZY, ("plda", "aa"): SEMI}


def eers(system: str, **values: float) -> list[Record]:
    """EERs of both genders; the words are attacker_condition."""
    found = []
    for name, value in values.items():
        attacker, _, condition = name.rpartition("_")
        tags = {"system": "original" if condition == "oo" else system, "condition": condition, "attacker": attacker}
        notes = {"attack_model": MODELS[attacker, condition]}
        for gender in "fm":
            record = Record(
                "eer_kaldi",
                value + (0.01 if gender == "f" else -0.01),
                value - 0.05,
                value + 0.05,
                set=f"toy_test_trials_{gender}",
                gender=gender,
                counts={"targets": 20, "nontargets": 60, "speakers": 4},
                notes=notes,
                recipe="toy",
                **tags,
            )
            found.append(record)
    made = {"anonymiser": f"local/anon/{system}/anonymize.py", "anon_options": ""}
    return [record.with_notes(made) if record.system != "original" else record for record in found]


def page(records: list[Record], **about: object) -> str:
    names = {"mcadams": Made("abc1234", "2026-01-02"), "vtln": Made("abc1235", "2026-01-03")}
    there = {name: made for name, made in names.items() if any(record.system == name for record in records)}
    return recipe_page(records, About("toy", "2020", there, "a CPU, 2 cores", "utils/describe_results.py toy", **about))


GOOD = eers("mcadams", ecapa_oo=0.05, ecapa_oa=0.3, ecapa_aa=0.2, plda_aa=0.1)
ODD = eers("vtln", ecapa_oa=0.3, ecapa_aa=0.4, plda_aa=0.1)


def test_every_attack_is_a_row_and_every_system_a_column() -> None:
    text = page([*GOOD, *ODD])
    assert "| attack, attacker | original | mcadams | vtln |" in text
    assert "| semi-informed, plda | – | 10.00 [" in text
    lazy = next(line for line in text.splitlines() if line.startswith("| lazy-informed, ecapa"))
    assert [cell.split()[0] for cell in lazy.split("|")[2:5]] == ["5.00", "20.00", "40.00"]
    assert "- `toy_test_trials_f`: 4 speakers, 20 target, 60 nontarget trials" in text
    assert "| mcadams | abc1234 | 2026-01-02 |" in text
    assert "    ./run.sh --recipe toy --corpus DIR --anonymizer vtln" in text


def test_the_key_number_is_that_of_the_most_successful_attack() -> None:
    text = page([*GOOD, *ODD]).partition("## Key numbers")[2]
    row = next(line for line in text.splitlines() if line.startswith("| EER"))
    assert [cell.split()[0] for cell in row.split("|")[2:6]] == ["50", "5.00", "10.00", "10.00"]
    assert row.count("plda") == 2


def test_the_page_says_for_whom_more_knowledge_helps() -> None:
    text = page([*GOOD, *ODD])
    assert "semi-informed ≤ lazy-informed ≤ ignorant holds for mcadams." in text
    assert "It does not hold for vtln (10.00, 40.00, 30.00), in this order." in text
    assert " ≤ " not in page(eers("mcadams", ecapa_oa=0.3, ecapa_aa=0.4))


def test_what_was_not_measured_is_named_and_a_system_without_results_is_an_error() -> None:
    text = page(
        GOOD, left_out={"xvector_pool": "needs pool_sets, which the recipe has none of"}, notes=("On 4 speakers.",)
    )
    assert "Not measured: xvector_pool (needs pool_sets, which the recipe has none of)." in text
    assert text.startswith("# Results of toy\n\nOn 4 speakers.\n\n")
    with pytest.raises(InputError, match="no results of vtln on recipe toy"):
        about = About("toy", "2020", {"vtln": Made("a", "b")}, "", "")
        recipe_page(GOOD, about)


def test_the_script_names_the_commit_that_was_checked_out(tmp_path: Path) -> None:
    for name in ("egs/toy", "exp/toy/runs/mcadams"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "egs/toy/recipe.conf").write_text('recipe=toy\nasv_pairs="e:t"\nasr_sets=\nattackers=ecapa\n')
    table = tmp_path / "exp/toy/runs/mcadams/results.jsonl"
    write_records(table, GOOD)
    os.utime(table, (NOON + 6 * 3600,) * 2)
    commits = []
    for day in (0, 1):
        moment = {"GIT_COMMITTER_DATE": f"{NOON + 86400 * day} +0000"}
        for words in (["init", "-q"], ["commit", "-qm", "x", "--allow-empty"], ["rev-parse", "--short", "HEAD"]):
            line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
            done = subprocess.run(
                line, cwd=tmp_path, env={**os.environ, **moment}, check=True, capture_output=True, text=True
            )
        commits.append(done.stdout.strip())
    line = [str(ROOT / "utils/describe_results.py"), "toy"]
    done = subprocess.run(line, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "egs/toy/RESULTS.md").read_text()
    assert f"| mcadams | {commits[0]} | 2026-01-01 |" in text and commits[0] != commits[1]
    assert "Not measured: xvector_pool (needs train_sets and pool_sets, which the recipe has none of)." in text
    assert "Not measured: identity (not run)." in text
