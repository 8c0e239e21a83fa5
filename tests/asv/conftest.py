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


def hum(home, speakers):
    """A data directory of speakers who hum at a pitch of their own; file names tell nothing about them."""
    rng = np.random.default_rng(0)
    owners, wavs = {}, {}
    time = np.arange(RATE * 6 // 10) / RATE
    for speaker in range(speakers):
        for utt in range(6):
            name = f"spk{speaker}-{utt}"
            wave = sum(np.sin(2 * np.pi * k * (100 + 60 * speaker) * time) / k for k in range(1, 12))
            path = home / "audio" / f"{rng.integers(1 << 40)}.wav"
            write_wave(path, 0.1 * wave + 0.01 * rng.standard_normal(len(time)))
            owners[name], wavs[name] = f"spk{speaker}", str(path)
    return DataDir(home / "data", owners, {"wav.scp": wavs}).write(home / "data").path


@pytest.fixture
def buzzers(tmp_path):
    """Four of them, too few to hold one out."""
    return hum(tmp_path, 4)


@pytest.fixture
def choir(tmp_path):
    """Seven of them."""
    return hum(tmp_path, 7)
