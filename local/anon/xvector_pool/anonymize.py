#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""Anonymisation with x-vectors: baseline B1 of the VoicePrivacy challenges.

Usage: local/anon/xvector_pool/anonymize.py [options] <data-dir> <out-wav-dir>
 e.g.: ./run.sh --stage 2 --anonymizer xvector_pool --anon-options "--proximity nearest"

Extracts content, F0 and speaker vector from the speech, replaces the speaker vector by the mean of others from a pool,
and synthesises speech. prepare.py in the same directory makes the pool and trains the synthesis.
"""

import os
from argparse import Namespace
from pathlib import Path

from vpeval.anon import hook
from vpeval.anon.hook_input import PREPARED
from vpeval.anon.xvector import pool, system
from vpeval.core.errors import InputError

HERE = Path(__file__).resolve().parent
PROFILES = ("cpu", "words", "full")


def main() -> None:
    """Anonymise every utterance."""
    args = parser(__doc__).parse_args()
    if not 1 <= args.region <= args.world:
        raise InputError(f"--region {args.region} must be from 1 to --world {args.world}; N* speakers are drawn from N")
    rule = pool.Rule(args.proximity, args.gender, args.world, args.region, args.weights)
    whole = hook.whole_set(args.data)
    seeds = hook.draw_seeds(args.strategy, whole)
    profile, learnt = profile_of(args)
    anonymizer = system.System(profile, learnt, rule, whole, seeds, args.affinity)
    hook.run(anonymizer.anonymize, args.data, args.out, args.strategy)


def parser(doc: str | None) -> hook.Parser:
    """The options of the hook, which are those of its preparation as well."""
    options = hook.Parser(doc)
    options.add_argument("--profile", default="cpu", help="cpu, words, full, or a yaml like theirs (default: cpu)")
    options.add_argument("--model-dir", type=Path, help="of what was learnt (exp/anon/xvector_pool/<profile>)")
    options.add_argument(
        "--proximity", choices=pool.PROXIMITIES, default="farthest", help="which of the pool (farthest)"
    )
    options.add_argument("--affinity", choices=("cosine", "plda"), default="cosine", help="what is near (cosine)")
    options.add_argument("--gender", choices=pool.GENDERS, default="same", help="gender of the pseudo-speaker (same)")
    options.add_argument("--world", type=int, default=200, help="N, for a pool of 580 per gender (200)")
    options.add_argument("--region", type=int, default=100, help="N*, of these averaged (100)")
    options.add_argument(
        "--weights",
        choices=("equal", "random"),
        default="random",
        help="of those averaged; a small pool has few subsets, and random weights keep pseudo-speakers apart (random)",
    )
    return options


def profile_of(args: Namespace) -> tuple[system.Profile, Path]:
    """The profile, and where what is learnt with it is kept."""
    path = HERE / f"{args.profile}.yaml" if args.profile in PROFILES else Path(args.profile)
    learnt = Path(os.environ.get(PREPARED) or HERE.parents[2] / "exp/anon" / HERE.name)
    return system.read_profile(path), args.model_dir or learnt / path.stem


if __name__ == "__main__":
    hook.start(main)
