"""The plan of an evaluation: which attacker, in which condition, on which pair of sets, and where the results go.

A plan is made once, from the options of a run, the recipe and the configurations of its attackers; stages, results,
audit and report read it. Making one reads small files and computes nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

from vpeval.anon import hook_program
from vpeval.asr.recognizers import own_language_models, spells_as_references
from vpeval.asv.attackers import (
    FINETUNE,
    FUSION,
    INFORMED,
    PRETRAINED,
    SEMI_INFORMED,
    SIMILAR_SYSTEM,
    Attacker,
    read_attacker,
    with_choice,
)
from vpeval.asv.choice import FILE as CHOICE
from vpeval.core.config import read_yaml
from vpeval.core.errors import InputError
from vpeval.core.run_names import base_and_seed, with_seed
from vpeval.corpora.table import NAME as TABLE
from vpeval.data.layout import is_attribute, present
from vpeval.data.text import AS_WRITTEN, OF_ANY_SPELLING
from vpeval.editions.base import Edition, edition_of, editions
from vpeval.metrics.intervals import RESAMPLES
from vpeval.networks.configs import find_config, stored_model
from vpeval.plan.absent import without_absent
from vpeval.plan.recipe import PAPER, Pair, Recipe, read_recipe
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName, partition_of
from vpeval.records.record import RECORDS, read_records

ASR_PROFILE = Path("conf/asr/train/ctc_mini.yaml")
"""How recognisers are trained."""
_UTTS = "1,3,30,all"  # the conversations of the legal paper, and the most that an attacker may have
_SYSTEM = re.compile(r"[a-z0-9_]+")
_ROOT = re.compile(r"data[A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Settings:
    """What a person chose; an empty word stands for what the recipe says."""

    recipe: str = "mini"
    corpus: str = ""
    lists: str = ""
    full: bool = False
    data: str = "data"
    anonymizer: str = "mcadams"
    anonymized: str = ""
    allow_missing: bool = False
    anon_options: str = ""
    anon_nj: int = 0
    overwrite: bool = False
    anon_level: str = ""
    train_level: str = ""
    system: str = ""
    attackers: str = ""
    without: str = ""
    allow_scratch: bool = False
    calibrate: bool = False
    asr: str = ""
    train_asr: bool = False
    quality: bool = False
    edition: str = ""
    published: str = ""
    description: str = ""
    role: str = "primary"
    srd_sets: str = ""
    srd_inputs: int = 0
    srd_unit: str = ""
    population: int = 0
    utterances: int = 0
    nj: int = 1
    seed: int = 0
    bootstrap: int = RESAMPLES
    cmd: str = "utils/run.py"

    @property
    def command(self) -> str:
        """The command that makes the whole run, ready for a shell; how many jobs run where does not change it.

        >>> Settings(anonymizer="my hook.py", anon_options="--alpha 0.7", full=True, nj=8).command
        "./run.sh --full true --anonymizer 'my hook.py' --anon-options '--alpha 0.7'"
        """
        words = ["./run.sh"]
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name not in ("nj", "cmd"):
                text = str(value).lower() if isinstance(value, bool) else str(value)
                words += [f"--{field.name.replace('_', '-')}", text]
        return shlex.join(words)


@dataclass(frozen=True)
class Attack:
    """An attacker in a condition, against the system under test; a fusion has the attacks of its members."""

    attacker: Attacker
    condition: str
    tested: str
    exp: Path
    members: tuple[Attack, ...] = ()

    @property
    def system(self) -> str:
        """Whose numbers these are: those of the original data do not depend on the system."""
        return ORIGINAL if self.condition == "oo" else self.tested

    @property
    def embeddings(self) -> Path:
        """Where the embeddings of its encoder are."""
        return self.exp / "embeddings" / self.attacker.embeddings(self.tested)

    @property
    def backend(self) -> Path | None:
        """Its back end, where it has one."""
        if self.attacker.backend:
            return Path(self.attacker.backend)
        return self.model / "backend.npz" if self.attacker.trains_backend else None

    @property
    def model(self) -> Path:
        """Where stage 4 puts what is trained."""
        return self.exp / "asv" / self.attacker.instance(self.tested)

    @property
    def made_of(self) -> tuple[Path, ...]:
        """What its scores depend on besides embeddings: the back end, and the choice of one that fine-tunes."""
        choice = [self.model / CHOICE] if self.attacker.mode == FINETUNE else []
        return (*choice, *([self.backend] if self.backend else []))

    def enrolled(self, name: str) -> Path:
        """The embeddings of an enrolment set, original or anonymised as the condition says."""
        return self.embeddings / version(name, self.tested, self.condition[0])

    def attacked(self, name: str) -> Path:
        """The embeddings of a trial set."""
        return self.embeddings / version(name, self.tested, self.condition[1])

    @property
    def weights(self) -> Path:
        """What a fusion learns on development trials in stage 6."""
        return self.run / f"{self.attacker.name}-{self.condition}" / "weights.json"

    @property
    def run(self) -> Path:
        """Where its results are.

        All systems share those on original speech, but not those of a fusion, whose members are those of a run.
        """
        shared = self.system == ORIGINAL and not self.members
        seed = base_and_seed(self.tested)[1]
        return self.exp / "runs" / (with_seed(ORIGINAL, seed) if shared else self.tested)

    @property
    def tags(self) -> dict[str, str]:
        """The tags of its records."""
        return {"system": self.system, "condition": self.condition, "attacker": self.attacker.name}

    @property
    def notes(self) -> dict[str, str]:
        """The notes of its records: its names in both vocabularies, and what its scores are."""
        vpc, legal = self.names
        notes = {"attack_model": vpc, "attack_model_legal": legal, "scoring": self.attacker.scoring}
        notes |= {"fine_tuning": str(self.attacker.choice)} if self.attacker.choice else {}
        return notes | ({"trained_on": self.attacker.trained_on} if self.attacker.similar else {})

    @property
    def inference_names(self) -> tuple[str, str]:
        """Its names as an attack on attributes: whoever learns from anonymised speech is informed."""
        return INFORMED if self.condition == "aa" else self.names

    @property
    def names(self) -> tuple[str, str]:
        """What the challenge and the legal paper call it; a fusion knows what the best informed of its members does."""
        if not self.members:
            return self.attacker.attack(self.condition, self.tested)
        known = [member.names for member in self.members]
        return next(names for names in (SEMI_INFORMED, SIMILAR_SYSTEM, known[0]) if names in known)


@dataclass(frozen=True)
class Plan:
    """What will be measured, and where everything is."""

    recipe: Recipe
    settings: Settings
    hook: Path | None
    system: str
    attackers: tuple[Attacker, ...]
    left_out: tuple[str, ...] = ()
    """Attackers whose results are not shown because a person said so."""

    @property
    def data(self) -> Path:
        """The root of the data directories."""
        return Path(self.settings.data)

    @property
    def exp(self) -> Path:
        """Everything that is made of this corpus; results of other sets are elsewhere: of data_x in exp_x."""
        return Path(f"exp{self.settings.data.removeprefix('data')}") / self.recipe.recipe

    @property
    def run(self) -> Path:
        """The results of the system under test."""
        return self.run_of(self.system)

    def run_of(self, system: str) -> Path:
        """The results of a system, or those of original speech with the seed of the run."""
        return self.exp / "runs" / (with_seed(ORIGINAL, self.settings.seed) if system == ORIGINAL else system)

    @property
    def corpus(self) -> Path:
        """Where the corpus is: its folder, or a table of utterances."""
        folder = Path("egs") / self.recipe.recipe
        if self.settings.corpus:
            return Path(self.settings.corpus)
        return folder if (folder / TABLE).is_file() else folder / "corpus"

    @property
    def is_ours(self) -> bool:
        """Whether the corpus lies in this folder; any other is taken to stay as it was released."""
        return self.corpus.resolve().is_relative_to(Path.cwd())

    def prepared(self) -> Plan:
        """The plan without what stage 0 could not make, and with what attackers that fine-tune have chosen."""
        models = self.exp / "asv"
        chosen = tuple(with_choice(attacker, models / attacker.instance(self.system)) for attacker in self.attackers)
        return replace(self, recipe=without_absent(self.recipe, self.data), attackers=chosen)

    @property
    def edition(self) -> str:
        """The challenge whose result files are made."""
        return self.settings.edition or self.recipe.edition

    @property
    def asr(self) -> str:
        """The recogniser."""
        return self.settings.asr or self.recipe.asr

    @property
    def text_rules(self) -> str:
        """How transcripts are normalised."""
        return text_rules_of(self.recipe, self.edition, self.asr_conf)

    @property
    def ser_conf(self) -> Path:
        """The configuration of an emotion recogniser that the toolkit trains."""
        return Path("conf/ser") / f"{self.recipe.ser}.yaml"

    @property
    def anon_level(self) -> str:
        """Who shares a pseudo-speaker in evaluation sets."""
        return self.settings.anon_level or self.recipe.anon_level

    @property
    def train_level(self) -> str:
        """Who shares a pseudo-speaker in training sets."""
        return self.settings.train_level or self.recipe.train_level

    def original(self, name: str) -> Path:
        """The data directory of a set."""
        return self.data / name

    def anonymised(self, name: str, system: str = "") -> Path:
        """The data directory of a set after anonymisation by a system (that under test)."""
        return self.data / version(name, system or self.system, "a")

    def data_of(self, name: str, side: str) -> Path:
        """The data directory of a set, original (o) or anonymised by the system under test (a)."""
        return self.data / version(name, self.system, side)

    def trials_of(self, attack: Attack, pair: Pair) -> Path:
        """The data directory of the trials of an attack: an anonymised set may lack some of them."""
        return self.data_of(pair.trials, attack.condition[1])

    def verification_of(self, attack: Attack, pair: Pair) -> Path:
        """Where the scores of an attack on a pair of sets are."""
        sides = zip((pair.enrolls, pair.trials), attack.condition, strict=True)
        names = "-".join(self.data_of(name, side).name for name, side in sides)
        return attack.run / f"ASV_{attack.attacker.name}-{names}"

    def f0_tracks(self, name: str) -> Path:
        """The F0 of the original speech of a set, which all systems are compared with."""
        return self.exp / "f0" / name / "tracks.npz"

    @property
    def asr_conf(self) -> Path:
        """The configuration of the recogniser."""
        return Path("conf/asr") / f"{self.asr}.yaml"

    @property
    def recogniser_lms(self) -> tuple[str, ...]:
        """The language models that the recogniser decodes with itself."""
        return own_language_models(self.asr_conf)

    @property
    def trained_recognisers(self) -> tuple[str, str]:
        """The names of the recognisers that are trained on original and on anonymised speech."""
        return with_seed(ASR_PROFILE.stem, self.settings.seed), f"{ASR_PROFILE.stem}_{self.system}"

    @property
    def lm_dir(self) -> Path:
        """The language models of the training text."""
        return self.exp / "lm"

    @property
    def emotions_dir(self) -> Path:
        """Where the predictions of the emotion recogniser are."""
        return self.exp / "emotions" / Path(self.recipe.ser).name

    def is_taught(self, attacker: Attacker) -> bool:
        """Whether an attacker is trained on speech of the system under test."""
        return attacker.mode != PRETRAINED and attacker.training_system(self.system) == self.system

    @property
    def taught_sets(self) -> tuple[str, ...]:
        """The training sets that the system has to anonymise: those that an attacker or a recogniser learns from."""
        wanted = self.settings.train_asr or any(map(self.is_taught, self.singles))
        return self.recipe.train_sets if wanted else ()

    @property
    def singles(self) -> tuple[Attacker, ...]:
        """All attackers but fusions."""
        return tuple(attacker for attacker in self.attackers if attacker.mode != FUSION)

    @cached_property
    def single_attacks(self) -> tuple[Attack, ...]:
        """Every attacker but fusions in every condition that it has a part in."""
        return tuple(
            Attack(attacker, condition, self.system, self.exp)
            for attacker in self.singles
            for condition in CONDITIONS
            if condition in attacker.conditions
        )

    @cached_property
    def encoder_attacks(self) -> tuple[Attack, ...]:
        """The attacks of all encoders, without back ends that were trained for them, in every condition."""
        encoders = {}
        for attacker in self.singles:
            encoder = read_attacker(attacker_conf(attacker.start)) if attacker.keeps_encoder else attacker
            encoders[encoder.name] = encoder
        return tuple(
            Attack(encoder, condition, self.system, self.exp)
            for encoder in encoders.values()
            for condition in encoder.conditions
        )

    @property
    def voice_encoders(self) -> tuple[Attack, ...]:
        """The attacks on anonymised speech of all encoders whose vectors cosines compare, for voice similarity."""
        return tuple(a for a in self.encoder_attacks if a.condition == "aa" and a.attacker.similarity == "cosine")

    @cached_property
    def attacks(self) -> tuple[Attack, ...]:
        """All attacks: those of single attackers, then fusions where two or more have a part in a condition."""
        fused = []
        for attacker in self.attackers:
            for condition in CONDITIONS if attacker.mode == FUSION else ():
                members = tuple(
                    attack
                    for attack in self.single_attacks
                    if attack.condition == condition and attack.attacker.name in (attacker.members or self.names)
                )
                if len(members) > 1:
                    fused.append(Attack(attacker, condition, self.system, self.exp, members))
        return (*self.single_attacks, *fused)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all attackers."""
        return tuple(attacker.name for attacker in self.attackers)

    @property
    def development(self) -> tuple[Pair, ...]:
        """The pairs that scores may be calibrated and fused on."""
        return tuple(pair for pair in self.recipe.asv_pairs if is_dev(pair.trials))

    def sets_of(self, name: str) -> tuple[str, ...]:
        """The sets that results called `name` rest on: a trial set with its enrolment, joined sets, or all."""
        joined = {one.name: one.sets for one in (*self.recipe.asr_sets, *self.recipe.emotion_sets)}
        if name in joined:
            return joined[name]
        if name == self.srd_label:
            return self.srd_sets
        pairs = [pair for pair in self.recipe.asv_pairs if pair.trials == name]
        if pairs:
            return tuple(dict.fromkeys((name, *(pair.enrolls for pair in pairs))))
        return (name,) if name in self.recipe.eval_sets else self.recipe.eval_sets

    def encoders(self) -> dict[str, Path]:
        """Configurations of the encoders, by the name of their embeddings; attackers may share one."""
        found = {}
        for attacker in self.singles:
            if attacker.mode == PRETRAINED or attacker.keeps_encoder:
                conf = attacker_conf(attacker.start)
            else:
                conf = self.exp / "asv" / attacker.instance(self.system) / "encoder.yaml"
            found[attacker.embeddings(self.system)] = conf
        return found

    def versions(self, embeddings: str) -> tuple[str, ...]:
        """The sets that an encoder has to embed: of original ones, those that attackers or voice similarity compare."""
        is_voice = any(attack.embeddings.name == embeddings for attack in self.voice_encoders)
        is_compared = any(
            attack.condition in ("oo", "oa") or attack.attacker.keeps_encoder
            for attack in self.single_attacks
            if attack.embeddings.name == embeddings
        )
        return tuple(
            version(name, self.system, side)
            for name in self.recipe.voice_sets
            for side in ("oa" if is_compared or (is_voice and name in self.recipe.trial_sets) else "a")
        )

    @cached_property
    def original_embeddings(self) -> dict[str, Path]:
        """The embeddings of all attackers whose encoders embed original speech as well, by the names of attackers."""
        return {
            attack.attacker.name: attack.embeddings
            for attack in self.single_attacks
            if attack.condition in ("oo", "oa") or attack.attacker.keeps_encoder
        }

    @cached_property
    def srd_sets(self) -> tuple[str, ...]:
        """Whose utterances similarity rank disclosure splits: those of a partition, or what the recipe says."""
        if not (wanted := self.settings.srd_sets):
            return self.recipe.ranked
        chosen = tuple(name for name in self._compared if wanted in ("all", partition_of(name)))
        if not chosen:
            raise InputError(
                f"recipe {self.recipe.recipe} has no sets of the partition '{wanted}' for similarity ranks"
            )
        return chosen

    @property
    def _compared(self) -> tuple[str, ...]:
        return (*self.recipe.enroll_sets, *self.recipe.trial_sets)

    @property
    def srd_label(self) -> str:
        """What these sets are called together: ``mini_test``, or ``vpc2020_test`` of two corpora, or ``mini_all``."""
        parts = [SetName.parse(name) for name in self.srd_sets]
        partitions = {part.partition if part else "" for part in parts}
        if len(partitions) != 1 or "" in partitions or set(self.srd_sets) == set(self._compared):
            return f"{self.recipe.recipe}_all"
        corpora = {part.corpus for part in parts if part}
        return f"{corpora.pop() if len(corpora) == 1 else self.recipe.recipe}_{partitions.pop()}"

    @property
    def srd_inputs(self) -> int:
        """How many utterances of a speaker are inputs of similarity rank disclosure."""
        return self.settings.srd_inputs or self.recipe.srd_inputs

    def srd_unit(self, attacker: Attacker) -> str:
        """What an input is: a stretch of speech as in the paper, for encoders that have some; empty: an utterance."""
        return attacker.inputs if (self.settings.srd_unit or self.recipe.srd_unit) == PAPER else ""

    @property
    def legal_sizes(self) -> str:
        """Among how many speakers legal metrics are measured: as the recipe says, and as many as the use case has."""
        return ",".join(filter(None, (self.recipe.legal_sizes, str(self.settings.population or ""))))

    @property
    def legal_utts(self) -> str:
        """With how many utterances at a time: as the recipe says, and as many as the use case has."""
        return ",".join(filter(None, (self.recipe.legal_utts or _UTTS, str(self.settings.utterances or ""))))

    def attribute_tables(self, names: Iterable[str]) -> tuple[Path, ...]:
        """The tables of sets that tell attributes of their speakers."""
        folders = [folder for name in dict.fromkeys(names) if (folder := self.original(name)).is_dir()]
        return tuple(folder / table for folder in folders for table in present(folder) if is_attribute(table))

    def training_sets(self, attack: Attack) -> tuple[str, ...]:
        """Training sets that the encoder of an attack has embedded anyway, as speech of the side that is enrolled.

        They are what back ends of its embeddings were estimated on.
        """
        wanted = ORIGINAL if attack.condition[0] == "o" else self.system
        for attacker in self.singles:
            same = attacker.embeddings(self.system) == attack.embeddings.name
            if attacker.keeps_encoder and same and attacker.training_system(self.system) == wanted:
                return self.recipe.train_sets
        return ()

    @property
    def main(self) -> Attacker:
        """The attacker who attacks original speech: ASV_eval of the challenges."""
        return self.singles[0]

    @property
    def ranked(self) -> dict[str, str]:
        """Whose numbers the result file of the edition shows, as `results.editions.render` takes them.

        Since 2022 the challenges rank by the attacker trained on anonymised speech: the last of the list that was
        trained on speech of the system and is no fusion. Attackers that only an earlier run asked for are not part of
        the list (`_choose_attackers`) unless nobody else was trained so. Without such an attacker, only the one who
        attacks original speech is shown.
        """
        rules = {"text_rules": self.text_rules}
        if not edition_of(self.edition).ranks_trained:
            return {"attacker": self.main.name, **rules}
        asked, usual = self.settings.attackers.split(), self.recipe.attackers
        chosen = usual if set(usual) <= set(self.names) and not set(usual) <= set(asked) else asked
        trained = [one.name for one in self.singles if one.attack("aa", self.system) == SEMI_INFORMED]
        listed = [name for name in trained if name in chosen] or trained or [self.main.name]
        return {"attacker": listed[-1], "asv_eval": self.main.name, **rules}

    def models(self) -> tuple[str, ...]:
        """The pretrained models of attackers and recogniser, in conf/models.yaml."""
        confs = [attacker_conf(attacker.start) for attacker in self.singles]
        if self.recipe.asr_sets:
            confs.append(self.asr_conf)
        if self.recipe.emotion_sets and self.ser_conf.is_file():
            confs.append(self.ser_conf)
        return tuple(dict.fromkeys(model for conf in confs if (model := stored_model(conf))))


def text_rules_of(recipe: Recipe, edition: str, asr_conf: Path) -> str:
    """How transcripts of a recogniser are normalised: as the recipe says, else as the edition does.

    Rules that change nothing hold for recognisers only that spell as the references do.
    """
    if recipe.text_rules:
        return recipe.text_rules
    rules = edition_of(edition).text_rules
    return OF_ANY_SPELLING if rules == AS_WRITTEN and not spells_as_references(asr_conf) else rules


def version(name: str, system: str, side: str) -> str:
    """What a set is called, original (o) or anonymised (a)."""
    return name if side == "o" else f"{name}_{system}"


def is_dev(name: str) -> bool:
    """Whether a set is of the development part."""
    return partition_of(name) == "dev"


def attacker_conf(name: str) -> Path:
    """The configuration of an attacker or encoder."""
    return find_config(Path("conf/asv") / f"{name}.yaml")


def published_editions(settings: Settings) -> list[str]:
    """The editions whose published baselines stand in the comparison."""
    return list(dict.fromkeys(settings.published.replace(",", " ").split()))


def make_plan(settings: Settings) -> Plan:
    """The plan for what a person chose.

    Everything that can be wrong with the choice is an InputError now, before any work.
    """
    conf = Path("egs") / settings.recipe / "recipe.conf"
    if "/" in settings.recipe or not conf.is_file():
        there = " ".join(sorted(path.parent.name for path in Path("egs").glob("*/recipe.conf")))
        raise InputError(f"no recipe '{settings.recipe}'; there are: {there}")
    recipe = _with_asv_eval(read_recipe(conf), conf)
    if not _ROOT.fullmatch(settings.data):
        raise InputError(
            f"--data {settings.data}: use the name of a directory here that begins with 'data', such as "
            f"data_{settings.recipe}; it may be a link to another disk"
        )
    if settings.population == 1:
        raise InputError("--population 1: nobody is hidden among nobody else; give a number of at least 2")
    for name in published_editions(settings):
        edition_of(name)  # an unknown one is an error
    hook = None if settings.anonymized else hook_program.find_hook(settings.anonymizer)
    hook_program.split_options(settings.anon_options)
    base = settings.system or hook_program.system_name(hook or Path(settings.anonymized))
    if not _SYSTEM.fullmatch(base) or base == ORIGINAL:
        raise InputError(f"system '{base}': use small letters, digits and _, and not '{ORIGINAL}'")
    if base_and_seed(base)[1]:
        raise InputError(f"system '{base}': --seed gives such names; leave out '_seed…', or choose another --system")
    system = with_seed(base, settings.seed)
    plan = Plan(recipe, settings, hook, system, ())
    names, left_out = _choose_attackers(plan)
    chosen = tuple(_with_similar_system(read_attacker(attacker_conf(name)), plan) for name in names)
    plan = replace(plan, attackers=chosen, left_out=left_out)
    if not (asr := plan.asr_conf).is_file():
        there = ", ".join(sorted(path.stem for path in asr.parent.glob("*.yaml")))
        raise InputError(f"no such recogniser; there are {there}", asr)
    if recipe.emotion_sets and not plan.ser_conf.is_file() and not Path(recipe.ser).is_dir():
        there = ", ".join(sorted(path.stem for path in plan.ser_conf.parent.glob("*.yaml")))
        raise InputError(
            f"ser '{recipe.ser}' is neither a directory nor one of {there} in {plan.ser_conf.parent}", conf
        )
    _check_set_names(plan)
    _check_trained(plan)
    _check_fusions(plan)
    _check_hook(plan)
    return plan


def _with_asv_eval(recipe: Recipe, conf: Path) -> Recipe:
    """The recipe with the challenge's own ASV_eval as its first attacker, once the encoder of that has been trained."""
    if not recipe.asv_eval or recipe.asv_eval in recipe.attackers:
        return recipe
    if not attacker_conf(recipe.asv_eval).is_file():
        raise InputError(f"asv_eval: there is no {attacker_conf(recipe.asv_eval)}", conf)
    encoder = attacker_conf(read_attacker(attacker_conf(recipe.asv_eval)).start)
    trained = encoder.parent / str(read_yaml(encoder).get("model"))
    return replace(recipe, attackers=(recipe.asv_eval, *recipe.attackers)) if trained.is_file() else recipe


def _choose_attackers(plan: Plan) -> tuple[list[str], tuple[str, ...]]:
    """The names of all attackers, and of those that a person leaves out.

    Attackers that attacked the system before take part, whoever is asked for now: or a weaker list would make the
    system look better. Those that were asked for come first; but where they are an addition to the list of the recipe,
    that list comes first, so that result files show the same attackers whatever was added when.
    """
    recipe, settings = plan.recipe, plan.settings
    asked, without = settings.attackers.split(), settings.without.split()
    for names in (asked, without):
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"attacker '{twice[0]}' is named twice")
    if both := [name for name in asked if name in without]:
        raise InputError(f"attacker '{both[0]}' is named in --attackers and in --without; choose one")
    wanted, found = asked or list(recipe.attackers), attackers_of_run(plan.run)
    if unknown := [name for name in without if name not in (*wanted, *found)]:
        there = " ".join(dict.fromkeys((*wanted, *found)))
        raise InputError(f"--without {unknown[0]}: no such attacker takes part; there are {there}")
    everyone = dict.fromkeys(name for name in (*wanted, *found) if name not in without)
    if not everyone:
        raise InputError("--without leaves no attacker")
    usual = set(recipe.attackers)
    first = recipe.attackers if usual <= set(everyone) and not usual <= set(wanted) else wanted
    others = sorted(name for name in everyone if name not in first)
    if gone := [name for name in found if name in everyone and not attacker_conf(name).is_file()]:
        raise InputError(
            f"holds results of attacker '{gone[0]}', whose configuration is gone; restore conf/asv/{gone[0]}.yaml, "
            f"or leave it out: --without {gone[0]}",
            plan.run,
        )
    return [*(name for name in first if name in everyone), *others], tuple(without)


def attackers_of_run(run: Path) -> list[str]:
    """The attackers that have verification results in a run, by name."""
    tables = run.glob(f"ASV_*/{RECORDS}")
    return sorted({record.attacker for table in tables for record in read_records(table)[:1]})


def _with_similar_system(attacker: Attacker, plan: Plan) -> Attacker:
    """The attacker with the system that it is trained on; a similar system is never the one under test."""
    if not attacker.similar:
        return attacker
    tested = {base_and_seed(plan.system)[0], *([hook_program.system_name(plan.hook)] if plan.hook else [])}
    for name in attacker.similar:
        if name not in tested:
            return replace(attacker, trained_on=name)
    raise InputError(
        f"trains on {attacker.similar[0]}, which is the system under test; name another one in 'trained_on', or leave "
        f"the attacker out: --without {attacker.name}",
        attacker_conf(attacker.name),
    )


def _check_trained(plan: Plan) -> None:
    """An attacker that is trained needs an encoder to start from, settings, and speech."""
    for attacker in plan.singles:
        if attacker.mode == PRETRAINED:
            continue
        for conf in (attacker_conf(attacker.start), Path("conf/asv/train") / f"{attacker.profile}.yaml"):
            if not conf.is_file():
                raise InputError(f"names {conf}, which is not there", attacker_conf(attacker.name))
        if not plan.recipe.train_sets:
            raise InputError(
                f"recipe {plan.recipe.recipe} has no train_sets to train attacker {attacker.name} on; name some in its "
                "recipe.conf, or choose other attackers"
            )


def _check_set_names(plan: Plan) -> None:
    """The result files of an edition must be able to tell the sets apart."""
    joined = (one.name for one in (*plan.recipe.asr_sets, *plan.recipe.emotion_sets))
    pattern = edition_of(plan.edition).set_names
    if odd := [name for name in (*plan.recipe.trial_sets, *joined) if not re.fullmatch(pattern, name)]:
        there = " or ".join(name for name, edition in editions().items() if edition.set_names == Edition.set_names)
        raise InputError(
            f"the result file of edition {plan.edition} cannot tell set '{odd[0]}' from others: names like "
            f"x_dev_trials_f, x_test_trials_m, x_dev_asr are needed; name the sets in egs/{plan.recipe.recipe}/"
            f"recipe.conf so, or choose --edition {there}"
        )


def _check_hook(plan: Plan) -> None:
    """An anonymiser that learns from training or pool sets needs a recipe that has them."""
    for kind in hook_program.sets_needed(plan.hook) if plan.hook else ():
        if not getattr(plan.recipe, kind):
            raise InputError(
                f"anonymiser {plan.settings.anonymizer} needs {kind}, and recipe {plan.recipe.recipe} has "
                f"none; name some in egs/{plan.recipe.recipe}/recipe.conf, or choose another --anonymizer"
            )


def _check_fusions(plan: Plan) -> None:
    """A fusion needs members to fuse, and development sets to learn how."""
    for fusion in (attacker for attacker in plan.attackers if attacker.mode == FUSION):
        if unknown := [name for name in fusion.members if name not in plan.names]:
            raise InputError(
                f"attacker '{unknown[0]}' is a member, but not among the attackers of the run; name it in --attackers",
                attacker_conf(fusion.name),
            )
        if not any(attack.attacker == fusion for attack in plan.attacks):
            raise InputError(
                f"'{fusion.name}' fuses two or more attackers of one condition, and there are no two among "
                f"'{' '.join(plan.names)}'; name more in --attackers"
            )
        if not plan.development:
            raise InputError(
                f"'{fusion.name}' learns its weights on development sets, and recipe {plan.recipe.recipe} has none "
                "among its asv_pairs; leave it out"
            )
