#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Print the hook behind an --anonymizer option and the name of its system.

Usage: utils/find_hook.py <anonymizer>
 e.g.: utils/find_hook.py mcadams        # local/anon/mcadams/anonymize.py mcadams
"""

from vpeval import script
from vpeval.anon.driver import find_hook, system_name


def main() -> None:
    """Print both on one line."""
    parser = script.Parser(__doc__)
    parser.add_argument("anonymizer")
    hook = find_hook(parser.parse_args().anonymizer)
    print(hook, system_name(hook))


if __name__ == "__main__":
    script.main(main)
