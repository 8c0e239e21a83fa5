"""``egs/<recipe>/RESULTS.md``: the systems of a recipe × key numbers, as Markdown.

The first table has the EER of every attack, so that stronger attackers can be compared with weaker ones; the second one
the key numbers of `vpeval.results.worst`, each by the most successful attack. Everything is read from results.jsonl.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vpeval.core.errors import InputError
from vpeval.data.layout import first_few
from vpeval.editions.headline import headline_eer, is_eer
from vpeval.records.metrics import describe
from vpeval.records.names import IGNORANT, LAZY, ORIGINAL, SEMI, attack_model
from vpeval.records.record import Record
from vpeval.results.side_by_side import columns, partition_means
from vpeval.results.text_tables import show_chance
from vpeval.results.worst import key_numbers

_INFORMED = (SEMI, LAZY, IGNORANT)
"""Attack models whose success should not grow from left to right."""


@dataclass(frozen=True)
class Made:
    """How the results of a system were made: the commit that was checked out, and the day."""

    commit: str
    day: str


@dataclass(frozen=True)
class About:
    """What a page tells besides numbers."""

    recipe: str
    edition: str
    made: Mapping[str, Made]
    """By system, in the order of the tables."""
    machine: str
    command: str
    """That makes this page again."""
    notes: Sequence[str] = ()
    left_out: Mapping[str, str] | None = None
    """Systems that were not measured, and why."""


def recipe_page(records: Sequence[Record], about: About) -> str:
    """The page; systems are those of `about`, and all must have results."""
    systems = list(about.made)
    if missing := [name for name in systems if not any(record.system == name for record in records)]:
        raise InputError(f"no results of {missing[0]} on recipe {about.recipe}")
    blocks = [f"# Results of {about.recipe}", *about.notes, _how(records, about)]
    blocks += [_attacks(records, systems, about.edition), _order(records, systems, about.edition)]
    blocks += [_key_numbers(records, systems, about.edition), _sets(records)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _how(records: Sequence[Record], about: About) -> str:
    lines = ["Made from `results.jsonl` of the runs below; numbers of other sizes of the corpus differ:", ""]
    lines += [f"    {_command(records, about.recipe, name)}" for name in about.made]
    rows = [["system", "commit", "date"], *([name, made.commit, made.day] for name, made in about.made.items())]
    lines += ["", _table(rows), "", f"Machine: {about.machine}. This page: `{about.command}`."]
    older = sorted({name for r in records for name in str(r.notes.get("accepted_code", "")).split(", ") if name})
    if older:
        lines.append(
            f"Kept although {first_few(older)} had changed since (--accept-code): embeddings or scores of older code."
        )
    lines += [f"Not measured: {name} ({why})." for name, why in (about.left_out or {}).items()]
    return "\n".join(lines)


def _command(records: Sequence[Record], recipe: str, system: str) -> str:
    notes = next(record.notes for record in records if record.system == system and "anonymiser" in record.notes)
    words = ["./run.sh", *([] if recipe == "mini" else ["--recipe", recipe, "--corpus", "DIR"])]
    words += ["--anonymizer", str(notes["anonymiser"]).removeprefix("local/anon/").removesuffix("/anonymize.py")]
    if options := str(notes.get("anon_options", "")):
        words += ["--anon-options", options]
    return shlex.join(words)


def _attacks(records: Sequence[Record], systems: Sequence[str], edition: str) -> str:
    found = [column for column in columns(records, edition) if is_eer(column.metric)]
    if not found:
        return ""
    rows = [["attack, attacker", ORIGINAL, *systems]]
    rows += [[one.way, *(_cell(one.of.get(name)) for name in (ORIGINAL, *systems))] for one in found]
    title = describe(found[0].metric)
    text = f"{title.label} by attack: mean of the test sets, 95 % interval over speakers, chance 50; o-o for original."
    return f"## Attacks\n\n{text}\n\n{_table(rows)}"


def _order(records: Sequence[Record], systems: Sequence[str], edition: str) -> str:
    """Whether those who know more find more, by the best attacker of every attack model."""
    metric = headline_eer((record.metric for record in records), edition)
    eers = [record for record in partition_means(records, edition) if record.metric == metric]
    holds: list[str] = []
    fails: list[str] = []
    for name in systems:
        least = {
            model: min(values)
            for model in _INFORMED
            if (values := [r.value for r in eers if r.system == name and attack_model(r) == model])
        }
        if len(least) == len(_INFORMED):
            ordered = list(least.values()) == sorted(least.values())
            shown = ", ".join(describe(metric).typeset(value) for value in least.values())
            (holds if ordered else fails).append(name if ordered else f"{name} ({shown})")
    if not holds and not fails:
        return ""
    sentences = [f"{' ≤ '.join(_INFORMED)} holds for {first_few(holds, 9)}."] if holds else []
    sentences += [f"It does not hold for {first_few(fails, 9)}, in this order."] if fails else []
    return " ".join(sentences)


def _key_numbers(records: Sequence[Record], systems: Sequence[str], edition: str) -> str:
    rows = [["", "chance", ORIGINAL, *systems]]
    for number in key_numbers(records, [ORIGINAL, *systems], edition):
        last = list(number.of.values())[-1]
        chance = show_chance(last) if number.metric.aspect == "privacy" else ""
        rows.append([number.metric.label, chance, *(_cell(number.of.get(name), True) for name in rows[0][2:])])
    text = (
        "Of every privacy metric the number of the most successful attack, among all speakers with the least speech; "
        "then utility. 95 % intervals over speakers."
    )
    return f"## Key numbers\n\n{text}\n\n{_table(rows)}"


def _sets(records: Sequence[Record]) -> str:
    """Speakers and trials of every set, as the first attacker on original speech found them."""
    found: dict[str, str] = {}
    for record in records:
        if is_eer(record.metric) and record.condition == "oo" and {"targets", "nontargets"} <= record.counts.keys():
            counts = record.counts
            speakers = f"{counts['speakers']} speakers, " if "speakers" in counts else ""
            found.setdefault(
                record.set, f"{speakers}{counts['targets']} target, {counts['nontargets']} nontarget trials"
            )
    return "\n".join(["## Sets", "", *(f"- `{name}`: {text}" for name, text in found.items())]) if found else ""


def _cell(record: Record | None, named: bool = False) -> str:
    """A number with its interval; `named`: and who attacked."""
    if record is None:
        return "–"
    metric = describe(record.metric)
    text = metric.typeset(record.value)
    if record.lower is not None and record.upper is not None:
        text += f" [{metric.typeset(record.lower)}, {metric.typeset(record.upper)}]"
    by = record.attacker if named and metric.aspect == "privacy" else ""
    return f"{text} {by}".rstrip()


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *others))
