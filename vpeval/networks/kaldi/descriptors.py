"""The input of a node: ``Append(Offset(a, -2), Offset(a, 2))`` and the like, as expressions over stretches of time.

A node has a value at every frame of an interval: the input at all frames of the chunk, a layer with context at those
whose context is complete, a pooling layer far beyond. A network is evaluated in two passes: which frames are needed,
from the output backwards, then their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from vpeval.embeddings.kaldi_stream import Malformed

FOREVER = 1 << 40
_TOKENS = re.compile(r"\s*([A-Za-z_][\w.\-]*|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[(),])")


@dataclass(frozen=True)
class Frames:
    """The frames `first` to `last`, both included; none if `last` is smaller."""

    first: int
    last: int

    def __and__(self, other: Frames) -> Frames:
        return Frames(max(self.first, other.first), min(self.last, other.last))

    def __or__(self, other: Frames) -> Frames:
        return Frames(min(self.first, other.first), max(self.last, other.last))

    def __bool__(self) -> bool:
        return self.last >= self.first

    def shifted(self, by: int) -> Frames:
        """As many frames later."""
        return Frames(self.first + by, self.last + by)

    def rounded(self, period: int) -> Frames:
        """The frames that these fall on when they are rounded down to multiples of `period`."""
        return Frames(self.first // period * period, self.last // period * period)


@dataclass(frozen=True)
class Stretch:
    """Values (frames × dimension) from frame `first` on."""

    first: int
    values: torch.Tensor

    def over(self, frames: Frames) -> torch.Tensor:
        """The values of some frames, all of which must be there."""
        return self.values[frames.first - self.first : frames.last + 1 - self.first]


Domains = Mapping[str, Frames]
Stretches = Mapping[str, Stretch]
Request = Callable[[str, Frames], None]


class Descriptor(Protocol):
    """An expression over nodes."""

    def nodes(self) -> Iterator[str]:
        """The nodes that it reads."""

    def domain(self, domains: Domains) -> Frames:
        """The frames at which it can be computed."""

    def request(self, frames: Frames, ask: Request) -> None:
        """Ask for the frames of nodes that its own `frames` need."""

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Its values, frames × dimension."""


@dataclass(frozen=True)
class Name:
    """A node itself."""

    name: str

    def nodes(self) -> Iterator[str]:
        """It."""
        yield self.name

    def domain(self, domains: Domains) -> Frames:
        """That of the node."""
        return domains[self.name]

    def request(self, frames: Frames, ask: Request) -> None:
        """The same frames."""
        ask(self.name, frames)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Those of the node."""
        return stretches[self.name].over(frames)


@dataclass(frozen=True)
class Offset:
    """``Offset(x, n)``: x at n frames later."""

    part: Descriptor
    by: int

    def nodes(self) -> Iterator[str]:
        """Those of x."""
        yield from self.part.nodes()

    def domain(self, domains: Domains) -> Frames:
        """That of x, shifted."""
        return self.part.domain(domains).shifted(-self.by)

    def request(self, frames: Frames, ask: Request) -> None:
        """Shifted frames of x."""
        self.part.request(frames.shifted(self.by), ask)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Shifted values of x."""
        return self.part.value(frames.shifted(self.by), stretches)


@dataclass(frozen=True)
class Round:
    """``Round(x, p)``: x at the last multiple of p."""

    part: Descriptor
    period: int

    def nodes(self) -> Iterator[str]:
        """Those of x."""
        yield from self.part.nodes()

    def domain(self, domains: Domains) -> Frames:
        """Whatever falls on frames at which x has a value."""
        inner = self.part.domain(domains)
        first = -(-inner.first // self.period) * self.period
        return Frames(first, inner.last // self.period * self.period + self.period - 1)

    def request(self, frames: Frames, ask: Request) -> None:
        """Multiples of the period, and what is between them."""
        self.part.request(frames.rounded(self.period), ask)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Every value of x as often as frames fall on it."""
        inner = frames.rounded(self.period)
        rows = torch.arange(frames.first, frames.last + 1) // self.period * self.period - inner.first
        return self.part.value(inner, stretches)[rows]


@dataclass(frozen=True)
class ReplaceTime:
    """``ReplaceIndex(x, t, n)``: x at frame n, whatever the time."""

    part: Descriptor
    frame: int

    def nodes(self) -> Iterator[str]:
        """Those of x."""
        yield from self.part.nodes()

    def domain(self, domains: Domains) -> Frames:
        """Always, if x has a value at that frame."""
        there = self.part.domain(domains) & Frames(self.frame, self.frame)
        return Frames(-FOREVER, FOREVER) if there else Frames(0, -1)

    def request(self, frames: Frames, ask: Request) -> None:
        """The one frame."""
        self.part.request(Frames(self.frame, self.frame), ask)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """The one value, repeated."""
        one = self.part.value(Frames(self.frame, self.frame), stretches)
        return one.expand(frames.last + 1 - frames.first, -1)


@dataclass(frozen=True)
class Scale:
    """``Scale(a, x)``."""

    factor: float
    part: Descriptor

    def nodes(self) -> Iterator[str]:
        """Those of x."""
        yield from self.part.nodes()

    def domain(self, domains: Domains) -> Frames:
        """That of x."""
        return self.part.domain(domains)

    def request(self, frames: Frames, ask: Request) -> None:
        """The same frames of x."""
        self.part.request(frames, ask)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Those of x, times a."""
        return self.factor * self.part.value(frames, stretches)


@dataclass(frozen=True)
class Several:
    """``Append(x, y, …)`` side by side, or ``Sum(x, y, …)``."""

    parts: tuple[Descriptor, ...]
    summed: bool

    def nodes(self) -> Iterator[str]:
        """Those of all parts."""
        for part in self.parts:
            yield from part.nodes()

    def domain(self, domains: Domains) -> Frames:
        """Where all parts have values."""
        common = Frames(-FOREVER, FOREVER)
        for part in self.parts:
            common &= part.domain(domains)
        return common

    def request(self, frames: Frames, ask: Request) -> None:
        """The same frames of all parts."""
        for part in self.parts:
            part.request(frames, ask)

    def value(self, frames: Frames, stretches: Stretches) -> torch.Tensor:
        """Values of all parts, joined."""
        values = [part.value(frames, stretches) for part in self.parts]
        if not self.summed:
            return torch.cat(values, dim=1)
        if len({value.shape for value in values}) > 1:
            raise Malformed("Sum() of nodes of different dimensions")
        return torch.stack(values).sum(dim=0)


def parse_descriptor(text: str) -> Descriptor:
    """The expression that a text describes.

    >>> list(parse_descriptor("Append(Offset(input, -1), Round(pool, 1))").nodes())
    ['input', 'pool']
    """
    tokens = [found.group(1) for found in _TOKENS.finditer(text)]
    if "".join(tokens) != re.sub(r"\s", "", text) or not tokens:
        raise Malformed(f"cannot read the input '{text}'")
    descriptor = _parse(tokens, text)
    if tokens:
        raise Malformed(f"cannot read the input '{text}' beyond '{tokens[0]}'")
    return descriptor


def _parse(tokens: list[str], text: str) -> Descriptor:
    word = tokens.pop(0) if tokens else ""
    if not re.match(r"[A-Za-z_]", word):
        raise Malformed(f"cannot read the input '{text}'")
    if not tokens or tokens[0] != "(":
        return Name(word)
    tokens.pop(0)
    result = _parse_call(word, tokens, text)
    _skip(tokens, ")", text)
    return result


def _parse_call(word: str, tokens: list[str], text: str) -> Descriptor:
    if word in ("Append", "Sum"):
        parts = [_parse(tokens, text)]
        while tokens[:1] == [","]:
            tokens.pop(0)
            parts.append(_parse(tokens, text))
        return Several(tuple(parts), word == "Sum")
    if word == "Scale":
        factor = _number(tokens, text)
        _skip(tokens, ",", text)
        return Scale(factor, _parse(tokens, text))
    if word in ("Offset", "Round", "ReplaceIndex"):
        part = _parse(tokens, text)
        _skip(tokens, ",", text)
        if word == "ReplaceIndex":
            _skip(tokens, "t", text)
            _skip(tokens, ",", text)
        number = int(_number(tokens, text))
        if word == "Round" and number < 1:
            raise Malformed(f"cannot round to {number} frames in '{text}'")
        if word == "Offset":
            return Offset(part, number)
        return Round(part, number) if word == "Round" else ReplaceTime(part, number)
    raise Malformed(f"{word}() in '{text}' is no input of x-vector or TDNN networks")


def _skip(tokens: list[str], wanted: str, text: str) -> None:
    if tokens[:1] != [wanted]:
        raise Malformed(f"expected '{wanted}' in '{text}'")
    tokens.pop(0)


def _number(tokens: list[str], text: str) -> float:
    try:
        return float(tokens.pop(0))
    except (ValueError, IndexError):
        raise Malformed(f"expected a number in '{text}'") from None
