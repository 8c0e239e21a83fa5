"""Kaldi's ConstArpaLm files (``G.carpa``): an n-gram model that lattices are scored with again.

The file is one block of 32-bit words. A context is its log-probability, its back-off weight, the number of words that
follow and, for each, the word and either the distance to the context that the word makes (odd numbers) or, where that
has nothing to say, the log-probability itself with its last bit cleared.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from vpeval.asr.kaldi.fst import Vocabulary
from vpeval.asr.lm import BEGIN, END, NGram
from vpeval.core.files import atomic_path

Numbers = tuple[int, ...]


def write_carpa(path: Path, lm: NGram, vocabulary: Vocabulary) -> None:
    """Write a model; n-grams with words that the vocabulary lacks are left out."""
    largest = max(vocabulary.numbers.values())
    special = {BEGIN: largest + 1, END: largest + 2}  # their own, as some tables give both the same number
    numbers = {gram[0]: special.get(gram[0], vocabulary.number(gram[0])) for gram in lm.logprob if len(gram) == 1}
    grams: dict[Numbers, tuple[float, float]] = {}
    for gram, logprob in lm.logprob.items():
        known = tuple(label for word in gram if (label := numbers.get(word)) is not None)
        if len(known) == len(gram):
            grams[known] = (logprob, lm.backoff.get(gram, 0.0))
    children: dict[Numbers, list[Numbers]] = {}
    for labels in sorted(grams):
        children.setdefault(labels[:-1], []).append(labels)
    states = [labels for labels in sorted(grams) if len(labels) == 1 or labels in children or grams[labels][1]]
    address, size = {}, 0
    for labels in states:
        address[labels] = size
        size += 3 + 2 * len(children.get(labels, ()))
    block: list[int] = []
    for labels in states:
        logprob, backoff = grams[labels]
        below = children.get(labels, [])
        block += [_bits(logprob), _bits(backoff), len(below)]
        for child in below:
            distance = address[child] - address[labels] if child in address else None
            block += [child[-1], _bits(grams[child][0]) & ~1 if distance is None else 2 * distance + 1]
    unigrams = np.zeros(largest + 3, "<i8")
    for labels in states:
        if len(labels) == 1:
            unigrams[labels[0]] = address[labels] + 1
    unknown = vocabulary.numbers[vocabulary.unknown]
    info = [special[BEGIN], special[END], unknown if unigrams[unknown] else -1, lm.order]
    _write(path, info, block, unigrams)


def _write(path: Path, info: list[int], block: list[int], unigrams: np.ndarray) -> None:
    content = [b"\0B<ConstArpaLm> <LmInfo> ", *(b"\4" + struct.pack("<i", number) for number in info), b"</LmInfo> "]
    content += [b"<LmStates> \x08", struct.pack("<q", len(block)), np.array(block, "<i4").tobytes(), b"</LmStates> "]
    content += [b"<LmUnigram> \4", struct.pack("<i", len(unigrams)), unigrams.tobytes(), b"</LmUnigram> "]
    content += [b"<LmOverflow> \4", struct.pack("<i", 0), b"</LmOverflow> </ConstArpaLm> "]
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"".join(content))


def _bits(number: float) -> int:
    """A float as the whole number that has the same bits."""
    return int(struct.unpack("<i", struct.pack("<f", number))[0])
