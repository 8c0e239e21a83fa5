"""Official lists of enrolments and trials, in every shape in which they are handed on.

- as the challenges hand them out: ``libri_dev/{enrolls,trials_f,trials_m}``,
  ``vctk_dev/{enrolls_mic2,trials_f_mic2,trials_f_common_mic2,…}``
- as data directories: ``libri_dev_enrolls/enrolls``, ``libri_dev_trials_f/trials``
- as plain files: ``vctk_dev_enrolls.lst``, ``vctk_dev_trials_f_all.lst`` with an utterance or a file name a line, or
  trials

They may be in the directory itself or deeper. A file of trials has ``<speaker> <utterance> target|nontarget`` lines;
one of utterances names the trial utterances, but not the speakers they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines
from vpeval.data.directory import Trial
from vpeval.data.layout import LABELS

_SUFFIXES = ("", ".lst", ".txt", ".list", ".scp")


@dataclass(frozen=True)
class Listed:
    """What a list says about a set: its utterances and, if it says so, its trials."""

    path: Path
    utts: tuple[str, ...]
    trials: tuple[Trial, ...] | None = None


class Lists:
    """A directory of official lists."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError("no such directory of official lists; check --lists", root)
        self.root = root
        self._places: dict[str, list[Path]] = {}
        for path in sorted(root.rglob("*")):
            self._places.setdefault(path.name, []).append(path)

    def enrolls(self, base: str) -> Listed | None:
        """The enrolment utterances of ``libri_dev``, ``vctk_test`` …; None where there is no list."""
        return self._find(self._candidates(base, "enrolls"))

    def trials(self, base: str, part: str) -> Listed | None:
        """The trials of a part such as ``f`` or ``m_common``; None where there is no list."""
        return self._find(self._candidates(base, f"trials_{part}"))

    def directory(self, name: str) -> Listed | None:
        """The utterances of a whole set, such as ``IEMOCAP_dev``."""
        return self._find([*(place / "utt2spk" for place in self._folders(name)), *self._files(name)])

    def _candidates(self, base: str, what: str) -> Iterator[Path]:
        file = what.partition("_")[0]
        for place in self._folders(f"{base}_{what}"):
            yield place / file
            if file == "enrolls":
                yield place / "utt2spk"
        for place in self._folders(base):
            yield from (place / f"{what}{suffix}" for suffix in ("", "_mic2"))
        yield from self._files(f"{base}_{what}")

    def _folders(self, name: str) -> list[Path]:
        own = [self.root] if self.root.name == name else []
        return own + [path for path in self._places.get(name, []) if path.is_dir()]

    def _files(self, name: str) -> list[Path]:
        return [path for suffix in _SUFFIXES for path in self._places.get(name + suffix, []) if path.is_file()]

    def _find(self, candidates: Iterable[Path]) -> Listed | None:
        found = [read_list(path) for path in dict.fromkeys(candidates) if path.is_file()]
        for other in found[1:]:
            if (other.utts, other.trials) != (found[0].utts, found[0].trials) and other.path.name != "utt2spk":
                raise InputError(f"does not say the same as {found[0].path}; keep one of them", other.path)
        return found[0] if found else None


def read_list(path: Path) -> Listed:
    """A list of trials, of utterances, or of file names."""
    rows = [(line, text.split()) for line, text in read_lines(path, blanks=True)]
    if not rows:
        raise InputError("is empty; is this the right list?", path)
    if len(rows[0][1]) == 3 and rows[0][1][2] in LABELS:
        return _read_trials(path, rows)
    utts: dict[str, int] = {}
    for line, fields in rows:
        if len(fields) > 2:
            raise InputError("expected an utterance, or <speaker> <utterance> target|nontarget", path, line)
        utt = Path(fields[0]).stem if "/" in fields[0] else fields[0].removesuffix(".wav").removesuffix(".flac")
        if utt in utts:
            raise InputError(f"utterance '{utt}' is on line {utts[utt]} already", path, line)
        utts[utt] = line
    return Listed(path, tuple(sorted(utts)))


def _read_trials(path: Path, rows: Sequence[tuple[int, list[str]]]) -> Listed:
    trials: dict[tuple[str, str], str] = {}
    for line, fields in rows:
        if len(fields) != 3 or fields[2] not in LABELS:
            raise InputError("expected <speaker> <utterance> target|nontarget", path, line)
        if (fields[0], fields[1]) in trials:
            raise InputError(f"trial '{fields[0]} {fields[1]}' appears twice", path, line)
        trials[fields[0], fields[1]] = fields[2]
    utts = sorted({utt for _, utt in trials})
    return Listed(path, tuple(utts), tuple(sorted((spk, utt, label) for (spk, utt), label in trials.items())))
