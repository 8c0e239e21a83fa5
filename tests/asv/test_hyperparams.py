import pytest
import torch

from vpeval.core.errors import InputError
from vpeval.networks.hyperparams import load_pretrained, read_hyperparams

PLAIN = """\
size: 4
double: !ref <size> * 2
layer: !new:speechbrain.nnet.linear.Linear
  n_neurons: !ref <double>
  input_size: !ref <size>
again: !ref <layer>
sizes: (1, 2)
late: !name:speechbrain.nnet.losses.ctc_loss
  blank_index: 0
both: !new:torch.nn.ModuleList
  - [!ref <layer>, !new:torch.nn.ReLU {}]
modules:
  inner: !ref <both>
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
  loadables:
    layer: !ref <layer>
  paths:
    layer: !ref some/hub/layer.ckpt
"""


def read(tmp_path, text):
    (tmp_path / "hyperparams.yaml").write_text(text)
    return read_hyperparams(tmp_path, "something")


def test_known_objects_are_made_and_shared_where_they_are_referred_to(tmp_path):
    made = read(tmp_path, PLAIN)
    assert made["layer"].w.weight.shape == (8, 4)
    assert made["again"] is made["layer"]
    assert made["inner"] is made["both"]
    assert made["both"][0] is made["layer"]
    assert made["sizes"] == (1, 2)
    assert made["late"].keywords == {"blank_index": 0}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("x: !ref <layer.w>", "names an attribute"),
        ("x: !ref <layer.forward.__globals__>", "names an attribute"),
        ("x: !copy <layer.w.weight>", "names an attribute"),
        ("x: !ref 9 ** 9 ** 9", "is a power"),
        ("x: {trust_remote_code: true}", "would run code that comes with a model"),
        ("x: !new:os.system {}", "was not run"),
        ("x: !new:speechbrain.nnet.losses.torch.utils.collect_env.subprocess.Popen [[touch, pwned]]", "was not run"),
        ("x: !new:vpeval.networks.hyperparams.import_module [os]", "was not run"),
        ("x: !new:builtins.eval ['1']", "was not run"),
    ],
)
def test_what_could_do_more_is_refused_with_its_line(tmp_path, line, complaint, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"hyperparams.yaml:19: .*{complaint}"):
        read(tmp_path, f"{PLAIN}{line}\n")
    assert not (tmp_path / "pwned").exists()


def test_a_directive_that_renames_tags_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"hyperparams.yaml:1: has a directive"):
        read(tmp_path, "%TAG ! tag:yaml.org,2002:python/object/apply:\n---\nx: !os.system [true]\n")


def test_a_class_that_was_put_into_a_known_module_is_not_made(tmp_path, monkeypatch):
    import speechbrain.nnet.linear

    monkeypatch.setattr(speechbrain.nnet.linear, "Linear", print)
    with pytest.raises(InputError, match=r"has no speechbrain.nnet.linear.Linear"):
        read(tmp_path, PLAIN)


def test_arguments_that_do_not_suit_a_class_are_one_line(tmp_path):
    with pytest.raises(InputError, match=r"hyperparams.yaml: cannot be built \(") as found:
        read(tmp_path, "x: !new:speechbrain.nnet.linear.Linear {colour: red}\n")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("text", ["x: [", "\x00", "- 1\n- 2\n", "x: !ref <nothing>\n", ""])
def test_what_is_no_such_yaml_is_one_line(tmp_path, text):
    with pytest.raises(InputError, match=r"hyperparams.yaml: ") as found:
        read(tmp_path, text)
    assert "\n" not in str(found.value)


def test_weights_come_from_the_directory_whatever_place_is_named(tmp_path):
    made = read(tmp_path, PLAIN)
    with pytest.raises(InputError, match=r"has no layer.ckpt; put the model's files there"):
        load_pretrained(made, tmp_path)
    torch.save({"w.weight": torch.ones(8, 4), "w.bias": torch.zeros(8)}, tmp_path / "layer.ckpt")
    load_pretrained(made, tmp_path)
    assert (made["layer"].w.weight == 1).all()


def test_weights_that_are_lacking_or_of_another_network_are_refused(tmp_path):
    made = read(tmp_path, PLAIN)
    torch.save({"w.weight": torch.ones(8, 4)}, tmp_path / "layer.ckpt")
    with pytest.raises(InputError, match=r"layer.ckpt: has no weights for w.bias"):
        load_pretrained(made, tmp_path)
    torch.save({"w.weight": torch.ones(3, 3), "w.bias": torch.zeros(8)}, tmp_path / "layer.ckpt")
    with pytest.raises(InputError, match=r"layer.ckpt: does not fit the network"):
        load_pretrained(made, tmp_path)
    torch.save({"w.weight": print}, tmp_path / "layer.ckpt")
    with pytest.raises(InputError, match=r"layer.ckpt: holds more than weights"):
        load_pretrained(made, tmp_path)
    (tmp_path / "layer.ckpt").write_bytes(b"garbage")
    with pytest.raises(InputError, match=r"layer.ckpt: (is no file of weights|holds more than weights)"):
        load_pretrained(made, tmp_path)


def test_a_file_without_pretrainer_has_no_weights_and_is_refused(tmp_path):
    with pytest.raises(InputError, match="lists no files in a pretrainer"):
        load_pretrained(read(tmp_path, "x: 1\n"), tmp_path)
