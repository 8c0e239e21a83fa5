import sys

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.metrics import quality


@pytest.mark.parametrize(("make", "package"), [(quality.dnsmos, "speechmos"), (quality.stoi, "pystoi")])
def test_a_missing_package_is_named(monkeypatch, make, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "speechmos.dnsmos", raising=False)
    with pytest.raises(InputError, match=f"needs the package '{package}'"):
        make()


@pytest.fixture
def speech():
    """Noise with the rhythm of syllables."""
    rng = np.random.default_rng(0)
    seconds = np.arange(24000) / 16000
    return (rng.normal(0, 0.1, 24000) * (1 + np.sin(2 * np.pi * 4 * seconds))).astype(np.float32)


def test_stoi_is_one_for_the_same_wave_and_less_in_noise(speech):
    pytest.importorskip("pystoi")
    compare = quality.stoi()
    noise = np.random.default_rng(1).normal(0, 0.1, len(speech)).astype(np.float32)
    assert compare(speech, speech) == pytest.approx({"stoi": 1, "estoi": 1}, abs=1e-3)
    assert compare(speech, speech + noise)["stoi"] < 0.95


def test_stoi_is_not_defined_for_other_timing_or_next_to_nothing(speech):
    pytest.importorskip("pystoi")
    compare = quality.stoi()
    assert compare(speech, speech[:-1000]) == {}
    assert compare(speech, speech[:-100])["stoi"] > 0.99
    assert compare(speech[:2000], speech[:2000]) == {}


class Listener:
    """Stands for the package speechmos."""

    def run(self, wave, rate):
        self.wave, self.rate = wave, rate
        return {"sig_mos": 1, "bak_mos": 2, "ovrl_mos": 3, "p808_mos": 4, "filename": "x"}


def test_dnsmos_hears_a_wave_at_16_khz_within_full_scale(monkeypatch):
    listener = Listener()
    monkeypatch.setattr(quality, "require", lambda *_: listener)
    found = quality.dnsmos()(np.array([-1.5, -1.0, -0.5, 0.5, 1.5]))
    assert found == {"dnsmos_sig": 1, "dnsmos_bak": 2, "dnsmos_ovrl": 3, "dnsmos_p808": 4}
    assert (listener.wave.tolist(), listener.rate) == ([-1, -1, -0.5, 0.5, 1], 16000)
