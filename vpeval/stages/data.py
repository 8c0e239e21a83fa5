"""Stage 0: the data directories of the recipe."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import DATA, Plan
from vpeval.stages.piece import need

_TOOLS = ("make_trials", "subset_data", "copy_data_dir", "combine_data")
_SHOWN = 20


def run(plan: Plan) -> None:
    """Prepare the corpus unless nothing has changed, and check what came out."""
    bring_up_to_date([(step(plan), lambda out: _prepare(plan))], "set of data directories")


def step(plan: Plan) -> Step:
    """All data directories that the recipe names."""
    recipe, settings = plan.recipe, plan.settings
    folder = Path("egs") / recipe.recipe
    sets = dict.fromkeys((*recipe.eval_sets, *recipe.train_sets, *recipe.pool_sets))
    scripts = [*sorted(map(str, folder.glob("*.py"))), *(f"utils/{name}.py" for name in _TOOLS)]
    return Step(
        stage=0,
        out=DATA,
        files=tuple(sets),
        inputs=(folder, plan.corpus),
        options={"full": settings.full, "seed": settings.seed},
        code=(*scripts, "vpeval.data.validate"),
        stamp=f".{recipe.recipe}.stamp.json",
    )


def _prepare(plan: Plan) -> str:
    from vpeval.data.directory import read_utt2spk
    from vpeval.data.validate import validate

    recipe, settings = plan.recipe, plan.settings
    script = Path("egs") / recipe.recipe / "prepare.sh"
    options = ["--full", str(settings.full).lower(), "--seed", str(settings.seed)]
    if subprocess.run([script, *options, plan.corpus, DATA], check=False).returncode:
        raise InputError("failed (see above)", script)
    utts = 0
    for name in (*recipe.eval_sets, *recipe.train_sets, *recipe.pool_sets):
        directory = plan.original(name)
        need(0, directory)
        problems = validate(directory, text=name in recipe.speech_sets)
        for problem in problems[:_SHOWN]:
            logging.warning("warning: " * (problem.severity == "warning") + str(problem))
        if errors := [problem for problem in problems if problem.severity == "error"]:
            raise InputError(f"has {len(errors)} faults; run utils/validate_data_dir.py {directory}", directory)
        utts += len(read_utt2spk(directory / "utt2spk"))
    return f"{len(recipe.eval_sets)} evaluation sets of {recipe.recipe} and their training data, {utts} utterances"
