import numpy as np
import pytest
import torch
from profiles import SMALL

from vpeval.audio.pitch_lags import LAGS
from vpeval.core.errors import InputError
from vpeval.networks.compute import load_weights, save_weights
from vpeval.networks.encoders import load_encoder
from vpeval.networks.neural import trainable_encoder

HYPERPARAMS = """\
n_mels: 20
compute_features: !new:speechbrain.lobes.features.Fbank
  n_mels: !ref <n_mels>
mean_var_norm: !new:speechbrain.processing.features.InputNormalization
  norm_type: sentence
  std_norm: False
embedding_model: !new:speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN
  input_size: !ref <n_mels>
  channels: [16, 16, 16, 16, 48]
  lin_neurons: 8
modules:
  compute_features: !ref <compute_features>
  mean_var_norm: !ref <mean_var_norm>
  embedding_model: !ref <embedding_model>
classifier: !new:speechbrain.lobes.models.ECAPA_TDNN.Classifier
  input_size: 8
  out_neurons: 4
mean_var_norm_emb: !new:speechbrain.processing.features.InputNormalization
  norm_type: global
  std_norm: False
label_encoder: !new:speechbrain.dataio.encoder.CategoricalEncoder
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    embedding_model: !ref <embedding_model>
  paths:
    embedding_model: !ref some/hub/<n_mels>/embedding_model.ckpt
"""
WAVE = np.random.default_rng(0).standard_normal(9000).astype(np.float32) * 0.1


@pytest.fixture
def directory(tmp_path, small):
    """A SpeechBrain directory, its configuration, and the encoder with the same weights."""
    encoder = trainable_encoder(small)
    folder = tmp_path / "model"
    save_weights(encoder.network, folder / "embedding_model.ckpt")
    (folder / "hyperparams.yaml").write_text(HYPERPARAMS)
    (tmp_path / "conf.yaml").write_text("encoder: speechbrain\ndirectory: model\n")
    return folder, tmp_path / "conf.yaml", encoder


def test_a_wave_becomes_a_vector_of_the_configured_dimension(small):
    vector = trainable_encoder(small).embed(WAVE)
    assert vector.shape == (8,)
    assert vector.dtype == np.float32
    assert np.isfinite(vector).all()


def test_an_x_vector_network_is_an_encoder_like_any_other(tmp_path):
    config = tmp_path / "x.yaml"
    config.write_text(SMALL.format(model="none").replace("ecapa", "xvector"))
    assert trainable_encoder(config).embed(WAVE).shape == (8,)


def test_a_very_short_wave_is_repeated_and_not_refused(small):
    assert np.isfinite(trainable_encoder(small).embed(WAVE[:700])).all()


def test_a_saved_encoder_is_loaded_from_its_own_directory(small, tmp_path):
    encoder = trainable_encoder(small)
    encoder.save(small, tmp_path / "out")
    again = load_encoder(tmp_path / "out/encoder.yaml")
    assert (again.embed(WAVE) == encoder.embed(WAVE)).all()


def test_an_encoder_without_weights_is_not_used_for_extraction(small):
    with pytest.raises(InputError, match=r"has no weights \(none\); train it"):
        load_encoder(small)


def test_a_speechbrain_directory_gives_the_vectors_of_its_network(directory):
    _, config, encoder = directory
    assert (load_encoder(config).embed(WAVE) == encoder.embed(WAVE)).all()


def test_a_trained_speechbrain_directory_is_again_one(directory, tmp_path):
    _, config, encoder = directory
    trainable_encoder(config).save(config, tmp_path / "out")
    assert (load_encoder(tmp_path / "out/encoder.yaml").embed(WAVE) == encoder.embed(WAVE)).all()


@pytest.mark.parametrize(
    "line",
    [
        "x: !apply:os.system [true]",
        "x: !new:subprocess.Popen [true]",
        "x: !!python/object/apply:os.system [true]",
        "x: !include:/etc/passwd",
        "x: !new:speechbrain.utils.checkpoints.Checkpointer\n  checkpoints_dir: here",
        "x: {y: [!name:os.system {}]}",
        "x: !new:speechbrain.nnet.losses.torch.utils.collect_env.subprocess.Popen [[touch, pwned]]",
        "x: !new:speechbrain.lobes.features.torch.os.system [touch pwned]",
        "x: !name:speechbrain.lobes.features.Fbank.__init__.__globals__ {}",
        "x: !new:torch.nn.Module.load_state_dict {}",
        "x: !new:speechbrain.lobes.features.Fbank.forward {}",
        "x: !module:os",
        "x: !new:speechbrain.lobes.features.Fbank; {}",
        "x: !applyref:os.system [true]",
    ],
)
def test_a_directory_that_would_run_other_code_is_refused(directory, line):
    folder, config, _ = directory
    (folder / "hyperparams.yaml").write_text(f"{HYPERPARAMS}{line}\n")
    with pytest.raises(InputError, match=r"hyperparams.yaml:27: .* was not run"):
        load_encoder(config)


def test_a_directory_that_is_not_there_is_answered_with_the_files_it_needs(tmp_path):
    (tmp_path / "conf.yaml").write_text("encoder: speechbrain\ndirectory: nowhere\n")
    with pytest.raises(InputError, match=r"nowhere: has no hyperparams.yaml; put the files"):
        load_encoder(tmp_path / "conf.yaml")


def test_a_directory_without_a_speaker_network_is_refused(directory):
    folder, config, _ = directory
    (folder / "hyperparams.yaml").write_text("n_mels: 20\n")
    with pytest.raises(InputError, match="names no compute_features, mean_var_norm, embedding_model"):
        load_encoder(config)


def test_weights_of_another_network_or_none_are_refused(small, tmp_path):
    network = trainable_encoder(small).network
    torch.save({"conv.weight": torch.zeros(3)}, tmp_path / "other.ckpt")
    with pytest.raises(InputError, match="does not fit the network"):
        load_weights(network, tmp_path / "other.ckpt")
    with pytest.raises(InputError, match="no such file of weights"):
        load_weights(network, tmp_path / "none.ckpt")


def test_a_pickle_with_code_is_not_loaded(small, tmp_path):
    torch.save({"weights": print}, tmp_path / "evil.ckpt")
    with pytest.raises(InputError, match="holds more than weights and was not loaded"):
        load_weights(trainable_encoder(small).network, tmp_path / "evil.ckpt")


def test_a_file_of_the_store_with_a_wrong_hash_is_refused(tmp_path, monkeypatch):
    (tmp_path / "ecapa_voxceleb").mkdir()
    (tmp_path / "ecapa_voxceleb/embedding_model.ckpt").write_bytes(b"not the published file")
    monkeypatch.setenv("VPEVAL_MODELS", str(tmp_path))
    config = tmp_path / "ecapa.yaml"
    config.write_text(SMALL.format(model="ecapa_voxceleb"))
    with pytest.raises(InputError, match=r"embedding_model.ckpt: .*SHA-256 is .* expected 0575cb64845e"):
        load_encoder(config)


def test_f0_is_an_encoder_too_and_cannot_be_trained(tmp_path):
    config = tmp_path / "f0.yaml"
    config.write_text("encoder: f0_histogram\nsimilarity: euclidean\n")
    time = np.arange(16000) / 16000
    tone = sum(np.sin(2 * np.pi * 125 * k * time) / k for k in range(1, 20)).astype(np.float32)
    encoder = load_encoder(config)
    assert LAGS[encoder.embed(0.1 * tone).argmax()] == 64  # 8000 / 125
    assert encoder.embed(np.zeros(16000, np.float32)).tolist() == pytest.approx([1 / 107] * 107)
    assert encoder.symbols(0.1 * tone)[50] == 64 - LAGS[0] + 1 and not encoder.symbols(np.zeros(16000)).any()
    assert (encoder.count, encoder.rate, len(encoder.symbols(tone))) == (107, 100, 101)
    with pytest.raises(InputError, match="no network that can be trained here"):
        trainable_encoder(config)
