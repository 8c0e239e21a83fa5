"""The results files of the editions, from the records of one system and of the attackers that have a place there.

2020 has results.txt, 2022 results.txt with pitch correlations and results_summary.txt, 2024 and 2026 result_for_rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vpeval.core.errors import InputError
from vpeval.records.attacks import SEMI, attack_model
from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON, CONDITIONS, ORIGINAL, TEXT_RULES
from vpeval.records.record import Record
from vpeval.records.remarks import MARK, remarks
from vpeval.results.formats import vpc2020, vpc2022, vpc2024

EDITIONS = {
    "2020": ("results.txt",),
    "2022": ("results.txt", "results_summary.txt"),
    "2024": ("result_for_rank",),
    "2026": ("result_for_rank",),
}
"""The results files of every edition."""


def render(
    records: Sequence[Record],
    edition: str,
    file: str,
    attacker: str | None = None,
    asv_eval: str | None = None,
    text_rules: str = "",
) -> str:
    """The text of one of the results files of an edition.

    results.txt shows the numbers of one attacker, the others those of ASV_eval and of ASV_eval^anon (`attacker`). Error
    rates are those by the edition's own text rules, or by `text_rules`. What must be said about the results follows
    them, marked as remarks.
    """
    records = by_text_rules(records, text_rules or TEXT_RULES[edition])
    said = "".join(f"{MARK}{remark}\n" for remark in remarks(records))
    if file == "results.txt":
        chosen = of_attacker(records, attacker)
        return (vpc2020.render(chosen) if edition == "2020" else vpc2022.render(chosen)) + said
    chosen = as_challenge_attackers(records, asv_eval, attacker)
    text = vpc2022.render_summary(chosen) if file == "results_summary.txt" else vpc2024.render(chosen, edition)
    return text + said


def has_semi_informed(records: Sequence[Record]) -> bool:
    """Whether any attacker was trained on anonymised speech."""
    return any(attack_model(record) == SEMI for record in records)


def by_text_rules(records: Sequence[Record], rules: str) -> list[Record]:
    """The records with error rates by some text rules only; published ones, which do not say theirs, stay.

    An error rate that was counted by other rules only is an error, never a substitute.
    """
    kept = [r for r in records if r.params.get("normalizer", rules) == rules]
    have = {(r.metric, r.system, r.set, r.condition, r.attacker) for r in kept}
    for r in records:
        if (r.metric, r.system, r.set, r.condition, r.attacker) not in have:
            raise InputError(
                f"{r.metric} of {r.system} {r.set} was counted by the text rules {r.params['normalizer']}, not by "
                f"{rules}; score the transcripts again by those (stage 10)"
            )
    return kept


def of_system(records: Sequence[Record], system: str | None) -> list[Record]:
    """The original data and one system; None takes all."""
    if system is None:
        return list(records)
    present = sorted({record.system for record in records} - {ORIGINAL})
    if system not in present:
        raise InputError(f"no records of system '{system}'; there are: {', '.join(present) or 'none'}")
    return [record for record in records if record.system in (system, ORIGINAL)]


def of_attacker(records: Sequence[Record], attacker: str | None) -> list[Record]:
    """The verification records of one attacker and everything that is not about verification; None takes all.

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
