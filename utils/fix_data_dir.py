#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Fix a data directory: sort it, drop malformed, repeated, orphaned or unreadable entries, rebuild spk2utt.

Copies of the changed files are kept in <data-dir>/.backup.

Usage: utils/fix_data_dir.py [options] <data-dir>
 e.g.: utils/fix_data_dir.py data/libri_dev_enrolls
"""

import sys

from vpeval.cli import script
from vpeval.data.fix import fix


def main() -> None:
    """Fix and say what was removed."""
    parser = script.Parser(__doc__)
    parser.add_argument(
        "--audio", type=script.boolean, default=True, metavar="true|false", help="open the audio files (default: true)"
    )
    parser.add_argument("data", metavar="data-dir")
    args = parser.parse_args()

    fixed = fix(args.data, audio=args.audio)
    for note in fixed.notes:
        print(note, file=sys.stderr)
    if fixed.changed:
        print(f"{args.data}: fixed {', '.join(fixed.changed)}; {len(fixed.data.utts)} utterances remain")
    else:
        print(f"{args.data}: nothing to fix")


if __name__ == "__main__":
    script.main(main)
