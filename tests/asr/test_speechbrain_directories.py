"""The challenge's SpeechBrain models, in small: wav2vec2 with random weights, in directories as they are published."""

import numpy as np
import pytest
import torch

from vpeval.asr.recognizers import load_recognizer
from vpeval.asr.speechbrain_ctc import CTCTextEncoder  # isort: split

from speechbrain.dataio.encoder import CategoricalEncoder

from vpeval.asr.speechbrain_emotion import EmotionClassifier
from vpeval.core.errors import InputError
from vpeval.networks.hyperparams import read_hyperparams

WAVE = np.random.default_rng(0).normal(0, 0.1, 16000).astype(np.float32)
RECOGNISER = """\
recognizer: speechbrain
directory: model
blank: 0
beam: 8
nbest: 5
acoustic_scale: 10.0
lmwt: 10.0
wip: 0.0
"""
CTC = """\
pretrained_path: speechbrain/asr-wav2vec2-librispeech
blank_index: 0
output_neurons: 5
wav2vec2: !new:speechbrain.lobes.models.huggingface_transformers.wav2vec2.Wav2Vec2
  source: facebook/wav2vec2-large-960h-lv60-self
  output_norm: True
  freeze: True
  save_path: wav2vec2_checkpoint
enc: !new:speechbrain.lobes.models.VanillaNN.VanillaNN
  input_shape: [null, null, 16]
  activation: !name:torch.nn.LeakyReLU
  dnn_blocks: 1
  dnn_neurons: 12
ctc_lin: !new:speechbrain.nnet.linear.Linear
  input_size: 12
  n_neurons: !ref <output_neurons>
log_softmax: !new:speechbrain.nnet.activations.Softmax
  apply_log: True
asr_model: !new:torch.nn.ModuleList
  - [!ref <enc>, !ref <ctc_lin>]
tokenizer: !new:speechbrain.dataio.encoder.CTCTextEncoder
encoder: !new:speechbrain.nnet.containers.LengthsCapableSequential
  wav2vec2: !ref <wav2vec2>
  enc: !ref <enc>
  ctc_lin: !ref <ctc_lin>
  log_softmax: !ref <log_softmax>
decoding_function: !name:speechbrain.decoders.ctc_greedy_decode
  blank_id: !ref <blank_index>
modules:
  encoder: !ref <encoder>
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    wav2vec2: !ref <wav2vec2>
    asr: !ref <asr_model>
    tokenizer: !ref <tokenizer>
  paths:
    wav2vec2: !ref <pretrained_path>/wav2vec2.ckpt
    asr: !ref <pretrained_path>/asr.ckpt
    tokenizer: !ref <pretrained_path>/tokenizer.ckpt
"""
EMOTION = """\
wav2vec2: !new:speechbrain.lobes.models.huggingface_transformers.wav2vec2.Wav2Vec2
  source: facebook/wav2vec2-base
  output_norm: True
  freeze: False
  save_path: wav2vec2_checkpoint
avg_pool: !new:speechbrain.nnet.pooling.StatisticsPooling
  return_std: False
output_mlp: !new:speechbrain.nnet.linear.Linear
  input_size: 16
  n_neurons: 4
  bias: False
model: !new:torch.nn.ModuleList
  - [!ref <output_mlp>]
modules:
  wav2vec2: !ref <wav2vec2>
  output_mlp: !ref <output_mlp>
  avg_pool: !ref <avg_pool>
label_encoder: !new:speechbrain.dataio.encoder.CategoricalEncoder
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    wav2vec2: !ref <wav2vec2>
    model: !ref <model>
    label_encoder: !ref <label_encoder>
"""


def write_wav2vec2(folder):
    transformers = pytest.importorskip("transformers", reason="no transformers: install requirements-optional.txt")
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        conv_dim=(8, 8),
        conv_stride=(5, 4),
        conv_kernel=(10, 8),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    transformers.Wav2Vec2Model(config).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)


def save_parts(folder, *names):
    made = read_hyperparams(folder, "a test")
    for name in names:
        torch.save(made["pretrainer"].loadables[name].state_dict(), folder / f"{name}.ckpt")


@pytest.fixture
def recogniser(tmp_path):
    folder = tmp_path / "model"
    write_wav2vec2(folder / "wav2vec2-large-960h-lv60-self")
    (folder / "hyperparams.yaml").write_text(CTC)
    save_parts(folder, "wav2vec2", "asr")
    letters = CTCTextEncoder()
    letters.insert_blank(index=0)
    for letter in "ABC ":
        letters.add_label(letter)
    letters.save(folder / "tokenizer.ckpt")
    (tmp_path / "conf.yaml").write_text(RECOGNISER)
    return tmp_path / "conf.yaml", folder


def test_a_wav2vec2_recogniser_reads_from_its_directory_alone(recogniser):
    conf, folder = recogniser
    loaded = load_recognizer(conf)
    assert set(loaded.transcribe(WAVE)) <= set("ABC ")
    assert loaded.logprobs(WAVE).shape[1] == 5
    weights = {name: torch.zeros_like(value) for name, value in torch.load(folder / "asr.ckpt").items()}
    torch.save(weights, folder / "asr.ckpt")
    assert load_recognizer(conf).logprobs(WAVE) == pytest.approx(np.log(1 / 5))


@pytest.mark.parametrize("name", ["hyperparams.yaml", "wav2vec2.ckpt", "asr.ckpt", "tokenizer.ckpt"])
def test_a_missing_file_of_a_recogniser_is_named(recogniser, name):
    conf, folder = recogniser
    (folder / name).unlink()
    with pytest.raises(InputError, match=rf"has no {name}; put the (model's )?files"):
        load_recognizer(conf)


def test_a_network_that_would_be_fetched_is_asked_for(recogniser):
    conf, folder = recogniser
    (folder / "wav2vec2-large-960h-lv60-self/config.json").unlink()
    with pytest.raises(InputError, match=r"names the network 'facebook/wav2vec2-large-960h-lv60-self'; put its files"):
        load_recognizer(conf)


def test_a_recogniser_that_would_run_code_is_refused(recogniser):
    conf, folder = recogniser
    (folder / "custom.py").write_text("raise SystemExit('ran')\n")
    (folder / "hyperparams.yaml").write_text(CTC + "x: !new:custom.Anything {}\n")
    with pytest.raises(InputError, match=r"hyperparams.yaml:40: !new:custom.Anything is not one of the known"):
        load_recognizer(conf)


def test_a_directory_that_is_no_recogniser_is_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/hyperparams.yaml").write_text("x: 1\n")
    (tmp_path / "conf.yaml").write_text(RECOGNISER)
    with pytest.raises(InputError, match="names no encoder; is it a CTC recogniser"):
        load_recognizer(tmp_path / "conf.yaml")


@pytest.fixture
def emotions(tmp_path):
    folder = tmp_path / "emotion"
    write_wav2vec2(folder / "wav2vec2-base")
    (folder / "hyperparams.yaml").write_text(EMOTION)
    save_parts(folder, "wav2vec2", "model")
    labels = CategoricalEncoder()
    labels.update_from_iterable(["neu", "ang", "hap", "sad"])
    labels.save(folder / "label_encoder.ckpt")
    (folder / "custom_interface.py").write_text("raise SystemExit('ran')\n")
    return folder


def test_a_wav2vec2_emotion_classifier_needs_none_of_its_own_code(emotions):
    classifier = EmotionClassifier(emotions)
    weights = torch.load(emotions / "model.ckpt", weights_only=True)
    frames = classifier.classifier.wav2vec2(torch.from_numpy(WAVE)[None])
    scores = frames.mean(dim=1) @ next(iter(weights.values())).T
    assert classifier.classify(WAVE) == ["neu", "ang", "hap", "sad"][int(scores.argmax())]


@pytest.mark.parametrize("name", ["wav2vec2.ckpt", "model.ckpt", "label_encoder.ckpt"])
def test_a_missing_file_of_an_emotion_classifier_is_named(emotions, name):
    (emotions / name).unlink()
    with pytest.raises(InputError, match=rf"has no {name}"):
        EmotionClassifier(emotions)


def test_code_of_a_directory_runs_only_when_asked_for(tmp_path):
    (tmp_path / "hyperparams.yaml").write_text("modules: {ear: !new:torch.nn.Identity {}}\n")
    (tmp_path / "custom_interface.py").write_text("raise SystemExit('ran')\n")
    with pytest.raises(
        InputError, match=r"brings code of its own, custom_interface.py, which --interface CLASS allows"
    ):
        EmotionClassifier(tmp_path)
    (tmp_path / "custom_interface.py").unlink()
    with pytest.raises(InputError, match=r"has no custom_interface.py with a class Ear"):
        EmotionClassifier(tmp_path, "Ear")
