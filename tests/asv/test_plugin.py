"""Encoders that a yaml names by the path of a Python file."""

from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.attackers import read_attacker
from vpeval.core.errors import InputError
from vpeval.jobs.code import code_of
from vpeval.jobs.stamps import fingerprint
from vpeval.networks.configs import config_files, encoder_makers, stored_model
from vpeval.networks.encoders import Embedder, load_encoder
from vpeval.networks.neural import trainable_encoder

WAVE = np.linspace(-1, 1, 9000, dtype=np.float32)
CLASS = """\
from numbers import Number
import helper

class Mine:
    def __init__(self, scale=1.0, weights=None):
        self.scale = scale
    def embed(self, wave):
        return [self.scale * wave.max(), helper.HALF]
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/my_encoder.py").write_text(CLASS)
    (tmp_path / "mine/helper.py").write_text("HALF = 0.5\n")
    (tmp_path / "mine.yaml").write_text("encoder: mine/my_encoder.py\nscale: 3\nsimilarity: euclidean\n")
    return tmp_path / "mine.yaml"


def test_the_class_gets_the_settings_and_whatever_list_it_returns_is_a_vector(conf: Path) -> None:
    vector = load_encoder(conf).embed(WAVE)
    assert vector.dtype == np.float32 and vector.tolist() == [3.0, 0.5]


def test_it_is_an_attacker_like_any_other_that_hears_original_speech(conf: Path) -> None:
    attacker = read_attacker(conf)
    assert (attacker.name, attacker.similarity, attacker.scoring) == ("mine", "euclidean", "cosine")
    assert attacker.conditions == ("oo", "oa", "aa")
    assert stored_model(conf) == ""


def test_its_whole_folder_counts_and_none_of_our_encoders_does(conf: Path) -> None:
    before = fingerprint(config_files(conf), {})
    assert encoder_makers(conf) == []
    (conf.parent / "mine/weights.bin").write_bytes(b"1")
    after = fingerprint(config_files(conf), {})
    assert after.changes({"inputs": before.inputs}) == [f"input {conf.parent / 'mine'}"]
    (conf.parent / "mine/helper.py").write_text("HALF = 0.25\n")
    assert fingerprint(config_files(conf), {}) != after


def test_weights_that_the_yaml_names_count_wherever_they_are(conf: Path, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"1")
    conf.write_text("encoder: mine/my_encoder.py\nweights: model.pt\n")
    assert tmp_path / "model.pt" in config_files(conf)


def test_a_changed_encoder_of_ours_makes_only_its_own_vectors_again() -> None:
    ours = Path(__file__).resolve().parents[2] / "conf/asv/encoders"

    def code(name: str) -> set[str]:
        return {Path(path).name for path in code_of([Embedder, *encoder_makers(ours / f"{name}.yaml")])}

    assert "neural.py" in code("ecapa") and not {"onnx.py", "f0_histograms.py"} & code("ecapa")
    assert "onnx.py" in code("resnet") and "neural.py" not in code("resnet")
    assert "f0_histograms.py" in code("f0") and "speechbrain.py" not in code("f0")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("x = 1\n", r"my_encoder.py: must define one class with embed\(self, wave\); there are: none"),
        (CLASS + CLASS.replace("Mine", "Other"), "there are: Mine, Other"),
        ("import no_such_package\n", "my_encoder.py:1: cannot be loaded: ModuleNotFoundError"),
        ("class Mine:\n  def embed(self, wave:\n", "my_encoder.py:2: cannot be loaded: SyntaxError"),
        ("class Mine:\n  def embed(self, wave): pass\n", "Mine of .* does not take these settings: .*'scale'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(conf: Path, program: str, message: str) -> None:
    (conf.parent / "mine/my_encoder.py").write_text(program)
    with pytest.raises(InputError, match=message):
        load_encoder(conf)


@pytest.mark.parametrize(
    ("returned", "message"),
    [("None", "NoneType|shape"), ("[[1.0]]", r"shape \(1, 1\)"), ("'voice'", "numbers, not str")],
)
def test_what_is_no_vector_is_refused(conf: Path, returned: str, message: str) -> None:
    program = f"class Mine:\n  def __init__(self, scale): pass\n  def embed(self, wave): return {returned}\n"
    (conf.parent / "mine/my_encoder.py").write_text(program)
    with pytest.raises(InputError, match=message):
        load_encoder(conf).embed(WAVE)


def test_a_program_that_is_nowhere_is_told_before_any_work(conf: Path) -> None:
    conf.write_text("encoder: no/such.py\n")
    with pytest.raises(InputError, match=r"there is no no/such.py, relative to this file or to "):
        read_attacker(conf)


def test_there_is_nothing_to_train_in_it(conf: Path) -> None:
    with pytest.raises(InputError, match="describes no network that can be trained here"):
        trainable_encoder(conf)
