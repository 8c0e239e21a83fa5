"""What a recipe names and the corpus does not have: left out of the plan, so that the rest can be evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.corpora.protocol import ABSENT, protocol_file, read_protocol
from vpeval.plan.recipe import Joined, Recipe


def absent_sets(recipe: str, data: Path) -> set[str]:
    """The sets that stage 0 could not make and that may be missing."""
    return {name for name, status in read_protocol(data, recipe).items() if status.protocol == ABSENT}


def without_absent(recipe: Recipe, data: Path) -> Recipe:
    """The recipe without sets that are absent, and without recognition of sets that have no text."""
    absent = absent_sets(recipe.recipe, data)
    silent = {name for name in recipe.speech_sets if (data / name).is_dir() and not (data / name / "text").is_file()}
    pairs = tuple(pair for pair in recipe.asv_pairs if not {pair.enrolls, pair.trials} & absent)
    if not pairs:
        raise InputError(
            f"none of the pairs of recipe {recipe.recipe} is there; see why, and correct asv_pairs in recipe.conf",
            protocol_file(data, recipe.recipe),
        )
    return replace(
        recipe,
        asv_pairs=pairs,
        asr_sets=_joined(recipe.asr_sets, absent | silent),
        emotion_sets=_joined(recipe.emotion_sets, absent),
        train_sets=_kept(recipe.train_sets, absent),
        pool_sets=_kept(recipe.pool_sets, absent),
        srd_sets=_kept(recipe.srd_sets, absent),
    )


def _kept(names: Iterable[str], absent: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in absent)


def _joined(joined: Iterable[Joined], absent: set[str]) -> tuple[Joined, ...]:
    """A joined set of which a part is left is evaluated on that part."""
    found = (Joined(one.name, _kept(one.sets, absent)) for one in joined)
    return tuple(one for one in found if one.sets)
