"""Fine-tuning of a speaker encoder (VPC 2026), used only where it is worth it.

Few speakers are soon learnt by heart. So training speakers that a candidate has not seen choose between the fine-tuned
encoder, a back end on the original encoder, and the original encoder as it is; and they, not utterances of speakers
that it knows, choose the epoch of the fine-tuned one. With few speakers, every one is held out once, a third of them
at a time, and the encoder is then trained on all for as many epochs as were best. With many, some are held out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch

from vpeval.asv.backend import Settings
from vpeval.asv.backend_training import Fold, read_settings, train_backend
from vpeval.asv.backend_tuning import Quality, measure
from vpeval.asv.choice import BACKEND, FILE, FINE_TUNED, UNCHANGED, WORDS, Choice, write_choice
from vpeval.asv.epochs import EPOCHS, add_epoch, read_epochs
from vpeval.asv.train_network import (
    HELD_OUT_EER,
    HELD_OUT_MIN_CLLR,
    Corpus,
    Profile,
    read_corpus,
    train,
    wait_for_all,
)
from vpeval.audio.io import read_audio
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.embeddings.speaker_vectors import Embeddings, pool, read_embeddings
from vpeval.networks.encoders import Encoder
from vpeval.networks.neural import NeuralEncoder, trainable_encoder
from vpeval.networks.speechbrain import if_main_process

if TYPE_CHECKING:
    from vpeval.asv.train_attackers import Training

LEAST = 6
"""Speakers with two utterances or more, without whom there is nobody to hold out."""
MANY = 40
"""Speakers of whom some are held out once, instead of everyone in turn."""
GROUPS = 3
_FEWEST = 4
_ENROLLED, _TRIED = 5, 20  # utterances of a speaker, at most

Log = list[dict[str, float]]


def fine_tune(training: Training, work: Path) -> str:
    """Fine-tune, choose, and write what was chosen to ``work/out``; return what it is, and why."""
    profile = Profile.read(training.profile)
    vectors = pool([read_embeddings(directory) for directory in training.vectors])
    corpus, folds = read_corpus(training.data), hold_out_speakers(vectors, profile.validation_share, training.seed)
    out, choice = work / "out", Choice(BACKEND, len(vectors.speakers))
    encoder, logs = None, []
    for number, fold in enumerate(folds):
        own, part = work / f"group_{number}", (number, len(folds))
        encoder = _tuned(training, profile, corpus.with_speakers(fold.train.speakers), own, fold, part)
        logs.append(own / EPOCHS)
    wait_for_all()  # the first process writes the logs
    epochs = [read_epochs(log) for log in logs]
    if folds:
        choice = choose(folds, read_settings(training.backend), len(vectors.speakers), epochs)
    if choice.chosen == FINE_TUNED and len(folds) > 1:
        encoder = _tuned(training, replace(profile, epochs=choice.epochs), corpus, work / "all")
    if if_main_process():
        if choice.chosen == BACKEND:
            train_backend(training.backend, training.vectors, training.seed, out)
        elif choice.chosen == FINE_TUNED and encoder:
            encoder.save(training.encoder, out)
        for row in mean_log(epochs):
            add_epoch(out / EPOCHS, row)
        write_choice(out / FILE, choice)
    return f"{training.mode} on {len(corpus.wavs)} utterances of {len(corpus.speakers)} speakers: {choice}"


def hold_out_speakers(vectors: Embeddings, share: float, seed: int) -> list[Fold]:
    """Speakers to train on, and enrolment and trial utterances of those held out; nothing where there are too few.

    Of `MANY` speakers or more, `share` are held out.
    """
    able = np.flatnonzero(vectors.counts >= 2)
    if len(able) < LEAST:
        return []
    order = generator(seed, "speakers held out of fine-tuning").permutation(able)
    groups = np.array_split(order, GROUPS) if len(able) < MANY else [order[: max(_FEWEST, round(share * len(able)))]]
    rows = vectors.shuffled(seed, "enrolment of speakers held out of fine-tuning")
    place = np.arange(len(rows)) - vectors.starts[vectors.owners]
    enrolled = np.minimum(_ENROLLED, vectors.counts // 2)[vectors.owners]
    folds = []
    for group in groups:
        outside = np.isin(vectors.owners, group)
        tried = (place >= enrolled) & (place < enrolled + _TRIED)
        parts = (rows[~outside], rows[outside & (place < enrolled)], rows[outside & tried])
        folds.append(Fold(*(vectors.select(part) for part in parts)))
    return folds


def choose(folds: Sequence[Fold], settings: Settings, speakers: int, logs: Sequence[Log]) -> Choice:
    """The best candidate and the best epoch, by the mean EER over groups of held-out speakers.

    `folds` have the vectors of the original encoder, `logs` the epochs of the fine-tunings without these speakers.
    """
    epochs = {
        int(rows[0]["epoch"]): _mean([Quality(row[HELD_OUT_EER], row[HELD_OUT_MIN_CLLR]) for row in rows])
        for rows in zip(*logs, strict=True)
    }
    best = min(epochs, key=lambda epoch: epochs[epoch].cost)
    found = {
        BACKEND: _mean([measure([fold], settings) for fold in folds]),
        FINE_TUNED: epochs[best],
        UNCHANGED: _mean([measure([fold], None) for fold in folds]),
    }
    chosen = min(WORDS, key=lambda name: found[name].cost)
    held_out = sum(len(fold.enroll.speakers) for fold in folds)
    return Choice(chosen, speakers, held_out, best, {name: found[name].eer for name in WORDS})


def judge(encoder: Encoder, fold: Fold, wavs: dict[str, str]) -> Quality:
    """How well an encoder tells the held-out speakers of a fold apart, by cosines of whole utterances."""
    parts = [
        replace(part, vectors=np.stack([encoder.embed(read_audio(wavs[utt])) for utt in part.utts]))
        for part in (fold.enroll, fold.trial)
    ]
    return measure([Fold(fold.train, *parts)], None)


def mean_log(logs: Sequence[Log]) -> Log:
    """The means of the numbers of several trainings, epoch by epoch."""
    return [{name: fmean(row[name] for row in rows) for name in rows[0]} for rows in zip(*logs, strict=True)]


def _tuned(
    training: Training,
    profile: Profile,
    corpus: Corpus,
    work: Path,
    fold: Fold | None = None,
    part: tuple[int, int] = (0, 1),
) -> NeuralEncoder:
    """The encoder, trained on a corpus: to the epoch that is best for the speakers held out, or to the last."""
    torch.manual_seed(training.seed)
    encoder = trainable_encoder(training.encoder)
    if fold is None:
        train(encoder, profile, corpus, training.seed, work, warm=True, best="last")
        return encoder
    wavs = {utt: wav for data in map(DataDir.load, training.data) for utt, wav in data.wav.items()}
    train(encoder, profile, corpus, training.seed, work, True, lambda: judge(encoder, fold, wavs), part)
    return encoder


def _mean(found: Sequence[Quality]) -> Quality:
    return Quality(fmean(one.eer for one in found), fmean(one.min_cllr for one in found))
