"""What an organiser demands of a package: the edition, and attackers, recognisers and sets by which it ranks.

All of it comes from the organiser's own files: the original data, the recipes of egs/, the configurations of conf/asv
and conf/asr. What the package says of itself is compared with that. Where the organiser does not name the recipe, it is
the one that has the sets of the original data; a package that differs from a recipe that was only guessed is not
verified, and one that differs from a recipe that was named is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vpeval.asv.attackers import FUSION, SEMI_INFORMED, Attacker, read_attacker
from vpeval.core.config import read_yaml
from vpeval.core.models import read_models
from vpeval.editions.base import Edition
from vpeval.networks.configs import config_home, find_config, stored_model
from vpeval.plan.plan import text_rules_of
from vpeval.plan.recipe import Recipe, read_recipe
from vpeval.submission.archive import MANIFEST, Archive

_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,100}")
ATTACKERS, RECOGNISERS = "attackers", "recognisers"
DIGESTS = "configurations"
"""In a manifest: what attackers and recognisers are, as digests by name."""


@dataclass(frozen=True)
class Rescoring:
    """How to score trials again from the audio: so many of every attack, drawn by `seed`.

    `attackers` holds the configurations of attackers, `models` what was trained for them, `recognisers` the
    configurations of recognisers, which recognise as many utterances again.
    """

    trials: int
    seed: int
    attackers: Path
    models: Path | None = None
    recognisers: Path | None = None


@dataclass(frozen=True)
class Organiser:
    """What an organiser says; what is left out is taken from the original data, or from the package and then noted.

    `recipes` is a recipe.conf, or the directory with all of them; `attackers` and `recognisers` are the directories of
    configurations that count.
    """

    edition: str = ""
    recipes: Path | None = None
    attackers: Path | None = None
    recognisers: Path | None = None
    rescoring: Rescoring | None = None


@dataclass(frozen=True)
class Demands:
    """What a package must fulfil; `is_sure`: the organiser named the recipe."""

    organiser: Organiser
    edition: Edition
    recipe: Recipe | None
    is_sure: bool

    def differs(self, archive: Archive, place: str, message: str, remedy: str) -> None:
        """Note that a package is not what the recipe demands."""
        if self.is_sure:
            archive.complain(place, message, remedy, "demands")
        else:
            archive.unverified.append(f"{place}: {message}")

    def attacker(self, name: str) -> Attacker | None:
        """An attacker of the organiser's."""
        if self.organiser.attackers is None or not _NAME.fullmatch(name):
            return None
        path = find_config(self.organiser.attackers / f"{name}.yaml")
        return read_attacker(path) if path.is_file() else None

    def is_trained(self, recogniser: str) -> bool:
        """Whether the toolkit trains a recogniser of that name, of the system under test or not."""
        home = self.organiser.recognisers
        stems = [path.stem for path in home.glob("train/*.yaml")] if home else []
        return any(recogniser == stem or recogniser.startswith(f"{stem}_") for stem in stems)

    @cached_property
    def ranked(self) -> dict[str, str]:
        """The attackers that the result files must show, by role (`vpeval.editions.base.render`)."""
        known = [self.attacker(name) for name in self.recipe.attackers] if self.recipe else []
        found = [one for one in known if one and one.mode != FUSION]
        if not found:
            return {}
        if not self.edition.ranks_trained:
            return {"attacker": found[0].name}
        trained = [one.name for one in found if one.attack("aa", "") == SEMI_INFORMED]
        return {"asv_eval": found[0].name, "attacker": (trained or [found[0].name])[-1]}

    @property
    def recogniser(self) -> str:
        """The recogniser whose error rates count; empty where it is not known."""
        return self.recipe.asr if self.recipe else ""

    @property
    def emotions(self) -> str:
        """The recogniser of emotions."""
        return Path(self.recipe.ser).name if self.recipe else ""

    def text_rules(self, archive: Archive, named: str) -> str:
        """The rules by which words are counted; `named` are those of the package, of which a difference is noted."""
        usual = self.edition.text_rules
        conf = self.organiser.recognisers / f"{self.recogniser}.yaml" if self.organiser.recognisers else None
        if self.recipe and conf and conf.is_file():
            usual = text_rules_of(self.recipe, self.edition.name, conf)
        if not named or named == usual:
            return usual
        archive.noted.append(
            f"words are counted by the rules {named}, not by {usual} as edition {self.edition.name} does"
        )
        message = f"words are counted by the text rules {named}, and {usual} are demanded"
        self.differs(archive, MANIFEST, message, "score the transcripts again by those (stage 10)")
        return usual if self.is_sure else named


def demands_of(
    archive: Archive, manifest: Mapping[str, Any], edition: Edition, organiser: Organiser, originals: Sequence[Path]
) -> Demands:
    """The demands on a package of `edition`, with notes on what the package itself has chosen."""
    names = {path.name or path.resolve().name for path in originals}
    if organiser.recipes is None or not names:
        return Demands(organiser, edition, None, False)
    if organiser.recipes.is_file():
        return Demands(organiser, edition, read_recipe(organiser.recipes), True)
    known = [read_recipe(path) for path in sorted(organiser.recipes.glob("*/recipe.conf"))]
    fitting = [recipe for recipe in known if names <= set(recipe.sets)]
    if not fitting:
        archive.unverified.append("attackers and recognisers: no recipe has these sets, so that none is known to count")
        return Demands(organiser, edition, None, False)
    named = manifest.get("recipes")
    ordered = sorted(
        fitting, key=lambda one: (one.edition != edition.name, not isinstance(named, list) or one.recipe not in named)
    )
    recipe = ordered[0]
    if not organiser.edition and (len(fitting) > 1 or recipe.edition != edition.name):
        archive.unverified.append(
            f"edition {edition.name}: the package says so; say --edition, and --recipe with "
            f"{' or '.join(one.recipe for one in fitting)}"
        )
    elif len(fitting) > 1:
        names_of = " or ".join(one.recipe for one in fitting)
        archive.unverified.append(f"recipe {recipe.recipe}: others have these sets, too; say --recipe with {names_of}")
    return Demands(organiser, edition, recipe, False)


def check_shown(archive: Archive, demands: Demands, shown: Mapping[str, str], attacked: set[tuple[str, str]]) -> None:
    """Note attackers of the results that are not those by which the edition ranks.

    `attacked` are names and conditions of all scores.
    """
    for name, condition in sorted(attacked):
        own = demands.attacker(name)
        if own and own.mode != FUSION and condition not in own.conditions:
            message = f"attacker '{name}' was trained on anonymised speech, and has scores in condition {condition}"
            demands.differs(archive, "scores", message, "keep the names of attackers")
    roles = {role: name for role, name in shown.items() if role in ("attacker", "asv_eval")}
    if demands.edition.ranks_trained and "asv_eval" in roles:
        for role, wanted in (("attacker", "anonymised speech of the system"), ("asv_eval", "original speech")):
            own = demands.attacker(roles.get(role, ""))
            fits = own is None or own.mode == FUSION or (own.attack("aa", "") == SEMI_INFORMED) == (role == "attacker")
            if not fits and roles["asv_eval"] != roles.get("attacker"):
                message = f"shows '{roles[role]}' as the attacker that was trained on {wanted}, which it was not"
                archive.complain(MANIFEST, message, "pack with local/make_submission.py", "attackers")
    for role, wanted in demands.ranked.items():
        name = roles.get(role, roles.get("attacker", "") if role == "asv_eval" else "")
        if name == wanted:
            continue
        message = f"the results are those of attacker '{name}', and recipe {_name(demands)} ranks by '{wanted}'"
        if any(wanted == attacker and condition == "aa" for attacker, condition in attacked):
            message = f"{message}, whose scores are there"
            archive.complain(MANIFEST, message, "show the attackers of the recipe", "attackers")
        else:
            demands.differs(archive, MANIFEST, message, "attack with the attackers of the recipe (stages 4 to 6)")


def check_recogniser(archive: Archive, demands: Demands, place: str, kind: str, name: str) -> None:
    """Note a recogniser that is not the organiser's; `kind` is ASR or UAR."""
    home = demands.organiser.recognisers
    if home is None:
        return
    home = home if kind == "ASR" else home.with_name("ser")
    names = {path.stem for path in home.glob("*.yaml")}
    usual = demands.recogniser if kind == "ASR" else demands.emotions
    if name not in names and name != usual and not (kind == "ASR" and demands.is_trained(name)):
        there = ", ".join(sorted(names))
        message = f"there is no recogniser '{name}' in {home}, only {there or 'none'}"
        if demands.recipe:
            archive.complain(place, message, "recognise with the recogniser of the challenge", RECOGNISERS)
        else:
            archive.unverified.append(f"{place}: {message}")


def check_pair(archive: Archive, demands: Demands, place: str, enrolls: str, trials: str) -> None:
    """Note scores of sets that the recipe does not compare."""
    if demands.recipe and not any((p.enrolls, p.trials) == (enrolls, trials) for p in demands.recipe.asv_pairs):
        message = f"compares {enrolls} with {trials}, which recipe {_name(demands)} does not"
        archive.complain(place, message, "score the pairs of the recipe", "scores")


def check_sets(archive: Archive, demands: Demands, given: Sequence[str]) -> None:
    """Note sets of the recipe whose originals the organiser has not given."""
    for name in sorted(set(demands.recipe.voice_sets) - set(given)) if demands.recipe else ():
        archive.unverified.append(f"data: set {name} of recipe {_name(demands)}: its original was not given")


def check_digests(archive: Archive, demands: Demands, manifest: Mapping[str, Any]) -> None:
    """Compare what attackers and recognisers are with the organiser's own, by digest."""
    named = manifest.get(DIGESTS)
    for kind, home in ((ATTACKERS, demands.organiser.attackers), (RECOGNISERS, demands.organiser.recognisers)):
        listed = named.get(kind) if isinstance(named, dict) else None
        if home is None or not manifest:
            continue
        if not isinstance(listed, dict):
            archive.unverified.append(f"{MANIFEST}: does not say how its {kind} were configured")
            continue
        for name, digest in sorted(listed.items()):
            if digest != digest_of(home, str(name)) and digest_of(home, str(name)):
                message = f"'{name}' was configured otherwise than in {home}"
                demands.differs(archive, MANIFEST, message, f"use the {kind} of the challenge as they are")


def digest_of(home: Path, name: str) -> str:
    """A digest of what a configuration and those that it names say, and of its models; empty if there is none."""
    if not _NAME.fullmatch(name) or not (path := find_config(home / f"{name}.yaml")).is_file():
        return ""
    parts: list[object] = []
    models = read_models()
    for one in _chain(path):
        model = models.get(stored_model(one))
        parts.append([read_yaml(one), dict(model.files) if model else {}])
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _chain(path: Path) -> list[Path]:
    """The configuration, and those that it names as its start and its training."""
    settings, home = read_yaml(path), config_home(path)
    named = [find_config(home / f"{settings.get('start')}.yaml"), home / "train" / f"{settings.get('profile')}.yaml"]
    return [path, *(one for one in named if one.is_file())]


def _name(demands: Demands) -> str:
    return demands.recipe.recipe if demands.recipe else ""
