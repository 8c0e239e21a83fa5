"""CMU PocketSphinx: the acoustic model and dictionary of its own package, with any n-gram model or grammar."""

from __future__ import annotations

import math
import re
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

from vpeval.asr.lm import NGram, write_arpa
from vpeval.asr.nbest import Hypothesis
from vpeval.asr.vosk import to_pcm
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.lazy import require
from vpeval.data.text import vpc2020

_TRIED = 20
"""So many times the wanted number of hypotheses are looked at: most differ only in pauses and pronunciations."""

_SCORE_UNIT = 1 << 10
"""Path scores are whole numbers of 1024 steps of the logarithm, but handed out as if they were of one step."""


class PocketSphinx:
    """Decodes with language model `lm`, else with the grammar of the configuration, else with its own model."""

    def __init__(self, config: Path, lm: NGram | None = None) -> None:
        settings = read_config(config, recognizer=str, grammar=str, nbest=int, lmwt=float, wip=float)
        package = require("pocketsphinx", "this recogniser")
        self.nbest_size, self.lmwt, self.wip, self.lm = settings["nbest"], settings["lmwt"], settings["wip"], lm
        if settings["grammar"] and lm:
            raise InputError("has a grammar and cannot decode with a language model as well; choose one", config)
        # wip of PocketSphinx is a probability a word.
        options = {"loglevel": "FATAL", "lw": self.lmwt, "wip": float(np.exp(-self.lmwt * self.wip))}
        with tempfile.TemporaryDirectory() as folder:
            if lm:
                write_arpa(Path(folder) / "lm", _lower(lm))
                _cut_dictionary(Path(package.get_model_path("en-us/cmudict-en-us.dict")), lm, Path(folder) / "dict")
                options |= {"lm": str(Path(folder) / "lm"), "dict": str(Path(folder) / "dict")}
            elif settings["grammar"]:
                (Path(folder) / "grammar").write_text(settings["grammar"])
                options |= {"jsgf": str(Path(folder) / "grammar"), "lm": None}
            try:
                self.decoder = package.Decoder(**options)
            except (RuntimeError, ValueError) as error:
                raise InputError(f"PocketSphinx cannot use the grammar or language model ({error})", config) from None

    def transcribe(self, wave: np.ndarray) -> str:
        """The best hypothesis."""
        self._decode(wave)
        best = self.decoder.hyp()
        return str(best.hypstr) if best else ""

    def nbest(self, wave: np.ndarray) -> list[Hypothesis]:
        """Different hypotheses; PocketSphinx gives whole scores, from which the language model's part is taken off."""
        if self.lm is None:
            raise InputError("hypotheses with acoustic scores need a language model; give one with --lm")
        best = self.transcribe(wave)
        scores: dict[str, float] = {}
        for one in islice(self.decoder.nbest() or (), _TRIED * self.nbest_size):
            if one is not None and one.hypstr and one.hypstr not in scores:
                scores[one.hypstr] = _SCORE_UNIT * math.log(max(one.score, sys.float_info.min))
            if len(scores) == self.nbest_size:
                break
        if best not in scores:
            scores = {best: max(scores.values(), default=0.0), **scores}
        return [Hypothesis(text, score - self._of_lm(text)) for text, score in scores.items()]

    def _of_lm(self, text: str) -> float:
        assert self.lm is not None, "only asked with a language model"
        words = vpc2020(text)
        return self.lmwt * (self.lm.sentence(words) - self.wip * len(words))

    def _decode(self, wave: np.ndarray) -> None:
        # The mean of the cepstra is carried on from utterance to utterance; each begins with the same one instead.
        self.decoder.reinit_feat()
        self.decoder.start_utt()
        self.decoder.process_raw(to_pcm(wave).tobytes(), full_utt=True)
        self.decoder.end_utt()


def _lower(lm: NGram) -> NGram:
    """The model in the spelling of the dictionary."""
    return NGram(
        lm.order,
        {tuple(map(str.lower, gram)): value for gram, value in lm.logprob.items()},
        {tuple(map(str.lower, gram)): value for gram, value in lm.backoff.items()},
    )


def _cut_dictionary(whole: Path, lm: NGram, out: Path) -> None:
    """The pronunciations of the words of the model: looking for all others in it would take seconds."""
    words = {word.lower() for word in lm.words}
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(line for line in lines if re.split(r"[\s(]", line, maxsplit=1)[0] in words))
