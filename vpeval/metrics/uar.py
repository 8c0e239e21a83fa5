"""Unweighted average recall of emotion predictions, aggregated as in VoicePrivacy 2024.

Recall of an emotion = share of its utterances that were predicted as it; UAR = its mean over emotions, in percent. The
challenge's recognisers were trained in five folds, each leaving out one session. ``spk2fold`` names the fold of every
speaker, and a speaker is judged by the recogniser that has not heard the session: UAR and recalls are computed for
each speaker of ``spk2fold``, rounded to three decimals, and averaged. An emotion that a speaker never shows but that is
predicted for an utterance counts as recall 0 in the UAR (as scikit-learn's macro recall has it); it has no accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError
from vpeval.metrics.intervals import RESAMPLES, SpeakerInterval, share_intervals

_DECIMALS = 3


@dataclass(frozen=True)
class FoldScore:
    """UAR and recall per emotion of one speaker, in percent, rounded as the challenge does."""

    spk: str
    fold: str
    uar: float
    recalls: Mapping[str, float]
    utts: int


@dataclass(frozen=True)
class UarScore:
    """Means over folds; `recalls` in the order in which the emotions appear."""

    uar: float
    recalls: Mapping[str, float]
    folds: tuple[FoldScore, ...]
    missing: tuple[str, ...]


def unweighted_average_recall(refs: list[str], hyps: list[str]) -> tuple[float, dict[str, float]]:
    """(UAR, recall per emotion of the references), in percent; an empty hypothesis is wrong.

    >>> unweighted_average_recall(["sad", "sad", "ang"], ["sad", "ang", "ang"])
    (75.0, {'sad': 50.0, 'ang': 100.0})
    """
    ref, hyp = np.array(refs), np.array(hyps)
    recalls = {emotion: 100 * float((hyp[ref == emotion] == emotion).mean()) for emotion in dict.fromkeys(refs)}
    only_predicted = set(hyps) - set(refs) - {""}
    return sum(recalls.values()) / (len(recalls) + len(only_predicted)), recalls


def score_emotions(
    utt2emo: Mapping[str, str],
    predictions: Mapping[str, str],
    utt2spk: Mapping[str, str],
    spk2fold: Mapping[str, str] | None = None,
) -> UarScore:
    """Score predictions; without `spk2fold` all utterances are one fold, as in VoicePrivacy 2026's second track."""
    if extra := sorted(predictions.keys() - utt2emo.keys()):
        raise InputError(f"utterance '{extra[0]}' has no emotion in utt2emo; are these the predictions of this set?")
    missing = tuple(utt for utt in utt2emo if utt not in predictions)
    folds = [
        _score_fold(spk, fold, utts, utt2emo, predictions) for spk, fold, utts in _folds(utt2emo, utt2spk, spk2fold)
    ]
    emotions = dict.fromkeys(utt2emo.values())
    recalls = {e: float(np.mean([fold.recalls[e] for fold in folds if e in fold.recalls])) for e in emotions}
    return UarScore(float(np.mean([fold.uar for fold in folds])), recalls, tuple(folds), missing)


def uar_interval(
    score: UarScore,
    utt2emo: Mapping[str, str],
    predictions: Mapping[str, str],
    utt2spk: Mapping[str, str],
    resamples: int = RESAMPLES,
) -> SpeakerInterval:
    """The interval of a UAR, in percent, if other speakers had been recorded.

    Without folds, the UAR is no mean over speakers, but nearly so: a speaker moves it by as much as the recalls of the
    speaker's own utterances differ from those of all, each emotion weighted by the speaker's share of its utterances.
    """
    if any(fold.spk for fold in score.folds):
        shares = np.array([fold.uar for fold in score.folds]) / 100
    else:
        shares = _pseudo_values(score, utt2emo, predictions, utt2spk)
    (found,) = share_intervals(shares[:, None], resamples, trials=len(utt2emo))
    if found.lower is None or found.upper is None:
        return found
    return replace(found, lower=100 * found.lower, upper=100 * found.upper)


def _pseudo_values(
    score: UarScore, utt2emo: Mapping[str, str], predictions: Mapping[str, str], utt2spk: Mapping[str, str]
) -> Floats:
    """One value per speaker, whose mean over speakers is the UAR of all utterances at once, as a share."""
    emotions = {emotion: i for i, emotion in enumerate(score.recalls)}
    names = {spk: i for i, spk in enumerate(sorted({utt2spk[utt] for utt in utt2emo}))}
    hits, totals = np.zeros((len(names), len(emotions))), np.zeros((len(names), len(emotions)))
    for utt, emotion in utt2emo.items():
        cell = names[utt2spk[utt]], emotions[emotion]
        totals[cell] += 1
        hits[cell] += predictions.get(utt, "") == emotion
    recalls = hits.sum(axis=0) / totals.sum(axis=0)
    counted = len(emotions) + len(set(predictions.values()) - emotions.keys() - {""})
    moved = ((hits - recalls * totals) / totals.sum(axis=0)).sum(axis=1) * len(names) / counted
    found: Floats = recalls.sum() / counted + moved
    return found


def chance_level(utt2emo: Mapping[str, str]) -> float:
    """The UAR of one who guesses, in percent: whatever is guessed, one emotion's recall is paid for by the others'.

    >>> chance_level({"a": "sad", "b": "ang", "c": "neu", "d": "hap"})
    25.0
    """
    return 100 / len(set(utt2emo.values()))


def _folds(
    utt2emo: Mapping[str, str], utt2spk: Mapping[str, str], spk2fold: Mapping[str, str] | None
) -> list[tuple[str, str, list[str]]]:
    """(speaker, fold, utterances) of every line of spk2fold."""
    if spk2fold is None:
        return [("", "", list(utt2emo))]
    utts: dict[str, list[str]] = {spk: [] for spk in spk2fold}
    for utt in utt2emo:
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' of utt2emo has no speaker; add it to utt2spk")
        if utt2spk[utt] not in utts:
            raise InputError(f"speaker '{utt2spk[utt]}' of utterance '{utt}' has no fold; add it to spk2fold")
        utts[utt2spk[utt]].append(utt)
    if idle := [spk for spk in utts if not utts[spk]]:
        raise InputError(f"speaker '{idle[0]}' of spk2fold has no utterance with an emotion; remove the line")
    return [(spk, spk2fold[spk], utts[spk]) for spk in spk2fold]


def _score_fold(
    spk: str, fold: str, utts: list[str], utt2emo: Mapping[str, str], predictions: Mapping[str, str]
) -> FoldScore:
    uar, recalls = unweighted_average_recall([utt2emo[utt] for utt in utts], [predictions.get(utt, "") for utt in utts])
    rounded = {emotion: round(recall, _DECIMALS) for emotion, recall in recalls.items()}
    return FoldScore(spk, fold, round(uar, _DECIMALS), rounded, len(utts))
