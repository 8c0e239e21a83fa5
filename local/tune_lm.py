#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Rescore an n-best list with a language model whose weight and insertion penalty are tuned on another set.

Usage: local/tune_lm.py [options] <lm.arpa> <tune-ref> <tune-nbest> <nbest> <out-text>
 e.g.: local/tune_lm.py exp/mini/lm/large.arpa dev/ref dev/nbest test/nbest test/hyp_large

Tries all weights on <tune-nbest>, rescores <nbest> with those that give the fewest word errors, writes the words, and
prints the weights as <lmwt>_<wip>. The challenge tunes on the scored set itself: to do so, give that set twice.
Several files of one kind, separated by commas, are read as one.
"""

import argparse
import logging
from pathlib import Path

from vpeval.asr.lm import read_arpa
from vpeval.asr.nbest import read_nbest
from vpeval.asr.rescoring import Weights, choose_texts
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_table
from vpeval.core.publish import claim_file
from vpeval.data.text import NORMALIZERS
from vpeval.measures.base import split_paths
from vpeval.measures.recognition import read_joined


def main() -> None:
    """Tune on one set, write the text of another."""
    parser = script.Parser(__doc__)
    parser.add_argument(
        "--lmwt", type=weight_range, default="7:17", metavar="A:B", help="weights tried (default: 7:17)"
    )
    parser.add_argument(
        "--wip", type=penalties, default="0.0,0.5,1.0", metavar="X,Y", help="penalties tried (default: 0.0,0.5,1.0)"
    )
    parser.add_argument("--normalizer", choices=NORMALIZERS, default="vpc2020", help="text rules of this edition")
    parser.add_argument("lm", metavar="lm.arpa")
    parser.add_argument("tune_ref", metavar="tune-ref")
    parser.add_argument("tune_nbest", metavar="tune-nbest")
    parser.add_argument("nbest")
    parser.add_argument("out", metavar="out-text")
    args = parser.parse_args()

    normalize = NORMALIZERS[args.normalizer]
    lm = read_arpa(args.lm)
    grid = [Weights(lmwt, wip) for lmwt in args.lmwt for wip in args.wip]
    refs = read_joined(args.tune_ref, "text")
    tune_nbest, nbest = (
        {utt: rows for path in split_paths(names) for utt, rows in read_nbest(path).items()}
        for names in (args.tune_nbest, args.nbest)
    )
    try:
        chosen = choose_texts(nbest, tune_nbest, lm, refs, normalize, grid)
    except InputError as error:
        raise InputError(str(error), args.tune_nbest) from None
    best = chosen.tuning.best
    if chosen.tuning.at_edge:
        logging.warning(f"{args.tune_nbest}: the best LM weight {best.lmwt} is the last one tried; widen --lmwt")
    claim_file(Path(args.out))
    write_table(args.out, chosen.texts)
    print(best)


def weight_range(text: str) -> range:
    """``7:17``, both ends included."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"expected a range like 7:17, not '{text}'")
    return range(int(first), int(last) + 1)


def penalties(text: str) -> list[float]:
    """``0.0,0.5,1.0``."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers parted by commas, not '{text}'") from None


if __name__ == "__main__":
    script.main(main)
