"""Training of speaker encoders: from scratch (VPC 2024), or from a pretrained one (`vpeval.asv.fine_tuning`).

SpeechBrain's Brain with additive angular margin loss, random crops and a cyclic learning rate; a checkpoint after every
epoch. Speakers are those of utt2spk. What is random in an epoch depends on the seed and the number of the epoch only,
so that a training that was interrupted and resumed ends in the same weights as one that was not.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Sampler

from vpeval.asv.epochs import EPOCHS, add_epoch
from vpeval.audio.io import RATE, read_audio
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.seeds import derive, generator
from vpeval.data.directory import DataDir
from vpeval.networks import compute
from vpeval.networks.neural import NeuralEncoder, trainable_encoder
from vpeval.networks.speechbrain import (
    AdditiveAngularMargin,
    Brain,
    Checkpointer,
    Classifier,
    CyclicLRScheduler,
    DropChunk,
    DropFreq,
    EpochCounter,
    LogSoftmaxWrapper,
    SpeedPerturb,
    Stage,
    ddp_init_group,
    if_main_process,
)

if TYPE_CHECKING:
    from vpeval.asv.backend_tuning import Quality
    from vpeval.asv.train_attackers import Training

log = logging.getLogger(__name__)
_OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
_SPEEDS = [95, 100, 105]
_UTTS_PER_CENTRE = 4
HELD_OUT_EER, HELD_OUT_MIN_CLLR = "held_out_eer", "held_out_min_cllr"
"""What the log of a training says of speakers that it has not seen."""
_LATER = 1e-9
"""By how much a later epoch is worse than an earlier one that is as good."""


@dataclass(frozen=True)
class Profile:
    """A training configuration of conf/asv/train/."""

    epochs: int
    batch: int
    crop_seconds: float
    margin: float
    scale: float
    optimizer: str
    rate: float
    lowest_rate: float
    weight_decay: float
    cycle_epochs: int
    validation_share: float
    augment: bool
    freeze: tuple[str, ...]
    workers: int
    backend: str = ""
    """What fine-tuning is compared with: the profile of a back end, of the same directory."""

    @classmethod
    def read(cls, path: Path) -> Profile:
        """Read and check a yaml."""
        kinds = {"int": int, "float": float, "str": str, "bool": bool, "tuple[str, ...]": list}
        settings = read_config(path, "backend", **{field.name: kinds[str(field.type)] for field in fields(cls)})
        profile = cls(**{**settings, "freeze": tuple(settings["freeze"])})
        for name in ("epochs", "batch", "crop_seconds", "scale", "rate", "lowest_rate", "cycle_epochs"):
            if getattr(profile, name) <= 0:
                raise InputError(f"'{name}' must be greater than 0", path)
        if profile.optimizer not in _OPTIMIZERS:
            raise InputError(f"'optimizer' must be one of {', '.join(_OPTIMIZERS)}", path)
        if not 0 <= profile.validation_share < 1:
            raise InputError("'validation_share' must be at least 0 and below 1", path)
        return profile


@dataclass(frozen=True)
class Corpus:
    """Utterances to learn from: audio and the index of the speaker."""

    wavs: tuple[str, ...]
    labels: tuple[int, ...]
    speakers: tuple[str, ...]

    def select(self, chosen: Sequence[int]) -> Corpus:
        """Some of the utterances, with the same speakers."""
        return Corpus(tuple(self.wavs[i] for i in chosen), tuple(self.labels[i] for i in chosen), self.speakers)

    def with_speakers(self, names: Collection[str]) -> Corpus:
        """The utterances of some of the speakers."""
        own = self.select([i for i, label in enumerate(self.labels) if self.speakers[label] in names])
        number = {spk: index for index, spk in enumerate(spk for spk in self.speakers if spk in names)}
        return Corpus(own.wavs, tuple(number[self.speakers[label]] for label in own.labels), tuple(number))


def read_corpus(directories: Sequence[Path]) -> Corpus:
    """The utterances of data directories with the speakers of their utt2spk."""
    owners = [(data.wav[utt], spk) for data in map(DataDir.load, directories) for utt, spk in data.utt2spk.items()]
    speakers = tuple(sorted({spk for _, spk in owners}))
    if len(speakers) < 2:
        raise InputError("has one speaker; an attacker learns to tell speakers apart and needs more", directories[0])
    number = {spk: index for index, spk in enumerate(speakers)}
    return Corpus(tuple(wav for wav, _ in owners), tuple(number[spk] for _, spk in owners), speakers)


def hold_out(corpus: Corpus, share: float, seed: int) -> tuple[list[int], list[int]]:
    """Utterances to train on and to validate with: `share` of every speaker's, rounded, but never all of them."""
    labels = np.array(corpus.labels)
    validation: list[int] = []
    for speaker in range(len(corpus.speakers)):
        own = generator(seed, "validation", corpus.speakers[speaker]).permutation(np.flatnonzero(labels == speaker))
        validation += own[: min(round(share * len(own)), len(own) - 1)].tolist()
    return sorted(set(range(len(labels))) - set(validation)), sorted(validation)


def freeze(encoder: NeuralEncoder, profile: Profile) -> None:
    """Take the parts that a profile names out of training."""
    for name in profile.freeze:
        if not hasattr(encoder.network, name):
            parts = ", ".join(part for part, _ in encoder.network.named_children())
            raise InputError(f"the network has no part '{name}' to freeze; it has {parts}")
        getattr(encoder.network, name).requires_grad_(False)


def train_network(training: Training, work: Path) -> str:
    """Train a network from scratch, and write it and its log to ``work/out``; return what it was trained on."""
    torch.manual_seed(training.seed)
    encoder = trainable_encoder(training.encoder)
    corpus, profile = read_corpus(training.data), Profile.read(training.profile)
    train(encoder, profile, corpus, training.seed, work)
    if if_main_process():
        encoder.save(training.encoder, work / "out")
        shutil.copy(work / EPOCHS, work / "out" / EPOCHS)
    return f"{training.mode} on {len(corpus.wavs)} utterances of {len(corpus.speakers)} speakers"


def start_processes() -> None:
    """Join the processes that torchrun has started, over NCCL on GPUs and gloo otherwise; alone, do nothing."""
    compute.device()  # complains before SpeechBrain does, and in words
    ddp_init_group({"distributed_backend": _backend()})


def wait_for_all() -> None:
    """Go on when all processes have come here."""
    if torch.distributed.is_initialized():
        torch.distributed.barrier()


def train(
    encoder: NeuralEncoder,
    profile: Profile,
    corpus: Corpus,
    seed: int,
    work: Path,
    warm: bool = False,
    best: Literal["utterances", "last"] | Callable[[], Quality] = "utterances",
    part: tuple[int, int] = (0, 1),
) -> None:
    """Train the network of `encoder`, going on from the newest checkpoint in `work`; the best epoch wins.

    That is the one with the least loss on held-out utterances, the last one, or the one of the best quality. With
    `warm` (fine-tuning) the classifier starts from the speakers' mean vectors, as random weights would first pull the
    network away from what it knows. ``work/epochs.jsonl`` gets a line for every epoch. `part` says how many of how many
    trainings were done before.
    """
    torch.manual_seed(derive(seed, "asv"))
    freeze(encoder, profile)
    chosen, held_out = hold_out(corpus, profile.validation_share if best == "utterances" else 0.0, seed)
    batches = _Batches(len(chosen), profile.batch, seed)
    speech = _Speech(corpus.select(chosen), profile, seed, batches)
    classifier = Classifier(_dimension(encoder), lin_neurons=_dimension(encoder), out_neurons=len(corpus.speakers))
    counter = EpochCounter(profile.epochs)
    scheduler = CyclicLRScheduler(profile.lowest_rate, profile.rate, profile.cycle_epochs * len(batches) / 2)
    recoverables = {
        "network": encoder.network,
        "classifier": classifier,
        "counter": counter,
        "scheduler": scheduler,
    }
    checkpointer = Checkpointer(work / "checkpoints", recoverables=recoverables)
    if warm and checkpointer.find_checkpoint() is None:
        _imprint(classifier, encoder, corpus.select(chosen), profile)
    judge = best if callable(best) else None
    brain = _Training(encoder, profile, batches, checkpointer, work / EPOCHS, bool(held_out), judge, part)
    validation = None
    if held_out:
        validation = DataLoader(_Speech(corpus.select(held_out), profile, seed, None), profile.batch)
    data = DataLoader(speech, batch_sampler=batches, num_workers=profile.workers)
    brain.fit(counter, data, validation, progressbar=False)
    checkpointer.recover_if_possible(min_key=None if best == "last" else "error")


class _Batches(Sampler[list[int]]):
    """Batches of an epoch, shuffled anew each time; every process gets its share of each."""

    def __init__(self, utts: int, size: int, seed: int) -> None:
        self.utts, self.seed, self.epoch = utts, seed, 0
        self.rank, self.world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.size = min(size, utts)
        if self.size // self.world < 2:
            raise InputError(f"{self.size} utterances a batch are too few for {self.world} processes; use fewer")

    def __len__(self) -> int:
        return self.utts // self.size

    def __iter__(self) -> Iterator[list[int]]:
        order = generator(self.seed, "batches", self.epoch).permutation(self.utts)
        share = self.size // self.world
        for start in range(0, len(self) * self.size, self.size):
            first = start + self.rank * share
            yield order[first : first + share].tolist()


class _Speech(Dataset[tuple[torch.Tensor, int]]):
    """Crops of one length: random ones in training, from the middle in validation (`batches` is None)."""

    def __init__(self, corpus: Corpus, profile: Profile, seed: int, batches: _Batches | None) -> None:
        self.corpus, self.seed, self.batches = corpus, seed, batches
        self.samples = int(profile.crop_seconds * RATE)

    def __len__(self) -> int:
        return len(self.corpus.wavs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        wave = read_audio(self.corpus.wavs[index])
        if self.batches is None:
            place = 0.5
        else:
            place = generator(self.seed, "crop", self.batches.epoch, self.corpus.wavs[index]).random()
        return torch.from_numpy(crop(wave, self.samples, place)), self.corpus.labels[index]


def crop(wave: np.ndarray, samples: int, place: float) -> np.ndarray:
    """A crop of `samples` samples, from the beginning (0) to the end (1); a shorter wave is repeated.

    >>> crop(np.arange(5), 3, 1.0).tolist(), crop(np.arange(2), 5, 0.3).tolist()
    ([2, 3, 4], [0, 1, 0, 1, 0])
    """
    if len(wave) < samples:
        return np.resize(wave, samples)
    start = round(place * (len(wave) - samples))
    return wave[start : start + samples]


class _Training(Brain):
    """Classification of speakers with an angular margin; a log line and a checkpoint an epoch.

    Classifier and scheduler are those that the checkpointer saves.
    """

    def __init__(
        self,
        encoder: NeuralEncoder,
        profile: Profile,
        batches: _Batches,
        checkpointer: Checkpointer,
        epochs: Path,
        validated: bool,
        judge: Callable[[], Quality] | None,
        part: tuple[int, int],
    ) -> None:
        optimizer, classifier = _OPTIMIZERS[profile.optimizer], checkpointer.recoverables["classifier"]
        super().__init__(
            {"features": encoder.features, "network": encoder.network, "classifier": classifier},
            lambda parameters: optimizer(
                [parameter for parameter in parameters if parameter.requires_grad],
                lr=profile.lowest_rate,  # type: ignore[call-arg]  # every torch optimiser takes both
                weight_decay=profile.weight_decay,
            ),
            run_opts={"device": str(encoder.device), "distributed_backend": _backend()},
            checkpointer=checkpointer,
        )
        self.normalize, self.network = encoder.normalize, encoder.network
        self.profile, self.batches, self.scheduler = profile, batches, checkpointer.recoverables["scheduler"]
        self.epochs_file, self.row = epochs, dict[str, float]()
        self.validated, self.judge, self.part = validated, judge, part
        self.loss = LogSoftmaxWrapper(AdditiveAngularMargin(profile.margin, profile.scale))
        self.augment = [SpeedPerturb(RATE, _SPEEDS), DropFreq(), DropChunk()] if profile.augment else []
        self.wrong = self.seen = 0

    def _wrap_distributed(self) -> None:
        """On CPUs without the synchronised batch normalisation, which only GPUs have."""
        if self.distributed_launch and _backend() == "gloo":
            for name in ("network", "classifier"):
                self.modules[name] = DistributedDataParallel(self.modules[name])
        else:
            super()._wrap_distributed()

    def compute_forward(self, batch: Sequence[torch.Tensor], stage: Stage) -> torch.Tensor:
        """Cosines of the utterances with every speaker's weights."""
        waves = batch[0].to(self.device)
        for augment in self.augment if stage == Stage.TRAIN else ():
            whole = torch.ones(len(waves), device=self.device)
            waves = augment(waves, whole) if isinstance(augment, DropChunk) else augment(waves)
        lengths = torch.ones(len(waves), device=self.device)
        features = self.normalize(self.modules.features(waves), lengths)
        cosines: torch.Tensor = self.modules.classifier(self.modules.network(features, lengths))
        return cosines

    def compute_objectives(self, cosines: torch.Tensor, batch: Sequence[torch.Tensor], stage: Stage) -> torch.Tensor:
        """The margin loss; counts errors on the way."""
        labels = batch[1].to(self.device).unsqueeze(1)
        self.wrong += int((cosines.squeeze(1).argmax(dim=1) != labels.squeeze(1)).sum())
        self.seen += len(labels)
        loss: torch.Tensor = self.loss(cosines, labels)
        return loss

    def on_stage_start(self, stage: Stage, epoch: int | None = None) -> None:
        """Make what is random depend on the epoch only."""
        self.wrong = self.seen = 0
        if stage == Stage.TRAIN:
            torch.manual_seed(derive(self.batches.seed, "epoch", epoch, self.batches.rank))
            self.batches.epoch = int(epoch or 0)
            self.started = time.time()

    def on_fit_batch_start(self, batch: Sequence[torch.Tensor], should_step: bool) -> None:
        """Keep the batch statistics of frozen parts as they are, too."""
        for name in self.profile.freeze:
            getattr(self.network, name).eval()

    def on_fit_batch_end(self, batch: object, outputs: object, loss: object, should_step: bool) -> None:
        """The learning rate changes from batch to batch."""
        self.scheduler.on_batch_end(self.optimizer)

    def on_stage_end(self, stage: Stage, stage_loss: float, epoch: int | None = None) -> None:
        """Note the numbers; the epoch ends with validation, if there is one."""
        name = "train" if stage == Stage.TRAIN else "valid"
        self.row |= {f"{name}_loss": float(stage_loss), f"{name}_error": self.wrong / max(1, self.seen)}
        if name == "valid" or not self.validated:
            self._end_epoch(int(epoch or 0), self.row[f"{name}_loss"])
            self.row = {}

    def _end_epoch(self, epoch: int, loss: float) -> None:
        error = loss
        if self.judge and math.isfinite(loss):
            self.network.eval()
            found = self.judge()
            self.row |= {HELD_OUT_EER: found.eer, HELD_OUT_MIN_CLLR: found.min_cllr}
            error = found.cost + _LATER * epoch
        seconds = time.time() - self.started
        row = {"epoch": epoch, **self.row, "rate": self.optimizer.param_groups[0]["lr"], "seconds": seconds}
        if not math.isfinite(loss):
            raise InputError(f"the loss of epoch {epoch} is {loss}; try a smaller 'rate' in the training profile")
        if if_main_process():
            add_epoch(self.epochs_file, row)
            numbers = ", ".join(f"{name} {value:.3f}" for name, value in self.row.items())
            log.info("epoch %d of %d: %s, %.0f s", epoch, self.profile.epochs, numbers, seconds)
            done, parts = self.part
            print(f"progress: {done * self.profile.epochs + epoch}/{parts * self.profile.epochs}", flush=True)
        self.checkpointer.save_and_keep_only(meta={"error": error, "epoch": epoch}, min_keys=["error"])


@torch.inference_mode()
def _imprint(classifier: Classifier, encoder: NeuralEncoder, corpus: Corpus, profile: Profile) -> None:
    """Set the weights of every speaker to the mean direction of a few utterances."""
    labels = np.array(corpus.labels)
    for speaker in range(len(corpus.speakers)):
        own = np.flatnonzero(labels == speaker)[:_UTTS_PER_CENTRE]
        waves = [crop(read_audio(corpus.wavs[i]), int(profile.crop_seconds * RATE), 0.5) for i in own]
        vectors = encoder.forward(torch.from_numpy(np.stack(waves))).squeeze(1)
        centre = torch.nn.functional.normalize(vectors).mean(dim=0)
        classifier.weight[speaker] = torch.nn.functional.normalize(centre, dim=0).cpu()


@torch.inference_mode()
def _dimension(encoder: NeuralEncoder) -> int:
    return int(encoder.forward(torch.zeros(1, RATE)).shape[-1])


def _backend() -> str:
    return "nccl" if torch.cuda.is_available() else "gloo"
