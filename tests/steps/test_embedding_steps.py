import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.embeddings.speaker_vectors import write_embeddings

STEPS = Path(__file__).resolve().parents[2] / "steps"


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a script of steps/ in this process; the answer is its exit code and what it said."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, *args: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [str(STEPS / name), *args])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(STEPS / name), run_name="__main__")
        assert isinstance(left.value.code, int)
        return left.value.code, capsys.readouterr().err

    return run


def put(name: str, **vectors: list[float]) -> None:
    """Write an embedding directory; the first letter of an utterance is its speaker."""
    write_embeddings(Path(name), {utt: np.array(v) for utt, v in vectors.items()}, {utt: utt[0] for utt in vectors})


def test_all_pairs_but_an_utterance_and_itself_are_scored_by_their_cosine(step) -> None:
    put("o", a1=[1, 0], b1=[0, 2])
    put("a", a1=[3, 4], b1=[0, -1])
    assert step("score_pairs.py", "o", "a", "exp/scores") == (0, "")
    assert Path("exp/scores").read_text() == "a1 b1 0\nb1 a1 0.8\n"


def test_pairs_of_other_speakers_or_dimensions_are_refused(step) -> None:
    put("o", a1=[1, 0])
    put("c", c1=[1, 0])
    put("wide", a1=[1, 0, 0])
    assert step("score_pairs.py", "o", "c", "scores") == (
        1,
        "score_pairs.py: c/utt2spk:1: speaker 'c' is not in o; add or remove it\n",
    )
    code, message = step("score_pairs.py", "o", "wide", "scores")
    assert code == 1 and "wide/embedding.scp: vectors have dimension 3 but those of o have 2" in message
    assert step("score_pairs.py", "o", "nowhere", "scores")[0] == 1
    assert not Path("scores").exists()
