"""Trials with their scores: ``trials`` (``spk utt target|nontarget``) matched with ``scores`` (``spk utt score``).

Both files may be in any order, but they must hold the same pairs, each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats, Indices
from vpeval.core.errors import InputError
from vpeval.core.tables import read_table
from vpeval.data.pairs import PairRows, StrPath, read_pair_scores, score_blocks, write_pair_scores
from vpeval.data.trial_rows import read_labelled
from vpeval.metrics.similarity import PairScores, similarity_matrix


@dataclass(frozen=True)
class Trials:
    """The rows of a trials file, in file order; row i stands on line i + 1."""

    path: StrPath
    rows: PairRows
    is_target: Bools

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TrialSpeakers:
    """Who speaks in each trial, as indices into `names`."""

    names: list[str]
    enroll: Indices
    trial: Indices


@dataclass(frozen=True)
class UtterancePairs:
    """Scored pairs by condition; utterance u, in sorted order, is spoken by ``names[speaker[u]]``."""

    names: list[str]
    speaker: Indices
    pairs: Mapping[str, PairScores]

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes."""
        pairs = self.pairs[condition]
        return [similarity_matrix(pairs, self.speaker, self.names, condition, mode) for mode in modes]


def read_trials(path: StrPath) -> Trials:
    """Read a trials file that has target and nontarget trials and no pair twice."""
    rows, is_target = read_labelled(path)
    if not len(rows):
        raise InputError("holds no trials; is this the right file?", path)
    for label, missing in (("target", not is_target.any()), ("nontarget", is_target.all())):
        if missing:
            raise InputError(f"holds no {label} trials; both kinds are needed to score", path)
    rows.refuse_repeats(path, "pair")
    return Trials(path, rows, is_target)


def read_scores(path: StrPath, trials: Trials) -> Floats:
    """The score of every trial, in the order of the trials."""
    rows, scores = read_pair_scores(path, "speaker", "utterance")
    wanted, found = trials.rows.keys, rows.keys_in(trials.rows)
    if np.array_equal(wanted, found):
        return scores
    order = np.argsort(found)
    place = np.minimum(np.searchsorted(found, wanted, sorter=order), len(order) - 1)
    matched = order[place]
    absent = found[matched] != wanted
    if absent.any():
        row = int(absent.argmax())
        message = f"trial '{trials.rows.told(row)}' has no score in {path}; score it"
        raise InputError(message, trials.path, row + 1)
    if len(rows) > len(wanted):
        extra = np.ones(len(rows), bool)
        extra[matched] = False
        row = int(extra.argmax())
        message = f"no trial '{rows.told(row)}' in {trials.path}; remove the score or use its trials"
        raise InputError(message, path, row + 1)
    return scores[matched]


def write_scores(path: StrPath, trials: Trials, scores: Floats) -> None:
    """Write the scores of trials, in their order."""
    write_pair_scores(path, score_blocks(trials.rows, scores))


def trial_speakers(
    trials: Trials, utt2spk: Mapping[str, str] | None = None, source: StrPath = "utt2spk"
) -> TrialSpeakers:
    """Find the speaker of every trial utterance.

    With `utt2spk` (read from `source`) its speakers are taken and checked against the labels. Without it, the speaker
    is the enrolled one for utterances with a target trial, else the utterance-id up to the first '-', else the
    utterance itself.
    """
    rows = trials.rows
    own = _targets(trials)
    if utt2spk is None:
        names_of = [
            rows.firsts[spk] if spk >= 0 else utt.partition("-")[0] or utt
            for utt, spk in zip(rows.seconds, own.tolist(), strict=True)
        ]
    else:
        names_of = _checked_speakers(trials, utt2spk, source)
    names = sorted({*rows.firsts, *names_of})
    index = {name: i for i, name in enumerate(names)}
    enroll, trial = (np.array([index[name] for name in given], np.intp) for given in (rows.firsts, names_of))
    return TrialSpeakers(names, enroll[rows.first], trial[rows.second])


def read_utterance_pairs(paths: Mapping[str, StrPath], utt2spk_path: StrPath) -> UtterancePairs:
    """Read ``<utt> <utt> <score>`` files, one per condition, over the utterances of one utt2spk."""
    utt2spk = read_table(utt2spk_path, "speaker")
    read = {}
    for condition, path in paths.items():
        rows, scores = read_pair_scores(path, "utterance", "utterance")
        _refuse_unknown(rows, utt2spk, path, utt2spk_path)
        read[condition] = rows, scores
    utts = sorted({utt for rows, _ in read.values() for utt in (*rows.firsts, *rows.seconds)})
    names = sorted({utt2spk[utt] for utt in utts})
    utt_index = {utt: i for i, utt in enumerate(utts)}
    spk_index = {name: i for i, name in enumerate(names)}
    indexed = {}
    for condition, (rows, scores) in read.items():
        first, second = (np.array([utt_index[utt] for utt in ids], np.intp) for ids in (rows.firsts, rows.seconds))
        indexed[condition] = PairScores(first[rows.first], second[rows.second], scores)
    return UtterancePairs(names, np.array([spk_index[utt2spk[utt]] for utt in utts]), indexed)


def _refuse_unknown(rows: PairRows, utt2spk: Mapping[str, str], path: StrPath, source: StrPath) -> None:
    bad = np.zeros(len(rows), bool)
    for ids, column in ((rows.firsts, rows.first), (rows.seconds, rows.second)):
        bad |= np.array([utt not in utt2spk for utt in ids])[column]
    if bad.any():
        row = int(bad.argmax())
        utt = next(utt for utt in rows.told(row).split() if utt not in utt2spk)
        raise InputError(f"utterance '{utt}' is not in {source}; add it", path, row + 1)


def _targets(trials: Trials) -> Counts:
    """The enrolled speaker whom every utterance is a target of, as a number; -1 where there is none."""
    lines = np.flatnonzero(trials.is_target)
    spk, utt = trials.rows.first[lines], trials.rows.second[lines]
    own = np.full(len(trials.rows.seconds), -1)
    own[utt[::-1]] = spk[::-1]  # the first one counts
    if (wrong := own[utt] != spk).any():
        row = int(wrong.argmax())
        one, other = (trials.rows.firsts[number] for number in (own[utt[row]], spk[row]))
        message = f"'{trials.rows.seconds[utt[row]]}' is a target of both '{one}' and '{other}'"
        raise InputError(f"{message}; an utterance has one speaker", trials.path, int(lines[row]) + 1)
    return own


def _checked_speakers(trials: Trials, utt2spk: Mapping[str, str], source: StrPath) -> list[str]:
    """The speakers of the trial utterances by `utt2spk`, if it agrees with the labels."""
    rows = trials.rows
    given = [utt2spk.get(utt) for utt in rows.seconds]
    enrolled = {name: number for number, name in enumerate(rows.firsts)}
    number = np.array([-1 if name is None else enrolled.get(name, -1) for name in given])
    unknown = np.array([name is None for name in given])
    bad = unknown[rows.second] | ((number[rows.second] == rows.first) != trials.is_target)
    if bad.any():
        row = int(bad.argmax())
        spk, utt = rows.firsts[rows.first[row]], rows.seconds[rows.second[row]]
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' is not in {source}; add it", trials.path, row + 1)
        label = "target" if trials.is_target[row] else "nontarget"
        message = f"{label} trial of '{spk}', but {source} says that '{utt}' is spoken by '{utt2spk[utt]}'; correct one"
        raise InputError(message, trials.path, row + 1)
    return [name for name in given if name is not None]
