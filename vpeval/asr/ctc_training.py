"""Training of a CTC recogniser: ASR_eval on original speech, ASR_eval^anon on anonymised speech.

The network reads letters. Training is SpeechBrain's Brain with a checkpoint after every epoch; random choices in an
epoch depend on the seed and the number of the epoch only, so that an interrupted training that is continued gives the
same weights as one without interruption. The result is a directory that SpeechBrain's own EncoderASR loads.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
from scipy.signal import resample_poly
from torch.utils.data import DataLoader, Dataset, Sampler

from vpeval.networks.speechbrain import Brain, Checkpointer, EpochCounter, Stage  # first: makes SpeechBrain importable

# isort: split
from speechbrain.augment.freq_domain import SpectrogramDrop
from speechbrain.dataio.encoder import CTCTextEncoder
from speechbrain.nnet.losses import ctc_loss

from vpeval.asr.network import ConvCTC
from vpeval.audio.io import read_audio
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.seeds import derive, generator
from vpeval.data.directory import DataDir
from vpeval.data.text import NORMALIZERS
from vpeval.networks import compute

log = logging.getLogger(__name__)
BLANK = 0
_TENTHS_OF_SPEED = (9, 10, 11)
_LONGEST_NORM = 5.0


@dataclass(frozen=True)
class Settings:
    """A training configuration of conf/asr/."""

    mels: int
    channels: int
    blocks: int
    kernel: int
    stride: int
    dropout: float
    epochs: int
    batch: int
    rate: float
    warm_up: float

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read and check a yaml."""
        kinds = {"float": float, "int": int}
        settings = cls(**read_config(path, **{field.name: kinds[str(field.type)] for field in fields(cls)}))
        for name, value in asdict(settings).items():
            if value <= 0 or (name in ("dropout", "warm_up") and value >= 1):
                raise InputError(f"'{name}: {value}' is out of range", path)
        return settings


@dataclass(frozen=True)
class Utterance:
    """An utterance to learn from."""

    wav: str
    text: str
    seconds: float


def read_utterances(directories: Sequence[Path]) -> list[Utterance]:
    """The utterances of data directories, as they will be learnt; those without words are left out."""
    utterances = []
    for directory in directories:
        data = DataDir.load(directory)
        for utt in data.utts:
            if words := NORMALIZERS["vpc2020"](data.text[utt]):
                utterances.append(Utterance(data.wav[utt], " ".join(words), data.utt2dur[utt]))
    if not utterances:
        raise InputError("has no transcribed utterance to learn from", directories[0])
    return utterances


def train_on(conf: Path, data: Sequence[Path], seed: int, threads: int, work: Path) -> int:
    """Train on data directories and write the recogniser to ``<work>/out``; returns how many utterances there were."""
    compute.set_up(threads)
    settings, utterances = Settings.read(conf), read_utterances(data)
    train(settings, utterances, seed, work / "checkpoints", work / "out")
    return len(utterances)


def train(settings: Settings, utterances: Sequence[Utterance], seed: int, checkpoints: Path, out: Path) -> None:
    """Train, starting from the newest of `checkpoints`, and write the finished recogniser into directory `out`."""
    torch.manual_seed(derive(seed, "asr"))
    letters = make_letters(utterances)
    network = ConvCTC(len(letters), *(getattr(settings, name) for name in _SHAPE))
    counter = EpochCounter(settings.epochs)
    checkpointer = Checkpointer(checkpoints, recoverables={"network": network, "counter": counter})
    batches = _Batches([one.seconds for one in utterances], settings.batch, seed)
    brain = _Training(network, settings, seed, checkpointer, batches)
    data = DataLoader(_Speech(utterances, letters, batches), batch_sampler=batches, collate_fn=_pad)
    brain.fit(counter, data, progressbar=False)
    write_recognizer(network.cpu(), settings, letters, out)


def make_letters(utterances: Sequence[Utterance]) -> CTCTextEncoder:
    """The labels of the network: CTC's blank, then the letters of the text."""
    letters = CTCTextEncoder()
    letters.insert_blank(index=BLANK)
    for letter in sorted({letter for one in utterances for letter in one.text}):
        letters.add_label(letter)
    letters.expect_len(len(letters))
    return letters


def write_recognizer(network: ConvCTC, settings: Settings, letters: CTCTextEncoder, out: Path) -> None:
    """Write a directory for `EncoderASR.from_hparams`, with decode.yaml for steps/decode.py."""
    out.mkdir(parents=True, exist_ok=True)
    torch.save(network.state_dict(), out / "encoder.ckpt")
    letters.save(out / "tokenizer.ckpt")
    shape = "".join(f"  {name}: {getattr(settings, name)}\n" for name in _SHAPE)
    write_text(out / "hyperparams.yaml", _HYPERPARAMS.format(labels=len(letters), shape=shape, blank=BLANK))
    write_text(out / "decode.yaml", _DECODE)


_SHAPE = ("mels", "channels", "blocks", "kernel", "stride", "dropout")
_HYPERPARAMS = """\
encoder: !new:vpeval.asr.network.ConvCTC
  labels: {labels}
{shape}modules:
  encoder: !ref <encoder>
tokenizer: !new:speechbrain.dataio.encoder.CTCTextEncoder
decoding_function: !name:speechbrain.decoders.ctc_greedy_decode
  blank_id: {blank}
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    encoder: !ref <encoder>
    tokenizer: !ref <tokenizer>
"""


_DECODE = """\
# Beam search over the letters of the network in this directory.
recognizer: speechbrain
directory: .
blank: 0
beam: 32
nbest: 50
acoustic_scale: 10.0       # brings the weights of the language model to the scale of Kaldi's chain models
lmwt: 10.0
wip: 0.0
"""


class _Batches(Sampler[list[int]]):
    """Utterances of similar length together, otherwise shuffled anew in every epoch."""

    def __init__(self, seconds: Sequence[float], size: int, seed: int) -> None:
        self.seconds, self.size, self.seed, self.epoch = np.array(seconds), size, seed, 0

    def __len__(self) -> int:
        return math.ceil(len(self.seconds) / self.size)

    def __iter__(self) -> Iterator[list[int]]:
        rng = generator(self.seed, "batches", self.epoch)
        order = np.argsort(self.seconds * rng.uniform(0.9, 1.1, len(self.seconds)))
        batches = [order[start : start + self.size].tolist() for start in range(0, len(order), self.size)]
        yield from (batches[i] for i in rng.permutation(len(batches)))


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class _Speech(Dataset[tuple[np.ndarray, torch.Tensor]]):
    """Waves, played at 0.9, 1 or 1.1 times their speed (Ko et al., Interspeech 2015), and letters."""

    def __init__(self, utterances: Sequence[Utterance], letters: CTCTextEncoder, batches: _Batches) -> None:
        self.utterances, self.batches = utterances, batches
        self.targets = [letters.encode_sequence_torch(list(one.text)) for one in utterances]

    def __getitem__(self, index: int) -> tuple[np.ndarray, torch.Tensor]:
        wave = read_audio(self.utterances[index].wav)
        speed = generator(self.batches.seed, "speed", self.batches.epoch, index).choice(_TENTHS_OF_SPEED)
        return (wave if speed == 10 else resample_poly(wave, 10, int(speed))), self.targets[index]


def _pad(items: Sequence[tuple[np.ndarray, torch.Tensor]]) -> Batch:
    """Waves and targets with their lengths relative to the longest, as SpeechBrain wants them."""
    waves = [torch.from_numpy(np.asarray(wave, np.float32)) for wave, _ in items]
    targets = [target for _, target in items]
    return (*_pad_one(waves), *_pad_one(targets))


def _pad_one(rows: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(row) for row in rows], dtype=torch.float32)
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True), lengths / lengths.max()


class _Training(Brain):
    """One-cycle learning rate, masked spectrograms, a checkpoint an epoch."""

    def __init__(
        self, network: ConvCTC, settings: Settings, seed: int, checkpointer: Checkpointer, batches: _Batches
    ) -> None:
        super().__init__(
            {"network": network},
            lambda parameters: torch.optim.AdamW(parameters, settings.rate, weight_decay=1e-3),
            run_opts={"device": str(compute.device()), "max_grad_norm": _LONGEST_NORM},
            checkpointer=checkpointer,
        )
        self.settings, self.seed, self.batches = settings, seed, batches
        self.mask_time = SpectrogramDrop(1, 25, 2, 2, dim=1)
        self.mask_mels = SpectrogramDrop(1, max(1, settings.mels // 5), 2, 2, dim=2)

    def compute_forward(self, batch: Batch, stage: Stage) -> torch.Tensor:
        waves, lengths = batch[0].to(self.device), batch[1].to(self.device)
        mels = self.modules.network.mels(waves, lengths)
        logprobs: torch.Tensor = self.modules.network.classify(self.mask_mels(self.mask_time(mels)))
        return logprobs

    def compute_objectives(self, predictions: torch.Tensor, batch: Batch, stage: Stage) -> torch.Tensor:
        _, lengths, targets, target_lengths = (part.to(self.device) for part in batch)
        loss: torch.Tensor = ctc_loss(predictions, targets, lengths, target_lengths, BLANK, reduction="batchmean")
        return loss

    def on_stage_start(self, stage: Stage, epoch: int | None = None) -> None:
        torch.manual_seed(derive(self.seed, "epoch", epoch))
        self.batches.epoch = int(epoch or 0)

    def on_fit_batch_start(self, batch: Batch, should_step: bool) -> None:
        done = self.optimizer_step / (self.settings.epochs * len(self.batches))
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate * one_cycle(done, self.settings.warm_up)

    def on_stage_end(self, stage: Stage, stage_loss: float, epoch: int | None = None) -> None:
        self.checkpointer.save_and_keep_only(meta={"loss": stage_loss})
        log.info("epoch %d of %d: loss %.3f", epoch, self.settings.epochs, stage_loss)
        print(f"progress: {epoch}/{self.settings.epochs}", flush=True)


def one_cycle(done: float, warm_up: float) -> float:
    """Share of the greatest learning rate: a straight rise, then half a cosine down to nothing.

    >>> [round(one_cycle(done, 0.2), 3) for done in (0, 0.1, 0.2, 0.6, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < warm_up:
        return done / warm_up
    return 0.5 + 0.5 * math.cos(math.pi * (done - warm_up) / (1 - warm_up))
