#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the emotions of data directories with pretrained SpeechBrain classifiers.

Usage: steps/predict_emotions.py [options] <models-dir> <out-dir> <data-dir> ...
 e.g.: steps/predict_emotions.py --nj 2 models/ser exp/ser data/IEMOCAP_dev data/IEMOCAP_dev_mcadams

Makes <out-dir>/<name of data-dir>/predictions for local/score_uar.py. Where the data have spk2fold, the
classifier of a speaker is <models-dir>/fold_<fold>, otherwise that of all is <models-dir>.
"""

from vpeval.asr.decoding import predict_emotions
from vpeval.cli import script


def main() -> None:
    """Bring the predictions of all data directories up to date."""
    parser = script.batch_parser(__doc__)
    parser.add_argument(
        "--interface", default="", metavar="CLASS", help="run this class of the models' own custom_interface.py"
    )
    args = parser.parse_args()
    for target in predict_emotions(args.conf, args.out, args.data, args.cmd, args.nj, args.interface):
        print(f"{target.out}: {len(target.data.utts)} utterances")


if __name__ == "__main__":
    script.main(main)
