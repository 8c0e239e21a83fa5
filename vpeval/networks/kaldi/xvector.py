"""x-vectors of Kaldi's networks (Snyder et al., ICASSP 2018), as the challenges of 2020 and 2022 extract them.

A directory holds what ``extract_xvectors.sh`` uses: the network (``final.raw``), ``extract.config``, which moves the
output to the embedding layer, ``min_chunk_size`` and ``max_chunk_size``; and the options ``mfcc.conf`` and
``vad.conf``, next to the network or in ``conf/``. The challenge keeps these two in its recipe, and in conf/asv/kaldi
they are kept for models that come without.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from vpeval.core.arrays import Floats32
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.places import CONF
from vpeval.embeddings.kaldi_stream import Malformed, find_home
from vpeval.networks import compute
from vpeval.networks.kaldi.components import Layer, make_layer
from vpeval.networks.kaldi.descriptors import Descriptor, Frames, Stretch, parse_descriptor
from vpeval.networks.kaldi.features import EnergyVad, Mfcc, sliding_mean_normalisation, speech
from vpeval.networks.kaldi.nnet3 import Nnet3, Node, read_nnet3

log = logging.getLogger(__name__)
INPUT, OUTPUT = "input", "output"
_OPTIONS = CONF / "asv/kaldi"


@dataclass(frozen=True)
class ModelFiles:
    """The files that extraction needs."""

    network: Path
    extract: Path
    smallest: Path
    largest: Path
    mfcc: Path
    vad: Path


class KaldiXVector:
    """The x-vector extractor of a directory; `embed` gives the raw vector, before any centring or LDA."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, directory=str)
        files = _find_files(config.parent / settings["directory"])
        self.mfcc, self.vad = Mfcc(files.mfcc), EnergyVad.read(files.vad)
        self.smallest, self.largest = _chunk_sizes(files)
        self.device = compute.device()
        self.network = Network(read_nnet3(files.network).with_config(files.extract)).to(self.device).eval()
        if self.network.dimension != self.mfcc.dimension:
            raise InputError(
                f"makes {self.mfcc.dimension} cepstra, but {files.network} takes {self.network.dimension} dimensions",
                files.mfcc,
            )

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """Of all frames with speech."""
        features = self.mfcc(wave)
        if not len(features):
            features = self.mfcc(np.pad(wave, (0, max(0, 800 - len(wave)))))
        return self.embed_features(speech(sliding_mean_normalisation(features), self.vad(features)))

    def embed_features(self, features: Floats32) -> np.ndarray:
        """The mean of the vectors of all chunks, weighted by their lengths, as nnet3-xvector-compute has it."""
        size = min(self.largest, len(features))
        total = np.zeros(0)
        for start in range(0, len(features), size):
            chunk = features[start : start + size]
            vector = self._compute(_pad(chunk, self.smallest)).astype(np.float64) * (len(chunk) / len(features))
            total = total + vector if total.size else vector
        return total.astype(np.float32)

    def _compute(self, chunk: Floats32) -> np.ndarray:
        try:
            vector: np.ndarray = self.network(torch.from_numpy(chunk).to(self.device)).cpu().numpy()
        except TooShort:
            # Only where min_chunk_size is smaller than the context of the network, which Kaldi's scripts never make.
            raise InputError(
                f"its context is longer than {len(chunk)} frames; raise min_chunk_size", self.network.path
            ) from None
        return vector


def _pad(chunk: Floats32, smallest: int) -> Floats32:
    """Repeat the first and last frame until the chunk is long enough."""
    lacking = max(0, smallest - len(chunk))
    return np.pad(chunk, ((lacking // 2, lacking - lacking // 2), (0, 0)), mode="edge")


def _chunk_sizes(files: ModelFiles) -> tuple[int, int]:
    sizes = []
    for path in (files.smallest, files.largest):
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"expected a number of frames, found '{text[:30]}'", path)
        sizes.append(int(text))
    if sizes[0] > sizes[1]:
        raise InputError(f"{sizes[0]} is more than the {sizes[1]} of {files.largest.name}", files.smallest)
    return sizes[0], sizes[1]


def _find_files(directory: Path) -> ModelFiles:
    """The network and the files next to it; all missing files are listed in one InputError."""
    home = find_home(directory, "final.raw", "an x-vector network")
    files = {name: home / name for name in ("final.raw", "extract.config", "min_chunk_size", "max_chunk_size")}
    if missing := [name for name, path in files.items() if not path.is_file()]:
        raise InputError(
            f"has no {', '.join(missing)}; an x-vector network of Kaldi's needs {', '.join(files)} (docs/models.md)",
            home,
        )
    return ModelFiles(*files.values(), *(_options(directory, home, name) for name in ("mfcc.conf", "vad.conf")))


def _options(directory: Path, home: Path, name: str) -> Path:
    for place in (home, home / "conf", directory, directory / "conf"):
        if (place / name).is_file():
            return place / name
    log.info("%s has no %s; using that of the challenge's recipe, conf/asv/kaldi/%s", directory, name, name)
    return _OPTIONS / name


class TooShort(Exception):
    """The chunk has too few frames for the context of the network."""


@dataclass(frozen=True)
class _Step:
    """A node to be computed: its input, its layer, and which of its dimensions are kept."""

    name: str
    descriptor: Descriptor
    layer: Layer
    columns: slice | None = None


class Network(torch.nn.Module):
    """The nodes that the output needs, in the order in which they are computed."""

    def __init__(self, nnet: Nnet3) -> None:
        super().__init__()
        try:
            self.steps = _plan(nnet)
            self.layers = torch.nn.ModuleList(step.layer for step in self.steps)
            self.dimension = nnet.nodes[INPUT].whole("dim")
        except Malformed as error:
            raise InputError(str(error), nnet.path) from None
        self.path = nnet.path

    @torch.inference_mode()
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The output at frame 0 for features (frames × dimension); a chunk that is too short raises TooShort."""
        domains = {INPUT: Frames(0, len(features) - 1)}
        for step in self.steps:
            domains[step.name] = step.layer.domain(step.descriptor.domain(domains))
        needed = {OUTPUT: Frames(0, 0) & domains[OUTPUT]}
        if not needed[OUTPUT]:
            raise TooShort

        def ask(name: str, frames: Frames) -> None:
            wanted = frames & domains[name]
            needed[name] = needed[name] | wanted if name in needed else wanted

        inner: dict[str, Frames] = {}
        for step in reversed(self.steps):
            inner[step.name] = step.layer.needs(needed[step.name]) & step.descriptor.domain(domains)
            step.descriptor.request(inner[step.name], ask)
        stretches = {INPUT: Stretch(0, features)}
        for step in self.steps:
            given = Stretch(inner[step.name].first, step.descriptor.value(inner[step.name], stretches))
            self._check(step, given)
            values = step.layer(given, needed[step.name])
            if step.columns:
                values = values[:, step.columns]
            stretches[step.name] = Stretch(needed[step.name].first, values)
        return stretches[OUTPUT].values[0]

    def _check(self, step: _Step, given: Stretch) -> None:
        wanted = step.layer.dimension
        if wanted is not None and given.values.shape[1] != wanted:
            raise InputError(
                f"node '{step.name}' takes {wanted} dimensions and gets {given.values.shape[1]}; "
                "do network and features belong together?",
                self.path,
            )


def _plan(nnet: Nnet3) -> list[_Step]:
    for name in (INPUT, OUTPUT):
        if name not in nnet.nodes:
            raise Malformed(f"has no node '{name}'; is it an x-vector network?")
    steps: dict[str, _Step] = {}
    pending: list[str] = []

    def visit(name: str) -> None:
        if name == INPUT or name in steps:
            return
        if name in pending:
            raise Malformed(f"node '{name}' needs itself; recurrent networks are not supported")
        if name not in nnet.nodes:
            raise Malformed(f"node '{name}' is used but not defined")
        pending.append(name)
        step = _step(nnet, nnet.nodes[name])
        for needed in step.descriptor.nodes():
            visit(needed)
        pending.pop()
        steps[name] = step

    visit(OUTPUT)
    return list(steps.values())


def _step(nnet: Nnet3, node: Node) -> _Step:
    if node.kind == "component-node":
        if node["component"] not in nnet.components:
            raise Malformed(f"node '{node.name}' names component '{node['component']}', which is not there")
        return _Step(node.name, parse_descriptor(node["input"]), make_layer(nnet.components[node["component"]]))
    if node.kind == "dim-range-node":
        first = node.whole("dim-offset")
        return _Step(node.name, parse_descriptor(node["input-node"]), Layer(), slice(first, first + node.whole("dim")))
    if node.kind == "output-node":
        return _Step(node.name, parse_descriptor(node["input"]), Layer())
    raise Malformed(f"'{node.name}' is a second input; only x-vector networks with one are supported")
