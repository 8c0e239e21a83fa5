"""Who shares a pseudo-speaker: strategies that hooks have in common, all drawn from utt2seed.

constant    everybody, in enrolment, trial and training sets alike
speaker     the utterances of a speaker within a set
utterance   nobody: every utterance has its own
random      as the driver draws: per speaker or per utterance, as --anon-level says
"""

from __future__ import annotations

from typing import Literal, get_args

from vpeval.core.errors import InputError
from vpeval.core.seeds import derive
from vpeval.data.directory import DataDir

Strategy = Literal["constant", "speaker", "utterance", "random"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def draw_seeds(strategy: Strategy, whole: DataDir) -> dict[str, int]:
    """The seed of every utterance of the set `whole`, which has utt2seed; a part will do but for strategy speaker."""
    drawn = {utt: _number(whole, utt, seed) for utt, seed in whole.table("utt2seed").items()}
    if strategy == "constant":
        return dict.fromkeys(drawn, derive("constant"))
    if strategy == "speaker":
        # The first utterance of the whole set speaks for the rest, whatever part of the set a job has.
        return {utt: derive("speaker", drawn[utts[0]]) for utts in whole.spk2utt.values() for utt in utts}
    if strategy == "utterance":
        return {utt: derive("utterance", seed, utt) for utt, seed in drawn.items()}
    return drawn


def _number(data: DataDir, utt: str, seed: str) -> int:
    if not (seed.isascii() and seed.isdigit()):
        raise InputError(f"utterance '{utt}' has '{seed}' where a whole number is needed", data.path / "utt2seed")
    return int(seed)
