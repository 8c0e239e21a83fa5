"""The numbers of egs/mini/RESULTS.md are those of a run."""

import re
from pathlib import Path

import pytest

from vpeval.results.load import load
from vpeval.results.recipe_page import About, Made, recipe_page

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "mcadams"
NUMBER = re.compile(r"(?P<value>−?[0-9.]+|∞)(?: \[(?P<lower>−?[0-9.]+), (?P<upper>−?[0-9.]+|∞)\])?")
RECOGNISED = ("WER", "CER")

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]


def numbers(page: str) -> dict[tuple[str, str], tuple[float, ...]]:
    """Row and column → value, and interval where there is one; of all tables of a page."""
    found = {}
    heads: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            heads = []
        elif not heads:
            heads = cells
        for head, cell in zip(heads, cells, strict=False):
            if head in ("original", SYSTEM) and (match := NUMBER.match(cell)):
                shown = [match[name] for name in ("value", "lower", "upper") if match[name]]
                found[cells[0], head] = tuple(float(x.replace("−", "-").replace("∞", "inf")) for x in shown)
    return found


def test_the_table_of_mini_still_holds(make_clone):
    clone = make_clone("results")
    clone.run("--recipe", "mini", "--corpus", "egs/mini/corpus", "--nj", "2")
    records = load([clone.path / f"exp/mini/runs/{SYSTEM}/results.jsonl"])
    now = numbers(recipe_page(records, About("mini", "2020", {SYSTEM: Made("", "")}, "", "")))
    then = numbers((ROOT / "egs/mini/RESULTS.md").read_text(encoding="utf-8"))
    assert {key for key in then if key not in now} == set(), "run utils/describe_results.py mini"
    for (row, system), (value, *ends) in then.items():
        found = now[row, system][0]
        # Networks differ in the last digits between CPUs, so that a trial may move; words may differ by more.
        width = ends[1] - ends[0] if ends else abs(value)
        allowed = width if row.startswith(RECOGNISED) else 0.1 * width
        assert abs(found - value) <= allowed + 0.01, f"{row}, {system}: {found}, and {value} in egs/mini/RESULTS.md"
