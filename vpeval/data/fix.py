"""Repairing a data directory: drop what is malformed, repeated, orphaned or unreadable, sort, rebuild spk2utt."""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypeVar

from vpeval.audio.io import AudioInfo, inspect_audio
from vpeval.core.errors import InputError
from vpeval.core.publish import replaced_directory
from vpeval.data import layout
from vpeval.data.directory import DataDir, refuse_unreadable, write_files
from vpeval.data.layout import first_few
from vpeval.data.table_files import RawLine, read_raw
from vpeval.data.validate import DURATION_TOLERANCE

Key = TypeVar("Key", str, tuple[str, str])


@dataclass(frozen=True)
class Repaired:
    """The repaired directory, what was removed or corrected, and the names of the files that changed."""

    data: DataDir
    notes: tuple[str, ...]
    changed: tuple[str, ...]


def fix(path: str | PathLike[str], audio: bool = True) -> Repaired:
    """Repair the data directory `path` in one exchange; the old state of changed files is kept in ``.backup/``.

    With `audio`, utterances without readable audio are dropped and utt2dur is corrected. Where no utterance (or
    none of the enrolments or trials) would remain, an InputError leaves everything as it was.
    """
    notes: list[str] = []
    data = _repair(Path(path), audio, notes)
    return Repaired(data, tuple(notes), _exchange(data))


def _repair(path: Path, audio: bool, notes: list[str]) -> DataDir:
    """What the directory should be; `notes` collects what is lost or corrected on the way."""
    refuse_unreadable(path)
    names = layout.present(path)
    if "utt2spk" not in names:
        raise InputError("no such file; write one line '<utterance> <speaker>' per utterance", path / "utt2spk")
    data = DataDir(
        path,
        _read_table(path / "utt2spk", notes),
        {name: _read_table(path / name, notes) for name in names if layout.is_utt_table(name)},
        {name: _read_table(path / name, notes) for name in names if layout.is_spk_table(name)},
        _read_enrolls(path / "enrolls", notes) if "enrolls" in names else None,
        _read_trials(path / "trials", notes) if "trials" in names else None,
    )
    fixed = data.subset(_complete_utts(data, audio, notes))
    if audio and "wav.scp" in fixed.utt_tables:
        fixed = _check_sound(fixed, notes)
    _note_losses(data, fixed, notes)
    _refuse_nothing(fixed, notes)
    return fixed


def _read_lines(path: Path, notes: list[str]) -> list[RawLine]:
    file = read_raw(path)
    lines = file.well_formed
    if path.name == "trials":
        lines = [line for line in lines if line.fields[2] in layout.LABELS]
    if path.name == "utt2dur":
        lines = [line for line in lines if layout.is_duration(line.value)]
    bad = len(file.lines) - len(lines) + len(file.garbled)
    if bad:
        notes.append(f"{path}: dropped {bad} malformed lines")
    if file.blank:
        notes.append(f"{path}: dropped {len(file.blank)} blank lines")
    return lines


def _first_of_each(path: Path, rows: Iterable[tuple[int, Key, str]], notes: list[str]) -> dict[Key, str]:
    """Key → value of (line, key, value) rows; of rows with one key the first counts."""
    table: dict[Key, str] = {}
    conflicts = []
    for number, key, value in rows:
        if table.setdefault(key, value) != value:
            conflicts.append(f"line {number}, '{key if isinstance(key, str) else ' '.join(key)}'")
    if conflicts:
        notes.append(f"{path}: dropped {len(conflicts)} lines that contradict an earlier one ({first_few(conflicts)})")
    return table


def _read_table(path: Path, notes: list[str]) -> dict[str, str]:
    rows = ((line.number, line.key, line.value) for line in _read_lines(path, notes))
    return dict(sorted(_first_of_each(path, rows, notes).items()))


def _read_enrolls(path: Path, notes: list[str]) -> tuple[str, ...]:
    return tuple(sorted({line.key for line in _read_lines(path, notes)}))


def _read_trials(path: Path, notes: list[str]) -> tuple[tuple[str, str, str], ...]:
    rows = ((line.number, (line.fields[0], line.fields[1]), line.fields[2]) for line in _read_lines(path, notes))
    return tuple(sorted((spk, utt, label) for (spk, utt), label in _first_of_each(path, rows, notes).items()))


def _complete_utts(data: DataDir, audio: bool, notes: list[str]) -> set[str]:
    """The utterances that every file knows."""
    utts = data.utt2spk.keys()
    kept = set(utts)
    for name, table in data.utt_tables.items():
        path = data.path / name
        if unknown := sorted(table.keys() - utts):
            notes.append(f"{path}: dropped {len(unknown)} utterances that utt2spk does not have ({first_few(unknown)})")
        if name == "utt2dur" and audio and "wav.scp" in data.utt_tables:
            continue  # its audio is checked later
        if missing := sorted(utts - table.keys()):
            notes.append(f"{path}: dropped {len(missing)} utterances that it does not have ({first_few(missing)})")
            kept.difference_update(missing)
    return kept


def _check_sound(data: DataDir, notes: list[str]) -> DataDir:
    sound = inspect_audio(data.wav)
    broken = {utt: info for utt, info in sound.items() if isinstance(info, InputError)}
    if broken:
        reasons = first_few((f"{utt}: {error}" for utt, error in broken.items()), 2)
        notes.append(f"{data.path / 'wav.scp'}: dropped {len(broken)} utterances without readable audio ({reasons})")
    data = data.subset(utt for utt in data.utt2spk if utt not in broken)
    if "utt2dur" not in data.utt_tables:
        return data
    infos = {utt: info for utt, info in sound.items() if isinstance(info, AudioInfo)}
    return replace(data, utt_tables={**data.utt_tables, "utt2dur": _durations(data, infos, notes)})


def _durations(data: DataDir, infos: Mapping[str, AudioInfo], notes: list[str]) -> dict[str, str]:
    given = data.utt_tables["utt2dur"]
    durations = {}
    corrected = []
    for utt, info in infos.items():
        durations[utt] = given.get(utt, "nan")
        if not abs(float(durations[utt]) - info.duration) <= DURATION_TOLERANCE:
            durations[utt] = f"{info.duration:.6g}"
            corrected.append(utt)
    if corrected:
        path = data.path / "utt2dur"
        notes.append(f"{path}: corrected {len(corrected)} durations from the audio ({first_few(corrected)})")
    return durations


def _note_losses(before: DataDir, after: DataDir, notes: list[str]) -> None:
    """Note the lines that were dropped with utterances and speakers."""
    for name, table in before.spk_tables.items():
        if gone := sorted(table.keys() - after.spk_tables[name].keys()):
            notes.append(f"{before.path / name}: dropped {len(gone)} speakers without utterances ({first_few(gone)})")
    for name in ("enrolls", "trials"):
        if lost := len(getattr(before, name) or ()) - len(getattr(after, name) or ()):
            notes.append(f"{before.path / name}: dropped {lost} lines whose utterance is gone")


def _refuse_nothing(data: DataDir, notes: Iterable[str]) -> None:
    left = {"utterances": data.utt2spk, "enrolls": data.enrolls, "trials": data.trials}
    for what, content in left.items():
        if content is not None and not content:
            raise InputError(
                f"no {what} remained, so nothing was changed: {'; '.join(notes) or 'they are empty'}", data.path
            )


def _exchange(data: DataDir) -> tuple[str, ...]:
    """Put the files of `data` into its directory if any differs; return the names of those that did."""
    with tempfile.TemporaryDirectory() as work_dir:
        fresh = Path(work_dir)
        write_files(data, fresh)
        names = sorted(file.name for file in fresh.iterdir())
        changed = [name for name in names if not _same(fresh / name, data.path / name)]
        if changed:
            with replaced_directory(data.path) as new:
                _link_tree(data.path, new)
                (new / ".backup").mkdir(exist_ok=True)
                for name in changed:
                    if (new / name).exists():
                        (new / name).replace(new / ".backup" / name)
                    shutil.copyfile(fresh / name, new / name)
    return tuple(changed)


def _same(a: Path, b: Path) -> bool:
    return b.exists() and filecmp.cmp(a, b, shallow=False)


def _link_tree(source: Path, target: Path) -> None:
    """Hard links of all files, so that audio in the directory is neither lost nor copied; outdated splits stay out."""

    def splits(directory: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(directory) == source and layout.is_split(name)]

    shutil.copytree(source, target, symlinks=True, ignore=splits, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)
