"""Emotions of data directories by a recogniser that is trained on the original ones, a fold at a time.

Features are extracted once for every utterance; training and classifying them takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from vpeval.asr.folds import fold_directory
from vpeval.asr.linear_emotion import load_linear, train_folds
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import refuse_target, staged_directory
from vpeval.core.tables import write_table
from vpeval.data.cut import combine
from vpeval.data.directory import DataDir
from vpeval.embeddings.ark import read_vectors
from vpeval.embeddings.extract import extract_embeddings
from vpeval.jobs.steps import Step, bring_up_to_date

KEYS: dict[str, type] = {"encoder": str, "model": str, "compute": str, "classifier": str, "penalty": float}
_CODE = (__name__,)
_FOLDS = "folds"
"""The last file of a training, which names the folds."""


def recognise_emotions(
    conf: Path, out: Path, original: Sequence[Path], anonymised: Sequence[Path], cmd: str, nj: int
) -> None:
    """Make ``<out>/<set>/predictions`` for all data directories; those of original speech train the recogniser."""
    features, models = out / "features", out / "models"
    extract_embeddings(conf, features, [*original, *anonymised], cmd, nj)
    heard = [features / path.name for path in original]
    training = Step(10, models, (_FOLDS,), (conf, *heard, *original), {}, _CODE)
    bring_up_to_date([(training, lambda _: train(conf, features, models, original))], "emotion recogniser")
    steps = [
        (Step(10, out / path.name, ("predictions",), (models, features / path.name, path), {}, _CODE), path)
        for path in (*original, *anonymised)
    ]
    bring_up_to_date(
        ((step, partial(classify, models, features, path)) for step, path in steps), "predictions of emotions"
    )


def train(conf: Path, features: Path, out: Path, sources: Sequence[Path]) -> str:
    """Train and write the classifiers of all folds."""
    inputs = [conf, features, *sources]
    refuse_target(out, inputs)
    settings = read_config(conf, **KEYS)
    if settings["classifier"] != "linear":
        raise InputError(f"'classifier' must be linear, not '{settings['classifier']}'", conf)
    data, _ = combine([DataDir.load(path) for path in sources], out)
    vectors: dict[str, np.ndarray] = {}
    for path in sources:
        vectors |= read_vectors(features / path.name / "embedding.scp")
    models = train_folds(vectors, data.table("utt2emo"), data.utt2spk, data.table("spk2fold"), settings["penalty"])
    with staged_directory(out, inputs) as new:
        for fold, classifier in models.items():
            classifier.save(fold_directory(new, fold))
        write_text(new / _FOLDS, "".join(f"{fold}\n" for fold in models))
    return f"{len(models)} folds, {len(data.speakers)} speakers, {len(data.utts)} utterances"


def classify(models: Path, features: Path, source: Path, out: Path) -> str:
    """Classify the utterances of data directory `source`, each by the classifier that has not heard its speaker."""
    data = DataDir.load(source)
    vectors, folds = read_vectors(features / source.name / "embedding.scp"), data.table("spk2fold")
    predictions: dict[str, str] = {}
    for spk, utts in data.spk2utt.items():
        rows = np.stack([vectors[utt] for utt in utts]).astype(np.float64)
        classifier = load_linear(fold_directory(models, folds[spk]))
        predictions |= dict(zip(utts, classifier.classify(rows), strict=True))
    write_table(out / "predictions", predictions)
    return f"emotions of {len(predictions)} utterances"
