"""Stage 0: the data directories of the recipe."""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.corpora.protocol import protocol_file
from vpeval.data.layout import name_some
from vpeval.jobs import guarded
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.absent import absent_sets
from vpeval.plan.plan import DATA, Plan
from vpeval.stages.piece import need

_TOOLS = ("make_trials", "subset_data", "copy_data_dir", "combine_data")
_SHOWN = 20
_SHARED = Path("local/prepare_sets.sh")
"""Prepares recipes that have no script of their own."""
_HEARD = 20_000
"""Utterances up to which all audio of a set is decoded to see whether it is whole; later stages would tell as well."""


def run(plan: Plan) -> None:
    """Prepare the corpus unless nothing has changed, and check what came out."""
    bring_up_to_date([(step(plan), lambda out: _prepare(plan))], "set of data directories")


class DataStep(Step):
    """A step whose outputs are the sets that there are: some may be absent."""

    @property
    def outputs(self) -> list[Path]:
        """The data directories, and what is noted about them."""
        recipe = str(self.options["recipe"])
        absent = absent_sets(recipe, self.out)
        note = [file] if (file := protocol_file(self.out, recipe)).is_file() else []
        return [*(self.out / name for name in self.files if name not in absent), *note]

    @property
    def lock(self) -> Path:
        """In the directory that holds all sets, not beside it."""
        return self.out / f"{self.stamp}.lock"


def step(plan: Plan) -> DataStep:
    """All data directories that the recipe names."""
    recipe, settings = plan.recipe, plan.settings
    folder = Path("egs") / recipe.recipe
    sets = dict.fromkeys((*recipe.eval_sets, *recipe.train_sets, *recipe.pool_sets))
    scripts = [*sorted(map(str, folder.glob("*.py"))), *(f"utils/{name}.py" for name in _TOOLS)]
    inputs = [folder, *([plan.corpus] if plan.is_ours else []), *([Path(settings.lists)] if settings.lists else [])]
    options = {"recipe": recipe.recipe, "full": settings.full, "seed": settings.seed}
    return DataStep(
        stage=0,
        out=DATA,
        files=tuple(sets),
        inputs=tuple(inputs),
        options=options if plan.is_ours else {**options, "corpus": _look(plan.corpus)},
        code=(*scripts, "vpeval.data.validate", "vpeval.corpora.prepare"),
        stamp=f".{recipe.recipe}.stamp.json",
    )


def _look(corpus: Path) -> list[str]:
    """What a corpus elsewhere looks like from outside: to look at all of its files takes as long as to prepare it."""
    places = [corpus, *corpus.glob("*"), *corpus.glob("*/*")] if corpus.is_dir() else [corpus]
    return sorted(f"{path} {path.stat().st_mtime_ns}" for path in places)


def _prepare(plan: Plan) -> str:
    from vpeval.data.directory import read_utt2spk
    from vpeval.data.sound import Inspected
    from vpeval.data.validate import validate

    recipe, settings = plan.recipe, plan.settings
    script = Path("egs") / recipe.recipe / "prepare.sh"
    command: list[str | Path] = [script] if script.is_file() else [_SHARED, script.with_name("recipe.conf")]
    options = ["--full", str(settings.full).lower(), "--seed", str(settings.seed)]
    options += ["--lists", settings.lists] if settings.lists else []
    if guarded.run([command[0], *options, *command[1:], plan.corpus, DATA]):
        raise InputError("failed (see above)", command[0])
    utts, heard = 0, dict[str, Inspected]()
    absent = absent_sets(recipe.recipe, DATA)
    for name in (*recipe.eval_sets, *recipe.train_sets, *recipe.pool_sets):
        if name in absent:
            continue
        directory = plan.original(name)
        need(0, directory)
        count = len(read_utt2spk(directory / "utt2spk"))
        audio = name in recipe.eval_sets and count <= _HEARD
        problems = validate(directory, text=False, audio=audio, heard=heard)
        for problem in problems[:_SHOWN]:
            logging.warning("warning: " * (problem.severity == "warning") + str(problem))
        if errors := [problem for problem in problems if problem.severity == "error"]:
            raise InputError(f"has {len(errors)} faults; run utils/validate_data_dir.py {directory}", directory)
        utts += count
    silent = [name for name in recipe.speech_sets if name not in absent and not (DATA / name / "text").is_file()]
    if silent:
        logging.warning(f"{name_some(silent)}: no text, so that word error rates are left out")
    return f"{len(recipe.eval_sets)} evaluation sets of {recipe.recipe} and their training data, {utts} utterances"
