#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""No anonymisation: the control that every privacy metric must recognise as such.

Usage: local/anon/identity/anonymize.py <data-dir> <out-wav-dir>
"""

import numpy as np

from vpeval.anon import hook


def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
    """Return the input."""
    return wave


if __name__ == "__main__":
    hook.main(anonymize, __doc__)
