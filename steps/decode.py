#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the speech of data directories.

Usage: steps/decode.py [options] <conf> <out-dir> <data-dir> ...
 e.g.: steps/decode.py --nj 2 conf/asr/whisper_base.yaml exp/mini/decode/whisper_base data/mini_dev_trials_f

Makes <out-dir>/<name of data-dir>/ with the hypotheses as a Kaldi text file. Directories that are up to date are
skipped; an interrupted call goes on where it stopped.
"""

from pathlib import Path

from vpeval import batch, script
from vpeval.tables import write_table

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Bring the hypotheses of all data directories up to date."""
    args = script.batch_parser(__doc__).parse_args()
    code = [args.conf, ROOT / "vpeval/asr", ROOT / "vpeval/audio.py", ROOT / "conf/models.yaml"]
    targets = [batch.target(path, args.out / path.name, code) for path in args.data]
    task = batch.Task("decode", (str(ROOT / "steps/jobs/decode.py"), str(args.conf)), ".txt", finish)
    for target in batch.run(task, targets, args.cmd, args.nj, args.out / "log"):
        print(f"{target.out}: {len(target.data.utts)} utterances decoded")


def finish(target: batch.Target, parts: Path) -> None:
    """Collect the hypotheses in one text file."""
    hypotheses = {utt: (parts / f"{utt}.txt").read_text(encoding="utf-8").strip() for utt in target.data.utts}
    write_table(target.new / "text", hypotheses)


if __name__ == "__main__":
    script.main(main)
