#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Skip work that is done already: compare or write the stamp of some outputs.

Usage: utils/stamp.py check|write --stamp FILE [--input PATH ...] [--option NAME=VALUE ...] [--output PATH ...]
 e.g.: utils/stamp.py check "${stamp[@]}" && continue
       local/score_verification.py trials scores records.jsonl
       utils/stamp.py write "${stamp[@]}"

`check` exits with 0 when the outputs were made from these inputs and options and nothing has changed since, with 3
when there is work to do, and with 1 when an input is missing.
"""

from pathlib import Path

from vpeval.core import script
from vpeval.jobs import stamps


def main() -> int:
    """Check or write."""
    parser = script.Parser(__doc__)
    parser.add_argument("verb", choices=("check", "write"))
    parser.add_argument("--stamp", type=Path, required=True)
    parser.add_argument("--input", type=Path, action="append", default=[])
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--output", type=Path, action="append", default=[])
    args = parser.parse_args()
    wanted = stamps.fingerprint(args.input, {"options": args.option})
    if args.verb == "write":
        stamps.write_stamp(args.stamp, wanted, args.output)
        return 0
    return 0 if stamps.is_current(args.stamp, wanted, args.output) else 3


if __name__ == "__main__":
    script.main(main)
