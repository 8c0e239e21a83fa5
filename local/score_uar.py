#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score emotion predictions: unweighted average recall and recall per emotion, as in VoicePrivacy 2024.

Usage: local/score_uar.py [options] <data-dir> <predictions> <out.jsonl>
 e.g.: local/score_uar.py --tag set=IEMOCAP_dev --tag condition=o data/IEMOCAP_dev exp/ser/IEMOCAP_dev exp/uar.jsonl

<predictions> has lines <utterance> <emotion>. The data directory has utt2emo and, for the challenge's mean over folds,
spk2fold. An utterance without prediction counts as wrong.
"""

import logging
from pathlib import Path

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.data.layout import name_some
from vpeval.metrics.uar import score_emotions
from vpeval.results.records import Record, parse_tags, write_records


def main() -> None:
    """Read labels and predictions, write the records, print the rates."""
    parser = script.Parser(__doc__)
    parser.add_argument("--tag", action="append", default=[], metavar="NAME=VALUE", help="tag of the records")
    parser.add_argument("data", metavar="data-dir", type=Path)
    parser.add_argument("predictions")
    parser.add_argument("out", metavar="out.jsonl")
    args = parser.parse_args()

    tags = parse_tags(args.tag)
    utt2emo, predictions = read_table(args.data / "utt2emo", "emotion"), read_table(args.predictions, "emotion")
    spk2fold = read_table(args.data / "spk2fold", "fold") if (args.data / "spk2fold").exists() else None
    try:
        score = score_emotions(utt2emo, predictions, read_table(args.data / "utt2spk", "speaker"), spk2fold)
    except InputError as error:
        raise InputError(str(error), args.predictions) from None

    notes: dict[str, object] = {"unit": "%"}
    if spk2fold:
        notes["folds"] = len(score.folds)
    counts = {"utts": len(utt2emo), "missing": len(score.missing)}
    records = [Record("uar", score.uar, notes=notes, counts=counts)]
    records += [
        Record("emotion_accuracy", recall, params={"emotion": emotion}, notes=notes, counts=count_of(emotion, utt2emo))
        for emotion, recall in score.recalls.items()
    ]
    write_records(args.out, [record.tagged(tags) for record in records])
    if score.missing:
        logging.warning(f"{args.predictions}: no prediction, counted as wrong: {name_some(score.missing, limit=20)}")
    accuracies = " ".join(f"ACC_{emotion} {recall:.4f}" for emotion, recall in score.recalls.items())
    print(f"UAR {score.uar:.4f} {accuracies}")


def count_of(emotion: str, utt2emo: dict[str, str]) -> dict[str, int]:
    """On how many utterances a recall rests."""
    return {"utts": sum(label == emotion for label in utt2emo.values())}


if __name__ == "__main__":
    script.main(main)
