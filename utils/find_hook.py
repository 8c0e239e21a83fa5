#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Print the hook behind an --anonymizer option, the name of its system, and its options, a word on every line.

Usage: utils/find_hook.py [--options TEXT] <anonymizer>
 e.g.: utils/find_hook.py --options "--alpha 0.7" mcadams  # local/anon/mcadams/anonymize.py, mcadams, --alpha, 0.7
"""

from vpeval.anon.driver import find_hook, split_options, system_name
from vpeval.core import script


def main() -> None:
    """Print the words."""
    parser = script.Parser(__doc__)
    parser.add_argument("--options", default="", metavar="TEXT", help="options of the hook, quoted as in a shell")
    parser.add_argument("anonymizer")
    args = parser.parse_args()
    hook = find_hook(args.anonymizer)
    print(hook, system_name(hook), *split_options(args.options), sep="\n")


if __name__ == "__main__":
    script.main(main)
