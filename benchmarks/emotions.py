#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Measure what the recall of emotions on RAVDESS depends on: actors, their number in training, sentences, silence.

Usage: benchmarks/emotions.py <corpus>
 e.g.: benchmarks/emotions.py /corpora

Prints the second table of egs/ravdess/README.md. Every actor is judged by a classifier of conf/ser/whisper_linear.yaml
that was trained on other actors; UAR is the mean over actors, with its interval over actors.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from vpeval.asr.linear_emotion import KEYS, train_linear
from vpeval.audio.io import RATE, read_audio
from vpeval.core.config import read_config
from vpeval.core.seeds import generator
from vpeval.corpora.released import read_ravdess
from vpeval.corpora.utterances import Utterance
from vpeval.metrics.uar import score_emotions, uar_interval
from vpeval.networks.whisper_frames import WhisperFrames

CONF = Path(__file__).resolve().parents[1] / "conf/ser/whisper_linear.yaml"
DRAWS = 4
FRAME = RATE // 50
Vectors = Mapping[str, np.ndarray]
Chosen = Callable[[Utterance, Utterance], bool]


def main() -> None:
    utts = read_ravdess(Path(sys.argv[1]))
    encoder, penalty = WhisperFrames(CONF), read_config(CONF, **KEYS)["penalty"]
    waves = {one.utt: read_audio(str(one.path)) for one in utts}
    whole = {utt: encoder.embed(wave) for utt, wave in waves.items()}
    speech = {utt: encoder.embed(without_silence(wave)) for utt, wave in waves.items()}
    actors = sorted({one.spk for one in utts})
    halves = [
        [one for one in utts if one.spk in part] for part in (actors[: len(actors) // 2], actors[len(actors) // 2 :])
    ]

    print("| trained on | judged | UAR % | least and highest of an actor |\n|---|---|---|---|")

    def show(trained: str, judged: str, *runs: tuple[Sequence[Utterance], Vectors, Vectors, Chosen]) -> None:
        predictions = [predict(*run, penalty) for run in runs]
        print(f"| {trained} | {judged} | {' | '.join(summary(runs[0][0], predictions))} |", flush=True)

    def other_fold(one: Utterance, other: Utterance) -> bool:
        return one.fold != other.fold

    show("other folds", "whole files", (utts, whole, whole, other_fold))
    show("all other actors", "whole files", (utts, whole, whole, lambda one, other: one.spk != other.spk))
    for count in (2, 4, 6, 8):
        draws = [(utts, whole, whole, drawn(actors, count, k)) for k in range(DRAWS)]
        show(f"{count} other actors, mean of {DRAWS} draws", "whole files", *draws)
    for part in halves:
        names = f"{part[0].spk} to {part[-1].spk}"
        show(f"other folds of {names}", f"whole files of {names}", (part, whole, whole, other_fold))
    show(
        "other folds, one sentence",
        "whole files, other sentence",
        (utts, whole, whole, lambda one, other: one.fold != other.fold and one.text != other.text),
    )
    show("other folds, without silence", "without silence", (utts, speech, speech, other_fold))
    show("other folds", "without silence", (utts, whole, speech, other_fold))


def without_silence(wave: np.ndarray) -> np.ndarray:
    """From the first to the last frame whose energy is not 30 dB below that of the loudest."""
    frames = wave[: len(wave) // FRAME * FRAME].reshape(-1, FRAME)
    energy = np.square(frames.astype(np.float64)).mean(axis=1)
    loud = np.flatnonzero(energy > energy.max() / 1000)
    return wave[loud[0] * FRAME : (loud[-1] + 1) * FRAME]


def drawn(actors: Sequence[str], count: int, k: int) -> Chosen:
    """Whether an actor is among the `count` that are drawn to judge another: as many women as men."""
    chosen: dict[str, set[str]] = {}
    for judged in actors:
        rng = generator(k, f"{count} actors for {judged}")
        groups = [[a for a in actors if a != judged and int(a[-2:]) % 2 == odd] for odd in (0, 1)]
        chosen[judged] = {str(a) for group in groups for a in rng.permutation(group)[: count // 2]}
    return lambda one, other: other.spk in chosen[one.spk]


def predict(utts: Sequence[Utterance], train: Vectors, test: Vectors, chosen: Chosen, penalty: float) -> dict[str, str]:
    """Emotions by classifiers of the utterances that are chosen for each; equal choices share a classifier."""
    judged: dict[tuple[str, ...], list[str]] = {}
    for one in utts:
        judged.setdefault(tuple(other.utt for other in utts if chosen(one, other)), []).append(one.utt)
    emotion = {one.utt: one.emotion for one in utts}
    found = {}
    for others, own in judged.items():
        features = np.stack([train[utt] for utt in others]).astype(np.float64)
        classifier = train_linear(features, [emotion[utt] for utt in others], penalty)
        found |= dict(
            zip(own, classifier.classify(np.stack([test[utt] for utt in own]).astype(np.float64)), strict=True)
        )
    return found


def summary(utts: Sequence[Utterance], predictions: Sequence[Mapping[str, str]]) -> tuple[str, str]:
    """UAR with its interval, and the range over actors; several predictions of an utterance count as utterances."""
    draws = range(len(predictions))
    emotions = {f"{one.utt} {k}": one.emotion for one in utts for k in draws}
    predicted = {f"{one.utt} {k}": predictions[k][one.utt] for one in utts for k in draws}
    speakers = {f"{one.utt} {k}": one.spk for one in utts for k in draws}
    score = score_emotions(emotions, predicted, speakers, {one.spk: one.fold for one in utts})
    found = uar_interval(score, emotions, predicted, speakers)
    own = [fold.uar for fold in score.folds]
    return f"{score.uar:.1f} [{found.lower:.1f}, {found.upper:.1f}]", f"{min(own):.1f} to {max(own):.1f}"


if __name__ == "__main__":
    main()
