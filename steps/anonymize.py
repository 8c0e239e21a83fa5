#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""The Python half of steps/anonymize.sh: run a hook on a data directory, check what it wrote, publish it."""

import sys
import time
from pathlib import Path

from vpeval.anon import driver
from vpeval.core import script


def main() -> None:
    """Anonymise one data directory."""
    parser = script.Parser(__doc__)
    parser.add_argument("--cmd", required=True)
    parser.add_argument("--nj", type=script.positive, required=True)
    parser.add_argument("--level", choices=("spk", "utt"), required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--options", required=True)
    parser.add_argument("--timeout", type=script.natural, required=True)
    parser.add_argument("--log-dir", type=Path, required=True)
    parser.add_argument("hook")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    start = time.time()
    findings = driver.anonymize(
        driver.find_hook(args.hook),
        args.options,
        args.data,
        args.out,
        args.level,
        args.seed,
        driver.Launch(args.cmd, args.nj, args.log_dir, args.timeout),
    )
    if not findings:
        return
    speech = sum(found.seconds for found in findings)
    # After an interruption, only what was written in this call tells how fast the hook is.
    fresh = sum(found.seconds for found in findings if (args.out / "wav" / f"{found.utt}.wav").stat().st_mtime >= start)
    speed = f", real-time factor {(time.time() - start) / fresh:.3f} with {args.nj} jobs" if fresh else ""
    print(f"{args.out}: {len(findings)} utterances, {speech:.0f} s of speech{speed}")
    for what, count in (
        ("identical to their source", sum(found.identical for found in findings)),
        ("clipped", sum(found.clipped for found in findings)),
        ("more than 50 % longer or shorter than their source", sum(found.drifted for found in findings)),
    ):
        if count:
            print(f"{args.out}: WARNING: {count} of {len(findings)} utterances are {what}", file=sys.stderr)


if __name__ == "__main__":
    script.main(main)
