#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score legal linkability and 1-EER over the number N' of enrolment speakers and L of utterances per test vector.

Usage: local/score_linkability.py [options] <enroll-dir> <test-dir> <out.jsonl>
 e.g.: local/score_linkability.py --tag system=mcadams exp/asv/mini_enrolls exp/asv/mini_trials exp/asv/link.jsonl

The directories hold embedding.scp and utt2spk. Test speakers who are not enrolled are left out; enrolment speakers
without test utterances are distractors. With --side, a table '<speaker> <value>' such as spk2gender of a data
directory, linkability of attackers who know the value of the person is measured as well; the option may be repeated.
With --population the error of an extrapolation that leaves out the largest N' is told, and, if that is small, what it
gives for N speakers (0: only the error). The linkage probability of every speaker goes to a file beside the records
(here exp/asv/link.speakers.tsv), which local/compare_speakers.py reads.
"""

from vpeval.asv.scoring import read_comparison
from vpeval.cli import script
from vpeval.data.attributes import read_attribute
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.protocols.linkability import score_linkability
from vpeval.protocols.side import UseCase, sides_of
from vpeval.protocols.sizes import parse_sizes
from vpeval.records.record import parse_params, parse_tags
from vpeval.results.plain import plain_table


def main() -> None:
    """Read two embedding directories, write records and per-speaker values."""
    parser = script.population_parser(__doc__, "enrolment")
    parser.add_argument("--n-enroll", metavar="LIST", help="numbers N' of enrolment speakers (20,100,all)")
    parser.add_argument("--n-utts", metavar="LIST", help="numbers L of utterances per test vector (1,3,30,all)")
    parser.add_argument("--draws", type=script.natural, default=0, help="random draws; 0: exact expectation (0)")
    args = parser.parse_args()

    tags, (params, notes) = parse_tags(args.tag), parse_params(args.param)
    n_enroll = parse_sizes("--n-enroll", args.n_enroll, "20,100,all", least=2)
    n_utts = parse_sizes("--n-utts", args.n_utts, "1,3,30,all")
    enroll, test = read_embeddings(args.enroll), read_embeddings(args.test)
    comparison = read_comparison(args.backend)
    case = UseCase(sides_of([read_attribute(path) for path in args.side]), args.population)
    scores = score_linkability(enroll, test, comparison, n_enroll, n_utts, args.draws, args.bootstrap, args.seed, case)
    scores.write(args.out, tags, params, notes)
    print(plain_table(scores.records), end="")


if __name__ == "__main__":
    script.main(main)
