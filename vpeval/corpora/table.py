"""The plainest corpus: a tab-separated table whose first line names its columns.

``utt path spk`` must be there, ``gender`` (f or m), ``session`` and ``text`` may be; a path is seen from the table.
"""

from __future__ import annotations

import csv
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.corpora.utterances import MissingCorpus, Utterance
from vpeval.data.layout import GENDERS

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
            raise InputError(f"there is no audio file {audio}; a path is seen from the folder of the table", path, line)
        text = cells.get("text", "")
        utterances.append(Utterance(utt, audio, cells["spk"], gender, cells.get("session", ""), text))
    if not utterances:
        raise InputError("has no utterances", path)
    return utterances
