#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""McAdams coefficient anonymisation: baseline B2 of the VoicePrivacy challenges.

Usage: local/anon/mcadams/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: ./run.sh --stage 3 --anonymizer local/anon/mcadams/anonymize.py --anon-options "--alpha 0.7"
"""

import numpy as np

from vpeval import script
from vpeval.anon import hook, mcadams


def main() -> None:
    """Read the options and anonymise every utterance."""
    parser = hook.Parser(__doc__)
    parser.add_argument(
        "--edition",
        choices=("2020", "2022", "2024"),
        default="2020",
        help="2020: fixed alpha 0.8; 2022, 2024: alpha drawn from 0.5-0.9 by utt2seed (default: 2020)",
    )
    parser.add_argument("--alpha", type=float, help="use this exponent instead of the edition's rule")
    args = parser.parse_args()

    def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
        return mcadams.edition(args.edition, args.alpha, seed)(wave, rate)

    hook.run(anonymize, args.data, args.out)


if __name__ == "__main__":
    script.main(main)
