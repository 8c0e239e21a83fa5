#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""Train the network of an attacker, or learn its units or its nuisance; the job of steps/train_asv.py.

Usage: steps/jobs/train_asv.py [options] <mode> <encoder-conf> <profile> <out-dir> <data-dir> ...
 e.g.: steps/jobs/torchrun.sh 4 steps/jobs/train_asv.py \\
         scratch conf/asv/ecapa_512.yaml conf/asv/train/vpc2024.yaml exp/libri/asv/ecapa_scratch-b5 data/train_b5

Interrupted, the same call goes on with the next epoch.
"""

import argparse
import os
import shutil
from pathlib import Path

from vpeval.asv.attackers import IN_ONE_GO, UNITS
from vpeval.asv.train import Training
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import publish, refuse_target
from vpeval.jobs.stamps import STAMP, is_current, write_stamp


def main() -> None:
    """Train unless the attacker is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0)
    parser.add_argument("--num-threads", type=script.positive, default=1)
    parser.add_argument("mode", choices=("scratch", "finetune", *IN_ONE_GO))
    parser.add_argument("conf", metavar="encoder-conf", type=Path)
    parser.add_argument("profile", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()

    training = Training(args.mode, args.conf, args.profile, tuple(args.data), args.out, args.seed)
    made_from = training.made_from(int(os.environ.get("WORLD_SIZE", "1")))
    if is_current(args.out / STAMP, made_from, [args.out]):
        if is_first_process():
            print(f"{args.out} is up to date, skipped")
        return
    refuse_target(args.out, training.places)
    work = args.out.with_name(f".{args.out.name}.work")
    if args.mode in IN_ONE_GO:
        learn(args, work)
    else:
        train_encoder(args, work, made_from.digest)
    if is_first_process():
        write_stamp(work / "out" / STAMP, made_from, [work / "out"])
        publish(work / "out", args.out, training.places)
        shutil.rmtree(work)


def train_encoder(args: argparse.Namespace, work: Path, made_from: str) -> None:
    """Train a network; importing torch takes seconds, and a skipped training should not."""
    import torch

    from vpeval.asv import epochs, training
    from vpeval.figures.training import save_training
    from vpeval.networks import compute
    from vpeval.networks.encoders import has_weights
    from vpeval.networks.neural import trainable_encoder

    if args.mode == "finetune" and not has_weights(args.conf):
        raise InputError("has no weights to start from; train from scratch, or start from another encoder", args.conf)
    training.start_processes()
    compute.set_up(args.num_threads)
    if is_first_process() and not is_begun(work, made_from):
        shutil.rmtree(work, ignore_errors=True)
        write_text(work / "fingerprint", made_from)
    training.wait_for_all()
    torch.manual_seed(args.seed)
    encoder = trainable_encoder(args.conf)
    corpus, profile = training.read_corpus(args.data), training.Profile.read(args.profile)
    training.train(encoder, profile, corpus, args.seed, work, warm=args.mode == "finetune")
    if is_first_process():
        encoder.save(args.conf, work / "out")
        shutil.copy(work / epochs.FILE, work / "out" / epochs.FILE)
        save_training(args.out.name, epochs.read_epochs(work / epochs.FILE), work / "out/epochs")
        print(f"{args.out}: {args.mode} on {len(corpus.wavs)} utterances of {len(corpus.speakers)} speakers")


def learn(args: argparse.Namespace, work: Path) -> None:
    """Learn discrete units, or the nuisance of an encoder."""
    from vpeval.asv.representations import train_nuisance, train_units
    from vpeval.data.directory import DataDir
    from vpeval.networks import compute

    compute.set_up(args.num_threads)
    shutil.rmtree(work, ignore_errors=True)
    utts = [pair for directory in args.data for pair in DataDir.load(directory).wav.items()]
    if args.mode == UNITS:
        heard, frames = train_units(args.conf, args.profile, utts, args.seed, work / "out")
        print(f"{args.out}: units of {frames} frames of {heard} utterances")
    else:
        heard, minutes = train_nuisance(args.conf, args.profile, utts, args.seed, work / "out")
        print(f"{args.out}: nuisance of {heard} utterances, {minutes:.1f} minutes")


def is_begun(work: Path, made_from: str) -> bool:
    """Whether checkpoints in `work` belong to this training."""
    begun = work / "fingerprint"
    return begun.is_file() and begun.read_text() == made_from


def is_first_process() -> bool:
    """Of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    script.main(main)
