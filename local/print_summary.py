#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Print the results of one or several runs as tables of at most 120 columns, systems side by side.

Usage: local/print_summary.py [--edition 2020|2022|2024|2026] [<name>=]<results> ...
 e.g.: local/print_summary.py exp/mini/runs/mcadams/results.jsonl b2=RESULTS_mcadams

Results are results.jsonl or result files of VoicePrivacy 2020, 2022, 2024 or 2026; <name> names their system.
"""

from vpeval.cli import script
from vpeval.editions.base import editions
from vpeval.results import summary
from vpeval.results.load import Source, load


def main() -> None:
    """Read the records, print them."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=editions(), default="2020", help="whose EER is shown (2020)")
    parser.add_argument("results", nargs="+", type=Source.parse)
    args = parser.parse_args()
    print(summary.render(load(args.results), args.edition), end="")


if __name__ == "__main__":
    script.main(main)
