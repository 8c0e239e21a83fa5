#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Train a CTC recogniser; the job of steps/train_asr.py.

Usage: steps/jobs/train_asr.py [options] <train-conf> <out-dir> <data-dir> ...
 e.g.: steps/jobs/train_asr.py conf/asr/train/ctc_mini.yaml exp/mini/asr/ctc_mini data/mini_train

Makes <out-dir> with the recogniser and with decode.yaml, the configuration for steps/decode.py. After an
interruption, the same command continues with the next epoch.
"""

from pathlib import Path

from vpeval.asr.train_recogniser import run_training
from vpeval.cli import script


def main() -> None:
    """Train unless the recogniser is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0)
    parser.add_argument("--num-threads", type=script.positive, default=1)
    parser.add_argument("conf", metavar="train-conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    print(run_training(args.conf, args.out, args.data, args.seed, args.num_threads))


if __name__ == "__main__":
    script.main(main)
