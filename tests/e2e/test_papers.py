"""The commands of docs/papers.md make what the page says they make."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.guides import ROOT, printed

pytestmark = pytest.mark.e2e
MADE_BY_MORE = {
    "similarity_encoders": "an attacker that trains its encoder",
    "srd_features": "F0 and units",
    "listening_violins": "a listening test",
    "listening_det": "a listening test",
    "listening_det_sets": "a listening test",
    "listening_machine": "a listening test",
    "legal_linkability": "more than three systems",
    "jaccard": "lists of speakers that differ",
    "jaccard_mean": "lists of speakers that differ",
}
"""Figures that these runs have no data for."""


@pytest.fixture(scope="module")
def typed(finished) -> Path:
    """The clone in which everything on the page was typed, on the recipe tiny."""
    for block in printed("docs/papers.md"):
        tiny = block.replace("mini", "tiny").replace("./run.sh", "./run.sh --recipe tiny --corpus egs/mini/corpus")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", tiny], **finished._settings(), stdout=subprocess.PIPE, check=False
        )
        assert done.returncode == 0, done.stdout
    return finished.path


def test_all_figures_of_the_page_are_drawn(typed):
    page = (ROOT / "docs/papers.md").read_text()
    from vpeval.figures.catalogue import CATALOGUE

    of_papers = {plot.name for plot in CATALOGUE if plot.paper and "Tables" not in plot.paper}
    named = {name for name in re.findall(r"`([a-z_]+)`", page) if name in {plot.name for plot in CATALOGUE}}
    named |= set(re.findall(r"R/figures/([a-z_]+)\.svg", page))
    assert of_papers - named <= {"legal_singling_out", "legal_one_minus_eer"}  # parts of `legal`
    drawn = {path.stem for path in (typed / "out/figures").glob("*.svg")}
    missing = {name for name in named if not any(stem == name or stem.startswith(f"{name}-") for stem in drawn)}
    assert missing <= MADE_BY_MORE.keys()


def test_all_tables_of_the_page_are_set(typed):
    tables = {path.name for path in (typed / "out/tables").glob("*.tex")}
    # The recipe has development sets only.
    assert {f"comparison.supplement_{number:02d}.tex" for number in (2, 4, 6, 8, 10, 12, 14)} <= tables
    run = typed / "exp/tiny/runs/mcadams"
    for name in re.findall(r"`R/([a-zA-Z_./]+\.(?:tex|txt|svg))`", (ROOT / "docs/papers.md").read_text()):
        assert (run / name.replace("_combined", "_dev")).is_file(), name
    assert "target trials" in (typed / "out/data.tex").read_text()
    assert "†" in (typed / "out/comparison/comparison.txt").read_text()
