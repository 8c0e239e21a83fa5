"""Kaldi's chain models as directories that Vosk loads: one without rescoring (LM_s), one with (LM_l).

Two makers: `from_challenge` takes the layout of the challenge's ``asr_eval`` (``final.mdl``, ``extractor/``,
``graph_tgsmall/``, ``lang_test_tgsmall/``, ``lang_test_tglarge/``), `from_vosk` a model for Vosk that composes its
graph when it is loaded, and gives it other language models. Large files are linked, not copied.

Language models are written in two formats. As an acceptor of OpenFst, a back-off model has a state for every context: a
word leads to the longest known context, an arc without a word to the shorter context (Mohri, Pereira & Riley, Computer
Speech and Language, 2002); weights are negative natural logarithms. Kaldi's ConstArpaLm (``G.carpa``) is one block of
32-bit words. A context is its log-probability, its back-off weight, the number of words that follow and, for each, the
word and either the distance to the context that the word makes (odd numbers) or, where that context holds nothing, the
log-probability itself with its last bit cleared.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.asr.lm import BEGIN, END, UNKNOWN, NGram, Words
from vpeval.asr.vosk import LARGE, SMALL
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, write_text
from vpeval.core.places import CONF
from vpeval.core.publish import refuse_target, staged_directory

Numbers = tuple[int, ...]
log = logging.getLogger(__name__)

MARK = "kaldi_chain"
_MFCC = CONF / "asr/kaldi/mfcc_hires.conf"
_EXTRACTOR = ("final.ie", "final.dubm", "final.mat", "global_cmvn.stats", "online_cmvn.conf")
# As the challenge decodes; utterances are never cut at pauses.
_DECODING = """\
--min-active=200
--max-active=7000
--beam=15.0
--lattice-beam=8.0
--acoustic-scale=1.0
--frame-subsampling-factor=3
--endpoint.silence-phones={silence}
"""
_FST, _SYMBOLS = 2125659606, 2125658996
_HAS_INPUT_SYMBOLS, _HAS_OUTPUT_SYMBOLS = 1, 2
_EXPANDED_MUTABLE_ACCEPTOR = 0x1 | 0x2 | 0x10000
_VERSION = 2
_INFINITY = float("inf")


def from_challenge(source: Path, out: Path) -> list[str]:
    """Make `out` of the challenge's directory; returns the language models it has, ``small`` and perhaps ``large``."""
    refuse_target(out, [source])
    small, large = source / "lang_test_tgsmall/G.fst", source / "lang_test_tglarge/G.carpa"
    files = _challenge_files(source)
    silence = _silence_phones(source / "graph_tgsmall/phones/silence.csl")
    with staged_directory(out, [source]) as new:
        for lm in (SMALL, LARGE) if large.is_file() else (SMALL,):
            for name, path in files.items():
                _link(path, new / lm / name)
            write_text(new / lm / "conf/model.conf", _DECODING.format(silence=silence))
            if "ivector/final.ie" in files:
                write_text(new / lm / "ivector/splice.conf", _splice(source / "extractor/splice_opts"))
            if lm == LARGE:
                _link(_needed(small, "the small language model as a graph"), new / lm / "rescore/G.fst")
                _link(large, new / lm / "rescore/G.carpa")
        write_text(new / MARK, f"made from {source.resolve()}\n")
    return [SMALL, LARGE] if large.is_file() else [SMALL]


def from_vosk(source: Path, small: NGram, large: NGram | None, out: Path) -> list[str]:
    """Make `out` of a model for Vosk with another graph; returns the language models it has."""
    refuse_target(out, [source])
    for name in ("am/final.mdl", "conf/model.conf", "graph/HCLr.fst", "graph/disambig_tid.int"):
        _needed(source / name, "a model for Vosk that composes its graph when it is loaded")
    vocabulary = read_vocabulary(source / "graph")
    kept = [path for path in sorted(source.rglob("*")) if path.is_file() and path.name not in ("Gr.fst", "README")]
    with staged_directory(out, [source]) as new:
        for lm in (SMALL, LARGE) if large else (SMALL,):
            for path in kept:
                if path.relative_to(source).parts[0] in ("am", "conf", "graph", "ivector"):
                    _link(path, new / lm / path.relative_to(source))
            lacking = write_acceptor(new / lm / "graph/Gr.fst", small, vocabulary)
            words = sorted(vocabulary.numbers.items(), key=lambda item: (item[1], item[0]))
            write_text(new / lm / "graph/words.txt", "".join(f"{word} {number}\n" for word, number in words))
            if lm == LARGE and large:
                write_acceptor(new / lm / "rescore/G.fst", small, vocabulary)
                write_carpa(new / lm / "rescore/G.carpa", large, vocabulary)
        write_text(new / MARK, f"made from {source.resolve()}\n")
    if lacking:
        log.warning(
            "%d words of the language model are not in the dictionary of %s and are never recognised", lacking, source
        )
    return [SMALL, LARGE] if large else [SMALL]


def _challenge_files(source: Path) -> dict[str, Path]:
    """What Vosk wants, by the name it wants it under."""
    model = _needed(source / "final.mdl", "a Kaldi chain model as in the challenge's asr_eval")
    subsampling = source / "frame_subsampling_factor"
    if subsampling.is_file() and subsampling.read_text().strip() != "3":
        raise InputError(f"is {subsampling.read_text().strip()[:20]}; Vosk runs chain models with 3 only", subsampling)
    files = {
        "am/final.mdl": model,
        "conf/mfcc.conf": _mfcc(source),
        "graph/HCLG.fst": _needed(source / "graph_tgsmall/HCLG.fst", "the decoding graph"),
        "graph/words.txt": _needed(source / "graph_tgsmall/words.txt", "the words of the graph"),
    }
    boundary = source / "graph_tgsmall/phones/word_boundary.int"
    if boundary.is_file():
        files["graph/phones/word_boundary.int"] = boundary
    if (source / "extractor").is_dir():
        files |= {
            f"ivector/{name}": _needed(source / "extractor" / name, "the i-vector extractor") for name in _EXTRACTOR
        }
    elif b"input-node name=ivector" in model.read_bytes():
        raise InputError("the network takes i-vectors, but there is no extractor/ next to it", source)
    return files


def _mfcc(source: Path) -> Path:
    for name in ("conf/mfcc_hires.conf", "mfcc_hires.conf", "conf/mfcc.conf"):
        if (source / name).is_file():
            return source / name
    log.info("%s has no mfcc_hires.conf; taking that of the challenge's recipe, conf/asr/kaldi/mfcc_hires.conf", source)
    return _MFCC


def _splice(path: Path) -> str:
    """Options on one line as options on lines of their own."""
    return "".join(f"{option}\n" for option in _needed(path, "the i-vector extractor").read_text().split())


def _silence_phones(path: Path) -> str:
    text = _needed(path, "the silence phones of the graph").read_text().strip()
    if not text.replace(":", "").isdecimal():
        raise InputError(f"expected numbers of phones like 1:2:3, found '{text[:30]}'", path)
    return text


def _needed(path: Path, what: str) -> Path:
    if not path.is_file():
        raise InputError(f"no such file; it is needed for {what} (docs/models.md)", path)
    return path


def _link(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(path.resolve())


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
    _write_fst(path, number[lm.start if lm.start in number else ()], finals, arcs)
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


def _write_fst(path: Path, start: int, finals: list[float], arcs: list[list[tuple[int, float, int]]]) -> None:
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
        raise InputError("no such file, and no words.txt next to it", path) from None
    try:
        at = 4
        if struct.unpack_from("<i", content)[0] != _FST:
            raise InputError("is no FST", path)
        for _ in range(2):  # its type and that of its arcs
            at += 4 + int(struct.unpack_from("<i", content, at)[0])
        flags = struct.unpack_from("<i", content, at + 4)[0]
        at += 8 + 4 * 8
        if not flags & (_HAS_INPUT_SYMBOLS | _HAS_OUTPUT_SYMBOLS):
            raise InputError("has no table of words in it, and no words.txt next to it", path)
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
    _write_carpa(path, info, block, unigrams)


def _write_carpa(path: Path, info: list[int], block: list[int], unigrams: np.ndarray) -> None:
    content = [b"\0B<ConstArpaLm> <LmInfo> ", *(b"\4" + struct.pack("<i", number) for number in info), b"</LmInfo> "]
    content += [b"<LmStates> \x08", struct.pack("<q", len(block)), np.array(block, "<i4").tobytes(), b"</LmStates> "]
    content += [b"<LmUnigram> \4", struct.pack("<i", len(unigrams)), unigrams.tobytes(), b"</LmUnigram> "]
    content += [b"<LmOverflow> \4", struct.pack("<i", 0), b"</LmOverflow> </ConstArpaLm> "]
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"".join(content))


def _bits(number: float) -> int:
    """A float as the whole number that has the same bits."""
    return int(struct.unpack("<i", struct.pack("<f", number))[0])
