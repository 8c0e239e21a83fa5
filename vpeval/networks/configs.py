"""Where the yaml of an encoder or attacker is, and what it names: class, program, files, model. Loads no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vpeval.core.config import choose, read_yaml
from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.core.places import CONF, ROOT

FOREIGN = "embeddings"
"""The key of a yaml whose vectors were made elsewhere."""
SIMILARITY = "similarity"
_PARTS = ("encoders", "attackers")
_SHARED = {ROOT, CONF / "asv", *(CONF / "asv" / part for part in _PARTS)}
_ENCODERS = {
    "ecapa": Deferred("vpeval.networks.neural", "Ecapa"),
    "xvector": Deferred("vpeval.networks.neural", "XVector"),
    "speechbrain": Deferred("vpeval.networks.neural", "SpeechBrainDirectory"),
    "kaldi_xvector": Deferred("vpeval.networks.kaldi.xvector", "KaldiXVector"),
    "onnx": Deferred("vpeval.networks.onnx", "OnnxEncoder"),
    "ge2e": Deferred("vpeval.networks.ge2e", "Ge2e"),
    "f0_histogram": Deferred("vpeval.networks.f0_histograms", "F0Histogram"),
    "whisper_frames": Deferred("vpeval.networks.whisper_frames", "WhisperFrames"),
    "phone_units": Deferred("vpeval.networks.units", "PhoneUnits"),
}
_ON_CPU = ("onnx", "f0_histogram")
JOBS_PER_GPU = 2
"""Jobs that share a GPU: while one of them prepares its next utterances or stores results, the other computes."""


def find_config(path: Path) -> Path:
    """The yaml of the encoder or attacker that is called `path`, such as ``conf/asv/ecapa.yaml``.

    It is that file, or one of that name in ``encoders/`` or ``attackers/`` of its directory; `path` if there is none.
    """
    candidates = (path, *(path.parent / part / path.name for part in _PARTS))
    return next((one for one in candidates if one.is_file()), path)


def config_home(path: Path) -> Path:
    """The directory by which configurations name each other: that of a yaml, or the one above ``attackers/``."""
    return path.parent.parent if path.parent.name in _PARTS else path.parent


def config_names(home: Path) -> list[str]:
    """The names of all encoders and attackers of a directory."""
    return sorted({file.stem for place in (home, *(home / part for part in _PARTS)) for file in place.glob("*.yaml")})


def read_settings(config: Path) -> dict[str, Any]:
    """The keys of a yaml; none where there is no file, which its reader will report."""
    return read_yaml(config) if config.is_file() else {}


def encoder_class(config: Path) -> Deferred:
    """The class of an encoder of ours."""
    return choose(config, "encoder", _ENCODERS)


def jobs_per_gpu(config: Path) -> int | None:
    """How many jobs of an encoder share a GPU; 0 (any number) for a custom one, None for one that uses the CPU only."""
    if encoder_program(config):
        return 0
    settings = read_settings(config)
    on_cpu = settings.get("encoder") in _ON_CPU or settings.get("features") == "mfcc"
    return None if on_cpu else JOBS_PER_GPU


def encoder_program(config: Path) -> Path | None:
    """The Python file of a custom encoder, relative to the yaml or to the root of the toolkit."""
    name = read_settings(config).get("encoder")
    if not isinstance(name, str) or not name.endswith(".py"):
        return None
    for path in (config.parent / name, ROOT / name):
        if path.is_file():
            return path
    raise InputError(f"'encoder': there is no {name}, relative to this file or to {ROOT}", config)


def embeddings_directory(config: Path) -> Path | None:
    """The directory of vectors that were made elsewhere, relative to the yaml or to the root of the toolkit."""
    if FOREIGN not in (settings := read_settings(config)):
        return None
    if unknown := [key for key in settings if key not in (FOREIGN, SIMILARITY)]:
        raise InputError(f"unknown key '{unknown[0]}'; there are {FOREIGN}, {SIMILARITY}", config)
    for path in (config.parent / str(settings[FOREIGN]), ROOT / str(settings[FOREIGN])):
        if path.is_dir():
            return path
    raise InputError(
        f"'{FOREIGN}': there is no directory {settings[FOREIGN]}, relative to this file or to {ROOT}", config
    )


def encoder_makers(config: Path) -> list[Deferred]:
    """The code of an encoder, for its fingerprint; that of a custom encoder is among its files."""
    return [] if encoder_program(config) else [encoder_class(config)]


def config_files(config: Path) -> list[Path]:
    """The files that an encoder or recogniser depends on, except our code and the model store.

    These are its yaml and the files that it names; with a custom encoder, also the directory of its program, unless
    other files are kept there.
    """
    settings = read_settings(config)
    if program := encoder_program(config):
        directory = program.resolve().parent
        named = [config.parent / value for value in settings.values() if isinstance(value, str)]
        own = program if directory in _SHARED else directory
        return list(dict.fromkeys([config, own, *filter(Path.is_file, named)]))
    names = [settings.get(key) for key in ("model", "directory", "codebook")]
    return [config, *(path for name in names if name and (path := config.parent / str(name)).exists())]


def stored_model(config: Path) -> str:
    """The model of conf/models.yaml that an encoder or recogniser loads; empty where it loads none."""
    model = "" if encoder_program(config) else str(read_settings(config).get("model") or "")
    return "" if model == "none" or "." in model or "/" in model else model
