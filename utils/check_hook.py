#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check in seconds whether a hook and its preparation keep the contract of docs/hooks.md.

Usage: utils/check_hook.py [options] <hook>
 e.g.: utils/check_hook.py local/anon/template/anonymize.py
       utils/check_hook.py --options '--edition 2024' mcadams

Runs the hook five times on a few utterances and checks each rule of the contract: all files, right format,
durations, no silence, not its input, deterministic, independent of nj and order, one pseudo-speaker per speaker,
another for enrolment and trial. Also estimates how long challenge data would take. Runs the program that prepares the
hook first, on the same utterances, unless stage 2 has run it already. Exit code 1 when a rule is broken.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vpeval.anon import conformance, hook_program
from vpeval.anon.calls import PATIENCE, Subject
from vpeval.anon.conformance import Verdict
from vpeval.cli import script
from vpeval.core.files import is_pipe
from vpeval.data.directory import DataDir

ROOT = Path(__file__).resolve().parents[1]
MARK = {"ok": "  ok  ", "warn": " warn ", "fail": " FAIL "}


def main() -> int:
    """Check the hook; exit code 1 when a rule is broken."""
    parser = script.Parser(__doc__)
    parser.add_argument("--options", default="", metavar="STRING", help="options for the hook, as one word")
    parser.add_argument("--anon-level", choices=("spk", "utt"), default="spk", help="the level that you will use (spk)")
    parser.add_argument(
        "--time-limit",
        type=script.positive,
        default=60,
        help=f"seconds without file, output or CPU time after which a call is ended; {PATIENCE} times that in all (60)",
    )
    parser.add_argument("--spk-count", type=script.positive, default=2, help="speakers (2)")
    parser.add_argument("--utts-per-spk", type=script.positive, default=2, help="utterances of each, the shortest (2)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="data directory to take them from (embedded corpus)")
    parser.add_argument("--seed", type=script.natural, default=0, help="base seed (0)")
    parser.add_argument("hook")
    args = parser.parse_args()

    hook = hook_program.find_hook(args.hook)
    failed = False
    with tempfile.TemporaryDirectory(prefix="check_hook.") as work_dir:
        data = args.data or embedded(Path(work_dir) / "mini_dev")
        sample = choose(data, args.spk_count, args.utts_per_spk)
        print(f"{hook} on {len(sample.utts)} utterances of {len(sample.speakers)} speakers:", flush=True)
        subject = Subject(hook, args.options, args.anon_level, args.seed, args.time_limit, Path(work_dir))
        for verdict in run_checks(subject, sample):
            print(f"[{MARK[verdict.state]}] {verdict.check}: {verdict.text}", flush=True)
            failed |= verdict.state == "fail"
    print("The hook breaks its contract; see docs/hooks.md." if failed else "The hook keeps its contract.")
    return 1 if failed else 0


def run_checks(subject: Subject, sample: DataDir) -> Iterator[Verdict]:
    """Verdicts on the preparation, if there is one that stage 2 has not run yet, and on the hook."""
    program = hook_program.find_preparation(subject.hook)
    learnt = hook_program.prepared_dir(subject.hook, subject.seed)
    if program and learnt.is_dir() and any(learnt.iterdir()):
        print(f"{program.name} is not called again: the hook uses {learnt}")
    elif program:
        (subject.work / "prepared").mkdir()
        subject = replace(subject, prepared=subject.work / "prepared")
        failed = False
        for verdict in conformance.check_preparation(subject, program, sample):
            yield verdict
            failed |= verdict.state == "fail"
        if failed:
            return
    yield from conformance.check(subject, sample)


def embedded(out: Path) -> Path:
    """The development set of the embedded corpus as a data directory."""
    subprocess.run([ROOT / "egs/mini/corpus_to_data.py", ROOT / "egs/mini/corpus", "dev", out], check=True)
    return out


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
    wav = {utt: entry if is_pipe(entry) else str(Path(entry).resolve()) for utt, entry in sample.wav.items()}
    return DataDir(sample.path, sample.utt2spk, sample.utt_tables, sample.spk_tables).with_table("wav.scp", wav)


if __name__ == "__main__":
    script.main(main, log_to_stdout=True)
