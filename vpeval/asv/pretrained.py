"""Weights and tables of a SpeechBrain directory, from its own files and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from vpeval.asv.hyperparams import HYPERPARAMS
from vpeval.asv.speechbrain import hook_on_loading_state_dict_checkpoint
from vpeval.asv.weights import load_state
from vpeval.core.errors import InputError


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
            raise ValueError("nobody knows how to read it")
    except Exception as error:  # whatever the parsers of labels trip over
        raise InputError(f"cannot be read ({(str(error).splitlines() or [''])[0]})", path) from None
