"""Attackers as data: what a yaml of conf/asv/ says an attacker is, and what both vocabularies call its attacks.

A yaml either describes an encoder (``encoder: …``) or names vectors that were made elsewhere (``embeddings: …``), which
attack as they are; or a training (``mode: …``) that makes an attacker of an encoder; or a fusion of other attackers
(``mode: fusion``). The VoicePrivacy challenges and the legal paper
(Vauquier et al., 2025) name attacks differently: the challenge's "semi-informed" is the paper's "Informed", whose
"Semi-Informed" has no name in the challenge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from vpeval.asv import choice as choices
from vpeval.asv.choice import Choice
from vpeval.core.config import read_config, read_yaml
from vpeval.core.errors import InputError
from vpeval.core.run_names import base_and_seed, with_seed
from vpeval.embeddings.symbols import check_unit
from vpeval.networks.configs import (
    FOREIGN,
    SIMILARITY,
    config_home,
    config_names,
    embeddings_directory,
    encoder_class,
    encoder_program,
    find_config,
)

UNITS, NUISANCE = "units", "nuisance"
IN_ONE_GO = (UNITS, NUISANCE)
"""Trainings without epochs, which one process does."""
FINETUNE, BACKEND = "finetune", "backend"
ON_VECTORS = (FINETUNE, BACKEND)
"""Trainings that need the vectors of the training speech by the encoder that they start from."""
MODES = ("scratch", FINETUNE, BACKEND, *IN_ONE_GO)
PRETRAINED = "pretrained"
FUSION = "fusion"
SAME, ORIGINAL = "same", "original"
_NONE = "none"
SEMI_INFORMED, SIMILAR_SYSTEM = ("semi-informed", "Informed"), (_NONE, "Semi-Informed")
"""What the challenge and the legal paper call attackers trained on speech of the system, and of a similar one."""
INFORMED = ("informed", "Informed")
"""An attacker on attributes who learnt from speech of the system; the challenge, which verifies, has no name for it."""


@dataclass(frozen=True)
class Attacker:
    """An attacker; `start` is the encoder (a name in conf/asv/) that it is or was made of."""

    name: str
    mode: str
    start: str
    profile: str
    trained_on: str
    similarity: Literal["cosine", "euclidean"] = "cosine"
    """How its vectors are compared where no back end does it: cosine, or euclidean for histograms."""
    backend: str = ""
    """The back end that comes with the encoder, for `vpeval.asv.backend.load`; none: cosines, or one is trained."""
    members: tuple[str, ...] = ()
    """Whose scores a fusion combines; none: those of all other attackers of the run."""
    representation: str = ""
    """What its vectors represent: attackers of one representation, trained on different speech, are shown together."""
    similar: tuple[str, ...] = ()
    """Systems of which it is trained on the first that is not under test."""
    inputs: str = ""
    """What of a speaker's speech is an input of similarity rank disclosure in the paper; none: an utterance."""
    choice: Choice | None = None
    """What an attacker that fine-tunes has chosen, once it is trained."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that make sense: who trained on anonymised speech compares anonymised speech.

        Those of a fusion depend on its members, which the plan knows.
        """
        if self.mode == FUSION:
            return ()
        return ("oo", "oa", "aa") if self.trained_on == ORIGINAL else ("aa",)

    @property
    def trains_backend(self) -> bool:
        """Whether a back end was trained for it."""
        return self.mode == BACKEND or (self.choice is not None and self.choice.chosen == choices.BACKEND)

    @property
    def keeps_encoder(self) -> bool:
        """Whether it was trained and still has the encoder that it started from."""
        return self.mode == BACKEND or (self.choice is not None and self.choice.chosen != choices.FINE_TUNED)

    @property
    def scores_are_llrs(self) -> bool:
        """Whether its scores are log-likelihood ratios: only then does the (actual) Cllr mean anything."""
        return self.mode == FUSION or self.trains_backend or bool(self.backend)

    def training_system(self, system: str) -> str:
        """The system whose speech it is trained on when `system` is under test, with the same seed."""
        if self.trained_on in (SAME, ORIGINAL):
            return system if self.trained_on == SAME else ORIGINAL
        return with_seed(self.trained_on, base_and_seed(system)[1])

    def instance(self, system: str) -> str:
        """What its model is called: one attacker has a model for every system and seed that it was trained with."""
        if self.mode == PRETRAINED:
            return self.name
        if self.trained_on == ORIGINAL:
            return with_seed(self.name, base_and_seed(system)[1])
        return f"{self.name}-{self.training_system(system)}"

    @property
    def scoring(self) -> str:
        """What its scores are: cosines, log-likelihood ratios of PLDA, or a fusion of those of others."""
        if self.mode == FUSION:
            return FUSION
        return "plda" if self.scores_are_llrs else "cosine"

    def embeddings(self, system: str) -> str:
        """Which embeddings it scores: a back end leaves those of its encoder as they are."""
        return self.start if self.keeps_encoder else self.instance(system)

    def attack(self, condition: str, system: str) -> tuple[str, str]:
        """What the challenge and the legal paper call its attack; "none" where there is no name."""
        if condition == "oo":
            return "unprotected", "Original"
        if condition == "oa":
            return "ignorant", "Ignorant"
        if self.trained_on == ORIGINAL:
            return "lazy-informed", _NONE
        if self.training_system(system) == system:
            return SEMI_INFORMED
        return SIMILAR_SYSTEM


def with_choice(attacker: Attacker, model: Path) -> Attacker:
    """The attacker with what it has chosen, if it fine-tunes and its model, a directory, is there."""
    path = model / choices.FILE
    if attacker.mode != FINETUNE or not path.is_file():
        return attacker
    return replace(attacker, choice=choices.read_choice(path))


def _own_backend(path: Path, config: dict[str, Any]) -> str:
    """The directory of a Kaldi model that has a PLDA back end in or below it."""
    if config.get("encoder") != "kaldi_xvector":
        return ""
    directory = path.parent / str(config.get("directory"))
    found = [plda for pattern in ("plda", "*/plda", "*/*/plda") for plda in directory.glob(pattern)]
    return str(directory) if found else ""


def read_attacker(path: Path) -> Attacker:
    """The attacker that a yaml describes; `path` is as `find_config` takes it."""
    path = find_config(path)
    home = config_home(path)
    if not path.is_file():
        raise InputError(f"no such attacker; there are {', '.join(config_names(home)) or 'none'}", path)
    config = read_yaml(path)
    if "encoder" in config or FOREIGN in config:
        _find_encoder(path)
        similarity = config.get(SIMILARITY, "cosine")
        if similarity not in ("cosine", "euclidean"):
            raise InputError(f"'similarity' must be cosine or euclidean, not '{similarity}'", path)
        try:
            inputs = check_unit(str(config.get("inputs", "")))
        except ValueError as error:
            raise InputError(f"'inputs': {error}", path) from None
        own = _own_backend(path, config)
        return Attacker(
            path.stem, PRETRAINED, path.stem, "", ORIGINAL, similarity, own, representation=path.stem, inputs=inputs
        )
    if config.get("mode") == FUSION:
        return _fusion(path)
    kinds = {"mode": str, "start": str, "profile": str, "trained_on": object, "representation": str}
    settings = read_config(path, "representation", **kinds)
    if settings["mode"] not in MODES:
        raise InputError(f"'mode' must be one of {', '.join((*MODES, FUSION))}, not '{settings['mode']}'", path)
    trained_on, similar = _trained_on(settings["trained_on"], path)
    attacker = Attacker(
        path.stem,
        settings["mode"],
        settings["start"],
        settings["profile"],
        trained_on,
        representation=settings.get("representation", settings["start"]),
        similar=similar,
    )
    if attacker.mode != UNITS:
        return attacker
    start = read_attacker(home / f"{attacker.start}.yaml")
    return replace(attacker, similarity=start.similarity, inputs=start.inputs)


def _trained_on(value: object, path: Path) -> tuple[str, tuple[str, ...]]:
    """What an attacker is trained on, and the similar systems to choose from where it is neither same nor original."""
    if value in (SAME, ORIGINAL):
        return str(value), ()
    given = value if isinstance(value, list) else [value]
    names = [name for name in given if isinstance(name, str) and name and name not in (SAME, ORIGINAL)]
    if not names or len(set(names)) < len(given):
        raise InputError("'trained_on' must be same, original, a system, or a list of different systems", path)
    return names[0], tuple(names)


def _find_encoder(path: Path) -> None:
    """Refuse an encoder of an unknown kind, or one without its program or vectors, before any work."""
    if not encoder_program(path) and not embeddings_directory(path):
        encoder_class(path)


def _fusion(path: Path) -> Attacker:
    members = read_config(path, mode=str, members=list)["members"]
    if wrong := [name for name in members if not isinstance(name, str) or name == path.stem]:
        raise InputError(f"'members' must be names of other attackers, not {wrong[0]!r}", path)
    if len(members) == 1 or len(set(members)) < len(members):
        raise InputError("'members' must be two or more different attackers, or [] for all others of the run", path)
    return Attacker(path.stem, FUSION, "", "", "", members=tuple(members))
