"""Splitting, thinning, joining and renaming data directories."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.core.publish import staged_directory
from vpeval.core.seeds import draw
from vpeval.data.directory import DataDir, write_files
from vpeval.data.layout import first_few
from vpeval.data.trials import TrialRows

Key = TypeVar("Key", str, tuple[str, str])


def split(data: DataDir, n: int, per_utt: bool = False) -> list[DataDir]:
    """`n` parts of about the same duration (or number of utterances, without utt2dur), named 1 to `n`.

    A speaker stays whole unless `per_utt`. The longest unit goes first, always to the part that is shortest so far.
    """
    units = {utt: [utt] for utt in data.utt2spk} if per_utt else data.spk2utt
    if not 1 <= n <= len(units):
        unit, hint = ("utterances", "") if per_utt else ("speakers", " or split per utterance")
        raise InputError(
            f"has {len(units)} {unit}, too few for {n} parts; choose at most {len(units)}{hint}", data.path
        )
    durations = data.utt2dur if "utt2dur" in data.utt_tables else dict.fromkeys(data.utt2spk, 1.0)
    weights = {unit: sum(durations[utt] for utt in utts) for unit, utts in units.items()}
    parts: list[list[str]] = [[] for _ in range(n)]
    shortest = [(0.0, 0, i) for i in range(n)]
    for unit in sorted(units, key=lambda unit: (-weights[unit], unit)):
        weight, count, i = shortest[0]
        parts[i] += units[unit]
        heapq.heapreplace(shortest, (weight + weights[unit], count + 1, i))
    home = split_path(data.path, n, per_utt)
    return [replace(data.subset(utts), path=home / str(i)) for i, utts in enumerate(parts, start=1)]


def split_path(path: Path, n: int, per_utt: bool = False) -> Path:
    """Where the `n` parts of the data directory `path` live."""
    return path / f"split{n}{'utt' if per_utt else ''}"


def write_split(parts: Sequence[DataDir]) -> None:
    """Write the parts of one split, all or none."""
    with staged_directory(parts[0].path.parent) as home:
        for part in parts:
            (home / part.name).mkdir()
            write_files(part, home / part.name)


def pick_speakers(data: DataDir, count: int, seed: int = 0) -> DataDir:
    """All utterances of `count` speakers drawn at random."""
    if count > len(data.speakers):
        raise InputError(f"has {len(data.speakers)} speakers, not {count}; choose no more than that", data.path)
    chosen = set(draw(data.speakers, count, seed, "speakers", ""))
    return data.subset(utt for utt, spk in data.utt2spk.items() if spk in chosen)


def pick_first(data: DataDir, count: int) -> DataDir:
    """The first `count` utterances in C-locale order."""
    if count > len(data.utt2spk):
        raise InputError(f"has {len(data.utt2spk)} utterances, not {count}; choose no more than that", data.path)
    return data.subset(data.utts[:count])


def pick_per_speaker(data: DataDir, count: int, seed: int = 0) -> DataDir:
    """`count` utterances of every speaker drawn at random; a speaker with fewer keeps all."""
    return data.subset(
        utt for spk, utts in data.spk2utt.items() for utt in draw(utts, count, seed, "utterances per speaker", spk)
    )


def keep_speakers(data: DataDir, speakers: Iterable[str]) -> DataDir:
    """All utterances of the given speakers."""
    wanted = set(speakers)
    if unknown := sorted(wanted - data.spk2utt.keys()):
        raise InputError(f"has no speaker {first_few(unknown)}; choose among those listed", data.path / "spk2utt")
    return data.subset(utt for utt, spk in data.utt2spk.items() if spk in wanted)


def combine(sources: Sequence[DataDir], path: Path) -> tuple[DataDir, list[str]]:
    """One directory of all utterances, and the names of the tables dropped because some source lacks them.

    An utterance may be in several sources if they agree about it; enrolls and trials are joined.
    """
    utt_names = set.intersection(*(set(data.utt_tables) for data in sources))
    spk_names = set.intersection(*(set(data.spk_tables) for data in sources))
    all_names = {name for data in sources for name in (*data.utt_tables, *data.spk_tables)}
    trials = [
        (data.path / "trials", {(spk, utt): label for spk, utt, label in data.trials})
        for data in sources
        if data.trials is not None
    ]
    enrolls = [data.enrolls for data in sources if data.enrolls is not None]
    combined = DataDir(
        path,
        _join((data.path / "utt2spk", data.utt2spk) for data in sources),
        {name: _join((data.path / name, data.utt_tables[name]) for data in sources) for name in sorted(utt_names)},
        {name: _join((data.path / name, data.spk_tables[name]) for data in sources) for name in sorted(spk_names)},
        tuple(sorted(set().union(*enrolls))) if enrolls else None,
        tuple((spk, utt, label) for (spk, utt), label in _join(trials).items()) if trials else None,
    )
    return combined, sorted(all_names - utt_names - spk_names)


def rename(
    data: DataDir, utt_prefix: str = "", utt_suffix: str = "", spk_prefix: str = "", spk_suffix: str = ""
) -> DataDir:
    """The same directory with longer utterance and speaker ids, in trials too; audio paths stay."""

    def utt_id(utt: str) -> str:
        return f"{utt_prefix}{utt}{utt_suffix}"

    def spk_id(spk: str) -> str:
        return f"{spk_prefix}{spk}{spk_suffix}"

    for affix in (utt_prefix, utt_suffix, spk_prefix, spk_suffix):
        if any(char.isspace() for char in affix):
            raise InputError(f"prefix or suffix '{affix}' holds a blank; ids must not")
    trials = data.trials
    if isinstance(trials, TrialRows):
        trials = trials.renamed(spk_id, utt_id)
    elif trials is not None:
        trials = tuple(sorted((spk_id(spk), utt_id(utt), label) for spk, utt, label in trials))
    return DataDir(
        data.path,
        dict(sorted((utt_id(utt), spk_id(spk)) for utt, spk in data.utt2spk.items())),
        {name: dict(sorted((utt_id(u), v) for u, v in table.items())) for name, table in data.utt_tables.items()},
        {name: dict(sorted((spk_id(s), v) for s, v in table.items())) for name, table in data.spk_tables.items()},
        None if data.enrolls is None else tuple(sorted(map(utt_id, data.enrolls))),
        trials,
    )


def _join(tables: Iterable[tuple[Path, Mapping[Key, str]]]) -> dict[Key, str]:
    """The union of tables that must agree where they overlap, sorted."""
    joined: dict[Key, str] = {}
    before: list[tuple[Path, Mapping[Key, str]]] = []
    for path, table in tables:
        for key, value in table.items():
            if joined.setdefault(key, value) != value:
                name = key if isinstance(key, str) else " ".join(key)
                origin = next(earlier for earlier, known in before if key in known)
                raise InputError(
                    f"'{name}' is '{value}' here but '{joined[key]}' in {origin}; "
                    "drop one, or give it other ids with utils/copy_data_dir.py --utt-prefix",
                    path,
                )
        before.append((path, table))
    return dict(sorted(joined.items()))
