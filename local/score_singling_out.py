#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score legal singling out over the number N of test speakers and L of utterances per test vector.

Usage: local/score_singling_out.py [options] <enroll-dir> <test-dir> <out.jsonl>
 e.g.: local/score_singling_out.py --tag system=mcadams exp/asv/mini_enrolls exp/asv/mini_trials exp/asv/sing.jsonl

The directories hold embedding.scp and utt2spk. Enrolment speakers who are not test speakers are left out. --side
and --population are those of local/score_linkability.py.
The success rate of every enrolment speaker goes to a file beside the records (here exp/asv/sing.speakers.tsv).
"""

from vpeval.asv.scoring import read_comparison
from vpeval.cli import script
from vpeval.data.attributes import read_attribute
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.protocols.side import UseCase, sides_of
from vpeval.protocols.singling_out import SinglingOutOptions, score_singling_out
from vpeval.protocols.sizes import parse_sizes
from vpeval.records.record import parse_params, parse_tags
from vpeval.results.plain import plain_table


def main() -> None:
    """Read two embedding directories, write records and per-speaker values."""
    parser = script.population_parser(__doc__, "test")
    parser.add_argument("--n-speakers", metavar="LIST", help="numbers N of test speakers (20,100,all)")
    parser.add_argument("--n-utts", metavar="LIST", help="numbers L of utterances per test vector (1,3,30)")
    parser.add_argument("--n-enroll", type=script.positive, metavar="N", help="enrolment speakers (495, or all)")
    parser.add_argument(
        "--enroll-utts", type=script.positive, default=30, metavar="N", help="utterances per enrolment vector (30)"
    )
    parser.add_argument("--draws", type=script.positive, default=5, help="random draws of test speakers (5)")
    args = parser.parse_args()

    tags, (params, notes) = parse_tags(args.tag), parse_params(args.param)
    n_speakers = parse_sizes("--n-speakers", args.n_speakers, "20,100,all", least=2)
    n_utts = parse_sizes("--n-utts", args.n_utts, "1,3,30", has_all=False)
    options = SinglingOutOptions(args.n_enroll or 495, args.n_enroll is not None, args.enroll_utts, args.draws)
    enroll, test = read_embeddings(args.enroll), read_embeddings(args.test)
    comparison = read_comparison(args.backend)
    case = UseCase(sides_of([read_attribute(path) for path in args.side]), args.population)
    scores = score_singling_out(enroll, test, comparison, n_speakers, n_utts, options, args.bootstrap, args.seed, case)
    scores.write(args.out, tags, params, notes)
    print(plain_table(scores.records), end="")


if __name__ == "__main__":
    script.main(main)
