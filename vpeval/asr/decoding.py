"""Drive the recognition of words and emotions of data directories: batches of jobs, unless they are up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from vpeval.asr.linear_emotion import FOLDS, classify_emotions, train_emotions
from vpeval.asr.recognizers import jobs_per_gpu, own_language_models, recogniser_class, write_texts
from vpeval.core.files import write_table
from vpeval.core.lazy import Deferred
from vpeval.core.models import find_model
from vpeval.jobs import batch
from vpeval.jobs.code import Maker
from vpeval.jobs.shards import Shards
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.networks.configs import JOBS_PER_GPU, config_files, stored_model
from vpeval.networks.extraction import extract_embeddings

_DECODER = Deferred("vpeval.asr.recognizers", "Decoder")
_EMOTIONS = Deferred("vpeval.asr.speechbrain_emotion", "EmotionWorker")


def decode(
    conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int, lm: Path | None = None
) -> list[batch.Target]:
    """Bring the hypotheses of all data directories up to date; with `lm`, n-best lists with acoustic scores as well.

    A recogniser that comes with a small and a large language model gives ``text_small`` and ``text_large``; ``text`` is
    then a copy of the latter.
    """
    inputs = [*config_files(conf), *([lm] if lm else [])]
    makers: list[Maker] = [_DECODER, write_texts, recogniser_class(conf)]
    model = stored_model(conf)
    hashes = dict(find_model(model).files) if model else {}
    targets = [batch.target(path, out / path.name, inputs, makers, model=hashes) for path in data]
    task = text_task(_DECODER, str(conf), str(lm or ""), nbest=lm is not None, lms=own_language_models(conf))
    words = ["steps/decode.py", "--cmd", cmd, "--nj", str(nj), *(["--lm", str(lm)] if lm else []), str(conf), str(out)]
    task = replace(task, commands=batch.one_command(*words), jobs_per_gpu=jobs_per_gpu(conf))
    return batch.run(task, targets, cmd, nj, out / "log")


def text_task(
    worker: Deferred | tuple[str, ...], *arguments: str, nbest: bool = False, lms: tuple[str, ...] = ()
) -> batch.Task:
    """A task that makes directories of text, whichever worker gives it."""

    def finish(target: batch.Target, shards: Shards) -> None:
        write_texts(target.new, shards.results(), nbest, lms)

    return batch.Task("decode", worker, finish, arguments)


def predict_emotions(
    models: Path, out: Path, data: Sequence[Path], cmd: str, nj: int, interface: str = ""
) -> list[batch.Target]:
    """Bring the predictions of all data directories up to date.

    `interface` names a class of the models' own custom_interface.py, which is then run.
    """
    makers: list[Maker] = [_EMOTIONS, write_table]
    targets = [batch.target(path, out / path.name, [models], makers, interface=interface) for path in data]
    words = ["steps/predict_emotions.py", "--cmd", cmd, "--nj", str(nj)]
    words += [*(["--interface", interface] if interface else []), str(models), str(out)]
    task = batch.Task(
        "emotions",
        _EMOTIONS,
        _collect_predictions,
        (str(models), interface),
        tables=("wav.scp", "utt2dur", "spk2fold"),
        commands=batch.one_command(*words),
        jobs_per_gpu=JOBS_PER_GPU,
    )
    return batch.run(task, targets, cmd, nj, out / "log")


def _collect_predictions(target: batch.Target, shards: Shards) -> None:
    write_table(target.new / "predictions", {utt: str(result, "utf-8").strip() for utt, result in shards.results()})


def recognise_emotions(
    conf: Path, out: Path, original: Sequence[Path], anonymised: Sequence[Path], cmd: str, nj: int
) -> None:
    """Make ``<out>/<set>/predictions`` for all data directories by a recogniser that the original ones train."""
    features, models = out / "features", out / "models"
    extract_embeddings(conf, features, [*original, *anonymised], cmd, nj)
    bring_up_to_date([_training(conf, features, models, original)], "emotion recogniser")
    bring_up_to_date(
        [_classification(models, features, out, path) for path in (*original, *anonymised)], "predictions of emotions"
    )


def _training(conf: Path, features: Path, models: Path, original: Sequence[Path]) -> Step:
    """The classifiers of all folds."""
    inputs = (conf, *(features / path.name for path in original), *original)
    return Step(
        10, models, (FOLDS,), inputs, {}, (train_emotions,), partial(train_emotions, conf, features, sources=original),
        commands=lambda: [["steps/train_ser.py", *map(str, (conf, features, models, *original))]],
    )  # fmt: skip


def _classification(models: Path, features: Path, out: Path, source: Path) -> Step:
    """The predictions of a data directory."""
    inputs, make = (models, features / source.name, source), partial(classify_emotions, models, features, source)
    return Step(
        10, out / source.name, ("predictions",), inputs, {}, (classify_emotions,), make,
        commands=lambda: [["steps/classify_emotions.py", *map(str, (models, features, out, source))]],
    )  # fmt: skip
