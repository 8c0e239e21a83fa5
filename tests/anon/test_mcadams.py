from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from tests.anon.transcription import per_frame_mcadams, scalar_burg
from vpeval.anon import mcadams
from vpeval.anon.mcadams import McAdams
from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError

AUDIO = Path(__file__).resolve().parents[2] / "egs/mini/corpus/audio"
VOICES = [AUDIO / f"{utt[:4]}/{utt}.opus" for utt in ("f002-006", "m031-011", "m047-022")]


@pytest.fixture(scope="module", params=VOICES, ids=lambda path: path.stem)
def voice(request: pytest.FixtureRequest) -> np.ndarray:
    return read_audio(str(request.param))


@pytest.mark.parametrize("alpha", [0.5, 0.8, 1.2])
def test_equals_the_per_frame_transcription_of_the_plan_on_real_voices(voice: np.ndarray, alpha: float) -> None:
    np.testing.assert_allclose(McAdams(alpha)(voice, RATE), per_frame_mcadams(voice, alpha), rtol=0, atol=1e-6)


def test_the_2022_edition_differs_from_2020_in_its_peak_only(voice: np.ndarray) -> None:
    ours = replace(mcadams.edition("2022"), alpha=0.7)(voice, RATE)
    np.testing.assert_allclose(ours, per_frame_mcadams(voice, 0.7, peak=32766 / 32768), rtol=0, atol=1e-6)


def test_the_2024_edition_keeps_the_first_frame_and_lets_angles_pass_pi(voice: np.ndarray) -> None:
    ours = replace(mcadams.edition("2024"), alpha=1.3)(voice, RATE)
    oracle = per_frame_mcadams(voice, 1.3, first_frame=0, clip=False, peak=32766 / 32768)
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=1e-6)
    clipped = replace(mcadams.edition("2022"), alpha=1.3)(voice, RATE)
    assert np.abs(ours - clipped).max() > 1e-3


def test_order_window_and_shift_are_those_asked_for(voice: np.ndarray) -> None:
    ours = McAdams(0.8, order=13, window_seconds=0.025, shift_seconds=0.005)(voice, RATE)
    oracle = per_frame_mcadams(voice, 0.8, order=13, size=400, shift=80)
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=1e-6)


def test_alpha_1_gives_the_input_back_but_for_what_the_frames_do_to_it(voice: np.ndarray) -> None:
    output = replace(mcadams.edition("2024"), alpha=1.0)(voice, RATE)
    hann = np.hanning(320)
    frames = 1 + (len(voice) - 320) // 160
    framing = np.zeros(len(voice))
    for start in range(0, frames * 160, 160):
        framing[start : start + 320] += hann / (hann.sum() / 160)
    # Symmetric Hann windows, as published, do not add up to exactly one: 0.5 % of ripple is in the published system.
    inside = slice(160, frames * 160)
    assert np.abs(framing[inside] - 1).max() < 0.01
    expected = voice * framing
    expected /= np.abs(expected).max() / (32766 / 32768)
    error = 10 * np.log10(np.mean((output - expected) ** 2) / np.mean(expected**2))
    assert error < -60


def hard_signals() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    clicks = np.zeros(8000)
    clicks[::977] = 1
    return {
        "noise": rng.uniform(-1, 1, 8000),
        "silence": np.zeros(8000),
        "clicks": clicks,
        "dc": np.full(8000, 0.7),
        "square": np.sign(np.sin(np.arange(8000) / 5)),
        "tone": np.sin(np.arange(8000) / 3),
        "eight samples": rng.uniform(-1, 1, 8),
        "one sample": np.ones(1),
        "silence, then noise": np.concatenate((np.zeros(4000), rng.uniform(-1, 1, 4000))),
    }


@pytest.mark.parametrize("name", hard_signals())
@pytest.mark.parametrize("edition", ["2020", "2024"])
def test_the_output_is_bounded_and_of_the_same_length_whatever_comes_in(name: str, edition: mcadams.Edition) -> None:
    wave = hard_signals()[name].astype(np.float32)
    for alpha in (0.5, 0.8, 1.4):
        output = replace(mcadams.edition(edition), alpha=alpha)(wave, RATE)
        assert output.shape == wave.shape
        assert np.isfinite(output).all()
        assert np.abs(output).max() <= 1
        if name == "silence":
            assert np.abs(output).max() < 1e-6


@given(st.integers(1, 24), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_roots_multiply_out_to_the_polynomial_they_came_from(order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lpc = mcadams.burg(rng.standard_normal((200, 7)), order)
    roots = mcadams.roots(lpc)
    np.testing.assert_allclose(mcadams.polynomials(roots), lpc, rtol=0, atol=1e-8)
    for root in roots[:, 0]:
        assert root.imag == 0 or np.abs(roots[:, 0] - root.conj()).min() < 1e-8


def test_roots_in_a_cluster_fall_back_to_eigenvalues() -> None:
    cluster = np.poly([0.9] * 6)[:, None]
    np.testing.assert_allclose(
        np.sort_complex(mcadams.roots(cluster)[:, 0]), np.sort_complex(np.roots(cluster[:, 0])), atol=1e-9
    )


def test_burg_and_the_filters_agree_with_textbook_forms_column_by_column() -> None:
    rng = np.random.default_rng(3)
    frames = rng.standard_normal((320, 5))
    lpc = mcadams.burg(frames, 20)
    residual = mcadams.filter_fir(lpc, frames)
    back = mcadams.filter_all_pole(lpc, residual)
    for column in range(5):
        np.testing.assert_allclose(lpc[:, column], scalar_burg(frames[:, column], 20), atol=1e-12)
        np.testing.assert_allclose(residual[:, column], lfilter(lpc[:, column], [1.0], frames[:, column]), atol=1e-12)
    np.testing.assert_allclose(back, frames, atol=1e-9)


def test_alpha_is_fixed_in_2020_and_drawn_from_half_to_nine_tenths_later() -> None:
    rng = np.random.default_rng(0)
    assert mcadams.draw_alpha("2020", rng) == 0.8
    drawn = [mcadams.draw_alpha("2024", rng) for _ in range(500)]
    assert 0.5 <= min(drawn) < 0.52
    assert 0.88 < max(drawn) < 0.9


def test_an_order_longer_than_the_window_is_refused() -> None:
    with pytest.raises(InputError, match="do not fit together"):
        McAdams(order=400)(np.zeros(1000, np.float32), RATE)
