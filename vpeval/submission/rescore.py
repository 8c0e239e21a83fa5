"""Score a random sample of trials again, from the audio of a submission, to find made-up scores.

The sample is drawn anew every time, so that nobody can know which trials will be scored. An attacker that was
trained is taken from the organiser's own models, never from the archive.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.attackers import FUSION, PRETRAINED, Attacker, read_attacker, with_choice
from vpeval.asv.backend import Backend, load, score_trials
from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.core.seeds import generator
from vpeval.data.layout import first_few
from vpeval.data.trials import Pair, PairRows
from vpeval.embeddings.speaker_vectors import Embeddings, group_rows
from vpeval.networks.configs import find_config
from vpeval.networks.encoders import Encoder, load_encoder
from vpeval.submission.archive import Archive
from vpeval.submission.recompute import Scored, read_labels, read_submitted
from vpeval.submission.sets import Sets
from vpeval.submission.tar import members

if TYPE_CHECKING:
    from vpeval.submission.check import Rescoring

_APART = 0.1
"""How far a score may lie from that of another machine, in standard deviations of the scores of its file."""


def rescore(
    archive: Archive,
    sets: Sets,
    attacks: Sequence[Scored],
    system: str,
    manifest: Mapping[str, Any],
    how: Rescoring,
) -> list[str]:
    """Score some trials of every attack again; those that differ are violations. Return what was scored."""
    if not sets.originals:
        archive.unverified.append("scores: cannot be made again without the original data")
        return []
    more = manifest.get("more")
    if isinstance(more, dict) and more.get("calibrate") == "true":
        archive.unverified.append("scores: are calibrated, and were not made again from the audio")
        return []
    drawn = {scored: _draw(archive, scored, sets, how) for scored in attacks}
    embedder = _Embedder(_Audio(archive, sets, system, _needed(drawn, sets)))
    return [words for scored, pairs in drawn.items() if (words := _one(archive, scored, pairs, system, embedder, how))]


def _draw(archive: Archive, scored: Scored, sets: Sets, how: Rescoring) -> list[Pair]:
    trials = read_labels(archive, scored, sets)
    if trials is None:
        return []
    rng = generator(how.seed, f"trials to score again of {scored.directory}")
    pairs = list(trials.rows)
    return [pairs[int(row)] for row in sorted(rng.permutation(len(pairs))[: how.trials])]


def _needed(drawn: Mapping[Scored, Sequence[Pair]], sets: Sets) -> set[tuple[str, str, str]]:
    """Set, side and utterance of all audio that is needed: trials, and the enrolments of their speakers."""
    needed = set()
    for scored, pairs in drawn.items():
        speakers = {spk for spk, _ in pairs}
        for utt, spk in read_table(sets.originals[scored.enrolls] / "utt2spk", "speaker").items():
            if spk in speakers:
                needed.add((scored.enrolls, scored.condition[0], utt))
        needed |= {(scored.trials, scored.condition[1], utt) for _, utt in pairs}
    return needed


class _Audio:
    """The waves of some utterances: anonymised ones from the archive, original ones from the organiser."""

    def __init__(self, archive: Archive, sets: Sets, system: str, needed: Iterable[tuple[str, str, str]]) -> None:
        self.sources: dict[tuple[str, str, str], str] = {}
        wanted = {}
        for name, side, utt in needed:
            if side == "o":
                self.sources[name, side, utt] = read_table(sets.originals[name] / "wav.scp", "audio file")[utt]
            else:
                wanted[f"data/{name}_{system}/wav/{utt}.wav"] = (name, side, utt)
        for number, member in enumerate(members(archive.path)):
            key = wanted.get(member.name.partition("/")[2])
            if key is not None and member.name.partition("/")[2] in archive.sounds:
                copy = archive.work_dir / f"audio{number}.wav"
                with open(copy, "wb") as file:
                    file.writelines(member.chunks())
                self.sources[key] = str(copy)
        self.sets = sets


class _Embedder:
    """Vectors of utterances, each made once for every encoder."""

    def __init__(self, audio: _Audio) -> None:
        self.audio = audio
        self.encoders: dict[Path, Encoder] = {}
        self.vectors: dict[tuple[Path, str, str, str], np.ndarray] = {}

    def embeddings(self, conf: Path, name: str, side: str, utt2spk: Mapping[str, str]) -> Embeddings:
        """The vectors of some utterances of a set."""
        if conf not in self.encoders:
            self.encoders[conf] = load_encoder(conf)
        rows = []
        for utt in utt2spk:
            key = (conf, name, side, utt)
            if key not in self.vectors:
                if key[1:] not in self.audio.sources:
                    raise InputError(f"the audio of '{utt}' is not there")
                self.vectors[key] = self.encoders[conf].embed(read_audio(self.audio.sources[key[1:]]))
            rows.append(self.vectors[key])
        return group_rows(self.audio.sets.originals[name], list(utt2spk), list(utt2spk.values()), np.stack(rows))


def _one(
    archive: Archive, scored: Scored, pairs: Sequence[Pair], system: str, embedder: _Embedder, how: Rescoring
) -> str:
    """Score trials of one attack; what differs is a violation, and what cannot be done is listed."""
    try:
        conf, backend = _model(read_attacker(how.attackers / f"{scored.attacker}.yaml"), system, how)
        logging.info(f"{scored.directory}: scoring {len(pairs)} trials again")
        sets = embedder.audio.sets
        speakers = {spk for spk, _ in pairs}
        owners = read_table(sets.originals[scored.enrolls] / "utt2spk", "speaker")
        enrolled = {utt: spk for utt, spk in owners.items() if spk in speakers}
        enroll = embedder.embeddings(conf, scored.enrolls, scored.condition[0], enrolled)
        trial = embedder.embeddings(conf, scored.trials, scored.condition[1], {utt: "" for _, utt in pairs})
        ours = score_trials(enroll, trial, PairRows.from_pairs(pairs), backend)
    except InputError as error:
        archive.unverified.append(f"{scored.file}: not made again from the audio ({error})")
        return ""
    submitted = read_submitted(archive, scored)
    theirs = np.array([submitted[pair] for pair in pairs])
    apart = np.abs(ours - theirs) > _APART * np.std(list(submitted.values()))
    if apart.any():
        row = int(np.argmax(np.abs(ours - theirs)))
        some = first_few(" ".join(pair) for pair, differs in zip(pairs, apart, strict=True) if differs)
        message = (
            f"{int(apart.sum())} of {len(pairs)} scores are not those of the audio ({some}): '{' '.join(pairs[row])}' "
            f"has {theirs[row]:.4g}, its audio gives {ours[row]:.4g}"
        )
        archive.complain(scored.file, message, "pack scores and audio of the same run", "scores")
        return ""
    return f"{len(pairs)} scores of {scored.directory}, from the audio"


def _model(attacker: Attacker, system: str, how: Rescoring) -> tuple[Path, Backend | None]:
    """The encoder of an attacker and its back end, of the organiser's own."""
    if attacker.mode == FUSION:
        raise InputError("a fusion is made of the scores of others")
    start = find_config(how.attackers / f"{attacker.start}.yaml")
    if attacker.mode == PRETRAINED:
        return start, load(attacker.backend) if attacker.backend else None
    if how.models is None:
        raise InputError(f"attacker '{attacker.name}' was trained; say where your own models are (--models)")
    home = how.models / attacker.instance(system)
    attacker = with_choice(attacker, home)
    if attacker.keeps_encoder:
        return start, load(home / "backend.npz") if attacker.trains_backend else None
    return home / "encoder.yaml", None
