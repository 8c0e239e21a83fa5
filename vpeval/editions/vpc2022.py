"""The result files of the VoicePrivacy 2022 challenge: readers and writers.

``results.anon_<system>`` and ``results.orig_<system>`` are files of 2020 with the pitch correlations as further lines,
before the voice similarity section::

    libri_dev_trials_f  Pitch_correlation: mean=0.8244 std=0.0817

The first holds the numbers of ASV_eval^anon, the second those of ASV_eval; neither names its attacker. (The recognition
lines are those of ASR_eval^anon in both, as their paths show.) ``results_summary.txt`` has one fact a line and ends
with the averages, which are weighted means of the printed numbers::

    ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon  EER: 16.62%
    Weighted average EER dev anon: 9.145
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.editions import vpc2020
from vpeval.editions.base import Edition, ResultFile, Rules
from vpeval.records.averages import average
from vpeval.records.names import (
    ASR_EVAL,
    ASR_EVAL_ANON,
    ASV_EVAL,
    ASV_EVAL_ANON,
    CONDITIONS,
    SetName,
    partition_of,
    result_lines,
)
from vpeval.records.record import Record

_PITCH = re.compile(r"(?P<set>\S+_trials\S*)  Pitch_correlation: mean=(?P<mean>-?\d\.\d{4}) std=(?P<std>\d\.\d{4})")
_FACT = re.compile(r"(?P<name>\S+)(?P<value>  \S.*)")
_AVERAGE = re.compile(r"(?P<label>(?:Weighted average|Average) [a-zA-Z ]+): (?P<value>-?\d+\.\d{3})")
_EER, _GAIN = vpc2020.ASV[:1], vpc2020.SIMILARITY[1:]


@dataclass(frozen=True)
class _Average:
    """A line of averages: its label, the records it is taken over, and their numbers as printed in the file."""

    label: str
    metric: str
    condition: str
    printed: Callable[[float], str]


_AVERAGES = (
    _Average("Weighted average EER # orig", "eer_kaldi", "oo", lambda value: f"{100 * value:.4g}"),
    _Average("Weighted average EER # anon", "eer_kaldi", "aa", lambda value: f"{100 * value:.4g}"),
    _Average("Average WER # orig", "wer", "o", "{:.2f}".format),
    _Average("Average WER # anon", "wer", "a", "{:.2f}".format),
    _Average("Weighted average pitch correlation #", "pitch_correlation", "", "{:.4f}".format),
    _Average("Weighted average gain of voice distinctiveness #", "g_vd", "", repr),
)


def read(path: str | PathLike[str], system: str = "", attacker: str = "") -> list[Record]:
    """The records of a results file; its verification numbers are those of `attacker`."""
    lines = list(result_lines(path))
    pitch = _pitch(lines, path)
    rest = [(number, text) for number, text in lines if number not in pitch]
    records = vpc2020.read_blocks(rest, path, system) if rest or not pitch else []
    records = [_with_model(record, attacker) for record in records]
    name = system or vpc2020.anonymised_system(records)
    return records + [record.tagged({"system": name}) for record in pitch.values()]


def render(records: Iterable[Record]) -> str:
    """The text of a results file: original data and one system."""
    records = vpc2020.of_one_system(records)
    scores = vpc2020.render_scores(records)
    if not scores:
        raise InputError("no verification or recognition records to write; run the scoring stages first")
    return scores + _render_pitch(records) + vpc2020.render_similarity(records)


def read_summary(path: str | PathLike[str], system: str = "") -> list[Record]:
    """The records of a results_summary.txt; the averages must follow from them."""
    lines = list(result_lines(path))
    pitch = _pitch(lines, path)
    blocks: list[tuple[int, str]] = []
    given_averages: dict[str, tuple[int, str]] = {}
    for number, text in lines:
        if number in pitch:
            continue
        if mean := _AVERAGE.fullmatch(text):
            given_averages[mean["label"]] = number, mean["value"]
        elif fact := _FACT.fullmatch(text):
            blocks += [(number, fact["name"]), (number, fact["value"])]
        else:
            raise InputError("is no line of a VPC 2022 results summary; is the file cut short?", path, number)
    records = vpc2020.read_blocks(blocks, path, system, whole=False)
    name = system or vpc2020.anonymised_system(records)
    records += [record.tagged({"system": name}) for record in pitch.values()]
    _check_averages(records, given_averages, path, len(lines))
    return [_with_model(r, ASV_EVAL_ANON if r.condition == "aa" else ASV_EVAL) for r in records]


def render_summary(records: Iterable[Record]) -> str:
    """The text of results_summary.txt.

    Where there is a choice, original data are those of ASV_eval and ASR_eval, anonymised data those of ASV_eval^anon,
    ASR_eval^anon and the large language model.
    """
    records = vpc2020.of_one_system(records)
    facts = []
    for condition, order in (("oo", vpc2020.challenge_order), ("aa", _by_name)):
        eers = (r for r in records if r.metric == "eer_kaldi" and r.condition == condition)
        chosen = {r.set: r for r in _unique(_preferred(eers, ASV_EVAL if condition == "oo" else ASV_EVAL_ANON))}
        facts += [
            vpc2020.render_block(vpc2020.asv_name(chosen[s]), {"eer_kaldi": chosen[s]}, _EER)
            for s in sorted(chosen, key=order)
        ]
    for condition in ("o", "a"):
        for record in sorted(_error_rates(records, condition), key=lambda r: r.set):
            name = vpc2020.asr_name(record)
            facts.append(f"{name}\n{vpc2020.render_wer(name, record)}")
    if not facts:
        raise InputError("no verification or recognition records to write; run the scoring stages first")
    text = "".join(fact.replace("\n  ", "  ") for fact in facts) + _render_pitch(records)
    gains = vpc2020.render_similarity(records, _GAIN).replace("\n  ", "  ")
    means = "".join(f"{label}: {_rounded(mean)}\n" for label, mean in _averages(records).items())
    return text + gains + means


def _pitch(lines: Iterable[tuple[int, str]], path: str | PathLike[str]) -> dict[int, Record]:
    """The pitch correlations by line number."""
    found: dict[int, Record] = {}
    seen: set[str] = set()
    for number, text in lines:
        if not (match := _PITCH.fullmatch(text)):
            continue
        name = SetName.parse(match["set"])
        if not name:
            raise InputError(f"'{match['set']}' is no trial set", path, number)
        if name.base in seen:
            raise InputError(f"a second pitch correlation of '{name.base}'; keep one", path, number)
        if abs(float(match["mean"])) > 1:
            raise InputError(f"a correlation of {match['mean']} is not from -1 to 1", path, number)
        seen.add(name.base)
        notes = {"std": float(match["std"])}
        found[number] = Record(
            "pitch_correlation", float(match["mean"]), notes=notes, set=name.base, gender=name.gender
        )
    return found


def _render_pitch(records: Iterable[Record]) -> str:
    """The lines of pitch correlations; a record without a standard deviation has no place here."""
    found = {r.set: r for r in _unique(_pitch_records(records))}
    return "".join(
        f"{name}  Pitch_correlation: mean={found[name].value:.4f} std={found[name].notes['std']:.4f}\n"
        for name in sorted(found, key=vpc2020.challenge_order)
    )


def _pitch_records(records: Iterable[Record]) -> list[Record]:
    return vpc2020.challenge_mode(r for r in records if r.metric == "pitch_correlation" and "std" in r.notes)


def _with_model(record: Record, attacker: str) -> Record:
    """The record with the attacker, or with the recogniser that the path of its %WER line names."""
    if record.condition in CONDITIONS:
        return record.tagged({"attacker": attacker})
    if record.metric == "wer" and "asr_eval" in record.notes.get("source", ""):
        retrained = "asr_eval_anon" in record.notes["source"]
        return record.tagged({"recogniser": ASR_EVAL_ANON if retrained else ASR_EVAL})
    return record


def _preferred(records: Iterable[Record], model: str) -> list[Record]:
    """Those of the attacker or recogniser `model` if there are any, else all.

    The numbers of a model that was trained on anonymised speech are never those of the original data, and those of
    ASV_eval never those of ASV_eval^anon.
    """
    records = list(records)
    chosen = [record for record in records if record.model == model]
    if not chosen and model in (ASV_EVAL, ASR_EVAL):
        return [record for record in records if record.model not in (ASV_EVAL_ANON, ASR_EVAL_ANON)]
    if not chosen and model == ASV_EVAL_ANON:
        return [record for record in records if record.model != ASV_EVAL]
    return chosen or records


def _unique(records: Iterable[Record]) -> Iterator[Record]:
    seen: dict[str, Record] = {}
    for record in records:
        other = seen.setdefault(record.set, record)
        if other is not record:
            models = ", ".join(sorted({record.model, other.model}))
            raise InputError(
                f"two values of {record.metric} for {record.set} {record.condition} ({models}); choose an --attacker"
            )
        yield record


def _error_rates(records: Iterable[Record], condition: str) -> list[Record]:
    rates = [r for r in records if r.metric == "wer" and r.condition == condition and not r.gender]
    rates = _preferred(rates, ASR_EVAL if condition == "o" else ASR_EVAL_ANON)
    large = [record for record in rates if record.params.get("lm") == "large"]
    return list(_unique(large or rates))


def _by_name(name: str) -> tuple[str, str]:
    return partition_of(name), name


def _averages(records: Iterable[Record]) -> dict[str, Fraction]:
    """The averages of the printed numbers by their labels, in the order of the file."""
    records = list(records)
    found: dict[str, Fraction] = {}
    for line in _AVERAGES:
        if line.metric == "wer":
            chosen = _error_rates(records, line.condition)
        elif line.metric == "eer_kaldi":
            model = ASV_EVAL if line.condition == "oo" else ASV_EVAL_ANON
            eers = (r for r in records if r.metric == line.metric and r.condition == line.condition)
            chosen = list(_unique(_preferred(eers, model)))
        elif line.metric == "pitch_correlation":
            chosen = _pitch_records(records)
        else:
            chosen = vpc2020.challenge_mode(record for record in records if record.metric == line.metric)
        values: dict[str, dict[str, str]] = {}
        for record in filter(lambda record: isfinite(record.value), chosen):
            values.setdefault(partition_of(record.set), {})[record.set] = line.printed(record.value)
        for partition in sorted(filter(None, values)):
            found[line.label.replace("#", partition)] = average(values[partition])
    return found


def _rounded(mean: Fraction) -> str:
    return f"{float(round(mean, 3)):.3f}"


def _check_averages(
    records: Iterable[Record], given_averages: Mapping[str, tuple[int, str]], path: str | PathLike[str], end: int
) -> None:
    expected = _averages(records)
    for label, mean in expected.items():
        if label not in given_averages:
            raise InputError(f"ends without '{label}'; is the file cut short?", path, end)
        number, text = given_averages[label]
        if abs(Fraction(text) - mean) > Fraction(1, 2000):
            message = f"the average does not follow from the numbers above, which give {_rounded(mean)}"
            raise InputError(f"{message}; was a line edited or lost?", path, number)
    for label, (number, _) in given_averages.items():
        if label not in expected:
            raise InputError(f"'{label}' is an average of nothing; is the file cut short?", path, number)


def _is_summary(line: str) -> bool:
    return line.startswith("Weighted average") or ("  " in line.strip() and "Pitch_correlation" not in line)


def _is_results(line: str) -> bool:
    """Files of 2020 are such files without pitch correlations."""
    return bool(re.match("AS[VR]-|.+_trials", line)) and not _is_summary(line)


def _read_named(path: Path, system: str) -> list[Record]:
    """The attacker is known by the name that the challenge gives the file; no other file names it."""
    return read(path, system, {"results.anon_": ASV_EVAL_ANON, "results.orig_": ASV_EVAL}.get(path.name[:13], ""))


EDITION = Edition(
    name="2022",
    eer="eer_kaldi",
    text_rules="vpc2020",
    files=(
        ResultFile("results.txt", _is_results, _read_named, render, r"results\.anon|results\.orig"),
        ResultFile(
            "results_summary.txt",
            _is_summary,
            read_summary,
            render_summary,
            "RESULTS_summary",
            attacks=((ASV_EVAL, "oo"), (ASV_EVAL_ANON, "aa")),
        ),
    ),
    # As they are known; the organisers' documents that we have do not confirm them.
    rules=Rules("2022", classes=(0.15, 0.20, 0.25, 0.30), utility=("wer",), pitch=0.3),
    latex_style="vpc2020",
)
