"""A network read from an nnet3 file, evaluated at its output: features of a chunk in, one vector out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from vpeval.core.errors import InputError
from vpeval.embeddings.kaldi_stream import Malformed
from vpeval.networks.kaldi.components import Layer, make_layer
from vpeval.networks.kaldi.descriptors import Descriptor, Frames, Stretch, parse_descriptor
from vpeval.networks.kaldi.nnet3 import Nnet3, Node

INPUT, OUTPUT = "input", "output"


class TooShort(Exception):
    """The chunk has too few frames for the context of the network."""


@dataclass(frozen=True)
class _Step:
    """A node to be computed: what it takes in, what is done to it, and which of its dimensions are kept."""

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
            taken = Stretch(inner[step.name].first, step.descriptor.value(inner[step.name], stretches))
            self._check(step, taken)
            values = step.layer(taken, needed[step.name])
            if step.columns:
                values = values[:, step.columns]
            stretches[step.name] = Stretch(needed[step.name].first, values)
        return stretches[OUTPUT].values[0]

    def _check(self, step: _Step, taken: Stretch) -> None:
        wanted = step.layer.dimension
        if wanted is not None and taken.values.shape[1] != wanted:
            raise InputError(
                f"node '{step.name}' takes {wanted} dimensions and is given {taken.values.shape[1]}; "
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
