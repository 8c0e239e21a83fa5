#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""The Python half of utils/check_hook.sh: run a hook on a few utterances and print a verdict on each promise."""

import tempfile
from pathlib import Path

from vpeval.anon import conformance, driver
from vpeval.core import script
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[1]
MARK = {"ok": "  ok  ", "warn": " warn ", "fail": " FAIL "}


def main() -> int:
    """Check the hook; exit code 1 when a promise is broken."""
    parser = script.Parser(__doc__)
    parser.add_argument("--time-limit", type=script.positive, required=True)
    parser.add_argument("--level", choices=("spk", "utt"), required=True)
    parser.add_argument("--seed", type=script.natural, required=True)
    parser.add_argument("--options", required=True)
    parser.add_argument("--spk-count", type=script.positive, required=True)
    parser.add_argument("--utts-per-spk", type=script.positive, required=True)
    parser.add_argument("hook")
    parser.add_argument("data", type=Path)
    args = parser.parse_args()

    hook = driver.find_hook(args.hook)
    failed = False
    with tempfile.TemporaryDirectory(prefix="check_hook.") as room:
        sample = choose(args.data, args.spk_count, args.utts_per_spk)
        subject = conformance.Subject(hook, args.options, args.level, args.seed, args.time_limit, Path(room))
        print(f"{hook} on {len(sample.utts)} utterances of {len(sample.speakers)} speakers:")
        for verdict in conformance.check(subject, sample):
            print(f"[{MARK[verdict.state]}] {verdict.check}: {verdict.text}", flush=True)
            failed |= verdict.state == "fail"
    print("The hook breaks its contract; see docs/hooks.md." if failed else "The hook keeps its contract.")
    return 1 if failed else 0


def choose(path: Path, speakers: int, each: int) -> DataDir:
    """The shortest utterances of some speakers, of both genders if there are both."""
    data = DataDir.load(path)
    genders = data.spk_tables.get("spk2gender", {})
    by_gender: dict[str, list[str]] = {}
    for spk in data.speakers:
        by_gender.setdefault(genders.get(spk, ""), []).append(spk)
    turns = sorted((rank, spk) for group in by_gender.values() for rank, spk in enumerate(group))
    chosen = [
        utt
        for _, spk in turns[:speakers]
        for utt in sorted(data.spk2utt[spk], key=lambda u: (data.utt2dur[u], u))[:each]
    ]
    sample = data.subset(chosen)
    wav = {
        utt: entry if entry.rstrip().endswith("|") else str(Path(entry).resolve()) for utt, entry in sample.wav.items()
    }
    return DataDir(sample.path, sample.utt2spk, sample.utt_tables, sample.spk_tables).with_table("wav.scp", wav)


if __name__ == "__main__":
    script.main(main)
