"""Speaker encoders behind one interface: a wave in, a vector out.

A new encoder is a class with `embed`: in a file of one's own that a yaml of conf/asv/ names (docs/attackers.md), or in
this package with a line in `vpeval.asv.kinds`. The module of an encoder is imported when that encoder is asked for, so
that embeddings depend on the code of their own encoder only.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import yaml

from vpeval.asv.kinds import class_of, program_of
from vpeval.asv.plugin import load_program
from vpeval.core import compute
from vpeval.core.errors import InputError


class Encoder(Protocol):
    """What extraction needs of a speaker encoder."""

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The float32 vector of mono 16 kHz samples."""


def load_encoder(config: Path) -> Encoder:
    """The encoder that a yaml of conf/asv/ describes; computes on one thread, as jobs run side by side."""
    compute.set_up()
    if not has_weights(config):
        raise InputError("has no weights (none); train it with steps/train_asv.py", config)
    return make_encoder(config)


def has_weights(config: Path) -> bool:
    """Whether an encoder can be used without training."""
    if program_of(config):
        return True
    class_of(config)
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    return "none" not in (settings.get("model"), settings.get("codebook"))


def make_encoder(config: Path) -> Encoder:
    """The same without asking for weights."""
    if program := program_of(config):
        return load_program(program, config)
    module, name = class_of(config)
    return cast(Encoder, getattr(import_module(module), name)(config))
