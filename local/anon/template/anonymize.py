#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
"""Template of a hook in Python: copy it and replace the body of anonymize().

Usage: local/anon/template/anonymize.py <data-dir> <out-wav-dir>
 e.g.: ./run.sh --anonymizer local/anon/template/anonymize.py

The example plays the speech faster or slower by up to 20 %, so pitch and formants move together. The factor comes
from the seed: one per speaker (--anon-level spk) or per utterance (--anon-level utt).
"""

import numpy as np

from vpeval.anon import hook


def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
    """Mono float samples in [-1, 1] at `rate` in, the same out; draw random numbers from `seed` only."""
    change = np.random.default_rng(seed).uniform(0.08, 0.2)
    speed = 1 + change if seed % 2 else 1 - change
    return np.interp(np.arange(0, len(wave) - 1, speed), np.arange(len(wave)), wave)


if __name__ == "__main__":
    hook.main(anonymize, __doc__)
