"""Stage 10, words: recognisers on original and anonymised speech, ready-made ones and such as are trained here."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vpeval.asr.recognizers import own_language_models
from vpeval.core.errors import InputError
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import DATA, Plan, version
from vpeval.plan.recipe import Joined
from vpeval.records.names import ASR_EVAL, ASR_EVAL_ANON, ORIGINAL, SetName
from vpeval.stages.anonymisation import anonymise
from vpeval.stages.piece import RECORDS, RESAMPLES, Piece, need

log = logging.getLogger(__name__)
TRAINING = Path("conf/asr/train/ctc_mini.yaml")
_LMS = {"small": (3, 2), "large": (4, 1)}
"""Order and least count: the challenge's language models are a pruned and a whole n-gram model."""
_TABLES = ("text", "utt2spk", "spk2gender")


@dataclass(frozen=True)
class Recogniser:
    """A recogniser: the name of its decodings, what it is called in the results, and its language models.

    With `lms`, n-best lists are scored with those of the training text; `own` are those that it decodes with itself.
    """

    name: str
    title: str
    lms: bool = False
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognition:
    """One recogniser on one recognition set, original (o) or anonymised (a)."""

    plan: Plan
    recogniser: Recogniser
    joined: Joined
    side: str

    @property
    def system(self) -> str:
        """Whose numbers these are."""
        return ORIGINAL if self.side == "o" else self.plan.system

    @property
    def tuned_on(self) -> Joined:
        """The development set on which weights of language models are chosen."""
        own = SetName.parse(self.joined.name)
        for other in self.plan.recipe.asr_sets:
            parts = SetName.parse(other.name)
            if own and parts and parts.corpus == own.corpus and parts.partition == "dev":
                return other
        raise InputError(
            f"recipe {self.plan.recipe.recipe} has no dev set of {self.joined.name} to choose LM weights on"
        )

    def data(self, joined: Joined) -> list[Path]:
        """Where the references are: an anonymised set may lack some utterances."""
        return [DATA / version(name, self.plan.system, self.side) for name in joined.sets]

    def decoded(self, joined: Joined) -> list[Path]:
        """Where the hypotheses of a recognition set are."""
        place = self.plan.exp / "decode" / self.recogniser.name
        return [place / version(name, self.plan.system, self.side) for name in joined.sets]

    @property
    def step(self) -> Step:
        """Its records, with references and hypotheses beside them."""
        sets = [self.joined, *([self.tuned_on] if self.recogniser.lms else [])]
        tables = [path / file for joined in sets for path in self.data(joined) for file in _TABLES]
        lms = [lm_dir(self.plan)] if self.recogniser.lms else []
        return Step(
            stage=10,
            out=self.plan.run_of(self.system)
            / f"ASR_{self.recogniser.name}-{version(self.joined.name, self.plan.system, self.side)}",
            files=(RECORDS, "hyp", "ref"),
            inputs=(
                *dict.fromkeys(place for joined in sets for place in self.decoded(joined)),
                *dict.fromkeys(path for path in tables if path.is_file()),
                *lms,
            ),
            options={
                "seed": self.plan.settings.seed,
                "resamples": RESAMPLES,
                "rules": self.plan.text_rules,
                "lms": self.recogniser.own or self.recogniser.lms,
                **self.tags,
            },
            code=("vpeval.protocols.recognition", "vpeval.asr.rescoring"),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about; a recogniser is called attacker there, as it stands in the same column."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": self.system,
            "set": self.joined.name,
            "condition": self.side,
            "attacker": self.recogniser.title,
        }

    def make(self, out: Path) -> str:
        """Count the errors."""
        from vpeval.protocols.recognition import read_speech, score_by_lm, score_decoded, score_rescored

        speech = read_speech(self.data(self.joined))
        settings = self.plan.text_rules, RESAMPLES, self.plan.settings.seed
        if self.recogniser.own:
            decoded = self.decoded(self.joined)
            return score_by_lm(speech, decoded, self.recogniser.own, out, *settings, self.tags)
        if not self.recogniser.lms:
            return score_decoded(speech, self.decoded(self.joined), out, *settings, self.tags)
        tuning = read_speech(self.data(self.tuned_on))
        lms = {name: lm_dir(self.plan) / f"{name}.arpa" for name in _LMS}
        decoded, tuned = self.decoded(self.joined), self.decoded(self.tuned_on)
        return score_rescored(speech, decoded, tuning, tuned, self.tuned_on.name, lms, out, *settings, self.tags)


def pieces(plan: Plan) -> list[Piece]:
    """All results of recognisers."""
    return [
        Recognition(plan, recogniser, joined, side)
        for recogniser, sides in _recognisers(plan)
        for side in sides
        for joined in plan.recipe.asr_sets
    ]


def recognise(plan: Plan) -> None:
    """Decode everything; train recognisers first where that is asked for."""
    if plan.recipe.asr_sets:
        _decode(plan, asr_conf(plan), plan.asr, "oa")
    if plan.settings.train_asr:
        _train(plan)


def asr_conf(plan: Plan) -> Path:
    """The configuration of the ready-made recogniser."""
    return Path("conf/asr") / f"{plan.asr}.yaml"


def lm_dir(plan: Plan) -> Path:
    """The language models of the training text."""
    return plan.exp / "lm"


def _recognisers(plan: Plan) -> list[tuple[Recogniser, str]]:
    """All recognisers, and the versions of speech that each is tried on."""
    found = [(Recogniser(plan.asr, plan.asr, own=own_language_models(asr_conf(plan))), "oa")]
    if plan.settings.train_asr:
        found.append((Recogniser(TRAINING.stem, ASR_EVAL, lms=True), "oa"))
        found.append((Recogniser(f"{TRAINING.stem}_{plan.system}", ASR_EVAL_ANON, lms=True), "a"))
    return found


def _decode(plan: Plan, conf: Path, name: str, sides: str, lm: Path | None = None) -> None:
    from vpeval.asr.decoding import decode

    sets = [DATA / version(one, plan.system, side) for side in sides for one in plan.recipe.speech_sets]
    for target in decode(conf, plan.exp / "decode" / name, sets, plan.settings.cmd, plan.settings.nj, lm):
        log.info("%s: %d utterances decoded", target.out, len(target.data.utts))


def _train(plan: Plan) -> None:
    """Recognisers trained on original and on anonymised speech, with the language models of the training text."""
    from vpeval.asr.train_recogniser import train_recogniser

    names = (*plan.recipe.train_sets, *plan.recipe.pool_sets)
    if not names:
        raise InputError(f"recipe {plan.recipe.recipe} has no train_sets or pool_sets to train recognisers on")
    anonymise(plan, plan.recipe.pool_sets, plan.train_level)
    original = [plan.original(name) for name in names]
    anonymised = [plan.anonymised(name) for name in names]
    need(3, *anonymised)
    texts = tuple(path / "text" for path in original)
    files, code = tuple(f"{lm}.arpa" for lm in _LMS), ("vpeval.asr.lm_estimation",)
    step = Step(10, lm_dir(plan), files, texts, {"lms": _LMS}, code)
    bring_up_to_date([(step, lambda out: _make_lms(out, texts))], "language models")
    for name, data, sides in (
        (TRAINING.stem, original, "oa"),
        (f"{TRAINING.stem}_{plan.system}", anonymised, "a"),
    ):
        out = plan.exp / "asr" / name
        train_recogniser(TRAINING, out, data, plan.settings.cmd, plan.settings.seed)
        _decode(plan, out / "decode.yaml", name, sides, lm_dir(plan) / "small.arpa")


def _make_lms(out: Path, texts: Iterable[Path]) -> str:
    from vpeval.asr.lm import write_arpa
    from vpeval.asr.lm_estimation import estimate_from

    sizes = []
    for name, (order, min_count) in _LMS.items():
        lm = estimate_from(texts, order, min_count)
        write_arpa(out / f"{name}.arpa", lm)
        sizes.append(f"{name} {len(lm.logprob)} n-grams")
    return ", ".join(sizes)
