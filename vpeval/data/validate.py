"""Every fault of a data directory at once, by Kaldi's rules and those of the toolkit.

The rules: each file is UTF-8 text that ends with a newline, is sorted by its first field in the C locale and names
no key twice; utt2spk sorted by utterance is sorted by speaker too; spk2utt is the inverse of utt2spk; every other
table has exactly the utterances (or speakers) of utt2spk; every entry of wav.scp is 16 kHz mono audio.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path

from vpeval.audio.io import RATE
from vpeval.core.errors import InputError
from vpeval.data import layout
from vpeval.data.clean import good_lists, is_clean
from vpeval.data.directory import invert
from vpeval.data.layout import name_some
from vpeval.data.raw import RawFile, RawLine, read_raw
from vpeval.data.sound import Inspected, inspect_audio

# Seconds by which utt2dur may differ from the audio.
DURATION_TOLERANCE = 0.1

_ID = re.compile(r"[!-.0-~]+")  # printable ASCII without the slash, as ids become file names
_CONTENTS = {"utt2spk": "speaker", "text": "words", "wav.scp": "audio file"}
_NOT_A_WORD = re.compile(r"(?<!\S)(</?s>|#0)(?!\S)")


@dataclass(frozen=True)
class Problem:
    """One fault: where, what, how to fix it; problems of one `kind` can be counted instead of listed."""

    path: Path
    line: int | None
    message: str
    remedy: str
    kind: str
    severity: str = "error"

    def __str__(self) -> str:
        return str(InputError(f"{self.message}; {self.remedy}", self.path, self.line))


def validate(
    path: str | PathLike[str],
    text: bool = True,
    wav: bool = True,
    audio: bool = True,
    spk_sort: bool = True,
    heard: MutableMapping[str, Inspected] | None = None,
) -> list[Problem]:
    """All problems of the data directory `path`; a warning has severity "warning".

    `text` and `wav`: whether these files must be there (where they are, they are checked anyway); `audio`: whether
    to open the audio that wav.scp names; `spk_sort`: whether utt2spk must be in the order of speakers too; `heard`: the
    audio of other directories, which is not opened again, and is added to.
    """
    path = Path(path)
    if not path.is_dir():
        return [Problem(path, None, "no such data directory", "check the path", "missing file")]
    problems: list[Problem] = []
    required = {"utt2spk", "spk2utt"} | ({"text"} if text else set()) | ({"wav.scp"} if wav else set())
    names = set(layout.present(path))
    problems += [_missing(path / name) for name in sorted(required - names)]
    problems += _check_links(path)
    if (path / "segments").exists():
        remedy = "cut the audio into one file per utterance and remove segments"
        problems.append(Problem(path / "segments", None, "segments are not supported", remedy, "segments"))

    names -= good_lists(path, names)
    if not problems and is_clean(path, names, spk_sort):
        if wav and audio:
            durations = read_raw(path / "utt2dur") if "utt2dur" in names else None
            problems += _check_audio(read_raw(path / "wav.scp"), durations, heard)
        return problems
    files = {name: read_raw(path / name) for name in sorted(names)}
    for name, file in files.items():
        problems += _check_lines(file)
        problems += _check_fields(file)
        if name not in ("enrolls", "trials"):
            problems += _check_keys(file)
    if "utt2spk" in files and files["utt2spk"].lines:
        problems += _check_against_utt2spk(files, spk_sort)
    for name in sorted(files.keys() & layout.VALUE_RULES.keys()):
        problems += _check_values(files[name])
    for name in filter(layout.is_attribute, files):
        problems += _check_attribute(files[name])
    if "text" in files:
        problems += _check_words(files["text"])
    if "wav.scp" in files:
        problems += _check_entries(files["wav.scp"])
        if wav and audio:
            problems += _check_audio(files["wav.scp"], files.get("utt2dur"), heard)
    return problems


def _check_links(path: Path) -> Iterator[Problem]:
    """A file of a data directory that is a link to nothing would pass for one that is not there."""
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() and layout.is_data_file(entry.name) and not entry.exists():
            remedy = "put the file there, or remove the link"
            yield Problem(entry, None, f"is a link to {entry.readlink()}, which is not there", remedy, "missing file")


def _mender(path: Path) -> str:
    return f"run utils/fix_data_dir.py {path.parent}"


def _missing(path: Path) -> Problem:
    held = _CONTENTS.get(path.name)
    remedy = f"write one line '<utterance> <{held}>' per utterance" if held else _mender(path)
    return Problem(path, None, "no such file", remedy, "missing file")


def _check_lines(file: RawFile) -> Iterator[Problem]:
    """What holds for any text file."""
    if not (file.lines or file.blank or file.garbled):
        yield Problem(file.path, None, "is empty", "make it again or remove it", "empty file")
        return
    for number in file.blank:
        yield Problem(file.path, number, "blank line", _mender(file.path), "blank line")
    for number in file.garbled:
        yield Problem(file.path, number, "is not UTF-8 text", "is this the right file? Save it as UTF-8", "encoding")
    if file.windows:
        message = f"{len(file.windows)} lines end in Windows style (CR LF)"
        yield Problem(file.path, file.windows[0], message, _mender(file.path), "line ends")
    if file.marked:
        yield Problem(file.path, 1, "begins with a byte-order mark", _mender(file.path), "encoding")
    if not file.ends_with_newline:
        message = "the last line has no newline; is the file cut off?"
        yield Problem(file.path, None, message, _mender(file.path), "line ends")


def _check_fields(file: RawFile) -> Iterator[Problem]:
    good = {line.number for line in file.well_formed}
    fields = layout.FIELDS.get(file.path.name)
    wanted = " ".join(f"<{field}>" for field in fields) if fields else "<key> <value …>"
    for line in file.lines:
        if line.number not in good:
            message = f"{len(line.fields)} fields where '{wanted}' is expected"
            remedy = "fix the line; ids must not hold blanks"
            yield Problem(file.path, line.number, message, remedy, "number of fields")


def _check_keys(file: RawFile) -> Iterator[Problem]:
    """Keys are unique and sorted."""
    first: dict[str, int] = {}
    for line in file.lines:
        if line.key in first:
            message = f"'{line.key}' appears twice, here and in line {first[line.key]}"
            yield Problem(file.path, line.number, message, _mender(file.path), "duplicate")
        else:
            first[line.key] = line.number
    swapped = [(a, b) for a, b in pairwise(file.lines) if a.key > b.key]
    if swapped:
        yield _disorder(file.path, "not sorted in the C locale", swapped, _mender(file.path))


def _disorder(path: Path, what: str, swapped: Sequence[tuple[RawLine, RawLine]], remedy: str) -> Problem:
    a, b = swapped[0]
    more = f" ({len(swapped)} such places)" if len(swapped) > 1 else ""
    message = f"{what}: line {a.number} '{a.text[:60]}' stands before line {b.number} '{b.text[:60]}'{more}"
    return Problem(path, b.number, message, remedy, "order")


def _check_against_utt2spk(files: Mapping[str, RawFile], spk_sort: bool) -> Iterator[Problem]:
    path = files["utt2spk"].path
    rows = {line.key: line for line in reversed(files["utt2spk"].well_formed)}
    utt2spk = {utt: line.fields[1] for utt, line in rows.items()}
    # A malformed line still names its utterance: one mistake, one complaint.
    utts = {line.key for line in files["utt2spk"].lines}
    speakers = set(utt2spk.values())
    yield from _check_ids(path, rows)
    yield from _check_speaker_order(path, rows, spk_sort)
    if len(speakers) == 1:
        message = f"all utterances are of one speaker, {next(iter(speakers))}"
        remedy = "is the second field the speaker, not the set?"
        yield Problem(path, None, message, remedy, "one speaker", "warning")
    for name, file in files.items():
        if layout.is_utt_table(name):
            yield from _check_coverage(file, utts, "utterance")
        elif layout.is_spk_table(name):
            yield from _check_coverage(file, speakers, "speaker")
    if "spk2utt" in files:
        yield from _check_spk2utt(files["spk2utt"], utt2spk)
    if "enrolls" in files:
        yield from _check_enrolls(files["enrolls"], utts)
    if "trials" in files:
        yield from _check_trials(files["trials"], utts, utt2spk)


def _check_ids(path: Path, rows: Mapping[str, RawLine]) -> Iterator[Problem]:
    lines: dict[str, int] = {}
    for utt in sorted(rows):
        for word in rows[utt].fields:
            lines.setdefault(word, rows[utt].number)
    for word, number in lines.items():
        if not _ID.fullmatch(word) or not layout.is_safe_id(word):
            message = (
                f"id {word!r} holds a slash, '..' or characters that are not printable ASCII, or begins with - or ."
            )
            yield Problem(path, number, message, "use ASCII letters, digits, '-', '_' and '.'", "id")


def _check_speaker_order(path: Path, rows: Mapping[str, RawLine], spk_sort: bool) -> Iterator[Problem]:
    ordered = [rows[utt] for utt in sorted(rows)]
    remedy = "make '<speaker>-' the beginning of every utterance id"
    swapped = [(a, b) for a, b in pairwise(ordered) if a.fields[1] > b.fields[1]]
    if swapped and spk_sort:
        yield _disorder(path, "sorted by utterance it is not sorted by speaker", swapped, remedy)
        return
    bare = [line for line in ordered if not line.key.startswith(line.fields[1])]
    if bare:
        message = (
            f"the speaker does not begin the id of {len(bare)} utterances ({name_some(line.key for line in bare)})"
        )
        yield Problem(path, bare[0].number, message, remedy, "prefix", "warning")


def _check_coverage(file: RawFile, keys: set[str], kind: str) -> Iterator[Problem]:
    lines = {line.key: line.number for line in reversed(file.lines)}
    if missing := sorted(keys - lines.keys()):
        message = f"lacks {len(missing)} of the {len(keys)} {kind}s of utt2spk ({name_some(missing)})"
        remedy = f"add them, or {_mender(file.path)}" if kind == "utterance" else "add them"
        yield Problem(file.path, None, message, remedy, "missing entries")
    if unknown := sorted(lines.keys() - keys):
        message = f"names {len(unknown)} {kind}s that are not in utt2spk ({name_some(unknown)})"
        yield Problem(file.path, lines[unknown[0]], message, _mender(file.path), "unknown entries")


def _check_spk2utt(file: RawFile, utt2spk: Mapping[str, str]) -> Iterator[Problem]:
    given = {line.key: line for line in reversed(file.lines)}
    derived = invert(utt2spk)
    wrong = sorted(
        spk
        for spk in given.keys() | derived.keys()
        if spk not in given or spk not in derived or given[spk].fields[1:] != derived[spk]
    )
    if wrong:
        number = next((given[spk].number for spk in wrong if spk in given), None)
        message = f"is not the inverse of utt2spk for {len(wrong)} speakers ({name_some(wrong)})"
        yield Problem(file.path, number, message, _mender(file.path), "spk2utt")


def _check_unknown(file: RawFile, lines: Sequence[RawLine], column: int, utts: set[str]) -> Iterator[Problem]:
    unknown = {line.fields[column]: line.number for line in reversed(lines) if line.fields[column] not in utts}
    if unknown:
        message = f"names {len(unknown)} utterances that are not in utt2spk ({name_some(sorted(unknown))})"
        yield Problem(file.path, min(unknown.values()), message, _mender(file.path), "unknown entries")


def _check_enrolls(file: RawFile, utts: set[str]) -> Iterator[Problem]:
    yield from _check_unknown(file, file.well_formed, 0, utts)
    yield from _check_repeats(file, {})


def _check_repeats(file: RawFile, first: dict[tuple[str, ...], RawLine]) -> Iterator[Problem]:
    """Lines of enrolls or trials that say the same as an earlier one; `first` collects the others."""
    for line in file.well_formed:
        key = tuple(line.fields[:2])
        if key in first:
            message = f"'{' '.join(key)}' appears twice, here and in line {first[key].number}"
            yield Problem(file.path, line.number, message, _mender(file.path), "duplicate")
        first.setdefault(key, line)


def _check_trials(file: RawFile, utts: set[str], utt2spk: Mapping[str, str]) -> Iterator[Problem]:
    lines = file.well_formed
    trials: dict[tuple[str, ...], RawLine] = {}
    yield from _check_unknown(file, lines, 1, utts)
    yield from _check_repeats(file, trials)
    for line in lines:
        spk, utt, label = line.fields
        if label not in layout.LABELS:
            message = f"'{label}' is not a label"
            yield Problem(file.path, line.number, message, "write target or nontarget", "label")
        elif utt in utt2spk and (utt2spk[utt] == spk) != (label == "target"):
            message = f"'{spk} {utt}' is called {label}, but utt2spk says that {utt2spk[utt]} speaks"
            yield Problem(file.path, line.number, message, "fix trials or utt2spk", "label")
    labels = {line.fields[2] for line in lines}
    for label in layout.LABELS:
        if label not in labels:
            yield Problem(file.path, None, f"holds no {label} trial", "both kinds are needed for scoring", "label")


def _check_values(file: RawFile) -> Iterator[Problem]:
    is_good, wanted = layout.VALUE_RULES[file.path.name]
    for line in file.well_formed:
        if not is_good(line.value):
            message = f"'{line.key}' has '{line.value}' where {wanted} is needed"
            yield Problem(file.path, line.number, message, "fix the line", "value")


def _check_attribute(file: RawFile) -> Iterator[Problem]:
    if stray := layout.stray_words({line.key: line.value for line in file.well_formed}):
        message = f"{len(stray)} of {len(file.well_formed)} values are no numbers ({name_some(stray)})"
        remedy = f"write numbers, or {layout.UNKNOWN}; as it is, every value counts as a category"
        yield Problem(file.path, None, message, remedy, "attribute", "warning")


def _check_words(file: RawFile) -> Iterator[Problem]:
    for line in file.lines:
        if _NOT_A_WORD.search(line.value):
            message = f"the transcript of '{line.key}' holds <s>, </s> or #0"
            yield Problem(file.path, line.number, message, "remove these symbols", "transcript")
        if not line.value.isprintable():
            odd = next((char for char in line.value if char != "\t" and not char.isprintable()), None)
            if odd is not None:
                message = f"the transcript of '{line.key}' holds the non-printable character U+{ord(odd):04X}"
                yield Problem(file.path, line.number, message, "remove it or write a plain space", "transcript")


def _check_entries(file: RawFile) -> Iterator[Problem]:
    for line in file.well_formed:
        if line.value.startswith("~"):
            message = f"'{line.key}' has a path that begins with ~, which nothing expands"
            yield Problem(file.path, line.number, message, "write the path in full", "path")


def _check_audio(
    file: RawFile, utt2dur_file: RawFile | None, heard: MutableMapping[str, Inspected] | None
) -> Iterator[Problem]:
    lines = {line.key: line for line in reversed(file.well_formed) if not line.value.startswith("~")}
    utt2dur = {} if utt2dur_file is None else {line.key: line for line in reversed(utt2dur_file.well_formed)}
    results = inspect_audio({utt: lines[utt].value for utt in sorted(lines)}, heard)
    for utt, info in results.items():
        number = lines[utt].number
        if isinstance(info, InputError):
            remedy = f"utils/fix_data_dir.py {file.path.parent} drops such utterances"
            yield Problem(file.path, number, f"'{utt}': {info}", remedy, "audio")
            continue
        if info.rate != RATE:
            message = f"the audio of '{utt}' has {info.rate} Hz"
            yield Problem(file.path, number, message, f"convert it to {RATE} Hz", "sampling rate")
        if info.channels != 1:
            message = f"the audio of '{utt}' has {info.channels} channels"
            yield Problem(file.path, number, message, "convert it to mono", "channels")
        if utt2dur_file is None or utt not in utt2dur or not layout.is_duration(utt2dur[utt].value):
            continue
        if abs(float(utt2dur[utt].value) - info.duration) > DURATION_TOLERANCE:
            message = f"'{utt}' is said to last {utt2dur[utt].value} s, its audio lasts {info.duration:.3f} s"
            yield Problem(utt2dur_file.path, utt2dur[utt].number, message, _mender(file.path), "duration")
