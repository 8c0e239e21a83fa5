"""Stage 3: anonymise evaluation and training sets."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.anon.hooks import find_hook
from vpeval.plan.plan import Plan
from vpeval.stages.piece import need


def run(plan: Plan) -> None:
    """Run the hook on all sets of the recipe."""
    recipe = plan.recipe
    need(0, *(plan.original(name) for name in (*recipe.eval_sets, *recipe.train_sets)))
    anonymise(plan, recipe.eval_sets, plan.anon_level)
    anonymise(plan, recipe.train_sets, plan.train_level)


def anonymise(plan: Plan, names: Iterable[str], level: str, system: str = "") -> None:
    """Anonymise sets at a level, with the hook of the plan or with another `system` of local/anon."""
    from vpeval.anon import driver

    settings = plan.settings
    hook, options = (find_hook(system), "") if system else (plan.hook, settings.anon_options)
    sets = {plan.original(name): plan.anonymised(name, system) for name in names}
    anonymiser = driver.Anonymiser(hook, options, "spk" if level == "spk" else "utt", settings.seed)
    logs = plan.run_of(system or plan.system) / "log"
    driver.anonymize(anonymiser, sets, driver.Launch(settings.cmd, settings.nj, logs, driver.TIMEOUT))
