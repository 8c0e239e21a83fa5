"""Records of one or several runs, from results.jsonl or from a results file of any edition of the challenge."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.tables import read_lines
from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON, CONDITIONS, ORIGINAL
from vpeval.records.record import DATA_DIGEST, MODEL_DIGEST, Record, read_records
from vpeval.results.formats import vpc2022, vpc2024

_PREFIX = re.compile(r"(?:track\d_)?(?:RESULTS_summary|RESULTS|results\.anon|results\.orig|result_for_rank)_?")
_UNNAMED = ("results.txt", "results_summary.txt", "result_for_rank")


@dataclass(frozen=True)
class Source:
    """A file and, where it should not be taken from the file, the name of its anonymised system."""

    path: Path
    system: str = ""

    @classmethod
    def parse(cls, text: str) -> Source:
        """``NAME=PATH`` or ``PATH``."""
        name, equals, path = text.partition("=")
        return cls(Path(path), name) if equals and name and not Path(text).exists() else cls(Path(text))


def load(sources: Sequence[Source | str | PathLike[str]]) -> list[Record]:
    """All records, each number once.

    Runs repeat the numbers of the original data: the first file wins. Two values for one number are an error; published
    files of original data may differ, as they are rounded. So is an attacker who compares in two ways.
    """
    numbers: dict[str, Record] = {}
    differing = 0
    for given in sources:
        source = given if isinstance(given, Source) else Source(Path(given))
        for record in read(source):
            known = numbers.setdefault(record.identity, record)
            if known.value == record.value:
                continue
            if record.system != ORIGINAL or (_is_ours(known) and _is_ours(record)):
                where = " ".join(filter(None, (record.system, record.set, record.condition)))
                message = f"a second, different {record.metric} for {where}; give each run once, or another name to one"
                raise InputError(message, source.path)
            differing += 1
    if differing:
        logging.warning(f"{differing} numbers of the original data differ between the files; the first ones are taken")
    _refuse_mixture(numbers.values())
    _refuse_origins(numbers.values())
    return list(numbers.values())


def _is_ours(record: Record) -> bool:
    """Whether a record is of a table of this toolkit, with all digits, and not of a published file."""
    return "attack_model" in record.notes or bool(record.files)


def _refuse_mixture(records: Iterable[Record]) -> None:
    """Numbers of one attacker stand beside each other only if it compared, and was calibrated, in the same way."""
    ways: dict[tuple[str, str], tuple[str, Record]] = {}
    for record in records:
        if record.condition not in CONDITIONS:
            continue
        for note in ("scoring", "calibration"):
            if note in record.notes:
                way, other = ways.setdefault((record.attacker, note), (record.notes[note], record))
                if way != record.notes[note]:
                    raise InputError(
                        f"{note} of attacker '{record.attacker}' is {way} for {other.system} and {record.notes[note]} "
                        f"for {record.system}: these numbers cannot be compared; run both alike"
                    )


def _refuse_origins(records: Iterable[Record]) -> None:
    """All numbers of a system on a set come from the same data, and all of an attacker from the same model."""
    known: dict[tuple[str, ...], str] = {}
    for record in records:
        for note, what, key in (
            (DATA_DIGEST, f"data of {record.system} on {record.set}", (record.recipe, record.system, record.set)),
            (MODEL_DIGEST, f"model of '{record.attacker}'", (record.recipe, record.system, "", record.attacker)),
        ):
            if note in record.notes and known.setdefault(key, record.notes[note]) != record.notes[note]:
                raise InputError(
                    f"these numbers are a mixture: not all come from the same {what}; run the evaluation again"
                )


def read(source: Source) -> list[Record]:
    """The records of one file of any kind, which is told by its first line."""
    path, system = source.path, source.system or _system(source.path)
    line, first = next(read_lines(path, blanks=True), (1, ""))
    if not first:
        raise InputError("is empty; was the run that wrote it completed?", path, line)
    if first.lstrip().startswith("{"):
        return _renamed(read_records(path), source)
    if first.startswith("---- "):
        return vpc2024.read(path, system)
    if first.startswith("Weighted average") or ("  " in first.strip() and "Pitch_correlation" not in first):
        return vpc2022.read_summary(path, system)
    if re.match("AS[VR]-|.+_trials", first):
        return vpc2022.read(path, system, _attacker(path))
    raise InputError("is neither a results file of the challenges nor results.jsonl", path, line)


def _system(path: Path) -> str:
    """A results file does not name its system; its directory does, or a copy's own name as in RESULTS_mcadams."""
    if path.name in _UNNAMED:
        return path.absolute().parent.name
    return _PREFIX.sub("", path.name if _PREFIX.match(path.name) else path.stem, count=1) or path.stem


def _attacker(path: Path) -> str:
    """Which attacker the challenge of 2022 means by the name of a file; no other file tells."""
    return {"results.anon_": ASV_EVAL_ANON, "results.orig_": ASV_EVAL}.get(path.name[:13], "")


def _renamed(records: list[Record], source: Source) -> list[Record]:
    systems = {record.system for record in records} - {ORIGINAL}
    if not source.system:
        return records
    if len(systems) > 1:
        raise InputError(f"holds {len(systems)} systems; only a single one can be named '{source.system}'", source.path)
    return [r if r.system == ORIGINAL else r.tagged({"system": source.system}) for r in records]
