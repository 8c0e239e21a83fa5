#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""Anonymisation with x-vectors: baseline B1 of the VoicePrivacy challenges.

Usage: local/anon/xvector_pool/anonymize.py [options] --prepare <train-dirs> <pool-dirs>
       local/anon/xvector_pool/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: local/anon/xvector_pool/anonymize.py --prepare data/mini_train data/mini_pool
       ./run.sh --stage 2 --anonymizer xvector_pool --anon-options "--proximity nearest"

Content, F0 and speaker vector are taken from the speech; the speaker vector is exchanged for the mean of others from a
pool; and speech is made again. --prepare learns the synthesis from training and pool sets (several, with commas) and
keeps the pool; both are kept in exp/anon/xvector_pool.
"""

import os
from pathlib import Path

from vpeval.anon import driver, hook
from vpeval.anon.strategies import draw_seeds
from vpeval.anon.xvector import pool, system
from vpeval.core import script
from vpeval.core.errors import InputError

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Prepare, or anonymise every utterance."""
    parser = hook.Parser(__doc__)
    parser.add_argument("--prepare", action="store_true", help="learn synthesis and pool from two data directories")
    parser.add_argument("--profile", default="cpu", help="cpu, full, or a yaml like theirs (default: cpu)")
    parser.add_argument("--model-dir", type=Path, help="where what is learnt is kept (exp/anon/xvector_pool/<profile>)")
    parser.add_argument(
        "--proximity", choices=pool.PROXIMITIES, default="farthest", help="which of the pool (farthest)"
    )
    parser.add_argument("--affinity", choices=("cosine", "plda"), default="cosine", help="what is near (cosine)")
    parser.add_argument("--gender", choices=pool.GENDERS, default="same", help="gender of the pseudo-speaker (same)")
    parser.add_argument("--world", type=script.positive, default=200, help="N, for a pool of 580 per gender (200)")
    parser.add_argument("--region", type=script.positive, default=100, help="N*, of these averaged (100)")
    parser.add_argument(
        "--weights",
        choices=("equal", "random"),
        default="random",
        help="of those averaged; a small pool has few subsets, and random weights keep pseudo-speakers apart (random)",
    )
    parser.add_argument("--nj", type=script.positive, default=os.cpu_count(), help="processes of --prepare (all cores)")
    args = parser.parse_args()
    path = HERE / f"{args.profile}.yaml" if args.profile in ("cpu", "full") else Path(args.profile)
    profile = system.read_profile(path)
    prepared = args.model_dir or driver.prepared_dir(Path(__file__)) / path.stem
    if args.prepare:
        train, pools = ([Path(name) for name in str(sets).split(",")] for sets in (args.data, args.out))
        if not system.prepare(profile, train, pools, prepared, args.nj):
            print(f"{prepared} is up to date, skipped")
        return
    if args.region > args.world:
        raise InputError(f"--region {args.region} is more than --world {args.world}; N* speakers are drawn from N")
    rule = pool.Rule(args.proximity, args.gender, args.world, args.region, args.weights)
    whole = hook.whole_set(args.data)
    anonymizer = system.System(profile, prepared, rule, whole, draw_seeds(args.strategy, whole), args.affinity)
    hook.run(anonymizer.anonymize, args.data, args.out, args.strategy)


if __name__ == "__main__":
    script.main(main)
