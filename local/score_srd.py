#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score similarity rank disclosure: MaxD and MeanD in bits, identification rate and rank spread.

Usage: local/score_srd.py [options] <reference-dir> <input-dir> <out.jsonl>
 e.g.: local/score_srd.py --tag system=mcadams exp/asv/srd_reference exp/asv/srd_input exp/asv/srd.jsonl

The directories hold embedding.scp and utt2spk; local/split_embeddings.py makes them from pooled enrolment and trial
utterances. Every input speaker needs a reference; further reference speakers are distractors. The identification rate
and the mean rank of every speaker go to a file beside the records (here exp/asv/srd.speakers.tsv).
"""

from vpeval.cli import script
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.protocols.srd import score_srd
from vpeval.records.record import parse_params, parse_tags
from vpeval.results.plain import plain_table


def main() -> None:
    """Read two embedding directories, write records and per-speaker values."""
    parser = script.scorer_params_parser(__doc__)
    parser.add_argument(
        "--similarity", choices=("cosine", "euclidean"), default="cosine", help="of embeddings, or of histograms"
    )
    parser.add_argument(
        "--ties", choices=("mid", "strict"), default="mid", help="spread over the tied ranks, or take the last"
    )
    parser.add_argument("references", metavar="reference-dir")
    parser.add_argument("inputs", metavar="input-dir")
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags, (params, notes) = parse_tags(args.tag), parse_params(args.param)
    references, inputs = read_embeddings(args.references), read_embeddings(args.inputs)
    scores = score_srd(references, inputs, args.similarity, args.ties, args.bootstrap, args.seed)
    scores.write(args.out, tags, params, notes)
    print(plain_table(scores.records), end="")


if __name__ == "__main__":
    script.main(main)
