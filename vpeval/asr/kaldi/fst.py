"""Files of OpenFst: the words of a graph, and an n-gram model as an acceptor of word sequences.

A back-off model becomes an acceptor with a state for every context: a word leads to the longest context that is known,
an arc without a word leads to the shorter context (Mohri, Pereira & Riley, Computer Speech and Language, 2002). Weights
are negative natural logarithms.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vpeval.asr.lm import BEGIN, END, UNKNOWN, NGram, Words
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path

_FST, _SYMBOLS = 2125659606, 2125658996
_HAS_INPUT_SYMBOLS, _HAS_OUTPUT_SYMBOLS = 1, 2
_EXPANDED_MUTABLE_ACCEPTOR = 0x1 | 0x2 | 0x10000
_VERSION = 2
_INFINITY = float("inf")


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of the words of a recogniser; `unknown` is the word that stands for all others."""

    numbers: Mapping[str, int]
    unknown: str

    def number(self, word: str) -> int | None:
        """Of a word of a language model, in whichever case the recogniser spells it."""
        if word == UNKNOWN:
            return self.numbers.get(self.unknown)
        return next((self.numbers[form] for form in (word, word.lower(), word.upper()) if form in self.numbers), None)


def read_vocabulary(graph: Path) -> Vocabulary:
    """The words of a graph directory: ``words.txt``, or the table inside ``Gr.fst``."""
    listed = graph / "words.txt"
    numbers = _read_words(listed) if listed.is_file() else _read_symbols(graph / "Gr.fst")
    unknown = next((word for word in ("<UNK>", "<unk>", "[unk]", "<SPOKEN_NOISE>") if word in numbers), None)
    if unknown is None:
        raise InputError("knows no word for the unknown (<UNK>, <unk> or [unk])", graph)
    return Vocabulary(numbers, unknown)


def write_acceptor(path: Path, lm: NGram, vocabulary: Vocabulary) -> int:
    """Write a model as an acceptor; returns how many of its words the vocabulary lacks, which are left out."""
    known = {word: vocabulary.number(word) for word in lm.words}
    contexts = _contexts(lm, {word for word, number in known.items() if number is not None})
    number = {context: place for place, context in enumerate(contexts)}
    finals = [_INFINITY] * len(contexts)
    arcs: list[list[tuple[int, float, int]]] = [[] for _ in contexts]
    for gram, logprob in lm.logprob.items():
        context, word = gram[:-1], gram[-1]
        if context not in number or word in (BEGIN, UNKNOWN):
            continue
        if word == END:
            finals[number[context]] = -logprob
        elif (label := known.get(word)) is not None:
            arcs[number[context]].append((label, -logprob, number[_longest(gram, number)]))
    for context in contexts:
        if context:
            shorter = _longest(context[1:], number)
            arcs[number[context]].append((0, -lm.backoff.get(context, 0.0), number[shorter]))
    _write(path, number[lm.start if lm.start in number else ()], finals, arcs)
    return sum(label is None for label in known.values())


def _contexts(lm: NGram, known: set[str]) -> list[Words]:
    """All contexts of known words, sorted; the empty one is the first."""
    allowed = known | {BEGIN}
    found = {gram[:-1] for gram in lm.logprob} | set(lm.backoff) | {(), lm.start}
    return sorted(context for context in found if len(context) < max(lm.order, 1) and set(context) <= allowed)


def _longest(gram: Words, number: Mapping[Words, int]) -> Words:
    while gram not in number:
        gram = gram[1:]
    return gram


def _write(path: Path, start: int, finals: list[float], arcs: list[list[tuple[int, float, int]]]) -> None:
    content = [struct.pack("<i", _FST), _string("vector"), _string("standard")]
    total = sum(map(len, arcs))
    content.append(struct.pack("<iiQqqq", _VERSION, 0, _EXPANDED_MUTABLE_ACCEPTOR, start, len(finals), total))
    for final, leaving in zip(finals, arcs, strict=True):
        content.append(struct.pack("<fq", final, len(leaving)))
        content += [struct.pack("<iifi", label, label, weight, target) for label, weight, target in sorted(leaving)]
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"".join(content))


def _string(text: str) -> bytes:
    return struct.pack("<i", len(text.encode())) + text.encode()


def _read_words(path: Path) -> dict[str, int]:
    numbers = {}
    for line, text in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        fields = text.split()
        if len(fields) != 2 or not fields[1].isdecimal():
            raise InputError("expected <word> <number>", path, line)
        numbers[fields[0]] = int(fields[1])
    return numbers


def _read_symbols(path: Path) -> dict[str, int]:
    """The table that an FST carries behind its header."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file, and no words.txt beside it", path) from None
    try:
        at = 4
        if struct.unpack_from("<i", content)[0] != _FST:
            raise InputError("is no FST", path)
        for _ in range(2):  # its type and that of its arcs
            at += 4 + int(struct.unpack_from("<i", content, at)[0])
        flags = struct.unpack_from("<i", content, at + 4)[0]
        at += 8 + 4 * 8
        if not flags & (_HAS_INPUT_SYMBOLS | _HAS_OUTPUT_SYMBOLS):
            raise InputError("has no table of words in it, and no words.txt beside it", path)
        return _read_table(content, at)
    except (struct.error, UnicodeDecodeError):
        raise InputError("is no whole FST", path) from None


def _read_table(content: bytes, at: int) -> dict[str, int]:
    if struct.unpack_from("<i", content, at)[0] != _SYMBOLS:
        raise struct.error
    at += 8 + int(struct.unpack_from("<i", content, at + 4)[0])
    size = struct.unpack_from("<q", content, at + 8)[0]
    at += 16
    numbers = {}
    for _ in range(size):
        length = int(struct.unpack_from("<i", content, at)[0])
        word = content[at + 4 : at + 4 + length].decode()
        numbers[word] = int(struct.unpack_from("<q", content, at + 4 + length)[0])
        at += 12 + length
    return numbers
