import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "figures"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from browsing import browser  # noqa: F401
from toy_runs import TRIALS, make_runs, write_audio

from vpeval.core.files import write_text


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """A directory with runs, audio and one figure; read only."""
    root = tmp_path_factory.mktemp("toy")
    make_runs(root)
    for name in TRIALS.values():
        (root / f"data/{name}/trials").unlink()
    write_audio(root)
    svg = '<?xml version="1.0"?>\n<svg width="9pt" height="9pt" viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg">'
    svg += '<defs><clipPath id="p1"><rect/></clipPath></defs><g id="axes_1" clip-path="url(#p1)">'
    svg += '<path style="fill: #1c2128"/><text>5</text></g></svg>\n'
    write_text(root / "figures/eer.svg", svg)
    return root
