"""Trials with their scores: ``trials`` (``spk utt target|nontarget``) matched with ``scores`` (``spk utt score``).

Both files may be in any order, but they must hold the same pairs, each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.core.tables import read_rows, read_table, to_number
from vpeval.data.directory import trial_rows
from vpeval.metrics.similarity import PairScores, similarity_matrix

StrPath = str | PathLike[str]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Trials:
    """The rows of a trials file, in file order; row i stands on line i + 1."""

    path: StrPath
    pairs: list[Pair]
    is_target: NDArray[np.bool_]


@dataclass(frozen=True)
class TrialSpeakers:
    """Who speaks in each trial, as indices into `names`."""

    names: list[str]
    enroll: NDArray[np.intp]
    trial: NDArray[np.intp]


@dataclass(frozen=True)
class UtterancePairs:
    """Scored pairs by condition; utterance u, in sorted order, is spoken by ``names[speaker[u]]``."""

    names: list[str]
    speaker: NDArray[np.intp]
    pairs: Mapping[str, PairScores]

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[NDArray[np.float64]]:
        """The similarity matrix of a condition in each of the modes."""
        pairs = self.pairs[condition]
        return [similarity_matrix(pairs, self.speaker, self.names, condition, mode) for mode in modes]


def read_trials(path: StrPath) -> Trials:
    """Read a trials file that has target and nontarget trials and no pair twice."""
    labels = {"target": True, "nontarget": False}
    pairs: list[Pair] = []
    is_target: list[bool] = []
    for _, (spk, utt, label) in trial_rows(path):
        pairs.append((spk, utt))
        is_target.append(labels[label])
    if not pairs:
        raise InputError("holds no trials; is this the right file?", path)
    for label, truth in labels.items():
        if truth not in is_target:
            raise InputError(f"holds no {label} trials; both kinds are needed to score", path)
    _refuse_duplicates(path, pairs)
    return Trials(path, pairs, np.array(is_target))


def read_scores(path: StrPath, trials: Trials) -> NDArray[np.float64]:
    """The score of every trial, in the order of the trials."""
    pairs, scores = read_pair_scores(path, "speaker", "utterance")
    if pairs == trials.pairs:
        return scores
    position = {pair: i for i, pair in enumerate(pairs)}
    order = [position.get(pair, -1) for pair in trials.pairs]
    if -1 in order:
        line = order.index(-1)
        trial = " ".join(trials.pairs[line])
        raise InputError(f"trial '{trial}' has no score in {path}; score it", trials.path, line + 1)
    if len(pairs) > len(order):
        line = min(position[pair] for pair in position.keys() - set(trials.pairs))
        trial = " ".join(pairs[line])
        raise InputError(f"no trial '{trial}' in {trials.path}; remove the score or use its trials", path, line + 1)
    return scores[order]


def write_scores(path: StrPath, trials: Trials, scores: NDArray[np.float64]) -> None:
    """Write the scores of trials, in their order."""
    write_pair_scores(path, ((*pair, score) for pair, score in zip(trials.pairs, scores.tolist(), strict=True)))


def read_pair_scores(path: StrPath, first: str, second: str) -> tuple[list[Pair], NDArray[np.float64]]:
    """Read ``<first> <second> <score>`` lines with finite scores and no pair twice; row i stands on line i + 1."""
    pairs: list[Pair] = []
    texts: list[str] = []
    for _, (one, other, text) in read_rows(path, first, second, "score"):
        pairs.append((one, other))
        texts.append(text)
    if not pairs:
        raise InputError("holds no scores; is this the right file?", path)
    _refuse_duplicates(path, pairs)
    return pairs, _numbers(path, texts)


def write_pair_scores(path: StrPath, rows: Iterable[tuple[str, str, float]]) -> None:
    """Write ``<first> <second> <score>`` lines; a score has the digits that read as the same number."""
    lines = (f"{one} {other} {repr(float(score)).removesuffix('.0')}\n" for one, other, score in rows)
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)


def trial_speakers(
    trials: Trials, utt2spk: Mapping[str, str] | None = None, source: StrPath = "utt2spk"
) -> TrialSpeakers:
    """Find the speaker of every trial utterance.

    With `utt2spk` (read from `source`) its speakers are taken and checked against the labels. Without it, the speaker
    is the enrolled one for utterances with a target trial, else the utterance-id up to the first '-', else the
    utterance itself.
    """
    own: dict[str, str] = {}
    for line, ((spk, utt), is_target) in enumerate(zip(trials.pairs, trials.is_target, strict=True), start=1):
        if is_target and own.setdefault(utt, spk) != spk:
            message = f"'{utt}' is a target of both '{own[utt]}' and '{spk}'; an utterance has one speaker"
            raise InputError(message, trials.path, line)
    if utt2spk is None:
        speaker = {utt: own.get(utt) or utt.partition("-")[0] or utt for _, utt in trials.pairs}
    else:
        speaker = _checked_speakers(trials, utt2spk, source)
    names = sorted({spk for spk, _ in trials.pairs} | set(speaker.values()))
    index = {name: i for i, name in enumerate(names)}
    enroll = np.array([index[spk] for spk, _ in trials.pairs])
    return TrialSpeakers(names, enroll, np.array([index[speaker[utt]] for _, utt in trials.pairs]))


def read_utterance_pairs(paths: Mapping[str, StrPath], utt2spk_path: StrPath) -> UtterancePairs:
    """Read ``<utt> <utt> <score>`` files, one per condition, over the utterances of one utt2spk."""
    utt2spk = read_table(utt2spk_path, "speaker")
    read = {}
    for condition, path in paths.items():
        pairs, scores = read_pair_scores(path, "utterance", "utterance")
        for line, pair in enumerate(pairs, start=1):
            for utt in pair:
                if utt not in utt2spk:
                    raise InputError(f"utterance '{utt}' is not in {utt2spk_path}; add it", path, line)
        read[condition] = pairs, scores
    utts = sorted({utt for pairs, _ in read.values() for pair in pairs for utt in pair})
    names = sorted({utt2spk[utt] for utt in utts})
    utt_index = {utt: i for i, utt in enumerate(utts)}
    spk_index = {name: i for i, name in enumerate(names)}
    indexed = {}
    for condition, (pairs, scores) in read.items():
        first, second = np.array([(utt_index[a], utt_index[b]) for a, b in pairs]).T
        indexed[condition] = PairScores(first, second, scores)
    return UtterancePairs(names, np.array([spk_index[utt2spk[utt]] for utt in utts]), indexed)


def _checked_speakers(trials: Trials, utt2spk: Mapping[str, str], source: StrPath) -> dict[str, str]:
    """The part of `utt2spk` that the trials use, if it agrees with their labels."""
    for line, ((spk, utt), is_target) in enumerate(zip(trials.pairs, trials.is_target, strict=True), start=1):
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' is not in {source}; add it", trials.path, line)
        if (utt2spk[utt] == spk) != is_target:
            label = "target" if is_target else "nontarget"
            message = (
                f"{label} trial of '{spk}', but {source} says that '{utt}' is spoken by '{utt2spk[utt]}'; correct one"
            )
            raise InputError(message, trials.path, line)
    return {utt: utt2spk[utt] for _, utt in trials.pairs}


def _refuse_duplicates(path: StrPath, pairs: list[Pair]) -> None:
    if len(set(pairs)) == len(pairs):
        return
    seen: set[Pair] = set()
    for line, pair in enumerate(pairs, start=1):
        if pair in seen:
            raise InputError(f"pair '{' '.join(pair)}' appears twice; keep one line", path, line)
        seen.add(pair)


def _numbers(path: StrPath, texts: list[str]) -> NDArray[np.float64]:
    """Parse finite numbers; the first that is not one is an error with its line."""
    numbers = np.empty(len(texts))
    for i, text in enumerate(texts):
        try:
            numbers[i] = to_number(text)
        except ValueError:
            raise InputError(f"score '{text}' is not a number; correct it", path, i + 1) from None
    if not np.isfinite(numbers).all():
        line = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"score '{texts[line]}' is not finite; find out why the scorer gave it", path, line + 1)
    return numbers
