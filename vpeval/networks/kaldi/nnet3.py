"""nnet3 files: a text that says how components are connected, and the components with their parameters.

Both forms of ``final.raw`` are read, and the ``extract.config`` that moves the output to an inner layer. Every
component is read field by field, whatever its type, so that files of all versions of Kaldi will do; what the components
compute is in `components`, how they are connected in `descriptors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError
from vpeval.embeddings.kaldi_stream import Malformed, Stream, open_stream

Value = float | bool | list[int] | Floats

_LINE = re.compile(r"(input-node|component-node|dim-range-node|output-node|component)\s+(\S.*)")
_SETTING = re.compile(r"([\w-]+)\s*=\s*(.*?)(?=\s+[\w-]+\s*=|$)")
_INTEGERS = {"Dim", "BlockDim", "InputDim", "OutputDim", "InputPeriod", "OutputPeriod", "LeftContext", "RightContext"}
_INTEGERS |= {"NumLogCountFeatures"}
_REALS = {"Epsilon", "TargetRms", "Count", "VarianceFloor"}
_TRUTHS = {"IncludeVarinance", "OutputStddevs", "AddLogStddev"}  # the first is spelt so in the files
_LISTS = {"TimeOffsets", "ColumnMap", "Sizes"}
_ARRAYS = {"LinearParams", "BiasParams", "Params", "StatsMean", "StatsVar", "Scales", "Offsets", "Bias"}


@dataclass(frozen=True)
class Node:
    """A line of the text: ``component-node name=… component=… input=…`` and the like."""

    kind: str
    name: str
    settings: Mapping[str, str]

    def __getitem__(self, key: str) -> str:
        if key not in self.settings:
            raise Malformed(f"{self.kind} '{self.name}' has no {key}")
        return self.settings[key]

    def whole(self, key: str) -> int:
        """A setting that is a whole number."""
        try:
            return int(self[key])
        except ValueError:
            raise Malformed(f"{self.kind} '{self.name}': {key}={self[key]} is no whole number") from None


@dataclass(frozen=True)
class Component:
    """A component and those of its fields that say what it computes."""

    name: str
    type: str
    fields: Mapping[str, Value]


@dataclass(frozen=True)
class Nnet3:
    """A network as it stands in its file."""

    path: Path
    nodes: Mapping[str, Node]
    components: Mapping[str, Component]

    def with_config(self, path: Path) -> Nnet3:
        """The network with the nodes of a configuration file (``extract.config``) in place of their namesakes."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, UnicodeDecodeError) as error:
            raise InputError(f"is no readable configuration ({type(error).__name__})", path) from None
        nodes = dict(self.nodes)
        for number, line in enumerate(lines, start=1):
            if text := line.partition("#")[0].strip():
                try:
                    node = _node(text)
                except Malformed as error:
                    raise InputError(str(error), path, number) from None
                nodes[node.name] = node
        return replace(self, nodes=nodes)


def read_nnet3(path: Path) -> Nnet3:
    """Read ``final.raw``, binary or text; anything else is an InputError that names the component."""
    stream = open_stream(path)
    try:
        stream.expect("<Nnet3>")
    except Malformed as error:
        raise InputError(f"is no nnet3 network of Kaldi's ({error})", path) from None
    try:
        stream.line()
        nodes = _read_nodes(stream)
        components = _read_components(stream)
    except Malformed as error:
        raise InputError(f"is no whole nnet3 network: {error}; copy the file again", path) from None
    return Nnet3(path, nodes, components)


def _read_nodes(stream: Stream) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    try:
        while line := stream.line():
            node = _node(line)
            nodes[node.name] = node
    except Malformed as error:
        raise Malformed(f"in the list of nodes, {error}") from None
    return nodes


def _node(line: str) -> Node:
    """A line as a node.

    >>> _node("output-node name=output input=Append(Offset(a, -1), a) objective=linear")["input"]
    'Append(Offset(a, -1), a)'
    """
    found = _LINE.fullmatch(line)
    settings = dict(_SETTING.findall(found.group(2))) if found else {}
    if not found or "name" not in settings:
        raise Malformed(f"'{line[:60]}' is no node of a network")
    return Node(found.group(1), settings["name"], settings)


def _read_components(stream: Stream) -> dict[str, Component]:
    stream.expect("<NumComponents>")
    count = int(stream.number("int"))
    components: dict[str, Component] = {}
    for number in range(1, count + 1):
        name = ""
        try:
            stream.expect("<ComponentName>")
            name = stream.token()
            components[name] = _read_component(stream, name)
        except Malformed as error:
            which = f"component {number} of {count}" + (f" ('{name}')" if name else "")
            raise Malformed(f"{which}: {error}") from None
    stream.expect("</Nnet3>")
    return components


def _read_component(stream: Stream, name: str) -> Component:
    kind = stream.token()
    if not re.fullmatch(r"<\w+>", kind):
        raise Malformed(f"'{kind[:30]}' is no type of component")
    end = f"</{kind[1:]}"
    fields: dict[str, Value] = {}
    while (token := stream.token()) != end:
        if not re.fullmatch(r"<\w+>", token):
            raise Malformed(f"'{token[:30]}' stands where a field of {kind} is expected")
        if stream.at_token():
            continue
        try:
            _read_field(stream, token[1:-1], fields)
        except Malformed as error:
            raise Malformed(f"{error} in {token} of {kind}") from None
    return Component(name, kind[1:-1], fields)


def _read_field(stream: Stream, field: str, fields: dict[str, Value]) -> None:
    if field in _ARRAYS:
        fields[field] = stream.array()
    elif field in _INTEGERS:
        fields[field] = stream.number("int")
    elif field in _REALS:
        fields[field] = stream.number("float")
    elif field in _TRUTHS:
        fields[field] = stream.truth()
    elif field in _LISTS:
        fields[field] = stream.integers()
    else:  # some fields have two values
        while not stream.at_token():
            stream.value()
