"""Does a hook keep the contract of docs/hooks.md? A few utterances, five calls, a verdict on each rule.

The hook runs on a trial set that has some of its audio twice under two names; on the same set again; on its halves,
one of them with its lines in reverse order; and on the same audio as an enrolment set. What it writes is compared.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vpeval.anon.anonymised_set import check_output
from vpeval.anon.calls import Call, Subject
from vpeval.anon.hook_input import PREPARED, WHOLE_SET
from vpeval.audio.io import RATE, read_audio
from vpeval.core import seeds
from vpeval.core.arrays import Floats, Floats32
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few

log = logging.getLogger(__name__)
State = Literal["ok", "warn", "fail"]
_SAME_VOICE_DB = 2.0
_MEASURABLE = 0.2  # of the time of a call: if less passes between the first file and the last, it shows no speed
VPC_HOURS = {"LibriSpeech dev and test of VPC 2024": 8.5, "train-clean-360": 363.6}


@dataclass(frozen=True)
class Verdict:
    """The result of checking one rule of the contract."""

    check: str
    state: State
    text: str


def check_preparation(subject: Subject, program: Path, learn: DataDir) -> Iterator[Verdict]:
    """Verdicts on the preparation of a hook, which keeps what it learns in ``subject.prepared``."""
    home = subject.prepared
    if home is None:
        raise ValueError("a preparation needs a directory of its own")
    log.info("%s learns from %d utterances", program.name, len(learn.utts))
    first = subject.prepare(program, learn)
    if first.problem:
        yield Verdict("prepares", "fail", f"{program.name} {first.problem}")
        return
    kept = _digests(home)
    text = f"exit code 0 after {first.seconds:.1f} s; {len(kept)} files in ${PREPARED}"
    if not kept:
        text += ": what it keeps elsewhere does not count when data are checked for being up to date"
    yield Verdict("prepares", "ok" if kept else "warn", text)
    log.info("%s a second time", program.name)
    again = subject.prepare(program, learn)
    if again.problem:
        yield Verdict("prepares again", "fail", f"a second call fails: {program.name} {again.problem}")
        return
    other = sorted(name for name, digest in _digests(home).items() if kept.get(name) != digest)
    if other:
        yield Verdict("prepares again", "warn", f"a second call on the same data changed {first_few(other)}")
    else:
        yield Verdict("prepares again", "ok", f"changed nothing, in {again.seconds:.1f} s")


def check(subject: Subject, sample: DataDir) -> Iterator[Verdict]:
    """Verdicts on a hook, one after the other; after a failure that makes the rest pointless, no more."""
    trial = _seeded(_with_twins(sample), subject, "trial")
    enroll = _seeded(_with_twins(sample), subject, "enroll")
    half = len(trial.utts) // 2
    parts = (trial.subset(trial.utts[half:]), trial.subset(trial.utts[:half]))
    # Alone first, for an honest time; a hook that fails here is not called again.
    log.info("the hook starts with %d utterances, %.0f s of speech", len(trial.utts), _speech(trial))
    whole = subject.call("whole", trial, trial)
    yield from (first := list(_basics(whole)))
    if any(verdict.state == "fail" for verdict in first):
        return
    log.info("again with half of them, in reverse order")
    part1 = subject.call("part1", parts[0], trial, True)
    log.info("three more calls, two at a time: the other half, all once more, and all as enrolment")
    with ThreadPoolExecutor(max_workers=2) as jobs:
        others = [
            jobs.submit(subject.call, "part2", parts[1], trial),
            jobs.submit(subject.call, "again", trial, trial),
            jobs.submit(subject.call, "enroll", enroll, enroll, role="enroll"),
        ]
        part2, again, enrolled = (job.result() for job in others)
    for call in (part1, part2, again, enrolled):
        if call.problem or len(call.written) < len(call.data.utts):
            text = call.problem or f"wrote {len(call.written)} of {len(call.data.utts)} files"
            yield Verdict("works again", "fail", f"a second call on the same speech fails: it {text}")
            return
    yield from _repeatable(whole, again, {**part1.written, **part2.written})
    yield _roles(whole, enrolled)
    if subject.level == "spk":
        yield _one_voice(whole)
    yield speed_of(whole, part1)


def _basics(call: Call) -> Iterator[Verdict]:
    """All files, in the right form, and speech in them."""
    utts = call.data.utts
    missing = [utt for utt in utts if utt not in call.written]
    if call.problem:
        yield Verdict(
            "runs", "fail", f"the hook {call.problem} (it had written {len(call.written)} of {len(utts)} files)"
        )
        return
    yield Verdict("runs", "ok", f"exit code 0 after {call.seconds:.1f} s")
    if call.unexpected:
        lacking = f", and {first_few(missing)} is missing" if missing else ""
        yield Verdict("files", "fail", f"wrote {first_few(call.unexpected)}, which is no utterance of wav.scp{lacking}")
        return
    if missing:
        yield Verdict(
            "files", "fail", f"wrote no file for {len(missing)} of {len(utts)} utterances ({first_few(missing)})"
        )
        return
    yield Verdict("files", "ok", f"<utt>.wav for all {len(utts)} utterances")
    try:
        findings = [check_output(utt, call.data.wav[utt], call.written[utt]) for utt in utts]
    except InputError as error:
        yield Verdict("audio", "fail", str(error).replace(f"{call.out}/", ""))
        return
    yield Verdict("audio", "ok", "16 kHz, mono, 16-bit, not silent")
    for what, found in (
        ("clipping", [finding.utt for finding in findings if finding.clipped]),
        ("duration", [finding.utt for finding in findings if finding.drifted]),
    ):
        verb = "more than 0.1 % of the samples are at full scale" if what == "clipping" else "changed by more than half"
        yield Verdict(what, "warn" if found else "ok", f"{verb}: {first_few(found)}" if found else "as it should be")
    unchanged = [utt for utt in utts if _same_wave(read_audio(call.data.wav[utt]), read_audio(str(call.written[utt])))]
    if unchanged:
        yield Verdict("changes speech", "fail", f"{first_few(unchanged)} came out as it went in: nobody is anonymised")
    else:
        yield Verdict("changes speech", "ok", "no output is its input")


def _repeatable(whole: Call, again: Call, parts: dict[str, Path]) -> Iterator[Verdict]:
    if other := _different(whole.written, again.written):
        text = f"two calls on the same data gave different {first_few(other)}; draw from utt2seed only"
        yield Verdict("deterministic", "fail", text)
        return
    yield Verdict("deterministic", "ok", "two calls gave the same bytes")
    if other := _different(whole.written, parts):
        text = (
            f"{first_few(other)} depends on which other utterances are in the call, or on their order; draw from "
            f"utt2seed only, and read data of a whole speaker from ${WHOLE_SET}"
        )
        yield Verdict("independent of nj and order", "fail", text)
    else:
        yield Verdict("independent of nj and order", "ok", "two jobs in reverse order gave the same bytes")


def _roles(trial: Call, enroll: Call) -> Verdict:
    if same := sorted(set(trial.data.utts) - set(_different(trial.written, enroll.written))):
        text = f"{first_few(same)} is the same with another seed: the pseudo-speaker is one for enrolment and trial"
        return Verdict("enrolment and trial differ", "warn", text)
    return Verdict("enrolment and trial differ", "ok", "another seed gives another output")


def _one_voice(call: Call) -> Verdict:
    worst, pair = 0.0, ("", "")
    for utt, twin in _twins(call.data):
        distance = _spectral_distance(read_audio(str(call.written[utt])), read_audio(str(call.written[twin])))
        worst, pair = max((worst, pair), (distance, (utt, twin)))
    if worst > _SAME_VOICE_DB:
        text = f"{pair[0]} and {pair[1]} are the same speech of one speaker with one seed, and differ by {worst:.1f} dB"
        return Verdict("one pseudo-speaker per speaker", "fail", text)
    return Verdict("one pseudo-speaker per speaker", "ok", f"same speech, same seed: {worst:.1f} dB apart")


def speed_of(whole: Call, part: Call) -> Verdict:
    """Time per second of speech without the start-up of a job: from the times of files, else from two calls."""
    lengths = _lengths(whole.data)
    speech, first = sum(lengths.values()), min(whole.finished, key=lambda utt: whole.finished[utt])
    between = max(whole.finished.values()) - whole.finished[first]
    factor = between / max(speech - lengths[first], 1e-3)
    if between < _MEASURABLE * whole.seconds:
        # Start-up takes most of the time, or all files are written at the end: more speech takes longer by that.
        factor = max(factor, (whole.seconds - part.seconds) / (speech - _speech(part.data)))
    start_up = max(whole.seconds - factor * speech, 0.0)
    hours = ", ".join(f"{_hours(factor * length)} for {name}" for name, length in VPC_HOURS.items())
    paid = f"{factor:.3f} s per second of speech after a start-up of {start_up:.1f} s in every job"
    return Verdict("speed", "ok", f"{paid}; with one job about {hours}")


def _hours(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 2 else f"{hours:.0f} h"


def _lengths(data: DataDir) -> dict[str, float]:
    return {utt: len(read_audio(entry)) / RATE for utt, entry in data.wav.items()}


def _speech(data: DataDir) -> float:
    return sum(_lengths(data).values())


def _digests(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _seeded(data: DataDir, subject: Subject, role: str) -> DataDir:
    return data.with_table("utt2seed", seeds.utt2seed(data.utt2spk, subject.seed, role, subject.level))


def _with_twins(data: DataDir) -> DataDir:
    """The first utterance of every speaker a second time under another name."""
    twins = {f"{utts[0]}-twin": utts[0] for utts in data.spk2utt.values()}
    tables = {name: {**table, **{t: table[u] for t, u in twins.items()}} for name, table in data.utt_tables.items()}
    utt2spk = {**data.utt2spk, **{twin: data.utt2spk[utt] for twin, utt in twins.items()}}
    ordered = {name: dict(sorted(table.items())) for name, table in tables.items()}
    return DataDir(data.path, dict(sorted(utt2spk.items())), ordered, data.spk_tables)


def _twins(data: DataDir) -> list[tuple[str, str]]:
    return [(utt.removesuffix("-twin"), utt) for utt in data.utts if utt.endswith("-twin")]


def _different(some: dict[str, Path], others: dict[str, Path]) -> list[str]:
    return [utt for utt, path in some.items() if path.read_bytes() != others[utt].read_bytes()]


def _same_wave(before: Floats32, after: Floats32) -> bool:
    """Whether one is the other, up to loudness."""
    if len(before) != len(after):
        return False
    power = float(np.dot(before, before)) * float(np.dot(after, after))
    return power > 0 and abs(float(np.dot(before, after))) > 0.9999 * power**0.5


def _spectral_distance(one: Floats32, other: Floats32) -> float:
    """Mean difference in dB of spectrograms in broad bands and 64 ms frames; infinite when the tempo differs."""
    if abs(len(one) - len(other)) > 0.02 * len(one):
        return float("inf")
    length = min(len(one), len(other))
    spectra = [_broad_spectrogram(wave[:length]) for wave in (one, other)]
    loud = np.maximum(*spectra) > max(spectrum.max() for spectrum in spectra) - 40
    return float(np.abs(spectra[0] - spectra[1])[loud].mean())


def _broad_spectrogram(wave: Floats32, size: int = 1024, bands: int = 24) -> Floats:
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(wave, size // 2), size)[:: size // 4]
    power = np.abs(np.fft.rfft(frames * np.hanning(size))) ** 2
    edges = np.unique(np.geomspace(4, size // 2, bands + 1).astype(int))
    return 10 * np.log10(np.add.reduceat(power, edges[:-1], axis=1) + 1e-9)
