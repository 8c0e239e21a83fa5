#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check a data directory and list all problems.

With --enrolls, also check that a trial set has no utterance of its enrolment set.

Usage: utils/validate_data_dir.py [options] <data-dir>
 e.g.: utils/validate_data_dir.py --no-text data/libri_dev_enrolls
"""

import sys
from collections import Counter
from pathlib import Path

from vpeval.cli import script
from vpeval.data.directory import read_utt2spk
from vpeval.data.validate import check_disjoint, validate

SHOWN = 20


def main() -> int:
    """Print the problems to stderr, or one line of success to stdout."""
    parser = script.Parser(__doc__)
    parser.add_argument("--no-text", action="store_true", help="text need not be there")
    parser.add_argument("--no-wav", action="store_true", help="wav.scp need not be there")
    parser.add_argument("--no-audio", action="store_true", help="do not open the audio files")
    parser.add_argument("--no-spk-sort", action="store_true", help="utt2spk need not be in the order of speakers")
    parser.add_argument("--enrolls", metavar="DIR", type=Path, action="append", default=[], help="an enrolment set")
    parser.add_argument("data", metavar="data-dir")
    args = parser.parse_args()

    problems = validate(
        args.data, text=not args.no_text, wav=not args.no_wav, audio=not args.no_audio, spk_sort=not args.no_spk_sort
    )
    if not any(problem.severity == "error" for problem in problems):
        problems += check_disjoint(args.enrolls, [Path(args.data)])
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.kind] += 1
        if counts[problem.kind] <= SHOWN:
            print("warning: " * (problem.severity == "warning") + str(problem), file=sys.stderr)
    for kind, count in counts.items():
        if count > SHOWN:
            print(f"{args.data}: … and {count - SHOWN} more problems with: {kind}", file=sys.stderr)
    for option, name in (("--no-text", "text"), ("--no-wav", "wav.scp")):
        if any(problem.kind == "missing file" and problem.path.name == name for problem in problems):
            print(f"{args.data}: where {name} is not needed, say {option}", file=sys.stderr)
    if any(problem.severity == "error" for problem in problems):
        return 1
    utt2spk = read_utt2spk(Path(args.data) / "utt2spk")
    size = f"{len(utt2spk)} utterances, {len(set(utt2spk.values()))} speakers"
    print(f"{args.data}: successfully validated ({size})")
    return 0


if __name__ == "__main__":
    script.main(main)
