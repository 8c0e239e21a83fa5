"""Result files of the editions: reading one of any edition, and writing those of one system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.editions.base import ResultFile, edition_of, editions
from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON, CONDITIONS, ORIGINAL, SEMI, attack_model
from vpeval.records.record import Record
from vpeval.records.remarks import MARK, remarks


def format_of(line: str) -> ResultFile | None:
    """The format of a file with this first line.

    The newest edition is asked first, as newer formats include what older ones of the same shape have.
    """
    return next((file for file in _newest_first() if file.is_own(line)), None)


def system_of(path: Path) -> str:
    """The system of a result file: its directory names it, or the name of a copy, as in RESULTS_mcadams."""
    if path.name in {file.name for file in _newest_first()}:
        return path.absolute().parent.name
    prefix = re.compile(f"(?:{'|'.join(file.published for file in _newest_first())})_?")
    return prefix.sub("", path.name if prefix.match(path.name) else path.stem, count=1) or path.stem


def _newest_first() -> list[ResultFile]:
    return [file for edition in reversed(list(editions().values())) for file in edition.files]


def render(
    records: Sequence[Record],
    edition: str,
    file: str,
    attacker: str | None = None,
    asv_eval: str | None = None,
    text_rules: str = "",
) -> str:
    """The text of one of the result files of an edition.

    A file shows the numbers of one attacker, or those of ASV_eval (`asv_eval`) and of ASV_eval^anon (`attacker`). Error
    rates are those by the edition's own text rules, or by `text_rules`. Remarks on the results follow at the end.
    """
    challenge = edition_of(edition)
    result_file = challenge.file(file)
    records = by_text_rules(records, text_rules or challenge.text_rules)
    if result_file.attacks:
        chosen = as_challenge_attackers(records, asv_eval, attacker)
    else:
        chosen = of_attacker(records, attacker)
    return result_file.render(chosen) + "".join(f"{MARK}{remark}\n" for remark in remarks(records))


def has_semi_informed(records: Sequence[Record]) -> bool:
    """Whether any attacker was trained on anonymised speech."""
    return any(attack_model(record) == SEMI for record in records)


def by_text_rules(records: Sequence[Record], rules: str) -> list[Record]:
    """The records with error rates by some text rules only; published ones, which do not name theirs, stay.

    An error rate that was counted by other rules only is an error, never a substitute.
    """
    kept = [r for r in records if r.params.get("normalizer", rules) == rules]
    have = {(r.metric, r.system, r.set, r.condition, r.model) for r in kept}
    for r in records:
        if (r.metric, r.system, r.set, r.condition, r.model) not in have:
            raise InputError(
                f"{r.metric} of {r.system} {r.set} was counted by the text rules {r.params['normalizer']}, not by "
                f"{rules}; score the transcripts again by those (stage 10)"
            )
    return kept


def of_system(records: Sequence[Record], system: str | None) -> list[Record]:
    """The records of the original data and one system, or all records for None."""
    if system is None:
        return list(records)
    present = sorted({record.system for record in records} - {ORIGINAL})
    if system not in present:
        raise InputError(f"no records of system '{system}'; there are: {', '.join(present) or 'none'}")
    return [record for record in records if record.system in (system, ORIGINAL)]


def of_attacker(records: Sequence[Record], attacker: str | None) -> list[Record]:
    """The verification records of one attacker and everything that is not about verification, or all records for None.

    Where the attacker has not scored the original data, those of the others stay.
    """
    if attacker is None:
        return list(records)
    _require(records, attacker)
    has_original = any(r.attacker == attacker and r.condition == "oo" for r in records)
    return [
        r
        for r in records
        if r.condition not in CONDITIONS or r.attacker in (attacker, "") or (r.condition == "oo" and not has_original)
    ]


def as_challenge_attackers(records: Sequence[Record], original: str | None, anonymised: str | None) -> list[Record]:
    """The records with their attackers called ASV_eval and ASV_eval^anon, those of other attackers left out.

    `original` was trained on original, `anonymised` on anonymised speech; each may be None where there is only one.
    """
    names = {ASV_EVAL: original, ASV_EVAL_ANON: anonymised}
    for role, name in names.items():
        if name is not None:
            _require(records, name)
        else:
            names[role] = _only(records, role)
    kept = []
    for record in records:
        if record.condition not in CONDITIONS:
            kept.append(record)
            continue
        kept += [replace(record, attacker=role) for role, name in names.items() if name == record.attacker]
    return kept


def _only(records: Sequence[Record], role: str) -> str | None:
    """The one attacker of a kind, None if there is none."""
    scored = [record for record in records if record.condition in CONDITIONS]
    trained = {r.attacker for r in scored if attack_model(r) == SEMI}
    found = sorted(trained if role == ASV_EVAL_ANON else {record.attacker for record in scored} - trained)
    if len(found) > 1:
        option = "--attacker" if role == ASV_EVAL_ANON else "--asv-eval"
        raise InputError(f"several attackers could be {role} ({', '.join(found)}); choose one with {option}")
    return found[0] if found else None


def _require(records: Sequence[Record], attacker: str) -> None:
    present = sorted({record.attacker for record in records if record.condition in CONDITIONS} - {""})
    if attacker not in present:
        raise InputError(f"no records of attacker '{attacker}'; there are: {', '.join(present) or 'none'}")
