"""For authors of Python hooks: the loop around one function.

    from vpeval.anon import hook

    def anonymize(wave, rate, seed, utterance):
        return wave                       # float samples in [-1, 1], mono, at `rate`

    if __name__ == "__main__":
        hook.main(anonymize, __doc__)

The contract of a hook is in docs/hooks.md; a hook may be written in any language and need not use this module.

A strategy (``--strategy``) says which utterances share a pseudo-speaker; all of them draw from utt2seed:

constant    all, in enrolment, trial and training sets alike
speaker     the utterances of a speaker within a set
utterance   none: every utterance has its own
random      as the driver draws: per speaker or per utterance, as --anon-level says
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NoReturn, get_args

import numpy as np

from vpeval.anon.hook_files import record_opened
from vpeval.anon.hook_input import SEEDS, WHOLE_SET
from vpeval.audio.io import RATE, read_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.core.seeds import derive
from vpeval.data.directory import DataDir

Anonymize = Callable[[np.ndarray, int, int, str], np.ndarray]
Strategy = Literal["constant", "speaker", "utterance", "random"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


record_opened()


class Parser(argparse.ArgumentParser):
    """Options of a hook: add your own; --strategy, ``data`` and ``out`` are there already."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
        self.add_argument(
            "--strategy",
            choices=STRATEGIES,
            default="random",
            help="who shares a pseudo-speaker: everybody, the utterances of a speaker, nobody, or as --anon-level "
            "says (default: random, that is as --anon-level says)",
        )
        self.add_argument("data", metavar="data-dir", type=Path, help="Kaldi data directory with utt2seed")
        self.add_argument("out", metavar="out-wav-dir", type=Path, help="where <utt>.wav goes")

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 1 and a pointer to --help."""
        self.exit(1, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def whole_set(data_dir: Path) -> DataDir:
    """The set that `data_dir` is a part of, with utt2seed: for what depends on all utterances of a speaker.

    A job has only some of the utterances, and after an interruption only those that are still to do.
    """
    return DataDir.load(os.environ.get(WHOLE_SET) or data_dir)


def draw_seeds(strategy: Strategy, whole: DataDir) -> dict[str, int]:
    """The seed of every utterance of the set `whole`, which has utt2seed; only strategy speaker needs the whole set."""
    drawn = {utt: _number(whole, utt, seed) for utt, seed in whole.table(SEEDS).items()}
    if strategy == "constant":
        return dict.fromkeys(drawn, derive("constant"))
    if strategy == "speaker":
        # The first utterance of the whole set gives the seed for the rest, whatever part of the set a job has.
        return {utt: derive("speaker", drawn[utts[0]]) for utts in whole.spk2utt.values() for utt in utts}
    if strategy == "utterance":
        return {utt: derive("utterance", seed, utt) for utt, seed in drawn.items()}
    return drawn


def _number(data: DataDir, utt: str, seed: str) -> int:
    if not (seed.isascii() and seed.isdigit()):
        raise InputError(f"utterance '{utt}' has '{seed}' where a whole number is needed", data.path / SEEDS)
    return int(seed)


def run(anonymize: Anonymize, data_dir: Path, out: Path, strategy: Strategy = "random") -> None:
    """Anonymise every utterance of `data_dir` into ``<out>/<utt>.wav``."""
    data = DataDir.load(data_dir)
    # The whole set is loaded only where it is needed: it may be much larger than the part of a job.
    seeds = draw_seeds(strategy, whole_set(data_dir) if strategy == "speaker" else data)
    out.mkdir(parents=True, exist_ok=True)
    for utt, entry in data.wav.items():
        wave = np.asarray(anonymize(read_audio(entry), RATE, seeds[utt], utt))
        if wave.ndim != 1 or wave.dtype.kind != "f" or not np.isfinite(wave).all():
            raise InputError(f"anonymize() must return mono, finite float samples; utterance {utt} has {wave!r}")
        write_wave(out / f"{utt}.wav", wave)


def main(anonymize: Anonymize, doc: str | None = None) -> NoReturn:
    """Parse ``<data-dir> <out-wav-dir>`` and run `anonymize` on every utterance."""

    def run_all() -> None:
        args = Parser(doc).parse_args()
        run(anonymize, args.data, args.out, args.strategy)

    start(run_all)


def start(function: Callable[[], None]) -> NoReturn:
    """Run the main function of a hook that has options of its own; an InputError is a message and exit code 1."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        function()
    except (InputError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    sys.exit(0)
