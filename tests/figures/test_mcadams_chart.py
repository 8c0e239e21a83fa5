"""The figure of a McAdams frame: poles of a known filter, and where they go."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from vpeval.audio.io import write_wave
from vpeval.figures.mcadams_chart import analyse_frame, envelope, mcadams_figure

ROOT = Path(__file__).parents[2]
RATE = 16000


def resonance(angle, radius=0.98, samples=1600):
    """Noise through one pair of poles."""
    noise = np.random.default_rng(0).normal(0, 0.01, samples)
    return lfilter([1], [1, -2 * radius * np.cos(angle), radius**2], noise)


@pytest.mark.parametrize("angle", [0.5, 1.0, 2.0])
def test_the_pole_of_a_resonance_moves_to_its_angle_to_the_power_of_alpha(angle):
    frame = analyse_frame(resonance(angle), RATE, [0.9, 1.1])
    nearest = int(np.abs(frame.poles - 0.98 * np.exp(1j * angle)).argmin())
    assert np.angle(frame.poles[nearest]) == pytest.approx(angle, abs=0.05)
    for alpha, poles in frame.moved.items():
        assert np.angle(poles[nearest]) == pytest.approx(np.angle(frame.poles[nearest]) ** alpha)
        assert np.abs(poles) == pytest.approx(np.abs(frame.poles))
        real = frame.poles.imag == 0
        assert (poles[real] == frame.poles[real]).all()
        # The peak of the envelope goes along: below 1 radian down for alpha above 1, above it up.
        kilohertz, level = envelope(poles, RATE)
        assert kilohertz[level.argmax()] == pytest.approx(angle**alpha / np.pi * 8, abs=0.4)


def test_the_frame_is_the_loudest_one_or_that_which_is_asked_for():
    wave = 1e-3 * np.random.default_rng(1).normal(size=RATE)
    wave[8000:8320] += resonance(0.5, samples=320)
    assert analyse_frame(wave, RATE, [0.8]).seconds == pytest.approx(0.5, abs=0.011)
    assert analyse_frame(wave, RATE, [0.8], 0.2).seconds == pytest.approx(0.2)
    assert analyse_frame(wave, RATE, [0.8], 9.0).seconds == pytest.approx(0.98, abs=0.011)
    assert np.isfinite(analyse_frame(wave[:100], RATE, [0.8]).poles).all()


def test_the_figure_has_angles_envelopes_and_poles_of_every_coefficient():
    frame = analyse_frame(resonance(0.7), RATE, [0.8, 0.9, 1.1])
    angles, envelopes, plane = mcadams_figure(frame, RATE).axes
    assert [axis.get_title(loc="left") or axis.get_title() for axis in (envelopes, plane)] == [
        "Spectral envelope",
        "Poles",
    ]
    assert len(envelopes.lines) == 4 and len(angles.lines) == 1 + 2 * 3
    legend = mcadams_figure(frame, RATE).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["original", "α = 0.8", "α = 0.9", "α = 1.1"]


def test_the_picture_of_the_docs_is_there():
    assert (ROOT / "docs/img/mcadams.png").is_file() and "img/mcadams.png" in (ROOT / "docs/hooks.md").read_text()


def test_the_script_writes_the_figure_and_names_a_wrong_coefficient(tmp_path):
    write_wave(tmp_path / "a.wav", resonance(0.7).astype(np.float32))
    command = [sys.executable, str(ROOT / "local/plot_mcadams.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*words):
        return subprocess.run([*command, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert run("--alpha", "0.8", "a.wav", "out").returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mcadams.svg", "mcadams.pdf", "mcadams.png"}
    failed = run("--alpha", "0.8,x", "a.wav", "other")
    assert failed.returncode == 1 and "--alpha 0.8,x: give up to six" in failed.stderr
    assert not (tmp_path / "other").exists()
