"""Whose sets are in a data root, and whether they are those that a plan means.

Recipes share a set while its content is the same. Stage 0 makes the sets of a recipe in `<root>/.new`, compares them
with those that are there, and then either puts them in their place or refuses: what another recipe made is never
replaced, and what the same recipe made of other lists, or with another --full, only with --overwrite true. Stamp,
protocol and sets are one unit: the stamp of a recipe, `<root>/.<recipe>.stamp.json`, names its sets, and has digests of
their files and of the protocol. Every later stage compares them. A root without stamps holds sets made by hand.
"""

from __future__ import annotations

import filecmp
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_table, replace_directory
from vpeval.core.publish import mark, refuse_target
from vpeval.corpora.protocol import protocol_file
from vpeval.data.layout import first_few, is_attribute, is_expendable, present
from vpeval.jobs.stamps import Fingerprint, changed_output, fingerprint, read_stamp, write_stamp
from vpeval.plan.absent import absent_sets
from vpeval.plan.plan import Plan
from vpeval.plan.recipe import read_recipe

STAGING = ".new"
"""Where new sets are made, in a data root."""
_SUFFIX = ".stamp.json"


@dataclass(frozen=True)
class Made:
    """What stage 0 of a recipe made, and from what."""

    recipe: str
    full: bool
    lists: str
    corpus: str
    sets: frozenset[str]

    @property
    def words(self) -> str:
        """What distinguishes it from others of the recipe."""
        return f"{self.option('lists')}, {self.option('full')}"

    def option(self, name: str) -> str:
        """An option of run.sh as a person would give it."""
        value = getattr(self, name)
        if name == "full":
            return f"--full {str(value).lower()}"
        return shlex.join([f"--{name}", value]) if value else f"no --{name}"


def stamp_name(recipe: str) -> str:
    """The name of the stamp of a recipe in a data root."""
    return f".{recipe}{_SUFFIX}"


def made_by(plan: Plan) -> Made:
    """What stage 0 of a plan makes."""
    settings = plan.settings
    lists = place(Path(settings.lists)) if settings.lists else ""
    return Made(settings.recipe, settings.full, lists, place(plan.corpus), frozenset(plan.recipe.sets))


def place(path: Path) -> str:
    """Where a path leads: below the working directory a relative one."""
    real = path.resolve()
    return str(real.relative_to(Path.cwd())) if real.is_relative_to(Path.cwd()) else str(real)


def read_made(root: Path, recipe: str) -> Made | None:
    """What stage 0 of a recipe noted about its sets; None where it made none."""
    found = read_stamp(root / stamp_name(recipe))
    if not found:
        return None
    options, sets = found.get("options", {}), found.get("sets")
    if not isinstance(sets, list):  # an older stamp: the sets of the recipe
        conf = Path("egs") / recipe / "recipe.conf"
        sets = read_recipe(conf).sets if conf.is_file() else ()
    return Made(
        recipe, options.get("full") == "True", options.get("lists", ""), found.get("corpus", ""), frozenset(sets)
    )


def others(root: Path, recipe: str) -> list[Made]:
    """What other recipes made in a data root."""
    names = [path.name[1 : -len(_SUFFIX)] for path in sorted(root.glob(f".*{_SUFFIX}"))]
    return [made for name in names if name != recipe and (made := read_made(root, name))]


def put_in_place(plan: Plan, made_from: Fingerprint) -> None:
    """Let the sets in the staging directory be those of the plan; an InputError replaces nothing.

    The stamp comes first: whoever is interrupted leaves sets that are not as it says.
    """
    root, recipe = plan.data, plan.recipe.recipe
    staging = root / STAGING
    new = {path.name: path for path in sorted(staging.iterdir()) if (path / "utt2spk").is_file()}
    for path in new.values():
        _correct_paths(path, staging, root)
    changed = {name: differing for name, path in new.items() if (differing := difference(path, root / name))}
    _refuse_replacing(plan, changed)
    for name in new:
        if name in changed or not (root / name).is_dir():
            refuse_target(root / name, (), is_expendable)
    there = {name: new[name] if name in changed or not (root / name).is_dir() else root / name for name in new}
    protocol = protocol_file(staging, recipe)
    absent = absent_sets(recipe, staging)
    outputs = [there[name] for name in plan.recipe.sets if name not in absent]
    outputs += [protocol] if protocol.is_file() else []
    made = made_by(plan)
    write_stamp(root / stamp_name(recipe), made_from, outputs, {"sets": sorted(new), "corpus": made.corpus})
    if protocol.is_file():
        protocol.replace(protocol_file(root, recipe))
    else:
        protocol_file(root, recipe).unlink(missing_ok=True)
    for name, path in there.items():
        if path == new[name]:
            mark(path)
            replace_directory(path, root / name)


def _correct_paths(directory: Path, staging: Path, root: Path) -> None:
    """Let tables name files where they will be."""
    before, after = f"{staging}/".encode(), f"{root}/".encode()
    for table in directory.glob("*.scp"):
        content = table.read_bytes()
        if before in content:
            table.write_bytes(content.replace(before, after))


def difference(new: Path, old: Path) -> list[str]:
    """The files in which a new set differs from the one that is there; none where none is there.

    Attributes of speakers that somebody added are no difference.
    """
    if not old.is_dir():
        return []
    names = {str(path.relative_to(new)) for path in new.rglob("*") if path.is_file() and not path.name.startswith(".")}
    added = [name for name in present(old) if name not in names and not is_attribute(name)]
    return sorted([*added, *(name for name in names if not _is_same(new / name, old / name))])


def _is_same(new: Path, old: Path) -> bool:
    if not old.is_file():
        return False
    if filecmp.cmp(new, old, shallow=False):
        return True
    return new.name == "wav.scp" and _lead_alike(read_table(new), read_table(old))


def _lead_alike(new: Mapping[str, str], old: Mapping[str, str]) -> bool:
    """Whether audio files are the same, however their paths are written."""

    @cache
    def real(folder: str) -> str:
        return os.path.realpath(folder)

    def file(entry: str) -> tuple[str, str]:
        folder, _, name = entry.rpartition("/")
        return real(folder), name

    return new.keys() == old.keys() and all(
        old[utt] == entry or file(old[utt]) == file(entry) for utt, entry in new.items()
    )


def _refuse_replacing(plan: Plan, changed: Mapping[str, Sequence[str]]) -> None:
    """Refuse to replace sets that are not this recipe's, or that it made with other options."""
    root, mine = plan.data, made_by(plan)
    before, foreign = read_made(root, mine.recipe), others(root, mine.recipe)
    for name, files in changed.items():
        owner = next((made for made in foreign if name in made.sets), None)
        if owner is None and before and name in before.sets:
            other = [option for option in ("lists", "full") if getattr(before, option) != getattr(mine, option)]
            if other and not plan.settings.overwrite:
                raise InputError(
                    f"was made with {before.option(other[0])}; with {mine.option(other[0])} it has other "
                    f"{first_few(files)}. Keep both: {_apart(plan)}; or replace it: "
                    f"{replace(plan.settings, overwrite=True).command}",
                    root / name,
                )
            continue
        whose = f"belongs to recipe {owner.recipe} ({owner.words})" if owner else "was made by hand"
        gone = shlex.join(str(root / one) for one in changed)
        raise InputError(
            f"{whose}; that of recipe {mine.recipe} ({mine.words}) has other {first_few(files)}. Keep both: "
            f"{_apart(plan)}; or give up what is there: rm -r {gone}",
            root / name,
        )


def _apart(plan: Plan) -> str:
    """The command that makes the sets of a plan in a root of their own."""
    return replace(plan.settings, data=_spare_root(plan)).command


def _spare_root(plan: Plan) -> str:
    """A data root that is not there yet."""
    base = f"data_{plan.recipe.recipe}"
    names = (base, *(f"{base}_{number}" for number in range(2, 1000)))
    return next(name for name in names if not Path(name).exists())


def refuse_other_sets(plan: Plan) -> bool:
    """Refuse sets that are not those that stage 0 of this plan made; False where this version of it made none.

    Files are looked at, not read, unless their times have changed.
    """
    root, mine = plan.data, made_by(plan)
    before, again = read_made(root, mine.recipe), f"{plan.settings.command} --stop-stage 0"
    if before is None:
        for made in others(root, mine.recipe):
            if shared := sorted(made.sets & mine.sets):
                raise InputError(
                    f"belongs to recipe {made.recipe}, and nobody has made the sets of recipe {mine.recipe} here; make "
                    f"them: {again}",
                    root / shared[0],
                )
        return False
    for name in ("lists", "full", "corpus"):
        was = getattr(before, name)
        if was != getattr(mine, name) and (was or name != "corpus"):  # older stamps know no corpus
            raise InputError(
                f"the sets of recipe {mine.recipe} were made with {before.option(name)}, and this run says "
                f"{mine.option(name)}; say the same, or make others: {_apart(plan)}",
                root,
            )
    stamp, lists = root / stamp_name(mine.recipe), [Path(plan.settings.lists)] if plan.settings.lists else []
    if not fingerprint(lists, {}).inputs.items() <= read_stamp(stamp)["inputs"].items():
        raise InputError(f"has changed since recipe {mine.recipe} read it; make the sets again: {again}", lists[0])
    absent = absent_sets(mine.recipe, root)
    protocol = protocol_file(root, mine.recipe)
    outputs = [root / name for name in plan.recipe.sets if name not in absent]
    changed = changed_output(stamp, [*outputs, *([protocol] if protocol.is_file() else [])])
    if changed:
        raise InputError(f"is not as stage 0 of recipe {mine.recipe} made it; make it again: {again}", changed)
    return "sets" in read_stamp(stamp)
