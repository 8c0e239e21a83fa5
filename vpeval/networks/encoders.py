"""Speaker encoders behind one interface: a wave in, a vector out.

A new encoder is a class with `embed`: in a file of one's own that a yaml of conf/asv/ names (docs/attackers.md), or in
this package with a line in `vpeval.networks.configs`. The module of an encoder is imported when it is used, so that
embeddings depend on the code of their own encoder only. `Embedder` is the worker of an extraction
(`vpeval.networks.extraction`), and `stack_results` collects what it made.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import sys
import traceback
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.embeddings.symbols import Frames, Symbols, histogram
from vpeval.networks.configs import SIMILARITY, encoder_class, encoder_program, read_settings

if TYPE_CHECKING:
    from vpeval.jobs.worker import Part

log = logging.getLogger(__name__)
_SYMBOL = np.dtype("<u2")
_TOGETHER = 32
_SHORTEST = 4000  # a quarter of a second: shorter audio has too few frames for statistics pooling


class Encoder(Protocol):
    """What extraction needs of a speaker encoder."""

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The float32 vector of mono 16 kHz samples."""


@runtime_checkable
class GroupEncoder(Encoder, Protocol):
    """An encoder that computes several utterances at a time on a GPU."""

    @property
    def on_gpu(self) -> bool:
        """Whether it computes on a GPU, where this is faster; on the CPU it would change last digits."""

    def start(self, waves: Sequence[np.ndarray]) -> Callable[[], np.ndarray]:
        """Begin with waves of one length, and return a function that waits for their vectors."""


@runtime_checkable
class SymbolEncoder(Encoder, Protocol):
    """An encoder whose vectors are histograms of `count` symbols, of which there are `rate` in a second."""

    count: int
    rate: int

    def symbols(self, wave: np.ndarray) -> Frames:
        """The symbol of every frame of mono 16 kHz samples."""


def load_encoder(config: Path) -> Encoder:
    """The encoder that a yaml of conf/asv/ describes; computes on one thread, as jobs run side by side."""
    from vpeval.networks import compute  # on demand, as torch takes long to import

    compute.set_up()
    if not has_weights(config):
        raise InputError("has no weights (none); train it with steps/train_asv.py", config)
    return make_encoder(config)


def has_weights(config: Path) -> bool:
    """Whether an encoder can be used without training."""
    if encoder_program(config):
        return True
    encoder_class(config)
    settings = read_settings(config)
    return "none" not in (settings.get("model"), settings.get("codebook"))


def make_encoder(config: Path) -> Encoder:
    """The same, with random weights where the yaml names none."""
    if program := encoder_program(config):
        return _load_program(program, config)
    return cast(Encoder, encoder_class(config).load()(config))


class Embedder:
    """The worker of an extraction: the vector of an utterance as bytes, or its symbols if the encoder counts some."""

    def __init__(self, conf: str) -> None:
        self.encoder = load_encoder(Path(conf))
        in_groups = isinstance(self.encoder, GroupEncoder) and self.encoder.on_gpu
        self.most = _TOGETHER if in_groups else 1

    def read(self, part: Part) -> np.ndarray:
        """The wave of an utterance."""
        return read_audio(part.wav)

    def alike(self, wave: np.ndarray) -> Hashable:
        """Only waves of one length are computed together: padding to a common length would change vectors."""
        return len(wave)

    def start(self, parts: Sequence[Part], waves: Sequence[np.ndarray]) -> Callable[[], list[bytes]]:
        """Embed utterances."""
        if self.most > 1 and isinstance(self.encoder, GroupEncoder):
            wait = self.encoder.start(waves)
            return lambda: [self._pack(part, vector) for part, vector in zip(parts, wait(), strict=True)]
        packed = [self._compute(part, wave) for part, wave in zip(parts, waves, strict=True)]
        return lambda: packed

    def __call__(self, part: Part) -> bytes:
        """Embed one utterance."""
        return self.start([part], [self.read(part)])()[0]

    def _compute(self, part: Part, wave: np.ndarray) -> bytes:
        if isinstance(self.encoder, SymbolEncoder):
            return pack_symbols(self.encoder.symbols(wave), self.encoder.count, self.encoder.rate)
        return self._pack(part, self.encoder.embed(wave))

    def _pack(self, part: Part, vector: np.ndarray) -> bytes:
        if not np.isfinite(vector).all() or not vector.any():
            raise InputError(f"the encoder gave no usable vector for utterance {part.utt}; listen to it", part.wav)
        return pack_vector(vector)


def pack_vector(vector: np.ndarray) -> bytes:
    """A vector as the result of an utterance: its type in three characters, then its numbers."""
    return vector.dtype.str.encode() + vector.tobytes()


def pack_symbols(frames: Frames, count: int, rate: int) -> bytes:
    """Symbols as the result of an utterance, of which its vector is made again."""
    return pack_vector(np.concatenate((np.array([count, rate], _SYMBOL), frames.astype(_SYMBOL))))


def stack_results(
    utts: Sequence[str], results: Iterable[tuple[str, bytes | memoryview]], out: Path
) -> tuple[np.ndarray, Symbols | None]:
    """The packed vectors of all utterances, a row each in the order of `utts`, and their symbols if they have some.

    `out` is named in messages.
    """
    index = {utt: row for row, utt in enumerate(utts)}
    rows: np.ndarray | None = None
    frames: dict[str, Frames] = {}
    count, rate = 0, 0
    for utt, result in results:
        vector = np.frombuffer(result[3:], str(result[:3], "ascii"))
        if vector.dtype == _SYMBOL:
            count, rate, frames[utt] = int(vector[0]), int(vector[1]), vector[2:]
            vector = histogram(frames[utt], count)
        if rows is None:
            rows = np.empty((len(index), len(vector)), vector.dtype)
        if (vector.dtype, vector.shape) != (rows.dtype, rows.shape[1:]):
            message = f"the encoder gave {len(vector)} numbers for utterance {utt} and {rows.shape[1]} for others"
            raise InputError(f"{message}; it must give vectors of one kind", out)
        rows[index[utt]] = vector
    assert rows is not None, "a data directory has utterances"
    if len(rows) > 1 and (rows[1] == rows[0]).all() and (rows == rows[0]).all():
        log.warning(
            "%s: WARNING: all vectors are the same, so that speakers cannot be distinguished; is the output of the "
            "anonymiser always the same?",
            out,
        )
    return rows, Symbols.join(utts, [frames[utt] for utt in utts], count, rate) if frames else None


def long_enough(wave: np.ndarray) -> np.ndarray:
    """The wave, repeated if it is very short."""
    return wave if len(wave) >= _SHORTEST else np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")


class Program:
    """A custom encoder whose output is checked."""

    def __init__(self, path: Path, encoder: Any) -> None:
        self._path, self._encoder = path, encoder

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The vector as float32, from whatever sequence of numbers the encoder returned."""
        given = self._encoder.embed(wave)
        try:
            vector = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"embed() must return numbers, not {type(given).__name__}", self._path) from None
        if vector.ndim != 1 or not vector.size:
            raise InputError(f"embed() must return one vector, not an array of shape {vector.shape}", self._path)
        return vector


def _load_program(path: Path, config: Path) -> Program:
    """The encoder in `path`; keys of the yaml other than `encoder` and `similarity` go to its constructor."""
    module = _load(path)
    classes = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and callable(getattr(kind, "embed", None))
    ]
    if len(classes) != 1:
        names = ", ".join(kind.__name__ for kind in classes) or "none"
        raise InputError(f"must define one class with embed(self, wave); there are: {names}", path)
    settings = {key: value for key, value in read_settings(config).items() if key not in ("encoder", SIMILARITY)}
    try:
        inspect.signature(classes[0]).bind(**settings)
    except TypeError as error:
        raise InputError(f"{classes[0].__name__} of {path} does not take these settings: {error}", config) from None
    return Program(path, classes[0](**settings))


def _load(path: Path) -> ModuleType:
    """Run the file as a module; its neighbours can be imported by their names."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_an_attacker", path)
    assert spec is not None and spec.loader is not None, "the name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the author's code does
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else next(iter(places[::-1]), None)
        raise InputError(f"cannot be loaded: {type(error).__name__}: {error}", path, line) from error
    return module
