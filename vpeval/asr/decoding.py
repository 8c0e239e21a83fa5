"""Recognition and emotions of data directories, as batches of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from vpeval.asr.nbest import Hypothesis, read_hypothesis, write_nbest
from vpeval.asr.recognizers import own_language_models
from vpeval.asv.kinds import encoder_files
from vpeval.core.tables import write_table
from vpeval.jobs import batch
from vpeval.jobs.pieces import Pieces

_ROOT = Path(__file__).resolve().parents[2]
_DECODE, _EMOTIONS = "steps/jobs/decode.py", "steps/jobs/predict_emotions.py"


def decode(
    conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int, lm: Path | None = None
) -> list[batch.Target]:
    """Bring the hypotheses of all data directories up to date; with `lm`, n-best lists with acoustic scores as well.

    A recogniser that comes with a small and a large language model gives ``text_small`` and ``text_large``; ``text`` is
    then a copy of the latter.
    """
    inputs = [*encoder_files(conf), *([lm] if lm else []), _ROOT / "conf/models.yaml"]
    lms = own_language_models(conf)
    targets = [batch.target(path, out / path.name, inputs, [_DECODE, __name__]) for path in data]
    worker = (str(_ROOT / _DECODE), str(conf), str(lm or ""))
    return batch.run(text_task(worker, lm is not None, lms), targets, cmd, nj, out / "log")


def text_task(worker: tuple[str, ...], nbest: bool = False, lms: tuple[str, ...] = ()) -> batch.Task:
    """What gives directories of texts, whatever they are decoded by."""
    return batch.Task("decode", worker, partial(_collect_texts, nbest=nbest, lms=lms))


def predict_emotions(
    models: Path, out: Path, data: Sequence[Path], cmd: str, nj: int, interface: str = ""
) -> list[batch.Target]:
    """Bring the predictions of all data directories up to date.

    `interface` names a class of the models' own custom_interface.py, which is then run.
    """
    targets = [
        batch.target(path, out / path.name, [models], [_EMOTIONS, __name__], interface=interface) for path in data
    ]
    worker = (str(_ROOT / _EMOTIONS), str(models), interface)
    task = batch.Task("emotions", worker, _collect_predictions, tables=("wav.scp", "spk2fold"))
    return batch.run(task, targets, cmd, nj, out / "log")


def _collect_texts(target: batch.Target, pieces: Pieces, nbest: bool, lms: tuple[str, ...]) -> None:
    """Collect the hypotheses of all utterances."""
    lines = {utt: str(result, "utf-8").splitlines() for utt, result in pieces.results()}
    if lms:
        for number, lm in enumerate(lms):
            words = {utt: rows[number] for utt, rows in lines.items()}
            for name in (f"text_{lm}", "text"):
                write_table(target.new / name, words)
    elif nbest:
        hypotheses: dict[str, list[Hypothesis]] = {utt: list(map(read_hypothesis, rows)) for utt, rows in lines.items()}
        write_nbest(target.new / "nbest", hypotheses)
        write_table(target.new / "text", {utt: rows[0].words for utt, rows in hypotheses.items()})
    else:
        write_table(target.new / "text", {utt: " ".join(line) for utt, line in lines.items()})


def _collect_predictions(target: batch.Target, pieces: Pieces) -> None:
    """Collect the predictions in one table."""
    write_table(target.new / "predictions", {utt: str(result, "utf-8").strip() for utt, result in pieces.results()})
