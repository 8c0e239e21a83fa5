"""The plainest corpus: a tab-separated table whose first line names its columns.

``utt path spk`` must be there, ``gender`` (f or m), ``session`` and ``text`` may be; a path is relative to the table.
Its sets are ``<base>_enrolls`` with ``<base>_trials_{f,m,mixed}``, and any others. Speakers are dealt in turn, women
and men alike, to the bases and to the other sets (training data, pools), so that no speaker is in two. Without genders
there is only ``_trials_mixed``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import shuffled
from vpeval.corpora.protocol import ABSENT, WHOLE, Status
from vpeval.corpora.utterances import MissingCorpus, PreparedSet, Request, Utterance, by_speaker, to_data
from vpeval.data.layout import GENDERS
from vpeval.data.make_trials import TrialOptions, make_trials

NAME = "utterances.tsv"
_NEEDED = ("utt", "path", "spk")
_OPTIONAL = ("gender", "session", "text")


def find_table(corpus: Path) -> Path:
    """The table that `corpus` is or holds."""
    path = corpus if corpus.is_file() else corpus / NAME
    if not path.is_file():
        raise MissingCorpus(f"no {NAME} here, a table of {', '.join(_NEEDED)} and more", corpus)
    return path


def read_table_corpus(path: Path) -> list[Utterance]:
    """All utterances of a table; an utterance whose id does not begin with that of its speaker gets it in front."""
    utterances = []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        columns = reader.fieldnames or []
        if missing := [name for name in _NEEDED if name not in columns]:
            known = ", ".join((*_NEEDED, *(f"[{name}]" for name in _OPTIONAL)))
            raise InputError(f"has no column '{missing[0]}'; its first line names the columns: {known}", path, 1)
        if unknown := [name for name in columns if name not in (*_NEEDED, *_OPTIONAL)]:
            raise InputError(
                f"column '{unknown[0]}' is unknown; there are {', '.join((*_NEEDED, *_OPTIONAL))}", path, 1
            )
        try:
            rows = [(reader.line_num, row) for row in reader]
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; save it as such", path) from None
    seen: dict[str, int] = {}
    for line, row in rows:
        if None in row or None in row.values():
            raise InputError(f"does not have the {len(columns)} columns of the first line", path, line)
        cells = {name: " ".join(value.split()) for name, value in row.items()}
        for name in _NEEDED:
            if not cells[name]:
                raise InputError(f"has nothing in column '{name}'", path, line)
        for name in ("utt", "spk"):
            if " " in cells[name] or "/" in cells[name]:
                raise InputError(f"'{cells[name]}' cannot be an id, as it holds a blank or a slash", path, line)
        gender = cells.get("gender", "").lower()
        if gender not in ("", *GENDERS):
            raise InputError(f"gender is '{gender}'; write f, m or nothing", path, line)
        utt = cells["utt"] if cells["utt"].startswith(cells["spk"]) else f"{cells['spk']}-{cells['utt']}"
        if utt in seen:
            raise InputError(f"utterance '{utt}' is on line {seen[utt]} already; keep one", path, line)
        seen[utt] = line
        audio = path.parent / cells["path"]
        if not audio.is_file():
            raise InputError(f"there is no audio file {audio}; paths are relative to the table", path, line)
        text = cells.get("text", "")
        utterances.append(Utterance(utt, audio, cells["spk"], gender, cells.get("session", ""), text))
    if not utterances:
        raise InputError("has no utterances", path)
    return utterances


_EVALUATION = re.compile(r"(?P<base>.+)_(?:enrolls|trials_(?P<part>f|m|mixed))")


def table_sets(request: Request, names: Sequence[str]) -> tuple[list[PreparedSet], dict[str, Status]]:
    """The sets called `names`, and those that could not be made with the reason."""
    path = find_table(request.corpus)
    groups = list(dict.fromkeys(_group(name) for name in names))
    utterances = request.convert(read_table_corpus(path), groups[0])
    shares = _deal(utterances, groups, request.seed)
    made: list[PreparedSet] = []
    absent: dict[str, Status] = {}
    for group in groups:
        data = to_data((each for each in utterances if each.spk in shares[group]), request.data / group)
        if group in names:
            made.append(PreparedSet(data, Status(WHOLE)))
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
        made += [PreparedSet(replace(found[name]), Status(WHOLE)) for name in wanted if name in found]
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
        count = f"{len(speakers)} speaker{'s are' if len(speakers) != 1 else ' is'} too few for {', '.join(groups)}"
        raise InputError(f"{count}; two for each are needed, or nobody can be told from anybody")
    shares: dict[str, set[str]] = {group: set() for group in groups}
    turn = 0
    for gender in sorted({own[0].gender for own in speakers.values()}):
        order = shuffled((spk for spk, own in speakers.items() if own[0].gender == gender), seed, "table", gender)
        for spk in order:
            shares[groups[turn % len(groups)]].add(spk)
            turn += 1
    return shares
