#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score the inference of speakers' attributes, over the number L of utterances per test vector.

Usage: local/score_inference.py [options] <attribute-table>,... <train-dir> <test-dir> <out.jsonl>
 e.g.: local/score_inference.py data/mini_all/spk2gender,data/mini_all/spk2age exp/asv/mini_all \\
         exp/asv/mini_all_mcadams exp/asv/infer.jsonl

The directories hold embedding.scp and utt2spk: speech to learn from, original for an ignorant attacker and anonymised
for an informed one, and speech that is attacked. They may share speakers: whoever is attacked is never learnt from. A
table has a line '<speaker> <value>' per speaker; values that are all numbers are predicted, others classified. The bits
about every speaker go to a file beside the records (here exp/asv/infer.speakers.tsv).
"""

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.attributes import read_attribute
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.protocols.inference import Settings, score_inference
from vpeval.protocols.sizes import parse_sizes
from vpeval.records.record import parse_params, parse_tags
from vpeval.results.plain import plain_table


def main() -> None:
    """Read tables and two embedding directories, write records and per-speaker values."""
    parser = script.scorer_params_parser(__doc__)
    parser.add_argument("--n-utts", metavar="LIST", help="numbers L of utterances per test vector (1,3,30,all)")
    parser.add_argument("--n-speakers", metavar="LIST", help="sizes N of crowds to look for a person in (20,100,all)")
    parser.add_argument(
        "--population", type=script.natural, default=0, metavar="N", help="one more N, also beyond the speakers"
    )
    parser.add_argument(
        "--similarity", choices=("cosine", "euclidean"), default="cosine", help="euclidean: lengths matter (cosine)"
    )
    parser.add_argument("tables", metavar="attribute-table,...")
    parser.add_argument("train", metavar="train-dir")
    parser.add_argument("test", metavar="test-dir")
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags, (params, notes) = parse_tags(args.tag), parse_params(args.param)
    n_utts = parse_sizes("--n-utts", args.n_utts, "1,3,30,all")
    n_speakers = parse_sizes("--n-speakers", args.n_speakers, "20,100,all", least=2)
    attributes = [read_attribute(path) for path in args.tables.replace(",", " ").split()]
    train, test = read_embeddings(args.train), read_embeddings(args.test)
    settings = Settings(n_utts, n_speakers, args.population, args.bootstrap, args.seed)
    scores = score_inference(train, test, attributes, args.similarity, settings)
    if not scores.records:
        raise InputError("tell of no attribute that can be inferred; see the notices above", args.tables)
    scores.write(args.out, tags, params, notes)
    print(plain_table(scores.records), end="")


if __name__ == "__main__":
    script.main(main)
