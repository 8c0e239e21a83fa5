"""Every fault of a data directory at once, by Kaldi's rules and those of the toolkit.

The rules: each file is UTF-8 text that ends with a newline, is sorted by its first field in the C locale and names
no key twice; utt2spk sorted by utterance is sorted by speaker too; spk2utt is the inverse of utt2spk; every other
table has exactly the utterances (or speakers) of utt2spk; every entry of wav.scp is 16 kHz mono audio.

Most directories are correct. The rules are first checked on the whole columns of a large directory (`is_clean`); where
the answer is not plainly yes, the files are read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from mmap import ACCESS_READ, mmap
from os import PathLike
from pathlib import Path

import numpy as np

from vpeval.audio.io import RATE, Inspected, inspect_audio
from vpeval.core.arrays import Bytes, Texts
from vpeval.core.errors import InputError
from vpeval.core.files import read_columns
from vpeval.data import layout, table_files
from vpeval.data.directory import are_safe, invert, read_utt2spk
from vpeval.data.layout import first_few
from vpeval.data.table_files import Column, RawFile, RawLine, read_column, read_raw
from vpeval.data.trials import read_trials, trial_speakers

# Seconds by which utt2dur may differ from the audio.
DURATION_TOLERANCE = 0.1

_ID = re.compile(r"[!-.0-~]+")  # printable ASCII without the slash, as ids become file names
_CONTENTS = {"utt2spk": "speaker", "text": "words", "wav.scp": "audio file"}
_NO_WORDS = (b"<s>", b"</s>", b"#0")
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
    inspected: MutableMapping[str, Inspected] | None = None,
) -> list[Problem]:
    """All problems of the data directory `path`; a warning has severity "warning".

    `text` and `wav`: whether these files must be there (where they are, they are checked anyway); `audio`: whether
    to open the audio that wav.scp names; `spk_sort`: whether utt2spk must be in the order of speakers too; `inspected`:
    audio files of other directories, which are not opened again; those of this one are added.
    """
    path = Path(path)
    if not path.is_dir():
        return [Problem(path, None, "no such data directory", "check the path", "missing file")]
    problems: list[Problem] = []
    required = {"utt2spk", "spk2utt"} | ({"text"} if text else set()) | ({"wav.scp"} if wav else set())
    names = set(layout.present(path))
    problems += [_missing(path / name) for name in sorted(required - names)]
    problems += _check_files(path)
    if (path / "segments").exists():
        remedy = "cut the audio into one file per utterance and remove segments"
        problems.append(Problem(path / "segments", None, "segments are not supported", remedy, "segments"))

    if {"enrolls", "trials"} <= names:
        problems += _check_both_lists(path)
    names -= good_lists(path, names)
    if not problems and is_clean(path, names, spk_sort):
        if wav and audio:
            durations = read_raw(path / "utt2dur") if "utt2dur" in names else None
            problems += _check_audio(read_raw(path / "wav.scp"), durations, inspected)
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
            problems += _check_audio(files["wav.scp"], files.get("utt2dur"), inspected)
    return problems


def check_disjoint(enrolls: Iterable[Path], trials: Iterable[Path]) -> list[Problem]:
    """Utterances that an enrolment set shares with a trial set, or two trial sets with each other."""
    enrolls, trials = list(enrolls), list(trials)
    utts = {path: frozenset(read_utt2spk(path / "utt2spk")) for path in dict.fromkeys((*enrolls, *trials))}
    problems = []
    for one, other in (*product(enrolls, trials), *combinations(trials, 2)):
        if one != other and not utts[one].isdisjoint(utts[other]):
            shared = sorted(utts[one] & utts[other])
            kind, effect = (
                ("enrolment", "an attacker would compare it with itself")
                if one in enrolls
                else ("other trial", "averages would count it twice")
            )
            message = f"shares {len(shared)} utterances with the {kind} set {one} ({first_few(shared)}): {effect}"
            remedy = "put every utterance into one of them"
            problems.append(Problem(other / "utt2spk", None, message, remedy, "shared utterances"))
    return problems


def _check_files(path: Path) -> Iterator[Problem]:
    """A broken link, or a directory, would pass for a file that is not there."""
    for odd, kind in layout.irregular(path).items():
        yield Problem(odd, None, f"is {kind}", "put a file there, or remove it", "missing file")


def _fix_command(path: Path) -> str:
    return f"run utils/fix_data_dir.py {path.parent}"


def _check_both_lists(path: Path) -> Iterator[Problem]:
    """In a directory with both lists, no utterance is in both; lists that cannot be read have other problems."""
    try:
        (enrolled,) = read_columns(path / "enrolls", "utterance")
        _, tried, _ = read_columns(path / "trials", *layout.FIELDS["trials"])
    except InputError:
        return
    if shared := sorted(set(enrolled).intersection(tried)):
        message = f"{len(shared)} enrolment utterances are in trials as well ({first_few(shared)})"
        yield Problem(path / "trials", None, message, "use other utterances for one of them", "shared utterances")


def _missing(path: Path) -> Problem:
    held = _CONTENTS.get(path.name)
    remedy = f"write one line '<utterance> <{held}>' per utterance" if held else _fix_command(path)
    return Problem(path, None, "no such file", remedy, "missing file")


def _check_lines(file: RawFile) -> Iterator[Problem]:
    """What holds for any text file."""
    if not (file.lines or file.blank or file.garbled):
        yield Problem(file.path, None, "is empty", "make it again or remove it", "empty file")
        return
    for number in file.blank:
        yield Problem(file.path, number, "blank line", _fix_command(file.path), "blank line")
    for number in file.garbled:
        yield Problem(file.path, number, "is not UTF-8 text", "is this the right file? Save it as UTF-8", "encoding")
    if file.windows:
        message = f"{len(file.windows)} lines end in Windows style (CR LF)"
        yield Problem(file.path, file.windows[0], message, _fix_command(file.path), "line ends")
    if file.marked:
        yield Problem(file.path, 1, "begins with a byte-order mark", _fix_command(file.path), "encoding")
    if not file.ends_with_newline:
        message = "the last line has no newline; is the file cut off?"
        yield Problem(file.path, None, message, _fix_command(file.path), "line ends")


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
            yield Problem(file.path, line.number, message, _fix_command(file.path), "duplicate")
        else:
            first[line.key] = line.number
    swapped = [(a, b) for a, b in pairwise(file.lines) if a.key > b.key]
    if swapped:
        yield _disorder(file.path, "not sorted in the C locale", swapped, _fix_command(file.path))


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
                f"id {word[:60]!r} holds a slash, '..' or characters that are not printable ASCII, begins with - or ., "
                f"or has more than {layout.LONGEST_ID} characters"
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
            f"the speaker does not begin the id of {len(bare)} utterances ({first_few(line.key for line in bare)})"
        )
        yield Problem(path, bare[0].number, message, remedy, "prefix", "warning")


def _check_coverage(file: RawFile, keys: set[str], kind: str) -> Iterator[Problem]:
    lines = {line.key: line.number for line in reversed(file.lines)}
    if missing := sorted(keys - lines.keys()):
        message = f"lacks {len(missing)} of the {len(keys)} {kind}s of utt2spk ({first_few(missing)})"
        remedy = f"add them, or {_fix_command(file.path)}" if kind == "utterance" else "add them"
        yield Problem(file.path, None, message, remedy, "missing entries")
    if unknown := sorted(lines.keys() - keys):
        message = f"names {len(unknown)} {kind}s that are not in utt2spk ({first_few(unknown)})"
        yield Problem(file.path, lines[unknown[0]], message, _fix_command(file.path), "unknown entries")


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
        message = f"is not the inverse of utt2spk for {len(wrong)} speakers ({first_few(wrong)})"
        yield Problem(file.path, number, message, _fix_command(file.path), "spk2utt")


def _check_unknown(file: RawFile, lines: Sequence[RawLine], column: int, utts: set[str]) -> Iterator[Problem]:
    unknown = {line.fields[column]: line.number for line in reversed(lines) if line.fields[column] not in utts}
    if unknown:
        message = f"names {len(unknown)} utterances that are not in utt2spk ({first_few(sorted(unknown))})"
        yield Problem(file.path, min(unknown.values()), message, _fix_command(file.path), "unknown entries")


def _check_enrolls(file: RawFile, utts: set[str]) -> Iterator[Problem]:
    yield from _check_unknown(file, file.well_formed, 0, utts)
    yield from _check_repeats(file, {})


def _check_repeats(file: RawFile, first: dict[tuple[str, ...], RawLine]) -> Iterator[Problem]:
    """Lines of enrolls or trials that say the same as an earlier one; `first` collects the others."""
    for line in file.well_formed:
        key = tuple(line.fields[:2])
        if key in first:
            message = f"'{' '.join(key)}' appears twice, here and in line {first[key].number}"
            yield Problem(file.path, line.number, message, _fix_command(file.path), "duplicate")
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
    if stray := layout.unexpected_words({line.key: line.value for line in file.well_formed}):
        message = f"{len(stray)} of {len(file.well_formed)} values are no numbers ({first_few(stray)})"
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
    file: RawFile, utt2dur_file: RawFile | None, inspected: MutableMapping[str, Inspected] | None
) -> Iterator[Problem]:
    lines = {line.key: line for line in reversed(file.well_formed) if not line.value.startswith("~")}
    utt2dur = {} if utt2dur_file is None else {line.key: line for line in reversed(utt2dur_file.well_formed)}
    results = inspect_audio({utt: lines[utt].value for utt in sorted(lines)}, inspected)
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
            message = f"'{utt}' lasts {utt2dur[utt].value} s by utt2dur, but its audio lasts {info.duration:.3f} s"
            yield Problem(utt2dur_file.path, utt2dur[utt].number, message, _fix_command(file.path), "duration")


def good_lists(path: Path, names: Collection[str]) -> set[str]:
    """Those of the large lists of enrolments and trials that keep all rules; small and irregular ones are left out."""
    large = {name for name in {"enrolls", "trials"} & set(names) if (path / name).stat().st_size >= table_files.LARGE}
    if not large or not (path / "utt2spk").is_file():
        return set()
    try:
        utt2spk = read_utt2spk(path / "utt2spk")
        rules = {"enrolls": _refuse_enrolls, "trials": _refuse_trials}
        for name in large:
            rules[name](path / name, utt2spk)
    except InputError:
        return set()
    return {name for name in large if _has_plain_ends(path / name)}


def is_clean(path: Path, names: Collection[str], spk_sort: bool) -> bool:
    """Whether the tables `names` of a large directory keep all rules; False if it is small or irregular."""
    lists = {"enrolls", "trials"}
    if lists & set(names) or not {"utt2spk", "spk2utt"} <= set(names):
        return False
    if (path / "utt2spk").stat().st_size < table_files.LARGE:
        return False
    utt2spk = read_column(path / "utt2spk")
    if utt2spk is None or b" " in utt2spk.content:
        return False
    owners = utt2spk.value_index()
    speakers = np.unique(owners)
    return (
        len(speakers) > 1
        and are_safe(utt2spk.index)
        and are_safe(owners)
        and _are_ids(np.frombuffer(utt2spk.index.tobytes(), np.uint8))
        and _are_ids(np.frombuffer(bytes(utt2spk.content), np.uint8))
        and _begin_with(utt2spk.index, owners)
        and (not spk_sort or bool((owners[:-1] <= owners[1:]).all()))
        and _is_inverse(read_raw(path / "spk2utt"), utt2spk, owners)
        and all(_is_good_table(path / name, utt2spk) for name in names if layout.is_utt_table(name))
        and all(_is_good_list(path / name, speakers.tolist()) for name in names if layout.is_spk_table(name))
    )


def _refuse_enrolls(path: Path, utt2spk: Mapping[str, str]) -> None:
    (utts,) = read_columns(path, "utterance")
    known = set(utt2spk)
    if len(set(utts)) < len(utts) or not known.issuperset(utts):
        raise InputError("names an utterance twice, or one that is not in utt2spk", path)


def _refuse_trials(path: Path, utt2spk: Mapping[str, str]) -> None:
    trial_speakers(read_trials(path), utt2spk)


def _has_plain_ends(path: Path) -> bool:
    """Whether the lines of a file end as in Unix, the last one included."""
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        return text[-1:] == b"\n" and text.find(b"\r") < 0


def _are_ids(text: Bytes) -> bool:
    """Whether ids are printable ASCII without slashes; a fixed width is filled with zeros."""
    return not bool((((text < 0x21) & (text > 0)) | (text > 0x7E) | (text == ord("/"))).any())


def _begin_with(utts: Texts, speakers: Texts) -> bool:
    return bool(np.char.startswith(utts, speakers).all())


def _is_inverse(spk2utt: RawFile, utt2spk: Column, owners: Texts) -> bool:
    """Whether spk2utt lists the utterances of every speaker, all in order."""
    if spk2utt.blank or spk2utt.garbled or spk2utt.windows or not spk2utt.ends_with_newline:
        return False
    order = np.argsort(owners, kind="stable")
    speakers, counts = np.unique(owners, return_counts=True)
    if [line.key.encode() for line in spk2utt.lines] != speakers.tolist():
        return False
    listed = [line.value.split() for line in spk2utt.lines]
    joined = "\n".join(utt for utts in listed for utt in utts).encode()
    return [len(utts) for utts in listed] == counts.tolist() and joined == b"\n".join(utt2spk.index[order].tolist())


def _is_good_table(path: Path, utt2spk: Column) -> bool:
    table = read_column(path, path.name == "text", utt2spk.index)
    if table is None:
        return False
    if path.name in layout.FIELDS and b" " in table.content:
        return False
    if path.name == "utt2dur":
        return table.are_positive()
    if path.name == "text":
        return not any(word in table.content for word in _NO_WORDS) and table.content.decode().isprintable()
    return path.name != "wav.scp" or not _begins(table, b"~")


def _begins(table: Column, letter: bytes) -> bool:
    return bool((np.frombuffer(table.content, np.uint8)[table.places[:-1]] == letter[0]).any())


def _is_good_list(path: Path, speakers: list[bytes]) -> bool:
    """The same of a table of speakers, which is short."""
    file = read_raw(path)
    odd = file.blank or file.garbled or file.windows or not file.ends_with_newline
    if odd or len(file.well_formed) != len(file.lines) or [line.key.encode() for line in file.lines] != speakers:
        return False
    if layout.is_attribute(path.name) and layout.unexpected_words({line.key: line.value for line in file.lines}):
        return False
    is_good, _ = layout.VALUE_RULES.get(path.name, (lambda _: True, ""))
    return all(is_good(line.value) for line in file.lines)
