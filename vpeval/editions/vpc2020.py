"""The results.txt of the VoicePrivacy 2020 challenge: reader and writer.

One block per verification condition, then one per recognition set, then optionally the voice similarity section::

    ASV-libri_dev_enrolls-libri_dev_trials_f_anon
      EER: 50.14%
      Cllr (min/act): 0.996/144.112
      ROCCH-EER: 48.584%
    ASR-libri_dev_asr
      %WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] exp/models/asr_eval/decode_libri_dev_asr_tgsmall/wer_12_0.5
    libri_dev_trials_f
      De-Identification : 0.9991788001480236
      Gain of voice distinctiveness : -5.85846561096138

`read` and `render` are inverse to each other on files in the challenge's order. Anonymised data have the suffix
``_anon`` whatever the system is called; the file's directory names the system.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from os import PathLike

from vpeval.core.errors import InputError
from vpeval.editions.base import METHOD, TEAM, TRAINING, Edition, ResultFile
from vpeval.metrics.score_metrics import zebra_tag
from vpeval.metrics.wer import ErrorCounts
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName, by_main_encoder, result_lines
from vpeval.records.record import Record

_SUFFIX = "_anon"

_HEADER = re.compile(
    r"ASV-(?P<enroll>\S+?_enrolls(?:_[^-\s]+)?)-(?P<trial>\S+_trials\S*)"
    r"|ASR-(?P<asr>\S+_asr\S*)|(?P<similarity>\S+_trials\S*)"
)
_WER = re.compile(
    r"  %WER (?P<rate>\d+\.\d\d|inf) \[ (?P<errors>\d+) / (?P<words>\d+), "
    r"(?P<ins>\d+) ins, (?P<del>\d+) del, (?P<sub>\d+) sub \](?: (?P<source>.+))?"
)
_LM = re.compile(r"_tg(small|large)\b")


@dataclass(frozen=True)
class Line:
    """A kind of line: the metrics it holds and its text, where ``#`` is a number."""

    metrics: tuple[str, ...]
    text: str
    number: Callable[[float], str]
    scale: int = 1
    required: bool = True
    least: float = -math.inf
    most: float = math.inf

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of such a line; the numbers are its groups."""
        return re.compile("  " + re.escape(self.text).replace(r"\#", r"([-+.0-9e]+|inf|-inf)").replace("TAG", "(.+)"))

    def render(self, records: Sequence[Record]) -> str:
        """The line with the numbers of the records."""
        text = self.text
        for record in records:
            text = text.replace("#", self.number(self.scale * record.value), 1)
        if "TAG" in text:
            text = text.replace("TAG", records[0].notes.get("tag") or zebra_tag(records[0].value))
        return f"  {text}\n"


def _disclosure(value: float) -> str:
    # 5e-4 itself is what a printed "5e-04" reads as; it must print so again.
    return "0" if value == 0 else f"{value:.3f}" if value > 5e-4 else f"{value:.0e}"


def _exact(value: float) -> str:
    return repr(float(value))


ASV = (
    Line(("eer_kaldi",), "EER: #%", "{:.4g}".format, scale=100, least=0, most=100),
    Line(("min_cllr", "cllr"), "Cllr (min/act): #/#", "{:.3f}".format, least=0),
    Line(("eer_rocch",), "ROCCH-EER: #%", "{:.3f}".format, scale=100, least=0, most=100),
    Line(("dsys",), "linkability: #", "{:.6f}".format, required=False, least=0, most=1),
    Line(("zebra_population",), "Population: # bit", _disclosure, required=False, least=0, most=0.722),
    Line(("zebra_individual",), "Individual: # (TAG)", _disclosure, required=False, least=0),
)
SIMILARITY = (
    Line(("deid",), "De-Identification : #", _exact, required=False, most=1),
    Line(("g_vd",), "Gain of voice distinctiveness : #", _exact, required=False),
)


@dataclass
class _Block:
    """A header and the value lines below it, with line numbers."""

    line: int
    name: str
    header: re.Match[str]
    values: list[tuple[int, str]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.line + len(self.values)


def read(path: str | PathLike[str], system: str = "") -> list[Record]:
    """The records of a results.txt; anonymised data are those of `system`, by default the suffix of their sets."""
    return read_blocks(result_lines(path), path, system)


def read_blocks(
    lines: Iterable[tuple[int, str]], path: str | PathLike[str], system: str, whole: bool = True
) -> list[Record]:
    """The records of numbered lines that were read from `path`; `whole`: a block must hold all of its values."""
    records: list[Record] = []
    seen: set[str] = set()
    for block in _blocks(lines, path):
        if block.name in seen:
            raise InputError(f"block '{block.name}' appears twice; keep one", path, block.line)
        seen.add(block.name)
        if block.header["enroll"]:
            records += _read_asv(block, path, system, whole)
        elif block.header["asr"]:
            records += _read_asr(block, path, system)
        else:
            records += _read_similarity(block, path, system or anonymised_system(records))
    if not records:
        raise InputError("is empty; was the run that wrote it completed?", path, 1)
    return records


def anonymised_system(records: Iterable[Record]) -> str:
    """The system of lines that do not name one: that of the anonymised sets before them."""
    return min({record.system for record in records} - {ORIGINAL}, default=_SUFFIX[1:])


def render(records: Iterable[Record]) -> str:
    """The text of results.txt: original data and one system. Metrics that have no place in the file are left out."""
    records = of_one_system(records)
    scores, similarity = render_scores(records), render_similarity(records)
    if not scores:
        raise InputError("no verification or recognition records to write; run the scoring stages first")
    return scores + similarity


def of_one_system(records: Iterable[Record]) -> list[Record]:
    """The records of challenge sets, if all anonymised ones are of the same system."""
    records = [record for record in records if SetName.parse(record.set)]
    systems = sorted({record.system for record in records} - {ORIGINAL})
    if len(systems) > 1:
        raise InputError(f"records of several systems ({', '.join(systems)}); choose one with --system")
    return records


def render_scores(records: Iterable[Record]) -> str:
    """The verification blocks, then the recognition blocks, each in the order of their names."""
    records = list(records)
    asv = group(asv_name, (r for r in records if r.condition in CONDITIONS and r.metric in _metrics(ASV)))
    asr: dict[str, list[Record]] = {}
    for record in records:
        if record.metric == "wer" and not record.gender:
            asr.setdefault(asr_name(record), []).append(record)
    text = [render_block(name, asv[name], ASV) for name in sorted(asv)]
    return "".join(text + [_render_asr(name, asr[name]) for name in sorted(asr)])


def render_similarity(records: Iterable[Record], lines: Sequence[Line] | None = None) -> str:
    """The voice similarity blocks; by default with all of their lines."""
    lines = SIMILARITY if lines is None else lines
    chosen = challenge_mode(record for record in records if record.metric in _metrics(lines))
    blocks = group(lambda record: record.set, chosen)
    return "".join(render_block(name, blocks[name], lines) for name in sorted(blocks, key=challenge_order))


def _metrics(lines: Sequence[Line]) -> list[str]:
    return [metric for line in lines for metric in line.metrics]


def _blocks(lines: Iterable[tuple[int, str]], path: str | PathLike[str]) -> Iterator[_Block]:
    block: _Block | None = None
    for number, text in lines:
        if text.startswith("  ") and block:
            block.values.append((number, text))
        elif header := _HEADER.fullmatch(text):
            if block:
                yield block
            block = _Block(number, text, header)
        else:
            raise InputError("is no line of a VPC 2020 results file; is this the right file?", path, number)
    if block:
        yield block


def _read_asv(block: _Block, path: str | PathLike[str], system: str, whole: bool) -> Iterator[Record]:
    enroll, trial = SetName.parse(block.header["enroll"]), SetName.parse(block.header["trial"])
    if not enroll or not trial or (enroll.system and enroll.system != trial.system):
        raise InputError("enrolment and trials are no pair o-o, o-a or a-a of one system", path, block.line)
    condition = "aa" if enroll.system else "oa" if trial.system else "oo"
    for record in _read_values(block, ASV, path, whole):
        yield Record(
            record.metric,
            record.value,
            params={"enroll": enroll.base, **record.params},
            system=_system(trial, system),
            set=trial.base,
            gender=trial.gender,
            condition=condition,
        )


def _read_similarity(block: _Block, path: str | PathLike[str], system: str) -> Iterator[Record]:
    trial = _set(block.name, path, block.line)
    if not block.values:
        raise InputError(f"block '{block.name}' has no values; is the file cut short?", path, block.end)
    for record in _read_values(block, SIMILARITY, path):
        yield record.tagged({"system": system, "set": trial.base, "gender": trial.gender})


def _read_values(
    block: _Block, lines: Sequence[Line], path: str | PathLike[str], whole: bool = True
) -> Iterator[Record]:
    """The numbers of a block as bare records."""
    found = set()
    for number, text in block.values:
        kind, match = next(((kind, m) for kind in lines if (m := kind.pattern.fullmatch(text))), (None, None))
        if kind is None or match is None or kind in found:
            raise InputError(f"is no value of block '{block.name}', or one too many", path, number)
        found.add(kind)
        notes = {"tag": match[2]} if "TAG" in kind.text else {}
        for metric, printed in zip(kind.metrics, match.groups(), strict=False):
            try:
                value = Decimal(printed)
            except InvalidOperation:
                raise InputError(f"'{printed}' is not a number", path, number) from None
            if not kind.least <= value <= kind.most:
                most = f" to {kind.most:g}" if kind.most < math.inf else " on"
                message = f"{metric} {printed} is not from {kind.least:g}{most}; was the line edited?"
                raise InputError(message, path, number)
            if notes and notes["tag"] not in _tags(value):
                raise InputError(f"tag '{notes['tag']}' contradicts {printed}; was the line edited?", path, number)
            # Decimal, so that 8.665 % becomes 0.08665 and not a neighbour of it.
            yield Record(metric, float(value / kind.scale), notes=notes)
    for kind in lines:
        if whole and kind.required and kind not in found:
            label = kind.text.partition("#")[0].strip()
            raise InputError(f"block '{block.name}' ends without '{label}'; is the file cut short?", path, block.end)


def _tags(printed: Decimal) -> set[str]:
    """The ZEBRA categories of all values that are printed so."""
    exponent = printed.as_tuple().exponent
    half = Decimal(5).scaleb(exponent - 1) if isinstance(exponent, int) and printed else Decimal(0)
    return {zebra_tag(max(0.0, float(value))) for value in (printed - half, printed, printed + half)}


def _read_asr(block: _Block, path: str | PathLike[str], system: str) -> Iterator[Record]:
    name = _set(block.header["asr"], path, block.line)
    if not block.values:
        raise InputError(f"block '{block.name}' ends without a %WER line; is the file cut short?", path, block.end)
    for number, text in block.values:
        match = _WER.fullmatch(text)
        if not match:
            raise InputError("is not a %WER line; is the file cut short?", path, number)
        errors = ErrorCounts(int(match["ins"]), int(match["del"]), int(match["sub"]), int(match["words"]))
        if errors.errors != int(match["errors"]) or f"{errors.rate:.2f}" != match["rate"]:
            raise InputError("the error rate does not follow from its counts; was the line edited?", path, number)
        source = match["source"] or ""
        lm = _LM.search(source)
        yield Record(
            "wer",
            errors.rate,
            params={"lm": lm[1]} if lm else {},
            notes={"source": source} if source else {},
            counts={
                "ref_words": errors.words,
                "ins": errors.insertions,
                "del": errors.deletions,
                "sub": errors.substitutions,
            },
            system=_system(name, system),
            set=name.base,
            condition="a" if name.system else "o",
        )


def _set(text: str, path: str | PathLike[str], line: int) -> SetName:
    """The parts of a name in a header, which looks like one of a set but may be none."""
    name = SetName.parse(text)
    if name is None:
        raise InputError(f"'{text}' is no name of a set, such as x_dev_trials_f or x_dev_asr_anon", path, line)
    return name


def _system(name: SetName, system: str) -> str:
    return (system or name.system) if name.system else ORIGINAL


def asv_name(record: Record) -> str:
    """``ASV-libri_dev_enrolls-libri_dev_trials_f_anon``: the header of a verification block."""
    enroll = record.params.get("enroll") or re.sub("_trials.*", "_enrolls", record.set)
    enroll_suffix = _SUFFIX if record.condition == "aa" else ""
    trial_suffix = "" if record.condition == "oo" else _SUFFIX
    return f"ASV-{enroll}{enroll_suffix}-{record.set}{trial_suffix}"


def asr_name(record: Record) -> str:
    """``ASR-libri_dev_asr_anon``: the header of a recognition block."""
    return f"ASR-{record.set}{_SUFFIX if record.condition == 'a' else ''}"


def challenge_mode(records: Iterable[Record]) -> list[Record]:
    """The records of the challenge's estimator and of the main encoder; published ones, which have no other, name none.

    A number that was computed otherwise and not as the challenge does is an error, never a substitute.
    """
    records = by_main_encoder(records, lambda record: record)
    chosen = [record for record in records if record.params.get("mode", "vpc") == "vpc"]
    have = {(record.metric, record.system, record.set) for record in chosen}
    for record in records:
        if (record.metric, record.system, record.set) not in have:
            raise InputError(
                f"no {record.metric} of {record.system} {record.set} by the challenge's estimator (mode vpc), only "
                f"by mode {record.params['mode']}; score it again with both"
            )
    return chosen


def group(name: Callable[[Record], str], records: Iterable[Record]) -> dict[str, dict[str, Record]]:
    """Records by block name and metric; every number has one place."""
    blocks: dict[str, dict[str, Record]] = {}
    for record in records:
        block = blocks.setdefault(name(record), {})
        if other := block.get(record.metric):
            which = "attackers: " + ", ".join(sorted({record.attacker, other.attacker}))
            raise InputError(
                f"two values of {record.metric} for {name(record)} ({which}); choose one with --attacker"
                if record.attacker != other.attacker
                else f"two values of {record.metric} for {name(record)}; was a file given twice?"
            )
        block[record.metric] = record
    return blocks


def render_block(name: str, block: Mapping[str, Record], lines: Sequence[Line]) -> str:
    """A header and its values."""
    text = name + "\n"
    for line in lines:
        present = [block[metric] for metric in line.metrics if metric in block]
        if len(present) == len(line.metrics):
            text += line.render(present)
        elif line.required:
            raise InputError(f"{name} lacks {' or '.join(line.metrics)}; score its trials again")
    return text


def _render_asr(name: str, records: Sequence[Record]) -> str:
    lines = {_lm_order(record): render_wer(name, record) for record in records}
    if len(lines) < len(records):
        raise InputError(f"two error rates for {name} from the same source; was a file given twice?")
    return f"{name}\n" + "".join(lines[key] for key in sorted(lines))


def _lm_order(record: Record) -> tuple[int, str]:
    """The small language model before the large one, as the challenge prints them."""
    return {"small": 0, "large": 1}.get(record.params.get("lm", ""), 2), record.notes.get("source", "")


def render_wer(name: str, record: Record) -> str:
    """The %WER line of a recognition block."""
    try:
        errors = ErrorCounts(*(record.counts[key] for key in ("ins", "del", "sub", "ref_words")))
    except KeyError as missing:
        raise InputError(f"the error rate of {name} does not count {missing}; score it again") from None
    rules = f" (text rules {record.params['normalizer']})" if "normalizer" in record.params else ""
    return f"  {errors} {record.notes.get('source', '')}{rules}".rstrip() + "\n"


def challenge_order(name: str) -> tuple[str, str, str, str]:
    """The order of the voice similarity section: dev before test, all speech of a corpus before its common part."""
    parts = SetName.parse(name)
    return (parts.partition, parts.corpus, parts.subset, parts.gender) if parts else ("", name, "", "")


EDITION = Edition(
    name="2020",
    eer="eer_kaldi",
    text_rules="vpc2020",
    files=(ResultFile("results.txt", lambda line: bool(_HEADER.fullmatch(line)), read, render, "RESULTS"),),
    ranks_trained=False,
    latex_style="vpc2020",
    topics=(TEAM, METHOD, TRAINING),
)
"""It has no classes of systems."""
