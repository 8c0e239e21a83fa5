"""Published numbers in LaTeX: averages without sets, and original speech of others."""

from pathlib import Path

import pytest

from vpeval.records.record import Record, write_records
from vpeval.results.latex import write_latex
from vpeval.results.load import load
from vpeval.results.published import baselines_file


@pytest.fixture
def tables(tmp_path):
    """All tables of a run and of published baselines, by name."""

    def write(edition) -> dict[str, str]:
        common = {"recipe": "vpc2022", "condition": "aa", "attacker": "ecapa", "set": "libri_test_trials_f"}
        own = [
            Record("eer_kaldi", value, 0.01, 0.99, system=name, **common) for name, value in (("B2", 0.3), ("x", 0.2))
        ]
        common |= {"condition": "oo", "system": "original"}
        write_records(tmp_path / "results.jsonl", [*own, Record("eer_kaldi", 0.0123, **common)])
        paths = write_latex(load([tmp_path / "results.jsonl", baselines_file(edition)]), Path(tmp_path, "tex"), "2022")
        return {path.name.split(".")[1]: path.read_text() for path in paths}

    return write


def test_published_averages_are_in_tables_of_averages_alone(tables):
    found = tables("2022")
    assert "9.18" in found["systems_test"]  # B1.b
    assert "B1.b" not in found["privacy_test"] + found["ASV_test"]


def test_systems_of_others_are_marked_and_original_speech_is_our_own(tables):
    found = tables("2022")["systems_test"]
    assert r"B2 (published 2022)$^{\dagger\ddagger}$" in found
    assert "& original &" in found
    rows = [line.split(" & ") for line in found.splitlines() if line.lstrip().startswith("EER (Kaldi)")]
    originals = {row[2]: row[3] for row in rows}
    assert originals["ASV\\_eval\\_anon"] == "--"
    assert originals["ecapa"].startswith("1.23")
