#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
"""Learn the mean spectrum of every training and pool utterance; does nothing where that is known.

Usage: tests/e2e/learning_hook/prepare.py --nj N --seed N <train-dirs> <pool-dirs>
"""

import argparse
import io
import os
import sys
from pathlib import Path

import numpy as np

from vpeval.audio.io import read_audio
from vpeval.core.files import atomic_path
from vpeval.data.directory import DataDir

FRAME = 512


def main() -> None:
    """Write the spectra, all of them or none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nj")
    parser.add_argument("--seed")
    parser.add_argument("sets", nargs=2)
    target = Path(os.environ["VPEVAL_HOOK_PREPARED"]) / "spectra.npy"
    if target.is_file():
        return
    names = [name for side in parser.parse_args().sets for name in side.split(",") if name]
    spectra = [mean_spectrum(read_audio(entry)) for name in names for entry in DataDir.load(name).wav.values()]
    content = io.BytesIO()
    np.save(content, np.array(spectra))
    try:
        with atomic_path(target) as temporary:
            Path(temporary).write_bytes(content.getvalue())
    except OSError as error:
        sys.exit(f"prepare.py: {error}")


def mean_spectrum(wave: np.ndarray) -> np.ndarray:
    """The mean amplitude at every frequency."""
    frames = wave[: len(wave) // FRAME * FRAME].reshape(-1, FRAME) * np.hanning(FRAME)
    return np.abs(np.fft.rfft(frames)).mean(0)


if __name__ == "__main__":
    main()
