#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score voice similarity: D_diag of the matrices oo, oa, aa, gain of voice distinctiveness and de-identification.

Usage: local/score_similarity.py [options] <scores-oo> <scores-oa> <scores-aa> <utt2spk> <out.jsonl>
 e.g.: local/score_similarity.py --mode vpc exp/sim/scores_{oo,oa,aa} data/libri_dev_trials_f/utt2spk exp/sim/gvd.jsonl

Score lines are <utt> <utt> <score>; in oa the first utterance is original, the second anonymised. The matrices go to
a file beside the records (here exp/sim/gvd.matrices.json); null marks a speaker with a single utterance.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.embeddings.pair_scores import read_utterance_pairs
from vpeval.metrics.similarity import CONDITIONS
from vpeval.protocols.similarity import MODES, score_similarity
from vpeval.records.record import parse_tags, write_records
from vpeval.results.plain import plain_table


def main() -> None:
    """Read the scores of three conditions, write records and matrices."""
    parser = script.scorer_parser(__doc__)
    parser.add_argument("--mode", choices=MODES, default="full", help="all pairs, or as in the challenges")
    for name in ("oo", "oa", "aa", "utt2spk", "out"):
        parser.add_argument(name, metavar=f"scores-{name}" if name in CONDITIONS else name)
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    paths = {condition: getattr(args, condition) for condition in CONDITIONS}
    pairs = read_utterance_pairs(paths, args.utt2spk)
    records = score_similarity(pairs, (args.mode,), Path(args.out), args.bootstrap, args.seed, paths)
    write_records(args.out, [record.tagged(tags) for record in records])
    print(plain_table(records), end="")


if __name__ == "__main__":
    script.main(main)
