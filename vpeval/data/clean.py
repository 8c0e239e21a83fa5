"""A quick look at a large data directory: would the validator have anything to say about its tables?

Most directories are as they should be. The rules of `vpeval.data.validate` are checked here on whole columns, without a
thought of which line breaks which of them: wherever the answer is not plainly "none", the validator reads line by line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Bytes, Texts
from vpeval.core.columns import read_columns
from vpeval.core.errors import InputError
from vpeval.data import column, layout
from vpeval.data.column import Column, read_column
from vpeval.data.directory import are_safe, read_utt2spk
from vpeval.data.raw import RawFile, read_raw
from vpeval.data.trials import read_trials, trial_speakers

_NO_WORDS = (b"<s>", b"</s>", b"#0")


def good_lists(path: Path, names: Collection[str]) -> set[str]:
    """Those of the large lists of enrolments and trials that keep all rules; a small or an odd one is left out."""
    large = {name for name in {"enrolls", "trials"} & set(names) if (path / name).stat().st_size >= column.LARGE}
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
    """Whether the tables `names` of a large directory keep all rules; False if it is small or that is not plain."""
    lists = {"enrolls", "trials"}
    if lists & set(names) or not {"utt2spk", "spk2utt"} <= set(names):
        return False
    if (path / "utt2spk").stat().st_size < column.LARGE:
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
    if layout.is_attribute(path.name) and layout.stray_words({line.key: line.value for line in file.lines}):
        return False
    is_good, _ = layout.VALUE_RULES.get(path.name, (lambda _: True, ""))
    return all(is_good(line.value) for line in file.lines)
