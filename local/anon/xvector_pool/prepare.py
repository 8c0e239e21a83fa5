#!/usr/bin/env -S bash -c '. "${0%/*}/../../../path.sh" && exec python3 "$0" "$@"'
"""Prepare the x-vector anonymiser: train its synthesis and make its pool of speakers.

Usage: local/anon/xvector_pool/prepare.py [options] [--nj N] [--seed N] <train-dirs> <pool-dirs>
 e.g.: local/anon/xvector_pool/prepare.py data/mini_train data/mini_pool

Separate several directories by commas. Options are those of anonymize.py. The output is in
exp/anon/xvector_pool/<profile>.
"""

import os
from pathlib import Path

from anonymize import parser, profile_of  # type: ignore[import-not-found]  # next to this script

from vpeval.anon.xvector import learn
from vpeval.cli import script


def main() -> None:
    """Learn, unless that was done already."""
    options = parser(__doc__)
    options.add_argument("--nj", type=script.positive, default=os.cpu_count(), help="processes (all cores)")
    options.add_argument("--seed", type=script.natural, default=0, help="base seed; training has one of its own")
    args = options.parse_args()
    profile, learnt = profile_of(args)
    train, pools = ([Path(name) for name in str(sets).split(",")] for sets in (args.data, args.out))
    if not learn.prepare(profile, train, pools, learnt, args.nj):
        print(f"{learnt} is up to date, skipped")


if __name__ == "__main__":
    script.main(main)
