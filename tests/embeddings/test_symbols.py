"""Histograms over other stretches of speech than utterances, by hand: 30 s of F0, segments of phone units."""

from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.attackers import read_attacker
from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import group
from vpeval.embeddings.symbols import Symbols, check_unit, read_symbols, split_stretches
from vpeval.networks.encoders import pack_symbols, stack_results

ROOT = Path(__file__).parents[2]
RATE = 2
"""Frames in a second."""


def corpus(tmp_path, lengths=None):
    """Two speakers of four utterances each; utterance n has the symbol n and nothing else."""
    utts = {f"{spk}-{n}": spk for spk in "ab" for n in range(1, 5)}
    frames = [np.full((lengths or {}).get(utt, 6), int(utt[-1]), np.uint16) for utt in utts]
    packed = [(utt, pack_symbols(part, 4, RATE)) for utt, part in zip(utts, frames, strict=True)]
    vectors, symbols = stack_results(list(utts), packed, tmp_path)
    symbols.write(tmp_path)
    return group(tmp_path, dict(zip(utts, vectors, strict=True)), utts), read_symbols([tmp_path])


def drawn(pooled, references, spk):
    """The utterances that are inputs of a speaker: all whose symbols the reference lacks."""
    (row,) = [row for row, owner in enumerate(references.owners) if references.speakers[owner] == spk]
    return {n for n in range(1, 5) if not references.vectors[row][n - 1]}


def test_segments_of_the_input_speech_are_inputs_and_the_rest_is_the_reference(tmp_path):
    pooled, symbols = corpus(tmp_path)
    references, inputs, left_out = split_stretches(pooled, symbols, "segments", 3, seed=1)
    assert (left_out, references.speakers, inputs.counts.tolist()) == ((), ("a", "b"), [3, 3])
    for spk in range(2):
        own = drawn(pooled, references, "ab"[spk])
        # Three of four utterances of equal length are joined and cut into three: each segment is one of them.
        assert len(own) == 3
        assert {row.argmax() + 1 for row in inputs.vectors[3 * spk : 3 * spk + 3]} == own
        assert references.vectors[spk].max() == 1


def test_segments_have_equal_lengths_whatever_the_lengths_of_utterances(tmp_path):
    pooled, symbols = corpus(tmp_path, {f"{spk}-{n}": n for spk in "ab" for n in range(1, 5)})
    references, inputs, _ = split_stretches(pooled, symbols, "segments", 2, seed=0)
    first, second = drawn(pooled, references, "a")
    halves = inputs.vectors[:2] * np.array([[(first + second + 1) // 2], [(first + second) // 2]])
    counts = np.zeros(4)
    counts[[first - 1, second - 1]] = first, second
    assert halves.sum(axis=0) == pytest.approx(counts)


def test_stretches_of_seconds_join_utterances_and_leave_out_what_is_too_short(tmp_path):
    # Three input utterances of 6 frames are 9 s: two stretches of 4 s, and one second is left.
    pooled, symbols = corpus(tmp_path)
    references, inputs, _ = split_stretches(pooled, symbols, "4 s", 3, seed=1)
    assert inputs.counts.tolist() == [2, 2]
    first, second = inputs.vectors[:2]
    # 8 frames: all of the first utterance drawn and two of the second; then four of the second and four of the third.
    assert sorted(first) == pytest.approx([0, 0, 2 / 8, 6 / 8]) and sorted(second) == pytest.approx([0, 0, 0.5, 0.5])
    assert first.argsort()[-2] in second.argsort()[-2:]
    assert not (first + second)[references.vectors[0].argmax()]


def test_speakers_with_too_little_speech_are_left_out_and_one_alone_is_an_error(tmp_path):
    utts = {f"{spk}-{n}": spk for spk in "abc" for n in range(3)}
    frames = [np.ones(1 if spk == "c" else 9, np.uint16) for spk in utts.values()]
    pooled = group(tmp_path, {utt: np.ones(1) for utt in utts}, utts)
    symbols = Symbols.join(list(utts), frames, 1, RATE)
    references, inputs, left_out = split_stretches(pooled, symbols, "4 s", 2, seed=0)
    assert (references.speakers, inputs.counts.tolist(), left_out) == (("a", "b"), [2, 2], ("c",))
    with pytest.raises(InputError, match=r"fewer than two speakers have 10 s of speech in 2 .*--srd-unit utterance"):
        split_stretches(pooled, symbols, "10 s", 2, seed=0)


def test_frames_without_a_symbol_take_time_and_do_not_count(tmp_path):
    pooled, _ = corpus(tmp_path)
    voiced = [np.array([1, 0, 0, 0, 0, 0], np.uint16) for _ in pooled.utts]
    symbols = Symbols.join(pooled.utts, voiced, 4, RATE)
    _, inputs, _ = split_stretches(pooled, symbols, "3 s", 3, seed=0)
    assert inputs.counts.tolist() == [3, 3] and inputs.vectors[0].tolist() == [1, 0, 0, 0]
    silent = Symbols.join(pooled.utts, [np.zeros(6, np.uint16) for _ in pooled.utts], 4, RATE)
    assert split_stretches(pooled, silent, "3 s", 3, seed=0)[1].vectors[0].tolist() == [0.25] * 4


def test_vectors_are_the_histograms_of_the_symbols_that_are_kept(tmp_path):
    packed = [("a-1", pack_symbols(np.array([1, 2, 2, 0], np.uint16), 3, 100))]
    vectors, symbols = stack_results(["a-1"], packed, tmp_path)
    assert vectors[0] == pytest.approx([1 / 3, 2 / 3, 0]) and symbols.of(["a-1"]).tolist() == [1, 2, 2, 0]


def test_the_inputs_of_the_paper_are_those_of_the_shipped_encoders():
    found = {name: read_attacker(ROOT / f"conf/asv/{name}.yaml").inputs for name in ("f0", "units", "units_anon")}
    assert found == {"f0": "30 s", "units": "segments", "units_anon": "segments"}
    assert read_attacker(ROOT / "conf/asv/ecapa.yaml").inputs == ""


@pytest.mark.parametrize("text", ["30", "0 s", "30s", "utterance", "-1 s"])
def test_an_unknown_unit_is_an_error(tmp_path, text):
    with pytest.raises(ValueError, match="neither"):
        check_unit(text)
    (tmp_path / "mine.yaml").write_text(f"encoder: f0_histogram\ninputs: {text}\n")
    with pytest.raises(InputError, match=r"mine.yaml: 'inputs': "):
        read_attacker(tmp_path / "mine.yaml")


def test_a_directory_without_symbols_names_the_remedy(tmp_path):
    with pytest.raises(InputError, match="--srd-unit utterance"):
        read_symbols([tmp_path])
    (tmp_path / "symbols.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match="holds no symbols"):
        read_symbols([tmp_path])
