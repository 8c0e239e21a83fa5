"""Is everything there that the stages of a plan read, and is it what the plan means?"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from vpeval.anon.hook_program import read_provenance, sets_needed
from vpeval.asv.attackers import PRETRAINED
from vpeval.core.errors import InputError
from vpeval.corpora.prepare import lacking
from vpeval.corpora.protocol import ABSENT, protocol_file, read_protocol
from vpeval.data.directory import read_utt2spk
from vpeval.data.layout import first_few
from vpeval.data.validate import Problem, check_disjoint
from vpeval.plan.made_sets import refuse_other_sets
from vpeval.plan.plan import Plan
from vpeval.plan.recipe import Recipe, Sides

SHARED = Path("local/prepare_sets.sh")
"""Prepares recipes that have no script of their own."""
_MEASURED = 4
"""The first stage after anonymisation."""


def ready(plan: Plan, stage: int) -> Plan:
    """The plan without what stage 0 could not make, for a later stage; an InputError where its sets are others."""
    checked = refuse_other_sets(plan)
    refuse_absent(plan)
    left = plan.prepared()
    if stage < _MEASURED:
        refuse_pool_speakers(left)
    if not checked and (shared := shared_utterances(left.recipe, plan.data)):
        raise InputError(f"{shared[0].message}; {shared[0].remedy}", shared[0].path)
    if stage >= _MEASURED:
        _refuse_other_level(left)
    return left


def needed_sets(plan: Plan) -> dict[str, str]:
    """Training and pool sets that the run cannot do without, and who needs them."""
    users = [f"attacker {attacker.name}" for attacker in plan.singles if attacker.mode != PRETRAINED]
    users += ["--train-asr true"] if plan.settings.train_asr else []
    needed = dict.fromkeys(plan.recipe.train_sets, users[0]) if users else {}
    for kind in sets_needed(plan.hook) if plan.hook else ():
        needed |= dict.fromkeys(getattr(plan.recipe, kind), f"anonymiser {plan.settings.anonymizer}")
    return needed


def lacking_sets(plan: Plan) -> dict[str, str]:
    """The sets that stage 0 will not be able to make, and why; nothing for recipes that prepare corpora themselves."""
    script = Path("egs") / plan.recipe.recipe / "prepare.sh"
    if script.is_file() and SHARED.name not in script.read_text(encoding="utf-8"):
        return {}
    return lacking(plan.recipe.sets, plan.corpus)


def refuse_lacking(plan: Plan) -> None:
    """Refuse a corpus that lacks what the run needs, before the first of its files is read."""
    lost, users = lacking_sets(plan), needed_sets(plan)
    for name, why in lost.items():
        if name in users:
            raise InputError(f"{why}; {users[name]} needs {name}: put it there, or {advice_without(users[name])}")
        if name in (*plan.recipe.voice_sets, *plan.recipe.speech_sets):
            raise InputError(f"{why}; {name} is made of it. egs/{plan.recipe.recipe}/download.sh says how to get it")


def advice_without(user: str) -> str:
    """What to do where a set is missing that `user` needs."""
    if user.startswith("anonymiser "):
        return "choose another --anonymizer"
    return "leave that out" if user.startswith("--") else "choose attackers that are pretrained: --attackers ecapa"


def refuse_absent(plan: Plan, root: Path | None = None) -> None:
    """Refuse to go on without a set that could not be made and that the run needs."""
    root, recipe = root or plan.data, plan.recipe.recipe
    statuses = read_protocol(root, recipe)
    for name, user in needed_sets(plan).items():
        if name in statuses and statuses[name].protocol == ABSENT:
            raise InputError(
                f"{name} is absent ({statuses[name].why}), and {user} needs it: put it there and run stage 0 again, or "
                f"{advice_without(user)}",
                protocol_file(root, recipe),
            )


def refuse_pool_speakers(plan: Plan) -> None:
    """Refuse sets with speakers of the pool, whose own voice a pseudo-speaker could have."""
    if plan.hook is None or "pool_sets" not in sets_needed(plan.hook):
        return
    anonymised = (*plan.recipe.eval_sets, *plan.taught_sets)
    speakers = {name: _speakers(plan.original(name)) for name in dict.fromkeys((*plan.recipe.pool_sets, *anonymised))}
    for pool, name in product(plan.recipe.pool_sets, anonymised):
        if shared := sorted(speakers[pool] & speakers[name]):
            raise InputError(
                f"{len(shared)} of its speakers ({first_few(shared)}) are in the pool {pool} as well, from which "
                f"{plan.settings.anonymizer} takes its voices: they could get their own. Give pool_sets other speakers "
                f"in egs/{plan.recipe.recipe}/recipe.conf",
                plan.original(name),
            )


def _speakers(directory: Path) -> set[str]:
    path = directory / "utt2spk"
    return set(read_utt2spk(path).values()) if path.is_file() else set()


def shared_utterances(recipe: Recipe, root: Path) -> list[Problem]:
    """Utterances that are both in an enrolment and in a trial set, or in two trial sets that results average."""
    problems: dict[str, Problem] = {}
    for side in (Sides(recipe.enroll_sets, recipe.trial_sets), recipe.linked, recipe.singled_out):
        sides = (
            [root / name for name in names if (root / name / "utt2spk").is_file()]
            for names in (side.enrolls, side.tests)
        )
        problems |= {str(problem): problem for problem in check_disjoint(*sides)}
    return list(problems.values())


def _refuse_other_level(plan: Plan) -> None:
    """Refuse speech that was anonymised at another level than the plan says: recipes that share sets share it."""
    levels = {"--anon-level": (plan.recipe.eval_sets, plan.anon_level)}
    levels["--train-level"] = plan.taught_sets, plan.train_level
    for option, (names, level) in levels.items():
        for name in names:
            made = read_provenance(plan.anonymised(name))
            if made and made.level not in ("", level):
                raise InputError(
                    f"was anonymised with {option} {made.level}, not {level}; give {option} {made.level} as well, "
                    "or keep both apart with --system NAME and anonymise again (stage 3)",
                    plan.anonymised(name),
                )
