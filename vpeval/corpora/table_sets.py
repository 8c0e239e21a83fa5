"""The sets of a plain table, by their names: ``<base>_enrolls`` with ``<base>_trials_{f,m,mixed}``, and any others.

Speakers are dealt in turn, women and men alike, to the bases and to the other sets (training data, pools), so that no
speaker is in two. Without genders there is only ``_trials_mixed``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vpeval.core.errors import InputError
from vpeval.core.seeds import shuffled
from vpeval.corpora.protocol import ABSENT, WHOLE, Status
from vpeval.corpora.request import Made, Request
from vpeval.corpora.table import find_table, read_table_corpus
from vpeval.corpora.utterances import Utterance, by_speaker, to_data
from vpeval.data.make_trials import TrialOptions, make_trials

_EVALUATION = re.compile(r"(?P<base>.+)_(?:enrolls|trials_(?P<part>f|m|mixed))")


def table_sets(request: Request, names: Sequence[str]) -> tuple[list[Made], dict[str, Status]]:
    """The sets called `names`, and those that could not be made with the reason."""
    path = find_table(request.corpus)
    groups = list(dict.fromkeys(_group(name) for name in names))
    utterances = request.bring(read_table_corpus(path), groups[0])
    shares = _deal(utterances, groups, request.seed)
    made: list[Made] = []
    absent: dict[str, Status] = {}
    for group in groups:
        data = to_data((each for each in utterances if each.spk in shares[group]), request.data / group)
        if group in names:
            made.append(Made(data, Status(WHOLE)))
            continue
        wanted = [name for name in names if _group(name) == group]
        options = TrialOptions(request.data, group, mixed=f"{group}_trials_mixed" in wanted, seed=request.seed)
        if "spk2gender" not in data.spk_tables and not options.mixed:
            raise InputError(
                f"has no genders, and {', '.join(wanted[1:])} need them; give the column 'gender', or write "
                f"{group}_trials_mixed in recipe.conf",
                path,
            )
        sets = make_trials(data, options)
        found = {each.name: each for each in (sets.enrolls, *sets.trials.values())}
        made += [Made(replace(found[name]), Status(WHOLE)) for name in wanted if name in found]
        absent |= {name: Status(ABSENT, _reason(name, data.spk_tables)) for name in wanted if name not in found}
    return made, absent


def _group(name: str) -> str:
    match = _EVALUATION.fullmatch(name)
    return match["base"] if match else name


def _reason(name: str, spk_tables: Mapping[str, Mapping[str, str]]) -> str:
    gender = name.rpartition("_")[2]
    return f"no speaker has gender {gender}" if "spk2gender" in spk_tables else "the table has no genders"


def _deal(utterances: Sequence[Utterance], groups: Sequence[str], seed: int) -> dict[str, set[str]]:
    speakers = by_speaker(utterances)
    if len(speakers) < 2 * len(groups):
        raise InputError(f"{len(speakers)} speakers are too few for {', '.join(groups)}; two for each are needed")
    shares: dict[str, set[str]] = {group: set() for group in groups}
    turn = 0
    for gender in sorted({own[0].gender for own in speakers.values()}):
        order = shuffled((spk for spk, own in speakers.items() if own[0].gender == gender), seed, "table", gender)
        for spk in order:
            shares[groups[turn % len(groups)]].add(spk)
            turn += 1
    return shares
