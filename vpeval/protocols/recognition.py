"""Transcripts against references: word and character error rates of a set, of its genders and of its speakers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from vpeval.asr.lm import read_arpa
from vpeval.asr.nbest import Hypothesis, read_nbest
from vpeval.asr.rescoring import GRID, choose_texts
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_table, write_table
from vpeval.data.text import NORMALIZERS
from vpeval.metrics.wer import (
    Counts,
    ErrorCounts,
    PairedTest,
    TextScore,
    paired_test,
    score_texts,
    speaker_interval,
    sum_by_speaker,
)
from vpeval.records.record import Record, write_records

Texts = Mapping[str, str]


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
        return str(ErrorCounts.of(self.score.words))


def score_recognition(
    speech: Speech,
    hyps: Texts,
    rules: str,
    resamples: int,
    seed: int,
    allow_extra: bool = False,
    hyp_file: str | PathLike[str] = "text",
) -> Rates:
    """Word and character error rates by the text `rules` of an edition, with speaker-bootstrap intervals."""
    try:
        score = score_texts(speech.refs, hyps, NORMALIZERS[rules], allow_extra)
    except InputError as error:
        raise InputError(str(error), hyp_file) from None
    if not ErrorCounts.of(score.words).words:
        raise InputError("no words to score; is this the reference text?", speech.ref_file)
    speakers = _speakers(score.utts, speech)
    genders = _genders(speakers, speech)
    params = {"normalizer": rules}
    records, per_speaker = [], []
    missing = set(score.missing)
    for metric, counts in (("wer", score.words), ("cer", score.characters)):
        for gender in ("", *sorted(set(genders))):
            rows = [i for i in range(len(counts)) if not gender or genders[i] == gender]
            record = _record(metric, ErrorCounts.of(counts[rows]), params)
            record = replace(
                record, counts={**record.counts, "missing": sum(score.utts[i] in missing for i in rows)}, gender=gender
            )
            records.append(_with_interval(record, counts[rows], [speakers[i] for i in rows if speakers], resamples))
        for spk, errors in sum_by_speaker(counts, speakers).items() if speakers else ():
            per_speaker.append(_record(metric, errors, params | {"spk": spk}))
    return Rates(records, per_speaker, score, speakers)


def compare_recognition(
    ours: Rates, theirs: Rates, versus: str, resamples: int, seed: int
) -> tuple[Record, PairedTest]:
    """How far the word error rate lies from that of other transcripts of the same references, with a paired test."""
    test = paired_test(ours.score.words, theirs.score.words, ours.speakers or ours.score.utts, resamples, seed)
    notes: dict[str, Any] = {
        "interval": f"{'speaker' if ours.speakers else 'utterance'} bootstrap",
        "p_value": test.p_value,
        "resamples": resamples,
        "seed": seed,
        "unit": "%",
    }
    params = {**ours.records[0].params, "versus": versus}
    ends = test.interval.lower, test.interval.upper
    return Record("wer_difference", test.difference, *ends, params, notes=notes), test


def _with_interval(record: Record, counts: Counts, spks: Sequence[str], resamples: int) -> Record:
    """The record with its interval over speakers, where they are known and intervals are asked for."""
    speakers = sum_by_speaker(counts, spks) if spks else {}
    return speaker_interval(speakers).of(record) if speakers and resamples else record


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


def score_decoded(
    speech: Speech,
    decoded: Sequence[Path],
    out: Path,
    rules: str,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
) -> str:
    """Score what a recogniser wrote; ``records.jsonl``, ``ref`` and ``hyp`` go to directory `out`."""
    hyps = {utt: text for place in decoded for utt, text in read_table(place / "text", "text", empty=True).items()}
    rates = score_recognition(speech, hyps, rules, resamples, seed, hyp_file=decoded[0] / "text")
    _write_texts(out, speech, hyps)
    write_records(out / "records.jsonl", _told(rates, tags, str(out / "hyp"), "hyp"))
    return rates.line


def score_by_lm(
    speech: Speech,
    decoded: Sequence[Path],
    lms: Sequence[str],
    out: Path,
    rules: str,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
) -> str:
    """Score what a recogniser wrote with every language model of its own (``text_small``, ``text_large``)."""
    texts = {
        lm: {u: text for place in decoded for u, text in read_table(place / f"text_{lm}", "text", empty=True).items()}
        for lm in lms
    }
    scored = [_score_lm(speech, hyps, lm, "wer", out, rules, resamples, seed, tags) for lm, hyps in texts.items()]
    return _write_lms(out, speech, texts[lms[-1]], scored)


def score_rescored(
    speech: Speech,
    decoded: Sequence[Path],
    tuning: Speech,
    tuned: Sequence[Path],
    tuned_on: str,
    lms: Mapping[str, Path],
    out: Path,
    rules: str,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
) -> str:
    """Score n-best lists with language models, as the challenge does; their weights are chosen on another set."""
    nbest, tuning_nbest = (_read_all(places) for places in (decoded, tuned))
    scored, hyps = [], {}
    for name, path in lms.items():
        chosen = choose_texts(nbest, tuning_nbest, read_arpa(path), tuning.refs, NORMALIZERS[rules], GRID)
        if chosen.tuning.at_edge:
            logging.warning(f"{tuned_on}: the best weight {chosen.tuning.best.lmwt} of LM {name} is the last one tried")
        hyps = chosen.texts
        records, line = _score_lm(speech, hyps, name, f"wer_{chosen.tuning.best}", out, rules, resamples, seed, tags)
        scored.append(([record.with_notes({"tuned_on": tuned_on}) for record in records], line))
    return _write_lms(out, speech, hyps, scored)


def _score_lm(
    speech: Speech,
    hyps: Texts,
    lm: str,
    file: str,
    out: Path,
    rules: str,
    resamples: int,
    seed: int,
    tags: Mapping[str, str],
) -> tuple[list[Record], str]:
    """The records of one language model, and a line to print.

    Its directory ``decode_tg<lm>`` in `out` has its text and, as Kaldi has it, a `file` with the error rate.
    """
    place = out / f"decode_tg{lm}"
    write_table(place / "text", dict(hyps))
    rates = score_recognition(speech, hyps, rules, resamples, seed, hyp_file=place / "text")
    write_text(place / file, f"{rates.line}\n")
    told = _told(rates, tags, str(place / file), f"{place.name}/text")
    return [record.with_params({"lm": lm}) for record in told], f"{lm} LM, {rates.line}"


def _write_lms(out: Path, speech: Speech, hyps: Texts, scored: Sequence[tuple[list[Record], str]]) -> str:
    """Write what was found with several language models; `hyps` are those of the last."""
    _write_texts(out, speech, hyps)
    write_records(out / "records.jsonl", [record for records, _ in scored for record in records])
    return "; ".join(line for _, line in scored)


def _write_texts(out: Path, speech: Speech, hyps: Texts) -> None:
    """What was compared, for whoever wants to compare it with something else."""
    write_table(out / "ref", dict(speech.refs))
    write_table(out / "hyp", dict(hyps))
    if speech.utt2spk is not None:
        write_table(out / "utt2spk", {utt: speech.utt2spk[utt] for utt in speech.refs})


def _read_all(places: Sequence[Path]) -> dict[str, list[Hypothesis]]:
    return {utt: rows for place in places for utt, rows in read_nbest(place / "nbest").items()}


def _told(rates: Rates, tags: Mapping[str, str], source: str, hyp: str) -> list[Record]:
    """The records with their tags, and with what stands behind them."""
    files = {"hyp": hyp, "ref": "ref", **({"utt2spk": "utt2spk"} if rates.speakers else {})}
    return [
        r.with_notes({"source": source})
        .with_files(files)
        .tagged({**tags, **({"gender": r.gender} if r.gender else {})})
        for r in rates.records
    ]
