import numpy as np
import pytest
import torch
from onnx_graphs import channel_means, field, model, wave_mean

from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.networks import speechbrain  # noqa: F401  # makes torchaudio importable
from vpeval.networks.encoders import load_encoder
from vpeval.networks.neural import trainable_encoder

FBANK = "{kind: fbank, mels: 80, window: hamming, scale: 32768, subtract_mean: false}"
WAVE = np.random.default_rng(0).standard_normal(9000).astype(np.float32) * 0.1


def write(tmp_path, graph, front_end=FBANK):
    (tmp_path / "graph.onnx").write_bytes(graph)
    (tmp_path / "conf.yaml").write_text(f"encoder: onnx\nmodel: graph.onnx\nfront_end: {front_end}\n")
    return tmp_path / "conf.yaml"


def torchaudio_fbank(wave, window="hamming"):
    from torchaudio.compliance.kaldi import fbank

    samples = torch.from_numpy(wave)[None] * 32768
    return fbank(samples, num_mel_bins=80, window_type=window, dither=0.0, sample_frequency=16000).numpy()


@pytest.mark.parametrize("window", ["hamming", "povey", "hanning"])
def test_filterbanks_are_those_of_kaldi_as_torchaudio_has_them(tmp_path, window):
    encoder = load_encoder(write(tmp_path, channel_means(), FBANK.replace("hamming", window)))
    assert encoder.front_end(WAVE) == pytest.approx(torchaudio_fbank(WAVE, window), abs=2e-3)
    assert encoder.embed(WAVE) == pytest.approx(torchaudio_fbank(WAVE, window).mean(axis=0), abs=1e-3)


def test_the_mean_of_every_channel_is_taken_off_if_declared(tmp_path):
    encoder = load_encoder(write(tmp_path, channel_means(), FBANK.replace("mean: false", "mean: true")))
    assert encoder.embed(WAVE) == pytest.approx(np.zeros(80), abs=1e-4)


def test_a_graph_may_take_the_wave_itself(tmp_path):
    encoder = load_encoder(write(tmp_path, wave_mean(), "{kind: wave, scale: 2}"))
    assert encoder.embed(WAVE) == pytest.approx([2 * WAVE.mean()], abs=1e-6)


def test_a_very_short_wave_is_repeated(tmp_path):
    assert np.isfinite(load_encoder(write(tmp_path, channel_means())).embed(WAVE[:300])).all()


def test_vectors_are_the_same_every_time(tmp_path):
    first, second = (load_encoder(write(tmp_path, channel_means())).embed(WAVE) for _ in range(2))
    assert (first == second).all()


def test_there_is_nothing_to_train(tmp_path):
    with pytest.raises(InputError, match="no network that can be trained here"):
        trainable_encoder(write(tmp_path, channel_means()))


@pytest.mark.parametrize("content", [b"", b"RIFFxxxx", b"\x08\x07", channel_means()[:40]])
def test_a_cut_or_foreign_file_is_refused_in_one_line(tmp_path, content):
    with pytest.raises(InputError, match=r"graph.onnx: (is no ONNX graph that can be run|takes )") as found:
        load_encoder(write(tmp_path, content))
    assert "\n" not in str(found.value)


def test_weights_in_other_files_are_not_read(tmp_path):
    """A tensor with its data in a file that the graph names: a way to read any file of the machine."""
    (tmp_path / "secret").write_bytes(bytes(320))
    place = field(13, field(1, "location") + field(2, "secret"))
    tensor = field(1, 80) + field(2, 1) + field(8, "offset") + place + field(14, 1)
    node = ("Add", ["feats", "offset"], ["sum"], [])
    mean = ("ReduceMean", ["sum"], ["vector"], [("axes", [1]), ("keepdims", 0)])
    graph = model([node, mean], [("feats", ["B", "T", 80])], [("vector", ["B", 80])], extra=field(5, tensor))
    with pytest.raises(InputError, match=r"graph.onnx: is no ONNX graph that can be run"):
        load_encoder(write(tmp_path, graph))


def test_operations_that_onnx_does_not_have_are_refused(tmp_path):
    graph = model([("RunProgram", ["feats"], ["vector"], [])], [("feats", ["B", "T", 80])], [("vector", ["B", 80])])
    with pytest.raises(InputError, match="is no ONNX graph that can be run"):
        load_encoder(write(tmp_path, graph))


def test_a_front_end_that_does_not_fit_the_graph_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"takes 40 channels; set 'mels'"):
        load_encoder(write(tmp_path, channel_means(40)))
    with pytest.raises(
        InputError, match=r"takes feats \['B', 'T', 80\]; the front end of .* makes one input of 2 axes"
    ):
        load_encoder(write(tmp_path, channel_means(), "{kind: wave, scale: 1}"))


@pytest.mark.parametrize(
    ("front_end", "complaint"),
    [
        ("{kind: mel}", "'kind' must be one of fbank, wave, not 'mel'"),
        ("{}", "'kind' must be one of fbank, wave, not 'None'"),
        (FBANK.replace("80", "many"), "'mels' must be of type int, not 'many'"),
        (FBANK.replace("80", "0"), "must be positive"),
        (FBANK.replace("hamming", "kaiser"), "'window' must be one of hamming"),
        (FBANK.replace(", scale: 32768", ""), "'scale' must be of type float, not None"),
        (FBANK.replace("false", "0"), "'subtract_mean' must be of type bool, not 0"),
        (FBANK.replace("mels", "colour: red, mels"), "unknown key 'colour'"),
        ("3", "'front_end' must be of type dict"),
    ],
)
def test_a_front_end_is_declared_completely(tmp_path, front_end, complaint):
    with pytest.raises(InputError, match=rf"conf.yaml: .*{complaint}"):
        load_encoder(write(tmp_path, channel_means(), front_end))


def test_an_output_that_is_no_vector_is_refused(tmp_path):
    graph = model([("Identity", ["feats"], ["same"], [])], [("feats", ["B", "T", 80])], [("same", ["B", "T", 80])])
    with pytest.raises(InputError, match=r"its first output has the shape \(1, \d+, 80\), not that of one vector"):
        load_encoder(write(tmp_path, graph)).embed(WAVE)


def test_a_missing_file_is_named(tmp_path):
    conf = write(tmp_path, b"")
    (tmp_path / "graph.onnx").unlink()
    with pytest.raises(InputError, match=r"graph.onnx: no such ONNX file"):
        load_encoder(conf)


@pytest.mark.e2e
def test_the_resnet_of_the_store_tells_speakers_apart(tmp_path):
    from pathlib import Path

    from vpeval.audio.io import read_audio

    root = Path(__file__).parents[2]
    models.fetch(models.find_model("resnet34_256"))
    encoder = load_encoder(root / "conf/asv/encoders/resnet.yaml")
    audio = root / "egs/mini/corpus/audio"
    vectors = {
        name: [encoder.embed(read_audio(str(path))) for path in sorted((audio / name).glob("*.opus"))[:3]]
        for name in ("f001", "f002", "m043")
    }
    unit = {name: [vector / np.linalg.norm(vector) for vector in some] for name, some in vectors.items()}
    same = min(a @ b for some in unit.values() for a in some for b in some)
    other = max(a @ b for one in unit for two in unit if one != two for a in unit[one] for b in unit[two])
    assert len(vectors["f001"][0]) == 256
    assert same > other
