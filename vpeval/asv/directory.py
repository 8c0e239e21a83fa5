"""A speaker encoder from a local SpeechBrain directory, as its EncoderClassifier has it, without network.

hyperparams.yaml is HyperPyYAML, which can make any Python object and call any function. Only SpeechBrain's own
building blocks and torch's layers are let through; nothing is made before every tag has been looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import torch
import yaml

from vpeval.asv.speechbrain import InputNormalization, load_hyperpyyaml
from vpeval.asv.weights import load_weights
from vpeval.core.errors import InputError

_PARTS = ("compute_features", "mean_var_norm", "embedding_model")
_HARMLESS = re.compile(r"!(ref|copy|tuple|PLACEHOLDER)|tag:yaml\.org,2002:(map|seq|str|int|float|bool|null|merge)")
_BUILDING_BLOCK = re.compile(
    r"!(new|name):(speechbrain\.(lobes|nnet|processing)\.[\w.]+"
    r"|speechbrain\.utils\.parameter_transfer\.Pretrainer|speechbrain\.dataio\.encoder\.\w+|torch\.nn\.\w+)"
)


def read_modules(directory: Path) -> tuple[torch.nn.Module, torch.nn.Module, torch.nn.Module]:
    """Features, normalisation and network of a directory, with its weights."""
    hyperparams = directory / "hyperparams.yaml"
    try:
        text = hyperparams.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            "has no hyperparams.yaml; put the files of a SpeechBrain EncoderClassifier there "
            "(hyperparams.yaml, embedding_model.ckpt)",
            directory,
        ) from None
    _refuse_strange_tags(hyperparams, text)
    try:
        made = load_hyperpyyaml(text)
    except (yaml.YAMLError, ImportError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"cannot be built ({str(error).splitlines()[0]})", hyperparams) from None
    modules = {**made, **made.get("modules", {})}
    if missing := [name for name in _PARTS if not isinstance(modules.get(name), torch.nn.Module)]:
        raise InputError(f"names no {', '.join(missing)}; is it a speaker encoder?", hyperparams)
    features, normalize, network = (modules[name] for name in _PARTS)
    if isinstance(normalize, InputNormalization) and normalize.norm_type == "global":
        raise InputError("mean_var_norm is global, which needs stored statistics; only sentence works", hyperparams)
    load_weights(network, directory / "embedding_model.ckpt")
    return features, normalize, network


def _refuse_strange_tags(path: Path, text: str) -> None:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"is not yaml: {str(error).splitlines()[0]}", path) from None
    for node in _nodes(root, set()):
        if not _HARMLESS.fullmatch(node.tag) and not _BUILDING_BLOCK.fullmatch(node.tag):
            raise InputError(
                f"{node.tag} is not one of SpeechBrain's building blocks and was not run; remove it",
                path,
                node.start_mark.line + 1,
            )


def _nodes(node: yaml.Node | None, seen: set[int]) -> Iterator[yaml.Node]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield node
    children = node.value if isinstance(node.value, list) else []
    for child in children:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _nodes(part, seen)
