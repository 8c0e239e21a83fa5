#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Fuse the scores of several attackers, with weights from development trials.

Usage: local/fuse_scores.py [options] --train <data-dir> <scores>,... [--train ...] <data-dir> <scores>,... <out>
 e.g.: local/fuse_scores.py --train data/mini_dev_trials_f exp/ecapa/dev_f,exp/resnet/dev_f \\
         data/mini_test_trials_f exp/ecapa/test_f,exp/resnet/test_f exp/fusion/test_f

A data directory has trials and utt2spk. One that is among those of --train is fused with weights from trials of other
speakers than those of a trial.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.publish import claim_file
from vpeval.data.trials import write_scores
from vpeval.measures.verification import ScoredSet, fuse_held_out, learn_weights


def main() -> None:
    """Learn the weights, write the fused scores, print the weights."""
    parser = script.Parser(__doc__)
    parser.add_argument("--train", nargs=2, action="append", required=True, metavar=("DATA-DIR", "SCORES,..."))
    parser.add_argument("--attackers", type=str.split, metavar="LIST", help="names of the attackers (1 2 ...)")
    parser.add_argument("--seed", type=script.natural, default=0, help="of the parts of the development speakers (0)")
    parser.add_argument("data", metavar="data-dir")
    parser.add_argument("scores", metavar="scores,...")
    parser.add_argument("out", metavar="out")
    args = parser.parse_args()
    development, subject = [scored_set(*words) for words in args.train], scored_set(args.data, args.scores)
    names = args.attackers or [str(number) for number in range(1, len(subject.scores) + 1)]
    for one in (*development, subject):
        if len(one.scores) != len(names):
            raise InputError(f"{len(one.scores)} score files for {len(names)} attackers; give one of each", one.data)
    fusion = learn_weights(names, development)
    if subject in development:
        trials, fused = fuse_held_out(names, development, development.index(subject), args.seed)
    else:
        trials, scores = subject.read()
        fused = fusion(scores)
    claim_file(Path(args.out))
    write_scores(args.out, trials, fused)
    weights = ", ".join(f"{name} {weight:.3g}" for name, weight in zip(names, fusion.weights, strict=True))
    print(f"{args.out}: {weights}")


def scored_set(data: str, scores: str) -> ScoredSet:
    """A data directory and its files of scores, which are separated by commas."""
    return ScoredSet(Path(data), tuple(map(Path, scores.split(","))))


if __name__ == "__main__":
    script.main(main)
