"""Vectors that were made elsewhere become embeddings like any others."""

from pathlib import Path

import kaldiio
import numpy as np
import pytest

from vpeval.asv.attackers import read_attacker
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.networks.extraction import extract_embeddings

UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b"}


def make_set(name: str, tmp_path: Path) -> Path:
    wav = {utt: f"{utt}.wav" for utt in UTT2SPK}
    return DataDir(tmp_path / name, UTT2SPK, {"wav.scp": wav}).write(tmp_path / "data" / name).path


def put(folder: Path, vectors: dict[str, list[float]], name: str = "embedding") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with kaldiio.WriteHelper(f"ark,scp:{folder}/{name}.ark,{folder}/{name}.scp") as write:
        for utt, vector in vectors.items():
            write(utt, np.array(vector, dtype="float32"))


@pytest.fixture
def take(tmp_path: Path):
    """Take the vectors of two sets; the answer is what had to be taken."""
    (tmp_path / "mine.yaml").write_text("embeddings: vectors\n")
    (tmp_path / "vectors").mkdir()
    sets = [make_set(name, tmp_path) for name in ("dev_enrolls", "dev_trials_mcadams")]

    def run() -> list[str]:
        found = extract_embeddings(tmp_path / "mine.yaml", tmp_path / "out", sets, "utils/run.py", 1)
        return [target.out.name for target in found]

    return run


def test_they_are_taken_in_any_order_with_others_among_them_under_either_name(take, tmp_path: Path) -> None:
    vectors = {"b-1": [3.0, 4.0], "stranger": [9.0, 9.0], "a-2": [0.0, 1.0], "a-1": [1.0, 0.0]}
    put(tmp_path / "vectors/dev_enrolls", vectors)
    put(tmp_path / "vectors/dev_trials_mcadams", vectors, "xvector")
    assert take() == ["dev_enrolls", "dev_trials_mcadams"]
    for name in ("dev_enrolls", "dev_trials_mcadams"):
        found = read_embeddings(tmp_path / "out" / name)
        assert found.utts == ("a-1", "a-2", "b-1") and found.vectors.tolist() == [[1, 0], [0, 1], [3, 4]]


def test_what_has_not_changed_is_not_taken_again_and_what_has_is(take, tmp_path: Path) -> None:
    for name in ("dev_enrolls", "dev_trials_mcadams"):
        put(tmp_path / "vectors" / name, {utt: [1.0, 2.0] for utt in UTT2SPK})
    take()
    assert take() == []
    put(tmp_path / "vectors/dev_enrolls", {utt: [2.0, 1.0] for utt in UTT2SPK})
    assert take() == ["dev_enrolls"]
    assert read_embeddings(tmp_path / "out/dev_enrolls").vectors[0].tolist() == [2, 1]


def test_all_sets_that_are_missing_are_told_at_once(take) -> None:
    with pytest.raises(InputError, match=r"has no vectors of 2 of 2 sets \(dev_enrolls, dev_trials_mcadams\)"):
        take()


def test_utterances_without_a_vector_are_counted_and_nothing_is_taken(take, tmp_path: Path) -> None:
    put(tmp_path / "vectors/dev_enrolls", {utt: [1.0, 2.0] for utt in UTT2SPK})
    put(tmp_path / "vectors/dev_trials_mcadams", {"a-1": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"has no vectors of 2 of 3 utterances of .*dev_trials_mcadams \(a-2, b-1\)"):
        take()
    assert not (tmp_path / "out/dev_enrolls").exists()


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0]])
def test_a_vector_that_says_nothing_is_refused(take, tmp_path: Path, bad: list[float]) -> None:
    for name in ("dev_enrolls", "dev_trials_mcadams"):
        put(tmp_path / "vectors" / name, {**{utt: [1.0, 2.0] for utt in UTT2SPK}, "b-1": bad})
    with pytest.raises(InputError, match="the vector of 'b-1' is"):
        take()


@pytest.mark.parametrize(
    ("text", "message"),
    [("embeddings: nowhere\n", "there is no directory nowhere"), ("embeddings: .\nmodel: x\n", "unknown key 'model'")],
)
def test_a_yaml_that_promises_what_is_not_there_is_refused_before_any_work(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_attacker(tmp_path / "mine.yaml")
