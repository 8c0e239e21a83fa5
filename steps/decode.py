#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the speech of data directories.

Usage: steps/decode.py [options] <conf> <out-dir> <data-dir> ...
 e.g.: steps/decode.py --nj 2 conf/asr/whisper_base.yaml exp/mini/decode/whisper_base data/mini_dev_trials_f

Makes <out-dir>/<name of data-dir>/ with the hypotheses as a Kaldi text file and, where the recogniser decodes with a
language model, an n-best list with acoustic scores for local/tune_lm.py. Directories that are up to date are skipped;
an interrupted call goes on where it stopped.
"""

from functools import partial
from pathlib import Path

from vpeval.asr.nbest import Hypothesis, read_hypothesis, write_nbest
from vpeval.core import script
from vpeval.core.tables import write_table
from vpeval.jobs import batch

ROOT = Path(__file__).resolve().parents[1]
CODE = ("vpeval/asr", "vpeval/asr/lm.py", "vpeval/audio/io.py", "conf/models.yaml")


def main() -> None:
    """Bring the hypotheses of all data directories up to date."""
    parser = script.batch_parser(__doc__)
    parser.add_argument("--lm", type=Path, help="decode with this n-gram model (ARPA), if the recogniser can")
    args = parser.parse_args()
    inputs = [args.conf, *beside(args.conf), *([args.lm] if args.lm else []), *(ROOT / path for path in CODE)]
    targets = [batch.target(path, args.out / path.name, inputs) for path in args.data]
    worker = (str(ROOT / "steps/jobs/decode.py"), str(args.conf), str(args.lm or ""))
    task = batch.Task("decode", worker, ".txt", partial(finish, nbest=args.lm is not None))
    for target in batch.run(task, targets, args.cmd, args.nj, args.out / "log"):
        print(f"{target.out}: {len(target.data.utts)} utterances decoded")


def beside(conf: Path) -> list[Path]:
    """The files of a recogniser that has its configuration in its own directory."""
    return [conf.parent] if (conf.parent / "hyperparams.yaml").is_file() else []


def finish(target: batch.Target, parts: Path, nbest: bool) -> None:
    """Collect the hypotheses of all utterances."""
    lines = {utt: (parts / f"{utt}.txt").read_text(encoding="utf-8").splitlines() for utt in target.data.utts}
    if not nbest:
        write_table(target.new / "text", {utt: " ".join(line) for utt, line in lines.items()})
        return
    hypotheses: dict[str, list[Hypothesis]] = {utt: list(map(read_hypothesis, rows)) for utt, rows in lines.items()}
    write_nbest(target.new / "nbest", hypotheses)
    write_table(target.new / "text", {utt: rows[0].words for utt, rows in hypotheses.items()})


if __name__ == "__main__":
    script.main(main)
