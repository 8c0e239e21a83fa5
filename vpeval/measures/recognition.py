"""Recognition: word and character error rates of a set, of its genders and of its speakers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vpeval.asr.lm import read_arpa
from vpeval.asr.nbest import Hypothesis, read_nbest
from vpeval.asr.rescoring import GRID, choose_texts
from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_table, write_text
from vpeval.data.layout import first_few
from vpeval.data.text import NORMALIZERS
from vpeval.measures.base import RECORDS, Input, Measure, Resampling, Result, Scorer, Scores, option, split_paths
from vpeval.metrics.intervals import NO_INTERVAL, too_few
from vpeval.metrics.wer import (
    ErrorCounts,
    TextScore,
    paired_test,
    score_texts,
    speaker_interval,
    sum_by_speaker,
)
from vpeval.records.metrics import BY_SET, KEY, OVERVIEW, SUMMARY, UTILITY, Metric
from vpeval.records.names import ASR_EVAL, ASR_EVAL_ANON, ORIGINAL, SetName
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan
    from vpeval.plan.recipe import Joined

_RATE: Mapping[str, Any] = {
    "unit": "%",
    "digits": 2,
    "better": -1,
    "aspect": "utility",
    "group": UTILITY,
    "range": (0.0, float("inf")),
}
METRICS = (
    Metric(
        "wer",
        "WER",
        "The word error rate of the recogniser: errors over words of the reference.",
        r"WER, \%",
        **_RATE,
        shown=(KEY, OVERVIEW, SUMMARY, BY_SET),
        key_place=1,
    ),
    Metric(
        "cer",
        "CER",
        "The character error rate of the recogniser: errors over characters of the reference.",
        r"CER, \%",
        **_RATE,
        shown=(SUMMARY, BY_SET),
        place=1,
    ),
)
log = logging.getLogger(__name__)
LMS = {"small": (3, 2), "large": (4, 1)}
"""Order and least count: the challenge's language models are a pruned and a whole n-gram model."""
_TABLES = ("text", "utt2spk", "spk2gender")
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Options(Resampling):
    """Text rules, and what happens to hypotheses of unknown utterances."""

    normalizer: str = option("vpc2020", "edition whose rules hold", choices=tuple(NORMALIZERS))
    allow_extra: bool = option(False, "true leaves out unknown hypotheses")


@dataclass(frozen=True)
class Speech:
    """Reference texts, and who speaks them where that is known; complaints point to the files that they are from."""

    refs: Texts
    utt2spk: Texts | None = None
    spk2gender: Texts | None = None
    ref_file: str = "text"
    utt2spk_file: str = "utt2spk"
    spk2gender_file: str = "spk2gender"


@dataclass(frozen=True)
class Rates:
    """What was found: records of the set and its genders, of single speakers, and the errors themselves."""

    records: list[Record]
    per_speaker: list[Record]
    score: TextScore
    speakers: list[str]

    @property
    def line(self) -> str:
        """The line that Kaldi prints."""
        return str(ErrorCounts.from_counts(self.score.words))


def score_recognition(speech: Speech, hyps: Texts, options: Options, hyp_file: str | PathLike[str] = "text") -> Rates:
    """Word and character error rates by the text rules of an edition, with intervals over speakers."""
    rules = options.normalizer
    try:
        score = score_texts(speech.refs, hyps, NORMALIZERS[rules], options.allow_extra)
    except InputError as error:
        raise InputError(str(error), hyp_file) from None
    if not ErrorCounts.from_counts(score.words).words:
        raise InputError("no words to score; is this the reference text?", speech.ref_file)
    speakers = _speakers(score.utts, speech)
    genders = _genders(speakers, speech)
    params = {"normalizer": rules}
    records, per_speaker = [], []
    missing = set(score.missing)
    for metric, counts in (("wer", score.words), ("cer", score.characters)):
        for gender in ("", *sorted(set(genders))):
            rows = [i for i in range(len(counts)) if not gender or genders[i] == gender]
            record = _record(metric, ErrorCounts.from_counts(counts[rows]), params)
            record = replace(
                record, counts={**record.counts, "missing": sum(score.utts[i] in missing for i in rows)}, gender=gender
            )
            records.append(_with_interval(record, counts[rows], [speakers[i] for i in rows if speakers], options))
        for spk, errors in sum_by_speaker(counts, speakers).items() if speakers else ():
            per_speaker.append(_record(metric, errors, params | {"spk": spk}))
    return Rates(records, per_speaker, score, speakers)


def compare_recognition(ours: Rates, theirs: Rates, versus: str, options: Resampling) -> tuple[Record, str]:
    """How far the word error rate lies from that of other transcripts of the same references, as a record and in words.

    Too few speakers (or utterances, where speakers are not known) have no interval and no p value.
    """
    unit, units = ("speaker", ours.speakers) if ours.speakers else ("utterance", ours.score.utts)
    found = paired_test(ours.score.words, theirs.score.words, units, options.resamples, options.seed)
    record = Record("wer_difference", found.value, params={**ours.records[0].params, "versus": versus})
    words = f"{found.value:+.2f} %"
    if found.lower is None or found.upper is None:
        none = too_few(len(set(units))) or NO_INTERVAL
        reason = none.notes.get("no_interval", "").replace("speaker", unit)
        return record.with_notes({"no_interval": reason, "unit": "%"}), f"{words}; {reason}"
    notes: dict[str, Any] = {
        "interval": f"studentised {unit} bootstrap",
        "p_value": found.p_value,
        "resamples": options.resamples,
        "seed": options.seed,
        "unit": "%",
    }
    record = replace(record, lower=found.lower, upper=found.upper).with_notes(notes)
    return record, f"{words} [{found.lower:+.2f}, {found.upper:+.2f}], p = {found.p_value:.3g}"


def _with_interval(record: Record, counts: Counts, spks: Sequence[str], options: Options) -> Record:
    """The record with its interval over speakers, where they are known and intervals are asked for."""
    speakers = sum_by_speaker(counts, spks) if spks else {}
    return record.with_interval(speaker_interval(speakers)) if speakers and options.resamples else record


def _speakers(utts: Sequence[str], speech: Speech) -> list[str]:
    """The speaker of every utterance; none where they are not known."""
    if speech.utt2spk is None:
        return []
    for utt in utts:
        if utt not in speech.utt2spk:
            raise InputError(f"utterance '{utt}' of the reference has no speaker; add it", speech.utt2spk_file)
    return [speech.utt2spk[utt] for utt in utts]


def _genders(speakers: Sequence[str], speech: Speech) -> list[str]:
    """The gender of the speaker of every utterance."""
    if speech.spk2gender is None or not speakers:
        return []
    for spk in speakers:
        if spk not in speech.spk2gender:
            raise InputError(f"speaker '{spk}' has no gender; add it", speech.spk2gender_file)
    return [speech.spk2gender[spk] for spk in speakers]


def _record(metric: str, errors: ErrorCounts, params: Mapping[str, str]) -> Record:
    """The record of a rate and what it rests on."""
    length = "ref_words" if metric == "wer" else "ref_chars"
    counts = {
        length: errors.words,
        "ins": errors.insertions,
        "del": errors.deletions,
        "sub": errors.substitutions,
        "utts": errors.utts,
    }
    return Record(metric, errors.rate, params=params, counts=counts, notes={"unit": "%"})


def read_speech(directories: Sequence[Path]) -> Speech:
    """The references of several data directories as one; speakers and genders are there where all have them."""

    def joined(name: str, noun: str) -> dict[str, str] | None:
        paths = [directory / name for directory in directories]
        if not all(path.is_file() for path in paths):
            return None
        return {key: value for path in paths for key, value in read_table(path, noun, empty=noun == "text").items()}

    refs = joined("text", "text")
    if refs is None:
        raise InputError("no such file; word error rates need the words", directories[0] / "text")
    files = (str(directories[0] / name) for name in ("text", "utt2spk", "spk2gender"))
    return Speech(refs, joined("utt2spk", "speaker"), joined("spk2gender", "gender"), *files)


@dataclass(frozen=True)
class Output:
    """Where the results of a recognition set go: references, hypotheses and records, which have `tags`."""

    directory: Path
    speech: Speech
    options: Options
    tags: Mapping[str, str]

    def score_decoded(self, decoded: Sequence[Path]) -> str:
        """Score the hypotheses of a recogniser."""
        hyps = _read_texts(decoded, "text")
        rates = score_recognition(self.speech, hyps, self.options, decoded[0] / "text")
        records = self._complete(rates, str(self.directory / "hyp"), "hyp")
        return self._write(hyps, [(records, rates.line)])

    def score_by_lm(self, decoded: Sequence[Path], lms: Sequence[str]) -> str:
        """Score the hypotheses with every language model of the recogniser (``text_small``, ``text_large``)."""
        texts = {lm: _read_texts(decoded, f"text_{lm}") for lm in lms}
        return self._write(texts[lms[-1]], [self._score_lm(hyps, lm, "wer") for lm, hyps in texts.items()])

    def score_rescored(self, decoded: Sequence[Path], tuning: Tuning, lms: Mapping[str, Path]) -> str:
        """Score n-best lists with language models, as the challenge does; their weights are chosen on another set."""
        nbest, tuning_nbest = (_read_nbest(places) for places in (decoded, tuning.decoded))
        scored, hyps = [], {}
        for name, path in lms.items():
            rules = NORMALIZERS[self.options.normalizer]
            chosen = choose_texts(nbest, tuning_nbest, read_arpa(path), tuning.speech.refs, rules, GRID)
            best = chosen.tuning.best
            if chosen.tuning.at_edge:
                log.warning(f"{tuning.name}: the best weight {best.lmwt} of LM {name} is the last one of the grid")
            hyps = chosen.texts
            records, line = self._score_lm(hyps, name, f"wer_{best}")
            scored.append(([record.with_notes({"tuned_on": tuning.name}) for record in records], line))
        return self._write(hyps, scored)

    def _score_lm(self, hyps: Texts, lm: str, file: str) -> tuple[list[Record], str]:
        """The records of one language model, and a line to print.

        Its directory ``decode_tg<lm>`` has its text and, as in Kaldi, a `file` with the error rate.
        """
        place = self.directory / f"decode_tg{lm}"
        write_table(place / "text", dict(hyps))
        rates = score_recognition(self.speech, hyps, self.options, place / "text")
        write_text(place / file, f"{rates.line}\n")
        records = self._complete(rates, str(place / file), f"{place.name}/text")
        return [record.with_params({"lm": lm}) for record in records], f"{lm} LM, {rates.line}"

    def _write(self, hyps: Texts, scored: Sequence[tuple[list[Record], str]]) -> str:
        """Write what was compared, with the `hyps` of the last language model, and all records."""
        write_table(self.directory / "ref", dict(self.speech.refs))
        write_table(self.directory / "hyp", dict(hyps))
        if self.speech.utt2spk is not None:
            speakers = {utt: self.speech.utt2spk[utt] for utt in self.speech.refs}
            write_table(self.directory / "utt2spk", speakers)
        write_records(self.directory / RECORDS, [record for records, _ in scored for record in records])
        return "; ".join(line for _, line in scored)

    def _complete(self, rates: Rates, source: str, hyp: str) -> list[Record]:
        """The records with their tags and side files."""
        files = {"hyp": hyp, "ref": "ref", **({"utt2spk": "utt2spk"} if rates.speakers else {})}
        return [
            r.with_notes({"source": source})
            .with_files(files)
            .tagged({**self.tags, **({"gender": r.gender} if r.gender else {})})
            for r in rates.records
        ]


@dataclass(frozen=True)
class Tuning:
    """The set on which the weights of language models are chosen."""

    name: str
    speech: Speech
    decoded: Sequence[Path]


def _read_texts(places: Sequence[Path], name: str) -> dict[str, str]:
    return {utt: text for place in places for utt, text in read_table(place / name, "text", empty=True).items()}


def _read_nbest(places: Sequence[Path]) -> dict[str, list[Hypothesis]]:
    return {utt: rows for place in places for utt, rows in read_nbest(place / "nbest").items()}


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    for name in ("per_speaker", "spk2gender"):
        if inputs[name] and not inputs["utt2spk"]:
            raise InputError(f"--{name.replace('_', '-')} needs --utt2spk")
    if inputs["versus"] and not options.resamples:
        raise InputError("--versus needs resamples; leave out --bootstrap 0")
    hyp, versus, per_speaker = inputs["hyp"], inputs["versus"], inputs["per_speaker"]
    rates = _read_rates(hyp, inputs, options)
    records, lines = rates.records, [rates.line]
    if versus:
        difference, words = compare_recognition(rates, _read_rates(versus, inputs, options), versus, options)
        records, lines = [*records, difference], [*lines, f"difference to {versus}: {words}"]
    files = {}
    if per_speaker:
        files = {"per_speaker": Path(per_speaker).name}
    if missing := rates.score.missing:
        listed = first_few(missing, limit=20)
        log.warning(f"{hyp}: {len(missing)} utterances have no hypothesis, all deleted: {listed}")
    records = [r.with_notes({"source": inputs["source"] or hyp}) for r in records]
    tables = {per_speaker: rates.per_speaker} if per_speaker else {}
    return Scores([r.with_files(files) if files else r for r in records], lines=tuple(lines), tables=tables)


def _read_rates(hyp: str, inputs: Mapping[str, Any], options: Options) -> Rates:
    """The rates of the transcripts in file `hyp`."""
    ref, utt2spk, spk2gender = (inputs[name] for name in ("ref", "utt2spk", "spk2gender"))
    speech = Speech(
        read_joined(ref, "text"),
        read_joined(utt2spk, "speaker") if utt2spk else None,
        read_joined(spk2gender, "gender") if spk2gender else None,
        *map(str, (ref, utt2spk, spk2gender)),
    )
    return score_recognition(speech, read_joined(hyp, "text"), options, hyp)


def read_joined(names: str, noun: str) -> dict[str, str]:
    """One table, or several that are separated by commas."""
    return {
        key: value for path in split_paths(names) for key, value in read_table(path, noun, empty=noun == "text").items()
    }


SCORER = Scorer(
    (
        Input("--utt2spk", "speakers of the utterances; gives the interval and the speakers' own rates"),
        Input("--spk2gender", "gender of the speakers; gives the rates of each gender (needs --utt2spk)"),
        Input("--versus", "transcripts of another system, for a paired test", "HYP"),
        Input("--per-speaker", "write the rates of every speaker there (jsonl)", "FILE"),
        Input("--source", "what stands behind the numbers in results.txt; default: <hyp-text>"),
        Input("ref"),
        Input("hyp"),
    ),
    Options,
    _score_files,
    takes_params=True,
)


@dataclass(frozen=True)
class Recogniser:
    """A recogniser: the name of its decodings, its name in the results, and its language models.

    With `lms`, n-best lists are scored with those of the training text; `own` are those that it decodes with itself.
    """

    name: str
    title: str
    lms: bool = False
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognition(Result):
    """One recogniser on one recognition set, original (o) or anonymised (a)."""

    recogniser: Recogniser
    joined: Joined
    side: str
    stage = 10
    files = (RECORDS, "hyp", "ref")

    @property
    def system(self) -> str:
        """The system whose numbers these are."""
        return ORIGINAL if self.side == "o" else self.plan.system

    @property
    def out(self) -> Path:
        """The names of recogniser and set are part of it."""
        name = self.plan.data_of(self.joined.name, self.side).name
        return self.plan.run_of(self.system) / f"ASR_{self.recogniser.name}-{name}"

    @property
    def tuned_on(self) -> Joined:
        """The development set on which weights of language models are chosen."""
        own = SetName.parse(self.joined.name)
        for other in self.plan.recipe.asr_sets:
            parts = SetName.parse(other.name)
            if own and parts and parts.corpus == own.corpus and parts.partition == "dev":
                return other
        raise InputError(
            f"recipe {self.plan.recipe.recipe} has no dev set of {self.joined.name} to choose LM weights on"
        )

    def data(self, joined: Joined) -> list[Path]:
        """Where the references are: an anonymised set may lack some utterances."""
        return [self.plan.data_of(name, self.side) for name in joined.sets]

    def decoded(self, joined: Joined) -> list[Path]:
        """Where the hypotheses of a recognition set are."""
        place = self.plan.exp / "decode" / self.recogniser.name
        return [place / path.name for path in self.data(joined)]

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Hypotheses, tables of the data directories, and language models."""
        sets = [self.joined, *([self.tuned_on] if self.recogniser.lms else [])]
        tables = [path / file for joined in sets for path in self.data(joined) for file in _TABLES]
        return (
            *dict.fromkeys(place for joined in sets for place in self.decoded(joined)),
            *dict.fromkeys(path for path in tables if path.is_file()),
            *([self.plan.lm_dir] if self.recogniser.lms else []),
        )

    @property
    def options(self) -> Mapping[str, object]:
        """Text rules and language models."""
        return {"rules": self.plan.text_rules, "lms": self.recogniser.own or self.recogniser.lms}

    @property
    def tags(self) -> dict[str, str]:
        """The set and the recogniser."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": self.system,
            "set": self.joined.name,
            "condition": self.side,
            "recogniser": self.recogniser.title,
        }

    def make(self, out: Path) -> str:
        """Count the errors."""
        drawn, decoded = self.resampling, self.decoded(self.joined)
        options = Options(drawn.resamples, drawn.seed, self.plan.text_rules)
        output = Output(out, read_speech(self.data(self.joined)), options, self.tags)
        if self.recogniser.own:
            return output.score_by_lm(decoded, self.recogniser.own)
        if not self.recogniser.lms:
            return output.score_decoded(decoded)
        other = self.tuned_on
        tuning = Tuning(other.name, read_speech(self.data(other)), self.decoded(other))
        lms = {name: self.plan.lm_dir / f"{name}.arpa" for name in LMS}
        return output.score_rescored(decoded, tuning, lms)

    def commands(self) -> list[list[str]]:
        """Count the errors; with every language model, where there are several."""
        if not (lms := self.recogniser.own or (tuple(LMS) if self.recogniser.lms else ())):
            return [self._score_command(_join(self.decoded(self.joined), "text"), self.out / RECORDS)]
        found = []
        for lm in lms:
            hyp = _join(self.decoded(self.joined), f"text_{lm}")
            if self.recogniser.lms:
                hyp = str(self.out / f"decode_tg{lm}/text")
                found.append(self._tune_command(lm, hyp))
            found.append([*self._score_command(hyp, self.out / f"{lm}.jsonl", "--param", f"lm={lm}")])
        return found

    def _score_command(self, hyp: str, out: Path, *more: str) -> list[str]:
        data = self.data(self.joined)
        words = ["--normalizer", self.plan.text_rules]
        for name in ("utt2spk", "spk2gender"):
            words += [f"--{name}", _join(data, name)] if all((path / name).is_file() for path in data) else []
        return ["local/score_wer.py", *words, *more, *self.tag_words(), _join(data, "text"), hyp, str(out)]

    def _tune_command(self, lm: str, hyp: str) -> list[str]:
        other = self.tuned_on
        nbests = [_join(self.decoded(joined), "nbest") for joined in (other, self.joined)]
        words = ["local/tune_lm.py", "--normalizer", self.plan.text_rules, str(self.plan.lm_dir / f"{lm}.arpa")]
        return [*words, _join(self.data(other), "text"), *nbests, hyp]


def _join(places: Sequence[Path], name: str) -> str:
    """Files of this name, as scorers take several."""
    return ",".join(str(place / name) for place in places)


def _results(plan: Plan) -> list[Recognition]:
    return [
        Recognition(plan, recogniser, joined, side)
        for recogniser, sides in recognisers(plan)
        for side in sides
        for joined in plan.recipe.asr_sets
    ]


def recognisers(plan: Plan) -> list[tuple[Recogniser, str]]:
    """All recognisers, and the versions of speech that each is tested on."""
    found = [(Recogniser(plan.asr, plan.asr, own=plan.recogniser_lms), "oa")]
    if plan.settings.train_asr:
        original, anonymised = plan.trained_recognisers
        found.append((Recogniser(original, ASR_EVAL, lms=True), "oa"))
        found.append((Recogniser(anonymised, ASR_EVAL_ANON, lms=True), "a"))
    return found


MEASURE = Measure("recognition", 10, _results)
