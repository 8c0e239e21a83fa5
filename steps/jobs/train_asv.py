#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Train the network, units or nuisance of an attacker; the job of steps/train_asv.py.

Usage: steps/jobs/train_asv.py [options] <mode> <encoder-conf> <profile> <out-dir> <data-dir> ...
 e.g.: steps/jobs/torchrun.sh 4 steps/jobs/train_asv.py \\
         scratch conf/asv/encoders/ecapa_512.yaml conf/asv/train/vpc2024.yaml exp/libri/asv/ecapa_scratch-b5 \\
         data/train_b5

After an interruption, the same command continues with the next epoch.
"""

from pathlib import Path

from vpeval.asv.attackers import IN_ONE_GO
from vpeval.asv.epochs import read_epochs
from vpeval.asv.train_attackers import Training, run_job
from vpeval.cli import script


def main() -> None:
    """Train unless the attacker is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0)
    parser.add_argument("--num-threads", type=script.positive, default=1)
    parser.add_argument("--vectors", type=Path, action="append", default=[], help="embeddings of a data-dir (finetune)")
    parser.add_argument("mode", choices=("scratch", "finetune", *IN_ONE_GO))
    parser.add_argument("conf", metavar="encoder-conf", type=Path)
    parser.add_argument("profile", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    training = Training(args.mode, args.conf, args.profile, tuple(args.data), args.out, args.seed, tuple(args.vectors))
    run_job(training, args.num_threads, draw)


def draw(name: str, log: Path) -> None:
    """Draw the curves of a training next to its log; imported late, as a skipped training draws nothing."""
    from vpeval.figures.attacker_curves import save_training

    save_training(name, read_epochs(log), log.with_suffix(""))


if __name__ == "__main__":
    script.main(main)
