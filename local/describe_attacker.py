#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Print what an attacker is, for shell scripts: mode, encoder, profile, training system, model, embeddings, conditions.

Usage: local/describe_attacker.py [--attack CONDITION] <attacker-conf> <system>
 e.g.: read -r mode start profile trained_on model embeddings conditions \\
         < <(local/describe_attacker.py conf/asv/ecapa_plda.yaml mcadams)

One line of words; `conditions` are the last ones, "-" stands for nothing. With --attack oo|oa|aa: what the VoicePrivacy
challenges and what the legal paper call the attack.
"""

from pathlib import Path

from vpeval.asv.attackers import read_attacker
from vpeval.core import script


def main() -> None:
    """Read the yaml and print the line."""
    parser = script.Parser(__doc__)
    parser.add_argument("--attack", choices=("oo", "oa", "aa"), metavar="CONDITION")
    parser.add_argument("conf", metavar="attacker-conf", type=Path)
    parser.add_argument("system")
    args = parser.parse_args()
    attacker = read_attacker(args.conf)
    if args.attack:
        print(*attacker.attack(args.attack, args.system))
        return
    words = (
        attacker.mode,
        attacker.start,
        attacker.profile or "-",
        attacker.training_system(args.system),
        attacker.instance(args.system),
        attacker.embeddings(args.system),
        *attacker.conditions,
    )
    print(*words)


if __name__ == "__main__":
    script.main(main)
