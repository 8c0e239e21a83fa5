#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""McAdams coefficient anonymisation: baseline B2 of the VoicePrivacy challenges.

Usage: local/anon/mcadams/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: ./run.sh --stage 3 --anonymizer local/anon/mcadams/anonymize.py --anon-options "--alpha 0.7"

Where an edition's published program is not deterministic, utt2seed decides.
"""

from dataclasses import replace

import numpy as np

from vpeval.anon import hook, mcadams


def main() -> None:
    """Read the options and anonymise every utterance."""
    parser = hook.Parser(__doc__)
    parser.add_argument(
        "--edition",
        choices=("2020", "2022", "2024"),
        default="2020",
        help="2020: alpha 0.8; 2022, 2024: alpha from 0.5-0.9; 2024 is that of 2026, too (default: 2020)",
    )
    parser.add_argument("--alpha", type=float, help="use this exponent instead of the edition's rule")
    parser.add_argument("--lpc-order", type=int, default=20, help="number of poles (default: 20)")
    parser.add_argument("--window-ms", type=float, default=20.0, help="length of a frame (default: 20)")
    parser.add_argument("--shift-ms", type=float, default=10.0, help="from frame to frame (default: 10)")
    args = parser.parse_args()
    transform = replace(
        mcadams.edition(args.edition),
        order=args.lpc_order,
        window_seconds=args.window_ms / 1000,
        shift_seconds=args.shift_ms / 1000,
    )

    def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
        rng = np.random.default_rng(seed)
        alpha = mcadams.draw_alpha(args.edition, rng) if args.alpha is None else args.alpha
        return replace(transform, alpha=alpha)(wave, rate)

    hook.run(anonymize, args.data, args.out, args.strategy)


if __name__ == "__main__":
    hook.start(main)
