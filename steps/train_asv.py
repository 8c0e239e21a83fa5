#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train an attacker; called by steps/train_asv.sh.

Usage: steps/train_asv.py [options] scratch|finetune|backend <encoder-conf> <profile> <out-dir> <dir> ...
 e.g.: torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=node1:29400 steps/train_asv.py \\
         scratch conf/asv/ecapa_512.yaml conf/asv/train/vpc2024.yaml exp/libri/asv/ecapa_scratch-b5 data/train_b5

Directories are data directories, for a back end embedding directories. Interrupted, the same call goes on with the next
epoch.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from vpeval.asv.attackers import encoder_files
from vpeval.core import script
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import replace_directory, write_text
from vpeval.jobs.stamps import STAMP, fingerprint, is_current, write_stamp

ROOT = Path(__file__).resolve().parents[1]
CODE = (("encoders", "directory", "epochs", "speechbrain", "training", "weights"), ("backend", "plda"))


def main() -> None:
    """Train unless the attacker is up to date."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0)
    parser.add_argument("--num-threads", type=script.positive, default=1)
    parser.add_argument("mode", choices=("scratch", "finetune", "backend"))
    parser.add_argument("conf", metavar="encoder-conf", type=Path)
    parser.add_argument("profile", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="dir", type=Path, nargs="+")
    args = parser.parse_args()

    for path in (args.conf, args.profile):
        if not path.is_file():
            there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
            raise InputError(f"no such configuration; there are {there}", path)
    options = {"seed": args.seed, "mode": args.mode, "processes": os.environ.get("WORLD_SIZE", "1")}
    code = [ROOT / "vpeval/asv" / f"{name}.py" for name in CODE[args.mode == "backend"]]
    made_from = fingerprint([*encoder_files(args.conf), args.profile, *args.data, *code], options)
    if is_current(args.out / STAMP, made_from, [args.out]):
        if is_first_process():
            print(f"{args.out} is up to date, skipped")
        return
    work = args.out.with_name(f".{args.out.name}.work")
    (train_backend if args.mode == "backend" else train_encoder)(args, work, made_from)
    if is_first_process():
        write_stamp(work / "out" / STAMP, made_from, [work / "out"])
        replace_directory(work / "out", args.out)
        shutil.rmtree(work)


def train_backend(args: argparse.Namespace, work: Path, made_from: str) -> None:
    """Estimate LDA and PLDA on embeddings."""
    from vpeval.asv import backend
    from vpeval.asv.plda import Prior
    from vpeval.embeddings.directory import pool, read_embeddings

    profile = read_config(args.profile, lda=int, iterations=int, prior_speakers=float, prior_utts=float)
    prior = Prior(profile["prior_speakers"], profile["prior_utts"])
    train = pool([read_embeddings(directory) for directory in args.data])
    estimated = backend.estimate(train, backend.Settings(profile["lda"], profile["iterations"], prior))
    if profile["lda"] > estimated.dimension:
        print(
            f"{args.out}: LDA to {estimated.dimension} instead of {profile['lda']} dimensions: there are "
            f"{len(train.speakers)} training speakers and {train.vectors.shape[1]}-dimensional vectors",
            file=sys.stderr,
        )
    shutil.rmtree(work, ignore_errors=True)
    backend.save(work / "out/backend.npz", estimated.backend)
    write_text(work / "out/objective", "".join(f"{value:.6f}\n" for value in estimated.objective))
    print(f"{args.out}: back end of {len(train.utts)} utterances, {len(train.speakers)} speakers")


def train_encoder(args: argparse.Namespace, work: Path, made_from: str) -> None:
    """Train a network; importing torch takes seconds, and a skipped training should not."""
    import torch

    from vpeval.asv import epochs, training
    from vpeval.asv.encoders import has_weights, make_encoder
    from vpeval.core import compute
    from vpeval.figures.training import save_training

    if args.mode == "finetune" and not has_weights(args.conf):
        raise InputError("has no weights to start from; use --mode scratch, or another --start", args.conf)
    training.start_processes()
    compute.set_up(args.num_threads)
    if is_first_process() and not is_begun(work, made_from):
        shutil.rmtree(work, ignore_errors=True)
        write_text(work / "fingerprint", made_from)
    training.wait_for_all()
    torch.manual_seed(args.seed)
    encoder = make_encoder(args.conf)
    corpus, profile = training.read_corpus(args.data), training.Profile.read(args.profile)
    training.train(encoder, profile, corpus, args.seed, work, warm=args.mode == "finetune")
    if is_first_process():
        encoder.save(args.conf, work / "out")
        shutil.copy(work / epochs.FILE, work / "out" / epochs.FILE)
        save_training(args.out.name, epochs.read_epochs(work / epochs.FILE), work / "out/epochs")
        print(f"{args.out}: {args.mode} on {len(corpus.wavs)} utterances of {len(corpus.speakers)} speakers")


def is_begun(work: Path, made_from: str) -> bool:
    """Whether checkpoints in `work` belong to this training."""
    begun = work / "fingerprint"
    return begun.is_file() and begun.read_text() == made_from


def is_first_process() -> bool:
    """Of those that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    script.main(main)
