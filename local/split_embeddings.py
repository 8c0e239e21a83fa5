#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Pool embedding directories and split them into utterance-disjoint reference and input sets for score_srd.py.

Usage: local/split_embeddings.py [options] <embedding-dir>... <reference-dir> <input-dir>
 e.g.: local/split_embeddings.py exp/asv/libri_test_enrolls exp/asv/libri_test_trials_f exp/asv/libri_test_trials_m \\
         exp/asv/srd_reference exp/asv/srd_input

Draws --n-inputs input utterances of every speaker at random; the rest is the reference. Speakers with too few
utterances are left out. With --unit '30 s' or segments, for encoders that count symbols (F0, phone units), the input
utterances are joined and cut into stretches of 30 s, or into --n-inputs segments of equal length.
"""

from pathlib import Path

import numpy as np

from vpeval.cli import script
from vpeval.core.publish import refuse_target
from vpeval.embeddings.speaker_vectors import write_embeddings
from vpeval.embeddings.symbols import check_unit
from vpeval.measures.disclosure import split_sets


def main() -> None:
    """Read embedding directories, write two."""
    parser = script.Parser(__doc__)
    parser.add_argument("--n-inputs", type=script.positive, default=20, metavar="N", help="inputs per speaker (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unit", type=check_unit, default="", help="'30 s' or segments (utterances)")
    parser.add_argument("directories", metavar="embedding-dir", type=Path, nargs="+")
    parser.add_argument("reference", metavar="reference-dir", type=Path)
    parser.add_argument("input", metavar="input-dir", type=Path)
    args = parser.parse_args()

    for out in (args.reference, args.input):
        refuse_target(out, args.directories)
    halves = split_sets(args.directories, args.n_inputs, args.seed, args.unit)
    for out, half in zip((args.reference, args.input), halves, strict=True):
        write_embeddings(out, *half.rows(np.arange(len(half.utts))), args.directories)


if __name__ == "__main__":
    script.main(main)
