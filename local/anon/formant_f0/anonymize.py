#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""Change formants, mean and range of F0, and speaking rate, per speaker or utterance.

Usage: local/anon/formant_f0/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: ./run.sh --stage 3 --anonymizer formant_f0 --anon-options "--formants 1.15 --f0 1.3"

Factors that are not given are drawn from utt2seed.
"""

from dataclasses import replace

import numpy as np

from vpeval.anon import formant_f0, hook
from vpeval.core.errors import InputError


def main() -> None:
    """Read the options and anonymise every utterance."""
    parser = hook.Parser(__doc__)
    parser.add_argument("--formants", type=float, help="factor on formant frequencies; drawn: 1/1.18-1.18")
    parser.add_argument("--f0", type=float, help="factor on the mean F0; drawn: 1/1.4-1.4")
    parser.add_argument("--f0-range", type=float, help="factor on the range of log F0; drawn: 0.7-1.2")
    parser.add_argument("--rate", type=float, help="factor on the speaking rate; drawn: 0.9-1.1")
    args = parser.parse_args()
    names = ("formants", "f0", "f0_range", "rate")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if bad := [name for name, factor in given.items() if not 0.25 <= factor <= 4]:
        raise InputError(f"--{bad[0].replace('_', '-')} {given[bad[0]]}: expected a factor from 0.25 to 4")

    def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
        rng = np.random.default_rng(seed)
        changed = replace(formant_f0.draw_change(rng), **given)(wave, rng)
        return changed / max(1.0, np.abs(changed).max())

    hook.run(anonymize, args.data, args.out, args.strategy)


if __name__ == "__main__":
    hook.start(main)
