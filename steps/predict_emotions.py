#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the emotions of data directories with SpeechBrain classifiers.

Usage: steps/predict_emotions.py [options] <models-dir> <out-dir> <data-dir> ...
 e.g.: steps/predict_emotions.py --nj 2 models/ser exp/ser data/IEMOCAP_dev data/IEMOCAP_dev_mcadams

Makes <out-dir>/<name of data-dir>/predictions for local/score_uar.py. Where the data have spk2fold, each speaker is
judged by the classifier in <models-dir>/fold_<fold>, otherwise all by the one in <models-dir>.
"""

from pathlib import Path

from vpeval.core import script
from vpeval.core.tables import write_table
from vpeval.jobs import batch

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Bring the predictions of all data directories up to date."""
    parser = script.batch_parser(__doc__)
    parser.add_argument(
        "--interface", default="CustomEncoderWav2vec2Classifier", help="class in custom_interface.py, if there is one"
    )
    args = parser.parse_args()
    code = [args.conf, ROOT / "vpeval/asr/emotion.py", ROOT / "vpeval/audio/io.py"]
    targets = [batch.target(path, args.out / path.name, code, interface=args.interface) for path in args.data]
    worker = (str(ROOT / "steps/jobs/predict_emotions.py"), str(args.conf), args.interface)
    task = batch.Task("emotions", worker, ".txt", finish)
    for target in batch.run(task, targets, args.cmd, args.nj, args.out / "log"):
        print(f"{target.out}: {len(target.data.utts)} utterances")


def finish(target: batch.Target, parts: Path) -> None:
    """Collect the predictions in one table."""
    predictions = {utt: (parts / f"{utt}.txt").read_text(encoding="utf-8").strip() for utt in target.data.utts}
    write_table(target.new / "predictions", predictions)


if __name__ == "__main__":
    script.main(main)
