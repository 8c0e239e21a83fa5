"""The catalogue and the page that shows it."""

import re
from pathlib import Path

from vpeval.figures.catalogue import CATALOGUE, table

PAGE = Path(__file__).parents[2] / "docs/figures.md"


def test_the_page_of_figures_is_up_to_date():
    shown = re.search(r"<!-- figures -->\n(.*)<!-- end of figures -->", PAGE.read_text(), re.DOTALL)
    stale = "docs/figures.md is stale: python3 -c 'from vpeval.figures.catalogue import table; print(table())'"
    assert shown and shown[1] == table(), stale


def test_pictures_of_the_page_are_there_and_of_figures_of_the_catalogue():
    pictures = re.findall(r'src="img/supplement_(\w+)\.png"', PAGE.read_text())
    assert set(pictures) <= {plot.name for plot in CATALOGUE}
    assert len(pictures) == 14
    sizes = [(PAGE.parent / f"img/supplement_{name}.png").stat().st_size for name in pictures]
    assert sum(sizes) < 600_000


def test_captions_name_the_figures_of_papers():
    captions = {plot.name: plot.caption("2020") for plot in CATALOGUE}
    assert captions["eer"].endswith("After: VoicePrivacy 2020 supplement, Figure 1.")
    assert "After" not in captions["training"]
