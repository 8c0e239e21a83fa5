#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""Change the vocal tract length: stretch the spectral envelope, keep pitch and timing.

Usage: local/anon/vtln/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: ./run.sh --stage 3 --anonymizer vtln --anon-options "--factor 1.15"
"""

import numpy as np

from vpeval.anon import hook
from vpeval.audio.vtln import stretch_envelope
from vpeval.core.errors import InputError


def main() -> None:
    """Read the options and anonymise every utterance."""
    parser = hook.Parser(__doc__)
    parser.add_argument(
        "--factor", type=float, help="on formant frequencies; by default 1.1-1.25 up or down by utt2seed"
    )
    args = parser.parse_args()
    if args.factor is not None and not 0.25 <= args.factor <= 4:
        raise InputError(f"--factor {args.factor}: expected 0.25 to 4")

    def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
        rng = np.random.default_rng(seed)
        drawn = rng.uniform(1.1, 1.25) ** rng.choice((-1, 1))
        changed = stretch_envelope(wave, drawn if args.factor is None else args.factor)
        return changed / max(1.0, np.abs(changed).max())

    hook.run(anonymize, args.data, args.out, args.strategy)


if __name__ == "__main__":
    hook.start(main)
