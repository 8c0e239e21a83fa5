#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Import anonymised files that were made elsewhere, instead of running a hook.

Usage: steps/import_anonymized.py [options] <folder> <system> <data-dir> ...
 e.g.: steps/import_anonymized.py /my/anonymised mine data/mini_dev_enrolls data/mini_dev_trials_f

<folder> has <set>/<utt>.wav or .flac for every data directory, or all files in one place. Makes <data-dir>_<system>
as steps/anonymize.sh does: files at 16 kHz, mono, 16 bit are linked, others converted.
"""

from pathlib import Path

from vpeval.anon.import_files import find_files, import_set, report_import
from vpeval.cli import script


def main() -> None:
    """Find the files of all sets, then publish set by set."""
    parser = script.Parser(__doc__)
    parser.add_argument(
        "--allow-missing",
        metavar="true|false",
        type=script.boolean,
        default=False,
        help="true: trials whose files are missing are left out and counted (default: false)",
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("system")
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    for delivery in find_files(args.folder, args.data, args.system, args.allow_missing):
        out = delivery.data.path.with_name(f"{delivery.data.name}_{args.system}")
        report_import(delivery, out, import_set(delivery, out))


if __name__ == "__main__":
    script.main(main)
