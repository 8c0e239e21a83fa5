#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Estimate an n-gram language model from the transcripts of data directories and write it as an ARPA file.

Usage: steps/make_lm.py [options] <out.arpa> <text> ...
 e.g.: steps/make_lm.py --order 3 --min-count 2 exp/mini/lm/small.arpa data/mini_train/text data/mini_pool/text

The small model of the challenge is a pruned trigram (--order 3 --min-count 2), the large one keeps all n-grams.
"""

from pathlib import Path

from vpeval.asr.lm import write_arpa
from vpeval.asr.lm_estimation import estimate_from
from vpeval.cli import script
from vpeval.core.publish import claim_file
from vpeval.data.text import NORMALIZERS


def main() -> None:
    """Read transcripts, write the model, say what it is."""
    parser = script.Parser(__doc__)
    parser.add_argument("--order", type=script.positive, default=3, help="longest n-gram (default: 3)")
    parser.add_argument(
        "--min-count", type=script.positive, default=1, metavar="N", help="drop rarer n-grams of order 2 and more"
    )
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="vpc2020", help="text rules of this edition")
    parser.add_argument("out", metavar="out.arpa")
    parser.add_argument("text", nargs="+")
    args = parser.parse_args()

    lm = estimate_from(args.text, args.order, args.min_count, args.normalizer)
    claim_file(Path(args.out))
    write_arpa(args.out, lm)
    print(f"{args.out}: {len(lm.logprob)} n-grams up to order {lm.order}, {len(lm.words)} words")


if __name__ == "__main__":
    script.main(main)
