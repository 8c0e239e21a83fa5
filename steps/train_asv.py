#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train an attacker on data directories.

Usage: steps/train_asv.py [options] --data 'DIR ...' <attacker-conf> <out-dir>
 e.g.: steps/train_asv.py --data data/mini_train_mcadams conf/asv/attackers/ecapa_plda.yaml \\
         exp/mini/asv/ecapa_plda-mcadams

Makes <out-dir> with encoder.yaml and model.ckpt (scratch, nuisance) or codebook.npy (units), with backend.npz
(backend), or with one of these and choice.json (finetune: docs/attackers.md); epochs.jsonl and epochs.png show how
scratch and finetune went. After an interruption, the same command continues with the next epoch. How to train on
several machines: docs/cluster.md. --dry-run true makes nothing and prints how much memory a process will need and how
long an epoch will take, on this machine and on a GPU.
"""

import logging
from pathlib import Path

from vpeval.asv.attackers import FINETUNE, IN_ONE_GO, MODES, read_attacker
from vpeval.asv.train_attackers import Machine, Training, train_attacker
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.networks.configs import config_home, find_config


def main() -> None:
    """Train unless the attacker is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--data", required=True, metavar="'DIRS'", help="training data; speakers are those of utt2spk")
    parser.add_argument("--mode", choices=MODES, help="what to train (from the configuration)")
    parser.add_argument("--profile", metavar="NAME", help="conf/asv/train/NAME.yaml (from the configuration)")
    parser.add_argument("--start", metavar="NAME", help="encoder to start from, conf/asv/encoders/NAME.yaml (likewise)")
    parser.add_argument("--embeddings", type=Path, metavar="DIR", help="backend, finetune: where embeddings go")
    parser.add_argument("--cmd", default="utils/run.py", help="launcher of the jobs (utils/run.py)")
    parser.add_argument("--nj", type=script.positive, default=2, help="jobs of the extraction (2)")
    parser.add_argument("--seed", type=script.natural, default=0, help="of weights, order, crops, augmentation (0)")
    parser.add_argument("--num-threads", type=script.positive, default=1, help="threads of a training process (1)")
    parser.add_argument("--num-nodes", type=script.positive, default=1, help="machines that train together (1)")
    parser.add_argument("--num-processes", type=script.positive, default=1, help="processes on each of them (1)")
    parser.add_argument("--num-gpus", type=script.natural, default=0, help="GPUs to ask for on each of them (0)")
    parser.add_argument(
        "--dry-run", type=script.boolean, default=False, help="true: print what training a network would cost (false)"
    )
    parser.add_argument("conf", metavar="attacker-conf", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args()
    if not (data := tuple(map(Path, args.data.split()))):
        parser.error("--data names no directory")
    attacker, home = read_attacker(args.conf), config_home(find_config(args.conf))
    start = args.start or attacker.start
    training = Training(
        args.mode or attacker.mode,
        find_config(home / f"{start}.yaml"),
        home / "train" / f"{args.profile or attacker.profile}.yaml",
        data,
        args.out,
        args.seed,
    )
    embeddings = args.embeddings or args.out.parent.parent / "embeddings" / start
    machine = Machine(args.cmd, args.nj, args.num_threads, args.num_processes, args.num_nodes, args.num_gpus)
    if args.dry_run:
        print_cost(training, machine)
    else:
        train_attacker(training, embeddings, machine)


def print_cost(training: Training, machine: Machine) -> None:
    """Print the cost of a training, without starting it."""
    if training.mode in ("backend", *IN_ONE_GO):
        raise InputError(f"--dry-run is for trainings in epochs, which '{training.mode}' is not", training.profile)
    from vpeval.asv.fine_tuning import GROUPS, LEAST, MANY
    from vpeval.asv.train_network import Profile, read_corpus
    from vpeval.asv.training_cost import SUSTAINED, estimate
    from vpeval.networks import compute
    from vpeval.networks.neural import trainable_encoder

    logging.getLogger("speechbrain").setLevel(logging.WARNING)
    compute.set_up(machine.threads)
    profile = Profile.read(training.profile)
    found = estimate(
        trainable_encoder(training.encoder), profile, read_corpus(training.data), training.seed, machine.world
    )
    print(
        f"{found.utts} utterances of {found.speakers} speakers, {found.steps} steps an epoch, {profile.epochs} epochs"
    )
    if training.mode == FINETUNE and LEAST <= found.speakers < MANY:
        print(f"  {GROUPS} times without some of the speakers, and once more with all if fine-tuning is chosen")
    print(f"  memory of each of {found.processes} processes, on CPU or GPU: {found.memory / 1e9:.1f} GB")
    threads = f"{machine.threads} threads of this CPU" if found.device == "cpu" else "this GPU"
    print(f"  an epoch with {threads}, measured on a few crops: {minutes(found.seconds)}")
    print(f"  reading audio: {minutes(found.reading / max(1, profile.workers))} by {profile.workers} workers")
    rate = f"{SUSTAINED / 1e12:.0f}e12 operations a second"
    print(f"  an epoch on a GPU that does {rate}: {minutes(found.on_gpu)} ({found.operations:.1e} operations)")


def minutes(seconds: float) -> str:
    """A time that people can judge.

    >>> minutes(7.2), minutes(90), minutes(90000)
    ('7 s', '1.5 min', '25.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    script.main(main, log_to_stdout=True)
