#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Download corpora into a directory: resumes, verifies checksums, and checks the free space first.

Usage: utils/download_corpora.py --to DIR [options] <name> ...
 e.g.: utils/download_corpora.py --to /corpora librispeech_dev_clean librispeech_test_clean vctk

The names are those of conf/corpora.yaml. Existing corpora are kept; an archive that was put there by hand is verified
and unpacked. For a corpus that requires a registration, prints how to get it; the exit code is then 1, unless it is
--optional.
"""

import sys
from pathlib import Path

from vpeval.cli import script
from vpeval.corpora.archives import choose_archives, obtain

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Fetch what can be fetched and say how to get the rest."""
    parser = script.Parser(__doc__)
    parser.add_argument("--to", required=True, type=Path, metavar="DIR", help="where the corpora go")
    parser.add_argument("--optional", action="append", default=[], metavar="NAME", help="a corpus that may be missing")
    parser.add_argument("--keep-archives", type=script.boolean, default=False, metavar="true|false", help="(false)")
    parser.add_argument("--list", type=Path, default=ROOT / "conf/corpora.yaml", help="(conf/corpora.yaml)")
    parser.add_argument("names", metavar="name", nargs="+")
    args = parser.parse_args()
    gated = obtain(choose_archives([*args.names, *args.optional], args.list), args.to, args.keep_archives)
    for archive in gated:
        print(f"\n{archive.title} cannot be fetched from here; put it into {args.to}:\n{archive.how}", file=sys.stderr)
    return 1 if any(archive.name not in args.optional for archive in gated) else 0


if __name__ == "__main__":
    script.main(main)
