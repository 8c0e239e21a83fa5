"""SpeechBrain's model directories: hyperparams.yaml, read as data, and the files of weights and tables next to it.

HyperPyYAML, the language of that file, can make any Python object and call any function. Here a name stands for one
entry of a list (docs/models.md): it is looked up in the module that defines it and nowhere else, no attribute is ever
followed, and nothing is made before every tag of the file has been checked. All files come from the directory itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import yaml

from vpeval.core.errors import InputError
from vpeval.core.lazy import require
from vpeval.networks.compute import load_state
from vpeval.networks.speechbrain import hook_on_loading_state_dict_checkpoint, resolve_references

HYPERPARAMS = "hyperparams.yaml"
_LARGEST = 1 << 20

_KNOWN = {
    "sentencepiece": ("SentencePieceProcessor",),
    "speechbrain.dataio.encoder": ("CTCTextEncoder", "CategoricalEncoder", "TextEncoder"),
    "speechbrain.decoders.ctc": ("ctc_greedy_decode",),
    "speechbrain.integrations.huggingface.hubert": ("HuBERT",),
    "speechbrain.integrations.huggingface.wav2vec2": ("Wav2Vec2",),
    "speechbrain.integrations.huggingface.wavlm": ("WavLM",),
    "speechbrain.integrations.huggingface.weighted_ssl": ("WeightedSSLModel",),
    "speechbrain.lobes.features": ("Fbank", "MFCC"),
    "speechbrain.lobes.models.CRDNN": ("CRDNN",),
    "speechbrain.lobes.models.ECAPA_TDNN": ("ECAPA_TDNN", "Classifier"),
    "speechbrain.lobes.models.ResNet": ("ResNet", "Classifier"),
    "speechbrain.lobes.models.VanillaNN": ("VanillaNN",),
    "speechbrain.lobes.models.Xvector": ("Xvector", "Classifier"),
    "speechbrain.nnet.activations": ("Softmax", "Swish"),
    "speechbrain.nnet.containers": ("LengthsCapableSequential", "ModuleList", "Sequential"),
    "speechbrain.nnet.dropout": ("Dropout2d",),
    "speechbrain.nnet.linear": ("Linear",),
    "speechbrain.nnet.losses": ("ctc_loss", "nll_loss"),
    "speechbrain.nnet.normalization": ("BatchNorm1d", "LayerNorm"),
    "speechbrain.nnet.pooling": ("StatisticsPooling",),
    "speechbrain.processing.features": ("InputNormalization",),
    "speechbrain.utils.parameter_transfer": ("Pretrainer",),
    "torch.nn.modules.activation": (
        *("ELU", "GELU", "LeakyReLU", "LogSoftmax", "ReLU", "SiLU", "Sigmoid", "Softmax", "Tanh"),
    ),
    "torch.nn.modules.batchnorm": ("BatchNorm1d",),
    "torch.nn.modules.container": ("ModuleDict", "ModuleList", "Sequential"),
    "torch.nn.modules.conv": ("Conv1d",),
    "torch.nn.modules.dropout": ("Dropout",),
    "torch.nn.modules.linear": ("Identity", "Linear"),
    "torch.nn.modules.normalization": ("LayerNorm",),
}
_OWN_NAMES = {f"{module}.{name}": (module, name) for module, names in _KNOWN.items() for name in names}
_HUGGING_FACE = "speechbrain.integrations.huggingface."
# The names that published files use for the same things.
_OTHER_NAMES = {
    "speechbrain.decoders.ctc_greedy_decode": "speechbrain.decoders.ctc.ctc_greedy_decode",
    **{f"torch.nn.{name}": own for own, (module, name) in _OWN_NAMES.items() if module.startswith("torch.nn.")},
    **{
        own.replace(_HUGGING_FACE, "speechbrain.lobes.models.huggingface_transformers."): own
        for own in _OWN_NAMES
        if own.startswith(_HUGGING_FACE)
    },
    "speechbrain.lobes.models.huggingface_wav2vec.HuggingFaceWav2Vec2": _HUGGING_FACE + "wav2vec2.Wav2Vec2",
}

_PLAIN = re.compile(r"!(ref|copy|tuple|PLACEHOLDER)|tag:yaml\.org,2002:(map|seq|str|int|float|bool|null|merge)")
_NAMED = re.compile(r"!(?:new|name):(.*)")


def read_hyperparams(directory: Path, what: str, own: Mapping[str, type] | None = None) -> dict[str, Any]:
    """The objects that the hyperparams.yaml of a directory describes; `what` names the kind of directory in messages.

    `own` are further classes that the file may name.
    """
    path = directory / HYPERPARAMS
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"has no {HYPERPARAMS}; put the files of {what} there (docs/models.md)", directory) from None
    except UnicodeDecodeError:
        raise InputError("is not yaml: it is no text", path) from None
    if len(text) > _LARGEST:
        raise InputError(f"is larger than {_LARGEST >> 20} MB, which no such file is", path)
    _check(path, text, own or {})
    try:
        made = _loader(path, own or {})(resolve_references(text)).get_data()
    except InputError:
        raise
    except Exception as error:  # the classes may raise anything when their arguments do not suit them
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be built ({reason})", path) from None
    if not isinstance(made, dict):
        raise InputError("must be a list of 'key: value' lines", path)
    return {**made, **(made["modules"] if isinstance(made.get("modules"), dict) else {})}


def _check(path: Path, text: str, own: Mapping[str, type]) -> None:
    """Refuse what could do more than make known objects, with its line."""
    if directive := re.search(r"(?m)^%", text):
        raise InputError(
            "has a directive, which changes what tags mean; remove it", path, _line(text, directive.start())
        )
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"is not yaml: {str(error).splitlines()[0]}", path) from None
    for node in _nodes(root, set()):
        line = node.start_mark.line + 1
        named = _NAMED.fullmatch(node.tag)
        known = named and (named.group(1) in own or _own_name(named.group(1)))
        if not (known if named else _PLAIN.fullmatch(node.tag)):
            raise InputError(
                f"{node.tag} is not one of the known building blocks and was not run; remove it (docs/models.md)",
                path,
                line,
            )
        if node.tag in ("!ref", "!copy") and isinstance(node, yaml.ScalarNode):
            if any("." in inside for inside in re.findall(r"<([^>]*)>", node.value)):
                raise InputError(f"'{node.value}' names an attribute and was not followed; remove it", path, line)
            if "**" in node.value:
                raise InputError(f"'{node.value}' is a power and was not computed; write the number", path, line)
        if isinstance(node, yaml.ScalarNode) and node.value == "trust_remote_code":
            raise InputError("trust_remote_code would run code that comes with a model; remove it", path, line)


def _own_name(name: str) -> tuple[str, str] | None:
    """Module and name of a known class or function; None for all others."""
    return _OWN_NAMES.get(_OTHER_NAMES.get(name, name))


def _find(name: str, own: Mapping[str, type]) -> Any:
    """A known class or function, from the module that defines it."""
    if name in own:
        return own[name]
    known = _own_name(name)
    if known is None:
        raise ValueError(f"{name} is not one of the known building blocks")
    module, inside = known
    if module.startswith(_HUGGING_FACE):
        require("transformers", f"{inside} of {HYPERPARAMS}")
    found = vars(import_module(module)).get(inside)
    if getattr(found, "__module__", None) != module or getattr(found, "__qualname__", None) != inside:
        raise ValueError(f"this version of the package has no {name}")
    return found


def _loader(path: Path, own: Mapping[str, type]) -> type[yaml.SafeLoader]:
    """A loader of plain yaml that also makes known objects; networks of transformers are read from next to `path`."""

    class Loader(yaml.SafeLoader):
        pass

    def arguments(loader: yaml.SafeLoader, node: yaml.Node) -> tuple[list[Any], dict[str, Any]]:
        if isinstance(node, yaml.MappingNode):
            return [], {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True), {}
        value = loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else ""
        return ([value] if value else []), {}

    def new(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Any:
        kind = _find(name, own)
        args, settings = arguments(loader, node)
        if (_own_name(name) or ("", ""))[0].startswith(_HUGGING_FACE):
            settings = _local_source(path, name, settings)
        return kind(*args, **settings)

    def name_only(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Any:
        kind = _find(name, own)
        args, settings = arguments(loader, node)
        return partial(kind, *args, **settings)

    def make_tuple(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return tuple(loader.construct_sequence(node, deep=True))
        text = str(loader.construct_scalar(node))  # type: ignore[arg-type]
        try:
            return tuple(ast.literal_eval(text))
        except (ValueError, SyntaxError, TypeError):
            return text

    Loader.add_multi_constructor("!new:", new)
    Loader.add_multi_constructor("!name:", name_only)
    Loader.add_constructor("!tuple", make_tuple)
    Loader.add_implicit_resolver("!tuple", re.compile(r"^\(.*\)$"), ["("])
    return Loader


def _local_source(path: Path, name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a network of transformers, with a subdirectory as its source."""
    key = "hub" if name.endswith("WeightedSSLModel") else "source"
    source = str(settings.get(key, ""))
    places = [path.parent / source, path.parent / Path(source).name]
    home = next((place for place in places if source and (place / "config.json").is_file()), None)
    if home is None:
        raise InputError(f"names the network '{source}'; put its files (config.json …) into {places[1]}", path)
    return {**settings, key: str(home), "save_path": str(home)}


def _nodes(node: yaml.Node | None, seen: set[int]) -> Iterator[yaml.Node]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield node
    children = node.value if isinstance(node.value, list) else []
    for child in children:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _nodes(part, seen)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def load_pretrained(made: dict[str, Any], directory: Path) -> None:
    """Fill what the `pretrainer` of a file lists from files of the directory, whatever place it names for them."""
    pretrainer = made.get("pretrainer")
    loadables = getattr(pretrainer, "loadables", {})
    if not loadables:
        raise InputError("lists no files in a pretrainer, so that there would be no weights", directory / HYPERPARAMS)
    paths = getattr(pretrainer, "paths", {})
    files = {name: directory / Path(str(paths.get(name, f"{name}.ckpt"))).name for name in loadables}
    if missing := [path.name for path in files.values() if not path.is_file()]:
        raise InputError(f"has no {', '.join(missing)}; put the model's files there (docs/models.md)", directory)
    for name, part in loadables.items():
        if isinstance(part, torch.nn.Module):
            _fill(part, files[name])
        else:
            _fill_other(part, files[name])


def _fill(module: torch.nn.Module, path: Path) -> None:
    """Weights that a file lacks are an error: what SpeechBrain only warns of would be left at random."""
    state = load_state(path)
    try:
        found = module.load_state_dict(hook_on_loading_state_dict_checkpoint(state), strict=False)
    except (RuntimeError, AttributeError, TypeError) as error:
        raise InputError(
            f"does not fit the network of {HYPERPARAMS} ({str(error).splitlines()[-1].strip()})", path
        ) from None
    if found.missing_keys:
        lacking = found.missing_keys[0]
        raise InputError(f"has no weights for {lacking} and {len(found.missing_keys) - 1} more; wrong file?", path)


def _fill_other(part: Any, path: Path) -> None:
    """Tables of labels and sentence pieces, which their own classes read from text and protocol buffers."""
    load = getattr(part, "load_if_possible", None) or getattr(part, "load", None)
    try:
        if load is None or load(str(path)) is False:
            raise ValueError("there is no reader for it")
    except Exception as error:  # whatever the parsers of labels trip over
        raise InputError(f"cannot be read ({(str(error).splitlines() or [''])[0]})", path) from None
