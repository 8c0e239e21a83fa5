"""What the guides print is typed into a fresh clone, to the letter. The embedded corpus has six speakers there."""

import re
import subprocess

import pytest

from tests.guides import printed
from vpeval.records.record import read_records

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def newcomer(make_clone):
    """A fresh clone in which somebody types what a guide prints.

    The recipe has one attacker and no words to recognise, so that every guide takes seconds.
    """
    clone = make_clone("newcomer")
    for name in ("recipe.conf", "prepare.sh"):
        small = (clone.path / "egs/tiny" / name).read_text().replace("tiny", "mini")
        small = re.sub(r"^attackers=.*$", 'attackers="ecapa"', small, flags=re.MULTILINE)
        small = re.sub(r"^asr_sets=.*$", 'asr_sets=""', small, flags=re.MULTILINE)
        (clone.path / "egs/mini" / name).write_text(small)

    def types(*blocks: str) -> str:
        said = ""
        for block in blocks:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block], **clone._settings(), stdout=subprocess.PIPE, check=False
            )
            assert done.returncode == 0, done.stdout
            said += done.stdout
        return said

    types.path = clone.path
    return types


def attackers(newcomer, system: str) -> set[str]:
    records = read_records(newcomer.path / f"exp/mini/runs/{system}/results.jsonl")
    return {record.attacker for record in records if record.metric == "eer_kaldi"}


def test_own_anonymiser(newcomer):
    said = newcomer(printed("docs/hooks.md")[0])
    assert "The hook keeps its contract." in said
    assert attackers(newcomer, "my_anonymiser") == {"ecapa"}


@pytest.mark.nightly
def test_external_anonymiser(newcomer):
    said = newcomer(*printed("docs/hooks.md", "In an environment of its own"))
    assert "The hook keeps its contract." in said
    assert attackers(newcomer, "my_external") == {"ecapa"}


def test_own_attacker(newcomer):
    newcomer(*printed("docs/attackers.md", "One class"))
    assert attackers(newcomer, "mcadams") >= {"my_spectrum", "my_spectrum_plda"}
    example = printed("docs/attackers.md", "One class")[0].partition("<<'PYTHON'\n")[2].partition("PYTHON\n")[0]
    assert len(example.splitlines()) <= 20


@pytest.mark.nightly
def test_vectors_made_elsewhere(newcomer):
    newcomer(*printed("docs/attackers.md", "Vectors made elsewhere"))
    assert "elsewhere" in attackers(newcomer, "mcadams")


@pytest.mark.nightly
def test_folder_of_files(newcomer):
    newcomer(*printed("docs/corpora.md", "Anonymised files instead of a hook"))
    assert attackers(newcomer, "mine") == {"ecapa"}


def test_own_metric(newcomer):
    """The last, as it changes the library of the clone."""
    newcomer(*printed("docs/own_metric.md"))
    records = read_records(newcomer.path / "exp/mini/runs/mcadams/results.jsonl")
    report = (newcomer.path / "exp/mini/runs/mcadams/report.html").read_text()
    for metric, title in (("voice_shift", "Voice shift"), ("auc", "AUC")):
        found = [record for record in records if record.metric == metric]
        assert found and all(0 <= record.value <= 2 for record in found)
        assert all(record.lower <= record.value <= record.upper for record in found if record.lower is not None)
        assert title in report
