#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Compare any number of systems and published baselines: overview, paired differences, ranking, privacy-utility plot.

Usage: local/compare.py [options] <out-dir> [<name>=]<results> ...
 e.g.: local/compare.py exp/mini/comparison exp/mini/runs/mcadams/results.jsonl exp/mini/runs/b1/results.jsonl
       local/compare.py --edition 2022 exp/comparison mine=exp/libri/runs/mine/results.jsonl b2=RESULTS_summary_mcadams
       local/compare.py --published 2022,2024 exp/comparison exp/vpc2022/runs/mcadams/results.jsonl

Results are results.jsonl, result files of VoicePrivacy 2020, 2022, 2024 or 2026, or published tables (docs/formats.md);
<name> names their system. Writes comparison.txt (also printed), index.html with everything on one page,
privacy_utility.{svg,pdf,png}, figures/ and, where two or more systems have scores or transcripts of the same data by
the same attacker or recogniser, differences.jsonl. Systems are ranked by the rules of 2022 or 2024. The 2020 edition
had no rules and those of 2026 are not known: both use those of 2024. Published numbers are marked and have no
intervals; what was measured on other data than the first run is marked and not ranked.
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.editions.base import editions
from vpeval.metrics.intervals import RESAMPLES
from vpeval.results.load import Source


def main() -> None:
    """Read the results, put them side by side."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=editions(), default="2024", help="whose EER and ranking rules (2024)")
    parser.add_argument("--versus", metavar="SYSTEM", default="", help="differences from this system only (all pairs)")
    parser.add_argument("--data", type=Path, default=Path("data"), help="where the data directories are (data)")
    parser.add_argument(
        "--bootstrap", type=script.natural, default=RESAMPLES, metavar="N", help="resamples; 0: no p values"
    )
    parser.add_argument("--seed", type=int, default=0)
    script.add_published_option(parser)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("results", nargs="*", type=Source.parse)
    args = parser.parse_args()
    sources = [*args.results, *args.published]
    if not sources:
        parser.error("give results to compare, or --published")
    from vpeval.report.compare_systems import compare  # it imports matplotlib

    print(compare(args.out, sources, args.edition, args.versus, args.data, args.bootstrap, args.seed), end="")
    print(f"\n{args.out}: {', '.join(sorted(path.name for path in args.out.iterdir() if path.name[0] != '.'))}")


if __name__ == "__main__":
    script.main(main)
