"""Kinds of encoders as a yaml of conf/asv/ names them, and what their vectors depend on. Reads, and loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from vpeval.core.config import choose
from vpeval.core.errors import InputError

FOREIGN = "embeddings"
"""The key of a yaml whose vectors were made elsewhere."""
SIMILARITY = "similarity"
_ROOT = Path(__file__).resolve().parents[2]
_SHARED = {_ROOT, _ROOT / "conf/asv"}
_CLASSES = {
    "ecapa": ("vpeval.networks.neural", "Ecapa"),
    "xvector": ("vpeval.networks.neural", "XVector"),
    "speechbrain": ("vpeval.networks.neural", "SpeechBrainDirectory"),
    "kaldi_xvector": ("vpeval.networks.kaldi.xvector", "KaldiXVector"),
    "onnx": ("vpeval.networks.onnx", "OnnxEncoder"),
    "ge2e": ("vpeval.networks.ge2e", "Ge2e"),
    "f0_histogram": ("vpeval.networks.melody", "F0Histogram"),
    "whisper_frames": ("vpeval.networks.whisper_frames", "WhisperFrames"),
    "phone_units": ("vpeval.networks.units", "PhoneUnits"),
}


def settings_of(config: Path) -> dict[str, Any]:
    """What a yaml says; nothing where it says nothing that can be understood, which its reader will tell."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8")) if config.is_file() else None
    return settings if isinstance(settings, dict) else {}


def class_of(config: Path) -> tuple[str, str]:
    """Module and class of an encoder of ours."""
    return choose(config, "encoder", _CLASSES)


def program_of(config: Path) -> Path | None:
    """The Python file of an encoder that somebody else wrote, seen from the yaml or from the toolkit's root."""
    name = settings_of(config).get("encoder")
    if not isinstance(name, str) or not name.endswith(".py"):
        return None
    for place in (config.parent / name, _ROOT / name):
        if place.is_file():
            return place
    raise InputError(f"'encoder': there is no {name}, seen from this file or from {_ROOT}", config)


def foreign_of(config: Path) -> Path | None:
    """The directory of vectors that were made elsewhere, seen from the yaml or from the toolkit's root."""
    if FOREIGN not in (settings := settings_of(config)):
        return None
    if unknown := [key for key in settings if key not in (FOREIGN, SIMILARITY)]:
        raise InputError(f"unknown key '{unknown[0]}'; there are {FOREIGN}, {SIMILARITY}", config)
    for place in (config.parent / str(settings[FOREIGN]), _ROOT / str(settings[FOREIGN])):
        if place.is_dir():
            return place
    raise InputError(f"'{FOREIGN}': there is no directory {settings[FOREIGN]}, seen from this file or {_ROOT}", config)


def encoder_code(config: Path) -> list[str]:
    """The entry points of the code of an encoder, as `vpeval.jobs.closure` takes them."""
    return [] if program_of(config) else [class_of(config)[0]]


def encoder_files(config: Path) -> list[Path]:
    """What an encoder's vectors depend on, but for our code and the model store: its yaml and what that names.

    A program of somebody else's brings the folder that it has to itself.
    """
    settings = settings_of(config)
    if program := program_of(config):
        folder = program.resolve().parent
        named = [config.parent / value for value in settings.values() if isinstance(value, str)]
        return list(dict.fromkeys([config, program if folder in _SHARED else folder, *filter(Path.is_file, named)]))
    names = [settings.get(key) for key in ("model", "directory", "codebook")]
    return [config, *(path for name in names if name and (path := config.parent / str(name)).exists())]


def model_of(config: Path) -> str:
    """The model in conf/models.yaml that an encoder or a recogniser loads; empty where it loads none of there."""
    model = "" if program_of(config) else str(settings_of(config).get("model") or "")
    return "" if model == "none" or "." in model or "/" in model else model
