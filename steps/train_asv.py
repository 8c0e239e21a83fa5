#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train an attacker on data directories.

Usage: steps/train_asv.py [options] --data 'DIR ...' <attacker-conf> <out-dir>
 e.g.: steps/train_asv.py --data data/mini_train_mcadams conf/asv/ecapa_plda.yaml exp/mini/asv/ecapa_plda-mcadams

Makes <out-dir> with encoder.yaml and model.ckpt (scratch, finetune) or backend.npz (backend); epochs.jsonl and
epochs.png tell how training went. Interrupted, the same command goes on with the next epoch. How to train on several
machines: docs/cluster.md.
"""

from pathlib import Path

from vpeval.asv.attackers import MODES, read_attacker
from vpeval.asv.train import Machine, Training, train_attacker
from vpeval.core import script


def main() -> None:
    """Train unless the attacker is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--data", required=True, metavar="'DIRS'", help="training data; speakers are those of utt2spk")
    parser.add_argument("--mode", choices=MODES, help="what to train (from the configuration)")
    parser.add_argument("--profile", metavar="NAME", help="conf/asv/train/NAME.yaml (from the configuration)")
    parser.add_argument("--start", metavar="NAME", help="encoder to start from, conf/asv/NAME.yaml (likewise)")
    parser.add_argument("--embeddings", type=Path, metavar="DIR", help="backend: where embeddings of the encoder go")
    parser.add_argument("--cmd", default="utils/run.py", help="launcher of the jobs (utils/run.py)")
    parser.add_argument("--nj", type=script.positive, default=2, help="jobs of the extraction (2)")
    parser.add_argument("--seed", type=script.natural, default=0, help="of weights, order, crops, augmentation (0)")
    parser.add_argument("--num-threads", type=script.positive, default=1, help="threads of a training process (1)")
    parser.add_argument("--num-nodes", type=script.positive, default=1, help="machines that train together (1)")
    parser.add_argument("--num-processes", type=script.positive, default=1, help="processes on each of them (1)")
    parser.add_argument("--num-gpus", type=script.natural, default=0, help="GPUs to ask for on each of them (0)")
    parser.add_argument("conf", metavar="attacker-conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    if not (data := tuple(map(Path, args.data.split()))):
        parser.error("--data names no directory")
    attacker = read_attacker(args.conf)
    start = args.start or attacker.start
    training = Training(
        args.mode or attacker.mode,
        args.conf.parent / f"{start}.yaml",
        args.conf.parent / "train" / f"{args.profile or attacker.profile}.yaml",
        data,
        args.out,
        args.seed,
    )
    embeddings = args.embeddings or args.out.parent.parent / "embeddings" / start
    machine = Machine(args.cmd, args.nj, args.num_threads, args.num_processes, args.num_nodes, args.num_gpus)
    train_attacker(training, embeddings, machine)


if __name__ == "__main__":
    script.main(main, tells=True)
