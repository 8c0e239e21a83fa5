"""What a training will take is said before it starts."""

from dataclasses import replace

import pytest
import torch

from vpeval.asv import training_cost as module
from vpeval.asv.train_network import Profile, read_corpus
from vpeval.asv.training_cost import estimate
from vpeval.networks.neural import trainable_encoder

QUICK = Profile(3, 8, 0.3, 0.2, 30.0, "adam", 0.01, 1e-4, 0.0, 3, 0.2, False, (), 0)


@pytest.fixture
def encoder(small):
    return trainable_encoder(small)


def test_an_epoch_has_as_many_steps_as_training_takes(encoder, buzzers):
    found = estimate(encoder, QUICK, read_corpus([buzzers]), seed=0, processes=1)
    assert (found.utts, found.speakers, found.steps) == (20, 4, 2)  # 24, less one of every speaker; batches of 8
    assert found.weights == sum(4 * p.numel() for p in encoder.network.parameters())
    assert found.seconds > 0 and found.reading > 0


def test_longer_crops_need_more_memory_and_operations_and_a_frozen_part_less_memory(encoder, buzzers, small):
    corpus = read_corpus([buzzers])
    short, long = (estimate(encoder, replace(QUICK, crop_seconds=s), corpus, 0, 1) for s in (0.3, 1.2))
    assert long.operations == pytest.approx(4 * short.operations, rel=0.1)
    assert long.memory - short.memory > 2 * 8 * 4 * 0.9 * 100 * 16  # eight crops, 90 frames, 16 channels and more
    part = next(name for name, _ in encoder.network.named_children())
    frozen = estimate(trainable_encoder(small), replace(QUICK, freeze=(part,)), corpus, 0, 1)
    assert frozen.operations < short.operations


def test_processes_share_a_batch_and_the_time_of_an_epoch(encoder, buzzers):
    corpus = read_corpus([buzzers])
    one, four = (estimate(encoder, QUICK, corpus, 0, processes) for processes in (1, 4))
    assert four.operations == one.operations and four.on_gpu == one.on_gpu / 4
    assert four.memory < one.memory


def test_what_is_kept_for_the_way_back_grows_with_the_batch_as_it_is_said_to(encoder):
    step = module._step(encoder, QUICK, 4)
    two, four, sixteen = (module._kept(step, crops) for crops in (2, 4, 16))
    assert sixteen == pytest.approx(two + 7 * (four - two), rel=0.01)


def test_nothing_is_trained(encoder, buzzers):
    before = {name: value.clone() for name, value in encoder.network.named_parameters()}
    estimate(encoder, QUICK, read_corpus([buzzers]), 0, 1)
    assert all(torch.equal(before[name], value) for name, value in encoder.network.named_parameters())
