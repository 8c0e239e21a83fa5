"""For authors of Python hooks: the loop around one function.

    from vpeval.anon import hook

    def anonymize(wave, rate, seed, utterance):
        return wave                       # float samples in [-1, 1], mono, at `rate`

    if __name__ == "__main__":
        hook.main(anonymize, __doc__)

The contract of a hook is in docs/hooks.md; a hook may be written in any language and need not use this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vpeval.anon.hooks import WHOLE_SET
from vpeval.anon.strategies import STRATEGIES, Strategy, draw_seeds
from vpeval.audio.io import RATE, read_audio, write_wave
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir

Anonymize = Callable[[np.ndarray, int, int, str], np.ndarray]


class Parser(script.Parser):
    """Options of a hook: add your own; --strategy, ``data`` and ``out`` are there already."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(doc)
        self.add_argument(
            "--strategy",
            choices=STRATEGIES,
            default="random",
            help="who shares a pseudo-speaker: everybody, the utterances of a speaker, nobody, or as --anon-level "
            "says (default: random, that is as --anon-level says)",
        )
        self.add_argument("data", metavar="data-dir", type=Path, help="Kaldi data directory with utt2seed")
        self.add_argument("out", metavar="out-wav-dir", type=Path, help="where <utt>.wav goes")


def whole_set(data_dir: Path) -> DataDir:
    """The set that `data_dir` is a part of, with utt2seed: for what depends on all utterances of a speaker.

    A job has only some of the utterances, and after an interruption only those that are still to do.
    """
    return DataDir.load(os.environ.get(WHOLE_SET) or data_dir)


def run(anonymize: Anonymize, data_dir: Path, out: Path, strategy: Strategy = "random") -> None:
    """Anonymise every utterance of `data_dir` into ``<out>/<utt>.wav``."""
    data = DataDir.load(data_dir)
    # Only that needs to know all utterances of a speaker: a set may be very much larger than the part of a job.
    seeds = draw_seeds(strategy, whole_set(data_dir) if strategy == "speaker" else data)
    out.mkdir(parents=True, exist_ok=True)
    for utt, entry in data.wav.items():
        wave = np.asarray(anonymize(read_audio(entry), RATE, seeds[utt], utt))
        if wave.ndim != 1 or wave.dtype.kind != "f" or not np.isfinite(wave).all():
            raise InputError(f"anonymize() must return mono, finite float samples; utterance {utt} has {wave!r}")
        write_wave(out / f"{utt}.wav", wave)


def main(anonymize: Anonymize, doc: str | None = None) -> None:
    """Parse ``<data-dir> <out-wav-dir>`` and run `anonymize` on every utterance."""

    def work() -> None:
        args = Parser(doc).parse_args()
        run(anonymize, args.data, args.out, args.strategy)

    script.main(work)
