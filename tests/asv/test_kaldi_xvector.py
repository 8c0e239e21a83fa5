import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from kaldi_files import (
    Writer,
    XVectorNet,
    affine,
    batch_norm,
    extraction,
    pooling,
    relu,
    updatable,
    write_array,
    write_nnet3,
)

from vpeval.asr.vosk import to_pcm
from vpeval.audio.io import read_audio
from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.networks.encoders import load_encoder
from vpeval.networks.kaldi.nnet3 import read_nnet3

ROOT = Path(__file__).parents[2]
WAVE = np.random.default_rng(0).standard_normal(16000).astype(np.float32) * 0.1
MFCC = "--dither=0\n--num-mel-bins=23\n--num-ceps=23\n--low-freq=20\n--high-freq=7600\n--sample-frequency=16000\n"
ALL_FRAMES = "--vad-energy-threshold=-1000\n--vad-energy-mean-scale=0\n"


def write_model(folder, binary=True, smallest=25, largest=10000, net=None):
    """A directory as extract_xvectors.sh wants it, and its configuration."""
    folder.mkdir(parents=True)
    (net or XVectorNet()).write(folder / "final.raw", binary)
    (folder / "extract.config").write_text("# the embedding\noutput-node name=output input=tdnn6.affine\n")
    (folder / "min_chunk_size").write_text(f"{smallest}\n")
    (folder / "max_chunk_size").write_text(f"{largest}\n")
    (folder / "mfcc.conf").write_text(MFCC)
    (folder / "vad.conf").write_text(ALL_FRAMES)
    conf = folder.with_suffix(".yaml")
    conf.write_text(f"encoder: kaldi_xvector\ndirectory: {folder.name}\n")
    return conf


@pytest.fixture(scope="module")
def vosk_model(tmp_path_factory):
    """Vosk with a recogniser that takes no phone for silence, so that its speaker vector is of all frames."""
    vosk = pytest.importorskip("vosk")
    source = models.fetch(models.find_model("vosk_small_en"))
    folder = tmp_path_factory.mktemp("vosk")
    for name in ("am", "graph", "ivector"):
        (folder / name).symlink_to(source / name)
    shutil.copytree(source / "conf", folder / "conf")
    options = (folder / "conf/model.conf").read_text()
    (folder / "conf/model.conf").write_text(options.replace("1:2:3:4:5:6:7:8:9:10", "99999"))
    vosk.SetLogLevel(-1)
    return vosk, vosk.Model(str(folder))


def kaldi_vector(vosk_model, folder, wave):
    """What Kaldi's own code makes of a wave: MFCC, sliding normalisation, network; of length √dimension."""
    vosk, model = vosk_model
    recogniser = vosk.KaldiRecognizer(model, 16000, '["one"]')  # its words do not matter, and one is fast
    recogniser.SetSpkModel(vosk.SpkModel(str(folder)))
    recogniser.AcceptWaveform(to_pcm(wave).tobytes())
    result = json.loads(recogniser.FinalResult())
    return np.array(result["spk"]), result["spk_frames"]


def utterances(count):
    paths = sorted((ROOT / "egs/mini/corpus/audio").rglob("*.opus"))
    return [read_audio(str(path)) for path in paths[:: len(paths) // count][:count]]


def cosine(first, second):
    first = first.astype(np.float64)
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.mark.e2e
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_vectors_are_those_of_kaldis_own_code(vosk_model, tmp_path, binary):
    encoder = load_encoder(write_model(tmp_path / "model", binary))
    oracle = tmp_path / "oracle"
    oracle.mkdir()
    (oracle / "mfcc.conf").write_text(MFCC)
    XVectorNet().write(oracle / "final.ext.raw", binary, output="tdnn6.affine")
    write_array(oracle / "mean.vec", np.zeros(16), binary)
    write_array(oracle / "transform.mat", np.eye(16), binary)
    for wave in utterances(10):
        theirs, frames = kaldi_vector(vosk_model, oracle, wave)
        assert frames == len(encoder.mfcc(wave))
        assert cosine(encoder.embed(to_pcm(wave) / 32768), theirs) > 1 - 1e-9


def odd_network(path, binary, output="joined"):
    """Every kind of component and descriptor that the usual x-vector network does without."""
    rng = np.random.default_rng(1)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32) / np.sqrt(shape[-1])  # noqa: E731
    lines = [
        "input-node name=input dim=23",
        "dim-range-node name=low input-node=input dim-offset=1 dim=8",
        "component-node name=fixed component=fixed input=Append(low, Offset(low, 1), Offset(input, -1))",
        "component-node name=linear component=linear input=fixed",
        "component-node name=tdnn component=tdnn input=linear",
        "component-node name=relu component=relu input=tdnn",
        "component-node name=blocks component=blocks input=relu",
        "component-node name=norm component=norm input=Sum(blocks, Scale(0.5, Offset(relu, 2)))",
        "component-node name=scale component=scale input=norm",
        "component-node name=offset component=offset input=scale",
        "component-node name=tanh component=tanh input=offset",
        "component-node name=noop component=noop input=tanh",
        "component-node name=extract component=extract input=noop",
        "component-node name=pool component=pool input=extract",
        "component-node name=joined component=joined input=Append(Round(pool, 4), ReplaceIndex(sigmoid, t, 9))",
        "component-node name=sigmoid component=sigmoid input=linear",
        f"output-node name=output input={output}",
    ]

    def fixed(w):
        w.token("<FixedAffineComponent>", "<LinearParams>").array(draw(12, 39)).token("<BiasParams>").array(draw(12))
        w.token("</FixedAffineComponent>")

    def linear(w):
        updatable(w, "LinearComponent").token("<Params>").array(draw(10, 12)).token("<UseNaturalGradient>").bool(True)
        w.token("<RankInOut>").int(20).int(80).token("<Alpha>").float(4.0).token("<NumSamplesHistory>").float(2000.0)
        w.token("<UpdatePeriod>").int(4).token("</LinearComponent>")

    def tdnn(w):
        updatable(w, "TdnnComponent").token("<TimeOffsets>").ints([-1, 0, 3]).token("<LinearParams>").array(
            draw(8, 30)
        ).token("<BiasParams>").array(draw(8))
        w.token("<OrthonormalConstraint>").float(-1.0).token("<UseNaturalGradient>").bool(True)
        w.token("<NumSamplesHistory>").float(2000.0).token("<AlphaInOut>").float(4.0).float(4.0)
        w.token("<RankInOut>").int(20).int(80).token("</TdnnComponent>")

    def norm(w):
        w.token("<NormalizeComponent>", "<InputDim>").int(8).token("<BlockDim>").int(4).token("<TargetRms>").float(0.5)
        w.token("<AddLogStddev>").bool(True).token("</NormalizeComponent>")

    def scale(w):
        updatable(w, "PerElementScaleComponent").token("<Params>").array(1 + 0.1 * draw(10))
        w.token("</PerElementScaleComponent>")

    def offset(w):
        updatable(w, "PerElementOffsetComponent").token("<Offsets>").array(draw(10)).token("<Dim>").int(10)
        w.token("<UseNaturalGradient>").bool(True).token("</PerElementOffsetComponent>")

    def plain(kind, size):
        def write(w):
            w.token(f"<{kind}>", "<Dim>").int(size).token("<ValueAvg>").array(np.zeros(0)).token("<DerivAvg>")
            w.array(np.zeros(0)).token("<Count>").float(0.0).token("<OderivRms>").array(np.zeros(0))
            w.token("<OderivCount>").float(0.0).token("<NumDimsSelfRepaired>").float(0.0)
            w.token("<NumDimsProcessed>").float(0.0).token(f"</{kind}>")

        return write

    def noop(w):
        w.token("<NoOpComponent>", "<Dim>").int(10).token("<BackpropScale>").float(1.0).token("</NoOpComponent>")

    def extract(w):
        w.token("<StatisticsExtractionComponent>", "<InputDim>").int(10).token("<InputPeriod>").int(2)
        w.token("<OutputPeriod>").int(4).token("<IncludeVarinance>").bool(True)
        w.token("</StatisticsExtractionComponent>")

    def pool(w):
        w.token("<StatisticsPoolingComponent>", "<InputDim>").int(21).token("<InputPeriod>").int(4)
        w.token("<LeftContext>").int(40).token("<RightContext>").int(80).token("<NumLogCountFeatures>").int(1)
        w.token("<OutputStddevs>").bool(True).token("<VarianceFloor>").float(1e-10)
        w.token("</StatisticsPoolingComponent>")

    parts = [
        ("fixed", fixed),
        ("linear", linear),
        ("tdnn", tdnn),
        ("relu", lambda w: relu(w, 8)),
        ("blocks", lambda w: batch_norm(w, [0.1, 0.2], [0.4, 0.5], rms=0.7, dimension=8)),
        ("norm", norm),
        ("scale", scale),
        ("offset", offset),
        ("tanh", plain("TanhComponent", 10)),
        ("noop", noop),
        ("extract", extract),
        ("pool", pool),
        ("joined", lambda w: affine(w, draw(9, 31), draw(9))),
        ("sigmoid", plain("SigmoidComponent", 10)),
    ]
    write_nnet3(path, binary, lines, parts)


@pytest.mark.e2e
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_unusual_components_and_inputs_are_computed_as_kaldi_does(vosk_model, tmp_path, binary):
    conf = write_model(tmp_path / "model")
    odd_network(tmp_path / "model/final.raw", binary)
    (tmp_path / "model/extract.config").write_text("")
    encoder = load_encoder(conf)
    oracle = tmp_path / "oracle"
    oracle.mkdir()
    (oracle / "mfcc.conf").write_text(MFCC)
    odd_network(oracle / "final.ext.raw", binary)
    write_array(oracle / "mean.vec", np.zeros(9))
    write_array(oracle / "transform.mat", np.eye(9))
    for wave in utterances(3):
        theirs, _ = kaldi_vector(vosk_model, oracle, wave)
        assert cosine(encoder.embed(to_pcm(wave) / 32768), theirs) > 1 - 1e-9


def test_binary_and_text_form_give_the_same_vector(tmp_path):
    binary, text = (load_encoder(write_model(tmp_path / f"form{form}", form)) for form in (True, False))
    assert binary.embed(WAVE) == pytest.approx(text.embed(WAVE), abs=1e-5)
    assert binary.embed(WAVE).shape == (16,)
    assert binary.embed(WAVE).dtype == np.float32


def test_long_features_are_cut_and_the_vectors_weighted_by_length(tmp_path):
    encoder = load_encoder(write_model(tmp_path / "model", smallest=25, largest=40))
    features = np.random.default_rng(0).standard_normal((90, 23)).astype(np.float32)
    parts = [features[:40], features[40:80], np.pad(features[80:], ((7, 8), (0, 0)), mode="edge")]
    single = [encoder.embed_features(part) for part in parts]
    wanted = (40 * single[0] + 40 * single[1] + 10 * single[2]) / 90
    assert encoder.embed_features(features) == pytest.approx(wanted, abs=1e-5)


def test_a_wave_shorter_than_a_frame_still_has_a_vector(tmp_path):
    assert np.isfinite(load_encoder(write_model(tmp_path / "model")).embed(WAVE[:100])).all()


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_a_truncated_network_gives_one_line_that_names_the_component(tmp_path, binary):
    conf = write_model(tmp_path / "model", binary)
    whole = (tmp_path / "model/final.raw").read_bytes()
    middle = whole.index(b"tdnn3.affine <Nat") + 300
    (tmp_path / "model/final.raw").write_bytes(whole[:middle])
    with pytest.raises(
        InputError, match=r"final.raw: is no whole nnet3 network: component 7 of \d+ \('tdnn3.affine'\)"
    ) as found:
        load_encoder(conf)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_wherever_a_network_is_cut_it_is_refused_in_one_line(tmp_path, binary):
    path = tmp_path / "final.raw"
    XVectorNet(width=3, pooled=4, dimension=3).write(path, binary)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 9, 97):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError) as found:
            read_nnet3(path)
        assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"RIFF....WAVEfmt ", b"\0B<TransitionModel> ", b"PK\3\4\0\0", b"\0B<Nnet> ", b"\xff" * 50, b"<Nnet3> "],
)
def test_a_foreign_file_is_no_network(tmp_path, content):
    (tmp_path / "final.raw").write_bytes(content)
    with pytest.raises(InputError, match=r"final.raw: is no (whole )?nnet3 network") as found:
        read_nnet3(tmp_path / "final.raw")
    assert "\n" not in str(found.value)


def test_bytes_that_were_changed_never_give_a_traceback(tmp_path):
    rng = np.random.default_rng(0)
    conf = write_model(tmp_path / "model", net=XVectorNet(width=3, pooled=4, dimension=3))
    path = tmp_path / "model/final.raw"
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(150):
        damaged = whole.copy()
        damaged[rng.integers(len(whole), size=3)] = rng.integers(256, size=3)
        path.write_bytes(damaged.tobytes())
        try:
            load_encoder(conf).embed(WAVE)
        except InputError as error:
            assert "\n" not in str(error)


def test_an_unknown_component_is_named_with_its_type(tmp_path):
    conf = write_model(tmp_path / "model")
    raw = tmp_path / "model/final.raw"
    raw.write_bytes(raw.read_bytes().replace(b"BatchNormComponent", b"LstmNonlinearity__"))
    with pytest.raises(InputError, match=r"component 'tdnn\d.batchnorm' is a LstmNonlinearity__"):
        load_encoder(conf)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("output-node name=output input=nowhere", "node 'nowhere' is used but not defined"),
        ("output-node name=output input=IfDefined(tdnn1.relu)", r"IfDefined\(\) in .* is no input of"),
        ("output-node name=output input=Append(tdnn1.relu", r"expected '\)'"),
        ("output-node name=output input=", "cannot read the input"),
        ("exit 1", "extract.config:1: 'exit 1' is no node"),
        ("component-node name=tdnn1.affine component=tdnn1.affine input=tdnn2.relu\noutput-node name=output input=tdnn6.affine", "needs itself"),
    ],
)  # fmt: skip
def test_an_extract_config_that_makes_no_network_is_refused(tmp_path, line, complaint):
    conf = write_model(tmp_path / "model")
    (tmp_path / "model/extract.config").write_text(line + "\n")
    with pytest.raises(InputError, match=complaint):
        load_encoder(conf)


def test_an_untrained_batch_normalisation_is_refused(tmp_path):
    conf = write_model(tmp_path / "model")
    lines = ["input-node name=input dim=23", "component-node name=tdnn6.affine component=norm input=input",
             "output-node name=output input=tdnn6.affine"]  # fmt: skip
    write_nnet3(
        tmp_path / "model/final.raw",
        True,
        lines,
        [("norm", lambda w: batch_norm(w, np.zeros(23), np.ones(23), count=0.0))],
    )
    with pytest.raises(InputError, match=r"component 'norm' \(BatchNormComponent\): has no statistics"):
        load_encoder(conf)


def test_features_of_another_size_than_the_network_takes_are_refused(tmp_path):
    conf = write_model(tmp_path / "model")
    (tmp_path / "model/mfcc.conf").write_text(MFCC.replace("23", "30"))
    with pytest.raises(InputError, match=r"mfcc.conf: makes 30 cepstra, but .*final.raw takes 23"):
        load_encoder(conf)


@pytest.mark.parametrize("name", ["final.raw", "extract.config", "min_chunk_size", "max_chunk_size"])
def test_a_missing_file_is_named(tmp_path, name):
    conf = write_model(tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(InputError, match=rf"(has|holds) no {name}"):
        load_encoder(conf)


def test_the_layout_of_the_challenge_is_found_below_the_directory(tmp_path):
    write_model(tmp_path / "asv_eval/xvect_01709_1")
    (tmp_path / "conf.yaml").write_text("encoder: kaldi_xvector\ndirectory: asv_eval\n")
    assert load_encoder(tmp_path / "conf.yaml").embed(WAVE).shape == (16,)
    write_model(tmp_path / "asv_eval/another")
    with pytest.raises(InputError, match=r"has final.raw in several places \(another, xvect_01709_1\)"):
        load_encoder(tmp_path / "conf.yaml")


def test_without_options_those_of_the_challenge_hold(tmp_path):
    conf = write_model(tmp_path / "model", net=XVectorNet(features=30))
    for name in ("mfcc.conf", "vad.conf"):
        (tmp_path / "model" / name).unlink()
    encoder = load_encoder(conf)
    assert (encoder.mfcc.dimension, encoder.mfcc.dither, encoder.vad.threshold) == (30, 1.0, 5.5)
    assert (encoder.embed(WAVE) == encoder.embed(WAVE)).all()


def test_the_shipped_configuration_says_what_to_put_where(tmp_path, monkeypatch):
    conf = tmp_path / "conf/asv/encoders/kaldi_xvector.yaml"
    conf.parent.mkdir(parents=True)
    shutil.copy(ROOT / "conf/asv/encoders/kaldi_xvector.yaml", conf)
    with pytest.raises(InputError, match=r"exp/models/asv_eval: no such directory; put an x-vector network"):
        load_encoder(conf)


def test_vectors_of_pooled_frames_are_their_mean_and_deviation(tmp_path):
    lines = [
        "input-node name=input dim=2",
        "component-node name=e component=e input=Offset(input, 1)",
        "component-node name=p component=p input=e",
        "output-node name=output input=p",
    ]
    write_nnet3(
        tmp_path / "net", False, lines, [("e", lambda w: extraction(w, 2)), ("p", lambda w: pooling(w, 2, right=2))]
    )
    import torch

    from vpeval.networks.kaldi.xvector import Network

    values = np.array([[100, 100], [1, 2], [3, 2], [5, 8], [7, 9]], np.float32)
    vector = Network(read_nnet3(tmp_path / "net"))(torch.from_numpy(values)).numpy()
    assert vector == pytest.approx([3, 4, np.sqrt(8 / 3), np.sqrt(8)])


def test_a_text_file_may_hold_what_numbers_look_like_in_c():
    from vpeval.embeddings.kaldi_stream import Stream

    stream = Stream(Writer(False).array([1e-30, -2.5]).content + b" [\n  1 2\n  3 4 ]\n -1e+02 ", False)
    assert stream.array() == pytest.approx([1e-30, -2.5])
    assert stream.array().tolist() == [[1, 2], [3, 4]]
    assert stream.number("float") == -100
