"""The parts of B1 that need no pretrained model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from vpeval.anon import vocoder
from vpeval.anon.xvector import cpu, features, system
from vpeval.anon.xvector.features import FRAME, Example
from vpeval.core.errors import InputError

HOOK = Path(__file__).resolve().parents[2] / "local/anon/xvector_pool"
SIZE = cpu.Size(content=6, speaker=4, channels=16, blocks=2)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Several threads only get in each other's way on networks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def examples(count: int = 8) -> list[Example]:
    """Quiet speech whose envelope is its content, louder for one speaker than for the other."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(count):
        frames = int(rng.integers(20, 40))
        content = rng.standard_normal((frames, 6)).astype(np.float32)
        speaker = np.eye(4, dtype=np.float32)[number % 2]
        level = 3.0 * (number % 2) - 12
        envelope = np.repeat(content[:, :1], 2, axis=0) + level
        target = np.concatenate((np.tile(envelope, cpu.MELS), np.full((2 * frames, 4), 0.2)), axis=1)
        f0 = np.where(rng.random(2 * frames) < 0.5, 120.0, 0.0)
        made.append(Example((content, content), f0, speaker, speaker, target.astype(np.float32)))
    return made


def test_content_of_any_length_is_brought_to_one_row_per_20_ms() -> None:
    assert [features.frame_count(n) for n in (1, FRAME, FRAME + 1)] == [1, 1, 2]
    rows = np.arange(5.0)[:, None]
    np.testing.assert_allclose(features.fit_length(rows, 9)[:, 0], np.arange(9) / 2)
    np.testing.assert_allclose(features.fit_length(rows, 3)[:, 0], [0, 2, 4])
    np.testing.assert_allclose(features.fit_length(rows[:1], 3)[:, 0], [0, 0, 0])


def test_whitened_content_has_mean_0_and_variance_1_and_forgets_offset_and_scale() -> None:
    content = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    white = features.whiten(content)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(white.std(axis=0), 1, atol=0.01)
    np.testing.assert_allclose(features.whiten(content * 3 + 7), white, atol=0.01)
    assert np.isfinite(features.whiten(np.ones((4, 3), np.float32))).all()


def test_contours_are_two_rows_of_cepstra_per_frame_that_forget_microphone_and_mean_loudness() -> None:
    rows = np.random.default_rng(0).standard_normal((10, 80))
    contours = features.cepstral_contours(rows, 3)
    assert contours.shape == (5, 6)
    loudness = rows.sum(axis=1) / np.sqrt(80)
    np.testing.assert_allclose(contours[:, [0, 3]].ravel(), loudness - loudness.mean(), atol=1e-6)
    microphone = np.linspace(-2, 5, 80)
    np.testing.assert_allclose(features.cepstral_contours(rows + microphone, 3), contours, atol=1e-5)
    fine = np.cos(np.pi * 7 * (np.arange(80) + 0.5) / 80) * rows[:, :1]  # ripples of a shape that three leave out
    np.testing.assert_allclose(features.cepstral_contours(rows + fine, 3), contours, atol=1e-5)
    assert features.cepstral_contours(rows, 0).shape == (5, 0)


@pytest.mark.parametrize("name", ["cpu", "words"])
def test_a_shipped_profile_has_two_dimensions_for_each_contour(name: str) -> None:
    profile = system.read_profile(HOOK / f"{name}.yaml")
    assert profile.backend.size.content == 512 + 2 * profile.content.get("contours", 0)


def test_a_size_that_does_not_fit_the_content_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wide:
        dimension = 520

    monkeypatch.setattr(system, "load_content", lambda **settings: Wide())
    with pytest.raises(InputError, match="content is 512, but the content features have 520 dimensions"):
        system.read_profile(HOOK / "cpu.yaml").load_content()


def test_pitch_features_are_log_f0_around_its_mean_and_voicing_twice_per_frame() -> None:
    f0 = np.array([100.0, 200.0, 0.0, 200.0])
    mean = np.log([100, 200, 200]).mean()
    expected = [[np.log(100) - mean, np.log(200) - mean, 1, 1], [0, np.log(200) - mean, 0, 1]]
    np.testing.assert_allclose(features.pitch_features(f0), expected, atol=1e-6)
    np.testing.assert_allclose(features.pitch_features(np.zeros(4)), np.zeros((2, 4)))


def test_a_disguise_keeps_the_time_scale() -> None:
    class Clock:
        dimension = 1

        def __call__(self, wave: np.ndarray) -> np.ndarray:
            return wave[: len(wave) // FRAME * FRAME : FRAME, None].astype(np.float32)

    wave = np.linspace(0, 1, 100 * FRAME).astype(np.float32)
    for factor in (0.85, 1.0, 1.18):
        content = features.disguised_content(Clock(), wave, factor)
        np.testing.assert_allclose(content[:, 0], wave[::FRAME], atol=0.015)


def test_a_smooth_envelope_survives_the_mel_bands() -> None:
    bins = np.arange(vocoder.BINS)
    smooth = np.stack([np.cos(2 * np.pi * bins / 400 + shift) for shift in range(6)])
    f0 = np.array([100.0, 0, 100, 100, 0, 100])
    noise = np.full((6, 4), 0.3)
    back = cpu.from_target(cpu.to_target(vocoder.Speech(f0, smooth, noise), 3), f0)
    np.testing.assert_allclose(back.envelope, smooth, atol=0.1)
    np.testing.assert_allclose(back.noise[:, 0], [0.3, 1, 0.3, 0.3, 1, 0.3], atol=1e-6)


@pytest.mark.e2e
def test_the_acoustic_model_learns_content_and_speaker_and_comes_back_from_its_file(tmp_path: Path) -> None:
    learnt = cpu.CpuBackend(SIZE, cpu.Training(steps=60, batch=8, frames=16, rate=0.02)).train(examples())
    content = np.zeros((30, 6), np.float32)
    content[10:20, 0] = 2
    f0 = np.full(60, 120.0)

    def power(synthesizer: cpu.CpuSynthesizer, speaker: int) -> np.ndarray:
        voice = np.eye(4, dtype=np.float32)[speaker]
        wave = synthesizer.synthesize(content, f0, voice, 30 * FRAME, np.random.default_rng(0))
        return np.log((wave.reshape(3, -1) ** 2).mean(axis=1))

    quiet, loud = power(learnt, 0), power(learnt, 1)
    assert (loud - quiet > 1.5).all()
    assert quiet[1] - quiet[0] > 1
    learnt.save(tmp_path / "model.pt")
    again = cpu.CpuBackend(SIZE, cpu.Training()).load(tmp_path / "model.pt")
    np.testing.assert_array_equal(power(again, 0), quiet)


def test_the_same_examples_and_seed_give_the_same_model() -> None:
    backend = cpu.CpuBackend(SIZE, cpu.Training(steps=5, batch=4, frames=16, dropout=0.1, noise=0.3, mixing=1))
    one, other = (backend.train(examples()).model.state_dict() for _ in range(2))
    for name, weights in one.items():
        np.testing.assert_array_equal(weights, other[name])


def test_dropout_and_noise_belong_to_training_only() -> None:
    learnt = cpu.CpuBackend(SIZE, cpu.Training(steps=3, batch=4, frames=16, dropout=0.5, noise=1.0)).train(examples())
    example = examples()[0]
    length = len(example.contents[0]) * FRAME
    one, other = (
        learnt.synthesize(example.contents[0], example.f0, example.speaker, length, np.random.default_rng(0))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("length", [1, 100, 5000])
def test_the_target_has_two_rows_for_every_frame_of_content(length: int) -> None:
    wave = np.random.default_rng(0).uniform(-0.1, 0.1, length).astype(np.float32)
    frames = features.frame_count(length)
    target = cpu.CpuBackend(SIZE, cpu.Training()).target(wave, np.zeros(2 * frames))
    assert target.shape == (2 * frames, cpu.OUTPUTS)
    assert np.isfinite(target).all()
