from pathlib import Path

import numpy as np
import pytest
import torch

from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.networks.encoders import load_encoder
from vpeval.networks.ge2e import segments

CONF = Path(__file__).parents[2] / "conf/asv/encoders/ge2e.yaml"


def humming(samples: int) -> np.ndarray:
    time = np.arange(samples) / 16000
    pitch = 120 + 10 * np.sin(3 * time)
    return (0.02 * sum(np.sin(2 * np.pi * k * pitch * time) / k for k in range(1, 9))).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "count"),
    [(3000, 1), (25_600, 1), (37_919, 2), (80_000, 5)],
)
def test_segments_of_160_frames_begin_every_77_and_the_last_is_there_if_three_quarters_are(samples, count):
    assert segments(humming(samples)).shape == (count, 160, 40)


def test_quiet_speech_is_made_louder_and_loud_speech_stays():
    assert np.allclose(segments(humming(16_000)), segments(0.1 * humming(16_000)), rtol=1e-4)
    loud = 20 * humming(16_000)
    assert np.allclose(segments(2 * loud), 4 * segments(loud), rtol=1e-4)
    assert not segments(np.zeros(16_000, np.float32)).any()


def test_weights_of_another_network_are_refused(tmp_path, monkeypatch):
    torch.save({"model_state": {"lstm.weight_ih_l0": torch.zeros(3)}}, tmp_path / "pretrained.pt")
    monkeypatch.setattr(models, "locate", lambda entry: tmp_path)
    with pytest.raises(InputError, match=r"pretrained.pt: does not hold the network of Resemblyzer"):
        load_encoder(CONF)


@pytest.mark.e2e
def test_vectors_are_those_of_resemblyzers_own_code():
    models.fetch(models.find_model("ge2e_256"))
    vector = load_encoder(CONF).embed(humming(40_000))
    # Computed by VoiceEncoder.embed_utterance of resemblyzer 0.1.4, volume normalised.
    largest = [48, 127, 165, 150, 189, 42]
    assert np.argsort(-vector)[:6].tolist() == largest
    assert vector[largest] == pytest.approx([0.20723, 0.18165, 0.17970, 0.17722, 0.17613, 0.17516], abs=2e-5)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
