import sys

import numpy as np
import pytest
from profiles import SMALL

from vpeval.audio.io import RATE, write_wave
from vpeval.data.directory import DataDir


@pytest.fixture(autouse=True)
def one_thread():
    """Networks this small run fastest on one thread; most tests do without torch."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture
def small(tmp_path):
    """The configuration of an ECAPA-TDNN without weights that trains in no time."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(model="none"))
    return path


@pytest.fixture
def buzzers(tmp_path):
    """A data directory of speakers who hum at a pitch of their own; file names tell nothing about them."""
    rng = np.random.default_rng(0)
    owners, wavs = {}, {}
    time = np.arange(RATE * 6 // 10) / RATE
    for speaker in range(4):
        for utt in range(6):
            name = f"spk{speaker}-{utt}"
            wave = sum(np.sin(2 * np.pi * k * (100 + 60 * speaker) * time) / k for k in range(1, 12))
            path = tmp_path / "audio" / f"{rng.integers(1 << 40)}.wav"
            write_wave(path, 0.1 * wave + 0.01 * rng.standard_normal(len(time)))
            owners[name], wavs[name] = f"spk{speaker}", str(path)
    return DataDir(tmp_path / "data", owners, {"wav.scp": wavs}).write(tmp_path / "data").path
