"""Chain models of Kaldi's as directories that Vosk loads: one without rescoring (LM_s), one with (LM_l).

Two makers: `from_challenge` takes the layout of the challenge's ``asr_eval`` (``final.mdl``, ``extractor/``,
``graph_tgsmall/``, ``lang_test_tgsmall/``, ``lang_test_tglarge/``), `from_vosk` a model for Vosk that composes its
graph when it is loaded, and gives it language models of one's own. Large files are linked, not copied.
"""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.asr.kaldi.carpa import write_carpa
from vpeval.asr.kaldi.fst import read_vocabulary, write_acceptor
from vpeval.asr.lm import NGram
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import refuse_target, staged_directory

log = logging.getLogger(__name__)

SMALL, LARGE = "small", "large"
MARK = "kaldi_chain"
_ROOT = Path(__file__).resolve().parents[3]
_MFCC = _ROOT / "conf/asr/kaldi/mfcc_hires.conf"
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
            "%d words of the language model are not in the dictionary of %s and are never heard", lacking, source
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
        raise InputError("the network takes i-vectors, but there is no extractor/ beside it", source)
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
