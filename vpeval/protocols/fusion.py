"""Attackers fused on files: weights from the scores of development trials, then fused scores of any trials."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.asv.fusion import Floats, Fusion, fit, fuse_held_out
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_table
from vpeval.data.trials import Trials, read_scores, read_trials, trial_speakers


@dataclass(frozen=True)
class Scored:
    """A data directory with ``trials`` and ``utt2spk``, and the score files of every attacker for its trials."""

    data: Path
    scores: tuple[Path, ...]

    def read(self) -> tuple[Trials, Floats]:
        """The trials, and their scores (trials × attackers)."""
        trials = read_trials(self.data / "trials")
        return trials, np.stack([read_scores(path, trials) for path in self.scores], axis=1)


def learn(attackers: Sequence[str], development: Sequence[Scored]) -> Fusion:
    """The weights of attackers from all development trials."""
    parts = [one.read() for one in development]
    return fit(attackers, _stacked(parts), _truths(parts))


def held_out(attackers: Sequence[str], development: Sequence[Scored], which: int, seed: int) -> tuple[Trials, Floats]:
    """The trials of development set `which`, fused with weights from trials of other development speakers."""
    parts = [one.read() for one in development]
    enrolled, speaking = [], []
    for one, (trials, _) in zip(development, parts, strict=True):
        source = one.data / "utt2spk"
        speakers = trial_speakers(trials, read_table(source, "speaker"), source)
        enrolled += [speakers.names[place] for place in speakers.enroll]
        speaking += [speakers.names[place] for place in speakers.trial]
    place = {name: number for number, name in enumerate(sorted({*enrolled, *speaking}))}
    enroll, speaker = (np.array([place[name] for name in names], np.intp) for names in (enrolled, speaking))
    fused = fuse_held_out(attackers, _stacked(parts), _truths(parts), enroll, speaker, seed)
    sizes = [len(trials) for trials, _ in parts]
    start = sum(sizes[:which])
    return parts[which][0], fused[start : start + sizes[which]]


def write_weights(path: Path, fusion: Fusion) -> None:
    """Write a fusion as JSON."""
    weights = dict(zip(fusion.attackers, fusion.weights.tolist(), strict=True))
    write_text(path, json.dumps({"weights": weights, "offset": fusion.offset}, indent=1) + "\n")


def read_weights(path: Path) -> Fusion:
    """Read what `write_weights` wrote."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        weights = {str(name): float(weight) for name, weight in found["weights"].items()}
        return Fusion(tuple(weights), np.array(list(weights.values())), float(found["offset"]))
    except FileNotFoundError:
        raise InputError("no such weights of a fusion; run stage 6", path) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("holds no weights of a fusion; run stage 6 again", path) from None


def _stacked(parts: Sequence[tuple[Trials, Floats]]) -> Floats:
    return np.concatenate([scores for _, scores in parts])


def _truths(parts: Sequence[tuple[Trials, Floats]]) -> np.ndarray:
    return np.concatenate([trials.is_target for trials, _ in parts])
