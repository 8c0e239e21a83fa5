from pathlib import Path

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.data.directory import DataDir

UTT2SPK = {f"{spk}-{n}": spk for spk in ("a", "b", "c") for n in (1, 2)}


@pytest.fixture
def toy(tmp_path: Path) -> DataDir:
    """Three speakers with two utterances each, with audio, trials and enrolls, written to disk and loaded."""
    audio = tmp_path / "audio"
    for i, utt in enumerate(UTT2SPK):
        wave = np.sin(np.arange(1600 * (i + 1)) / 9) / 4
        write_wave(audio / f"{utt}.wav", wave)
    data = DataDir(
        tmp_path / "toy",
        UTT2SPK,
        {
            "wav.scp": {utt: str(audio / f"{utt}.wav") for utt in UTT2SPK},
            "text": {utt: f"HELLO {utt[0].upper()}" for utt in UTT2SPK},
            "utt2dur": {utt: f"{0.1 * (i + 1):.1f}" for i, utt in enumerate(UTT2SPK)},
        },
        {"spk2gender": {"a": "f", "b": "m", "c": "f"}},
        ("a-1", "b-1"),
        tuple(
            (spk, utt, "target" if utt[0] == spk else "nontarget") for spk in "ab" for utt in UTT2SPK if utt[-1] == "2"
        ),
    )
    return data.write(tmp_path / "toy")
