"""Which GPU a process takes, with torch.cuda replaced: no GPU is needed, and none computes."""

import numpy as np
import pytest
import torch

from vpeval.asv import train_network as module
from vpeval.asv.train_network import Profile, _Batches, _Training, start_processes
from vpeval.audio.io import write_wave
from vpeval.core.errors import InputError
from vpeval.jobs.worker import Part, results
from vpeval.networks import compute
from vpeval.networks.encoders import Embedder
from vpeval.networks.neural import NeuralEncoder, trainable_encoder
from vpeval.networks.speechbrain import Checkpointer, Classifier, InputNormalization

QUICK = Profile(1, 8, 0.3, 0.2, 30.0, "adam", 0.01, 1e-4, 0.0, 3, 0.2, False, (), 0)


class Cuda:
    """Two GPUs that note what they are asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chosen: list[int] = []
        self.moved: set[str] = set()
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        monkeypatch.setattr(torch.cuda, "set_device", lambda one: self.chosen.append(getattr(one, "index", one)))
        for kind in (torch.nn.Module, InputNormalization):
            monkeypatch.setattr(kind, "to", lambda network, device: self._move(network, device))
        monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
        monkeypatch.setattr(torch.distributed, "init_process_group", self._join)

        self._monkeypatch = monkeypatch

    def _join(self, **options: object) -> None:
        self._monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)

    def _move(self, network: torch.nn.Module, device: object) -> torch.nn.Module:
        self.moved.add(str(device))
        return network


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    return Cuda(monkeypatch)


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two processes on this machine."""
    for name, value in {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 2}.items():
        monkeypatch.setenv(name, str(value))


def test_every_process_of_a_training_keeps_its_own_gpu(cuda, rank, small, tmp_path):
    start_processes()
    encoder = trainable_encoder(small)
    classifier = Classifier(8, lin_neurons=8, out_neurons=4)
    parts = {"network": encoder.network, "classifier": classifier, "scheduler": None}
    checkpointer = Checkpointer(tmp_path / "checkpoints")
    checkpointer.recoverables.update(parts)
    brain = _Training(encoder, QUICK, _Batches(24, 8, 0), checkpointer, tmp_path / "log", False, None, (0, 1))
    # The first choice is that of the process group, the second that of SpeechBrain's Brain.
    assert cuda.chosen == [1, 1]
    assert cuda.moved == {"cuda:1"} and str(brain.device) == "cuda:1"


def test_a_process_alone_takes_the_gpu_that_torch_would_take(cuda):
    assert compute.device() == torch.device("cuda")
    start_processes()
    assert cuda.chosen == []


def test_more_processes_than_gpus_are_refused_with_what_to_do(cuda, rank, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(
        InputError, match="process 2 on this machine has no GPU of its own, as 2 are visible; start one"
    ):
        start_processes()


def test_without_a_gpu_every_process_computes_on_the_cpu(rank, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert compute.device() == torch.device("cpu")


def test_lengths_for_the_augmentation_are_where_the_waves_are(small, tmp_path):
    """Of tensors in two places torch computes nothing; 'meta' stands for a GPU, as its tensors are nowhere."""
    brain = object.__new__(_Training)
    brain.device, seen = "meta", []

    class Chunks(module.DropChunk):
        def forward(self, waves, lengths):
            seen.append((waves.device.type, lengths.device.type))
            raise StopIteration

    brain.augment = [Chunks()]
    with pytest.raises(StopIteration):
        brain.compute_forward([torch.zeros(2, 8)], module.Stage.TRAIN)
    assert seen == [("meta", "meta")]


class Event:
    """A point in the work of a GPU that has been reached when it is waited for."""

    def __init__(self) -> None:
        self.is_set = False

    def record(self) -> None:
        self.is_set = True

    def synchronize(self) -> None:
        assert self.is_set


def test_waves_of_one_length_are_computed_together_on_a_gpu_and_one_by_one_on_the_cpu(small, tmp_path, monkeypatch):
    encoder = trainable_encoder(small)
    encoder.save(small, tmp_path / "out")
    rng, wavs = np.random.default_rng(0), {}
    for name, length in {"a": 8000, "b": 8000, "c": 9000}.items():
        wavs[name] = tmp_path / f"{name}.wav"
        write_wave(wavs[name], 0.1 * rng.standard_normal(length))
    parts = [Part(utt, "s", str(wav), tmp_path) for utt, wav in wavs.items()]
    alone = Embedder(str(tmp_path / "out/encoder.yaml"))
    vectors = {part.utt: result for part, result in results(alone, parts)}
    assert alone.most == 1 and vectors == {part.utt: alone(part) for part in parts}

    monkeypatch.setattr(NeuralEncoder, "on_gpu", True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    together, sizes = Embedder(str(tmp_path / "out/encoder.yaml")), []
    forward = together.encoder.forward
    monkeypatch.setattr(together.encoder, "forward", lambda waves: sizes.append(len(waves)) or forward(waves))
    for part, result in results(together, parts):
        before, now = (np.frombuffer(packed[3:], np.float32) for packed in (vectors[part.utt], result))
        assert now == pytest.approx(before, rel=1e-4, abs=1e-5)
    assert sizes == [2, 1]
