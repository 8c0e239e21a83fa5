#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Anonymise a data directory with a hook.

Usage: steps/anonymize.py [options] <hook> <data-dir> <out-data-dir>
 e.g.: steps/anonymize.py --nj 4 local/anon/mcadams/anonymize.py data/mini_dev_enrolls data/mini_dev_enrolls_mcadams

Splits the data, runs the hook on the splits, checks every output and publishes <out-data-dir> with the same ids. The
contract of a hook is in docs/hooks.md; utils/check_hook.sh checks it. After an interruption, the same command
continues.
"""

from pathlib import Path

from vpeval.anon import driver
from vpeval.anon.hook_program import find_hook
from vpeval.cli import script


def main() -> None:
    """Anonymise one data directory."""
    parser = script.Parser(__doc__)
    parser.add_argument("--cmd", default="utils/run.py", help="launcher of the jobs (utils/run.py)")
    parser.add_argument("--nj", type=script.positive, default=2, help="jobs at a time (2)")
    parser.add_argument(
        "--anon-level",
        choices=("spk", "utt"),
        default="spk",
        help="spk: the utterances of a speaker share a seed and with it a pseudo-speaker; utt: they do not (spk)",
    )
    parser.add_argument("--seed", type=int, default=0, help="base seed (0)")
    script.add_verify_option(parser)
    parser.add_argument(
        "--timeout",
        type=script.natural,
        default=driver.TIMEOUT,
        help=f"end a hook that has written no file for N seconds; 0: never ({driver.TIMEOUT})",
    )
    parser.add_argument("--options", default="", metavar="STRING", help="options for the hook, as one word")
    parser.add_argument(
        "--overwrite",
        type=script.boolean,
        default=False,
        help="true: replace <out-data-dir> even if another hook, or other options, made it (false)",
    )
    parser.add_argument("--log-dir", type=Path, help="where the logs of the jobs go (exp/log/<name of out-data-dir>)")
    parser.add_argument("hook")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("out", metavar="out-data-dir", type=Path)
    args = parser.parse_args()

    anonymiser = driver.Anonymiser(find_hook(args.hook), args.options, args.anon_level, args.seed)
    log_dir = args.log_dir or Path("exp/log") / args.out.name
    launch = driver.Launch(args.cmd, args.nj, log_dir, args.timeout)
    driver.anonymize(anonymiser, {args.data: args.out}, launch, args.overwrite)


if __name__ == "__main__":
    script.main(main, log_to_stdout=True)
