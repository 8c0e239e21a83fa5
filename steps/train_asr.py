#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train a CTC recogniser: ASR_eval on original speech, ASR_eval^anon on anonymised speech.

Usage: steps/train_asr.py [options] <train-conf> <out-dir> <data-dir> ...
 e.g.: steps/train_asr.py conf/asr/train/ctc_mini.yaml exp/mini/asr/ctc_mini_mcadams data/mini_{train,pool}_mcadams

Makes <out-dir> with the recogniser and its decode.yaml for steps/decode.py. After an interruption, the same command
continues.
"""

from pathlib import Path

from vpeval.asr.train_recogniser import train_recogniser
from vpeval.cli import script


def main() -> None:
    """Train unless the recogniser is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--cmd", default="utils/run.py", help="launcher of the job (utils/run.py)")
    parser.add_argument("--seed", type=script.natural, default=0, help="of weights, order and augmentation (0)")
    parser.add_argument("--num-threads", type=script.positive, default=1, help="another number gives other weights (1)")
    parser.add_argument("conf", metavar="train-conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    train_recogniser(args.conf, args.out, args.data, args.cmd, args.seed, args.num_threads)


if __name__ == "__main__":
    script.main(main, log_to_stdout=True)
