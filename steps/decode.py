#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the speech of data directories.

Usage: steps/decode.py [options] <conf> <out-dir> <data-dir> ...
 e.g.: steps/decode.py --nj 2 conf/asr/whisper_base.yaml exp/mini/decode/whisper_base data/mini_dev_trials_f

Makes <out-dir>/<name of data-dir>/ with the hypotheses as a Kaldi text file and, where the recogniser decodes with a
language model, an n-best list with acoustic scores for local/tune_lm.py. A recogniser that comes with its own small and
large language model gives text_small and text_large, and text is a copy of the latter. Directories that are up to date
are skipped; after an interruption, the same command continues.
"""

from pathlib import Path

from vpeval.asr.decoding import decode
from vpeval.cli import script


def main() -> None:
    """Bring the hypotheses of all data directories up to date."""
    parser = script.batch_parser(__doc__)
    parser.add_argument("--lm", type=Path, help="decode with this n-gram model (ARPA), if the recogniser can")
    args = parser.parse_args()
    for target in decode(args.conf, args.out, args.data, args.cmd, args.nj, args.lm):
        print(f"{target.out}: {len(target.data.utts)} utterances decoded")


if __name__ == "__main__":
    script.main(main)
