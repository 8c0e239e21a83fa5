"""Score some trials of a submission again, from its audio, and recognise some utterances again.

Half of the trials are those at most risk, the highest and the lowest scores of both kinds; the others are drawn anew
every time, so that nobody can know which will be scored. Nothing in the package chooses what is checked: attackers,
models and recognisers are the organiser's own, and so are the scores that tolerances come from.

Scores may be calibrated: then they lie on one rising line over those of the audio, the same for all sets, and a
calibration on the development trials leaves them as they are.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.asr.recognizers import ManyLmRecognizer, load_recognizer
from vpeval.asv.attackers import FUSION, PRETRAINED, Attacker, read_attacker, with_choice
from vpeval.asv.backend import Backend, fit_calibration, load, score_trials
from vpeval.audio.io import read_audio
from vpeval.core.arrays import Bools, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.core.models import find_model, missing_files
from vpeval.core.seeds import generator
from vpeval.data.layout import first_few
from vpeval.data.text import NORMALIZERS, OF_ANY_SPELLING
from vpeval.data.trials import Pair, PairRows
from vpeval.embeddings.speaker_vectors import Embeddings, group_rows
from vpeval.metrics.wer import ErrorCounts, score_texts
from vpeval.networks.configs import find_config, stored_model
from vpeval.networks.encoders import Encoder, load_encoder
from vpeval.plan.plan import is_dev
from vpeval.submission.archive import Archive
from vpeval.submission.demands import Rescoring
from vpeval.submission.recompute import Evidence, Recognised, Scored, read_labels, read_submitted
from vpeval.submission.sets import Sets
from vpeval.submission.tar import members

_APART = 0.1
"""How far a score may lie from that of another machine, in standard deviations of the organiser's own scores."""
_LEAST_APART = 1e-3
"""The same as a part of the largest of these, where all audio sounds alike."""
_SPEAKERS = 5
"""So many trials share an enrolled speaker, whose enrolment is embedded."""
_SLOPE, _OFFSET = 0.05, 0.1
"""How far a calibration of calibrated scores may lie from the line that leaves them as they are."""
_WORDS, _FEW_WORDS = 0.1, 3
"""How many words of transcripts may differ from those of another machine: this share, and so many in any case."""


@dataclass(frozen=True)
class _Drawn:
    """Trials of an attack, with the scores of all."""

    pairs: list[Pair]
    submitted: Mapping[Pair, float]


@dataclass(frozen=True)
class _Made:
    """Scores of drawn trials: those of the audio, and those of the package."""

    scored: Scored
    pairs: Sequence[Pair]
    ours: Floats
    theirs: Floats


def rescore(archive: Archive, sets: Sets, evidence: Evidence, system: str, how: Rescoring) -> list[str]:
    """Score trials of every attack, and recognise utterances of every set again; what differs is a violation.

    Return what was done.
    """
    if not sets.originals:
        archive.unverified.append("scores and transcripts: cannot be made again without the original data")
        return []
    drawn = {scored: one for scored in evidence.attacks if (one := _draw(archive, scored, sets, how)).pairs}
    spoken = {one: _draw_spoken(archive, one, how) for one in evidence.transcripts if one.kind == "ASR" and one.data}
    for other in evidence.transcripts:
        if other.kind != "ASR":
            archive.unverified.append(f"{other.file}: emotions are not recognised again from the audio")
    needed = _needed(drawn, sets) | {part for one, utts in spoken.items() for part in _needed_words(one, utts)}
    audio = _Audio(archive, sets, system, needed)
    embedder = _Embedder(audio)
    done = []
    attacks: defaultdict[tuple[str, str], list[_Made]] = defaultdict(list)
    for scored, one in drawn.items():
        if made := _make(archive, scored, one, system, embedder, how):
            attacks[scored.attacker, scored.condition].append(made)
    for same in attacks.values():
        done += _compare(archive, same, sets, drawn)
    for transcripts, utts in spoken.items():
        done += _recognise(archive, transcripts, utts, audio, how)
    return done


def _draw(archive: Archive, scored: Scored, sets: Sets, how: Rescoring) -> _Drawn:
    """The trials at most risk, then random ones of a few speakers, as many as asked for."""
    trials = read_labels(archive, scored, sets)
    if trials is None:
        return _Drawn([], {})
    submitted = read_submitted(archive, scored, 2 * len(trials.rows) + 1000)
    pairs = list(trials.rows)
    if any(pair not in submitted for pair in pairs):
        return _Drawn([], submitted)
    scores = np.array([submitted[pair] for pair in pairs])
    rows: dict[int, None] = {}
    for kind in (trials.is_target, ~trials.is_target):
        own = np.flatnonzero(kind)
        rows |= dict.fromkeys((int(own[scores[own].argmax()]), int(own[scores[own].argmin()])))
    risky = list(rows)[: how.trials // 2]
    rng = generator(how.seed, f"trials to score again of {scored.directory}")
    speakers = {spk: place for place, spk in enumerate(rng.permutation(sorted({spk for spk, _ in pairs})).tolist())}
    most = max(1, -(-how.trials // _SPEAKERS))
    order = sorted(rng.permutation(len(pairs)).tolist(), key=lambda row: speakers[pairs[row][0]] // most)
    chosen = list(dict.fromkeys((*risky, *order)))[: how.trials]
    return _Drawn([pairs[row] for row in sorted(chosen)], submitted)


def _draw_spoken(archive: Archive, one: Recognised, how: Rescoring) -> list[tuple[Path, str]]:
    """Utterances to recognise again, with their original sets."""
    known = [(path, utt) for path in one.data for utt in read_table(path / "text", "text", empty=True)]
    rng = generator(how.seed, f"utterances to recognise again of {one.file}")
    return [known[row] for row in sorted(rng.permutation(len(known))[: how.trials].tolist())]


def _needed_words(one: Recognised, utts: Iterable[tuple[Path, str]]) -> set[tuple[str, str, str]]:
    return {(path.name or path.resolve().name, one.side, utt) for path, utt in utts}


def _needed(drawn: Mapping[Scored, _Drawn], sets: Sets) -> set[tuple[str, str, str]]:
    """Set, side and utterance of all audio that is needed: trials, and the enrolments of their speakers."""
    needed = set()
    for scored, one in drawn.items():
        speakers = {spk for spk, _ in one.pairs}
        for utt, spk in read_table(sets.originals[scored.enrolls] / "utt2spk", "speaker").items():
            if spk in speakers:
                needed.add((scored.enrolls, scored.condition[0], utt))
        needed |= {(scored.trials, scored.condition[1], utt) for _, utt in one.pairs}
    return needed


class _Audio:
    """The waves of some utterances: anonymised ones from the archive, original ones from the organiser."""

    def __init__(self, archive: Archive, sets: Sets, system: str, needed: Iterable[tuple[str, str, str]]) -> None:
        self.sources: dict[tuple[str, str, str], str] = {}
        wanted = {}
        needed = set(needed)
        names = {name for name, side, _ in needed if side == "o"}
        tables = {name: read_table(sets.originals[name] / "wav.scp", "audio file") for name in names}
        for name, side, utt in needed:
            if side == "o":
                self.sources[name, side, utt] = tables[name][utt]
            else:
                wanted[f"data/{name}_{system}/wav/{utt}.wav"] = (name, side, utt)
        for number, member in enumerate(members(archive.path)):
            key = wanted.get(member.name.partition("/")[2])
            if key is not None and member.name.partition("/")[2] in archive.sounds:
                copy = archive.work_dir / f"audio{number}.wav"
                with open(copy, "wb") as file:
                    file.writelines(member.chunks())
                self.sources[key] = str(copy)
        self.sets = sets

    def read(self, name: str, side: str, utt: str) -> np.ndarray:
        """The samples of an utterance."""
        if (name, side, utt) not in self.sources:
            raise InputError(f"the audio of '{utt}' is not there")
        return read_audio(self.sources[name, side, utt])


class _Embedder:
    """Vectors of utterances, each made once for every encoder."""

    def __init__(self, audio: _Audio) -> None:
        self.audio = audio
        self.encoders: dict[Path, Encoder] = {}
        self.vectors: dict[tuple[Path, str, str, str], np.ndarray] = {}

    def embeddings(self, conf: Path, name: str, side: str, utt2spk: Mapping[str, str]) -> Embeddings:
        """The vectors of some utterances of a set."""
        if conf not in self.encoders:
            _require_model(conf)
            self.encoders[conf] = load_encoder(conf)
        rows = []
        for utt in utt2spk:
            key = (conf, name, side, utt)
            if key not in self.vectors:
                self.vectors[key] = self.encoders[conf].embed(self.audio.read(name, side, utt))
            rows.append(self.vectors[key])
        return group_rows(self.audio.sets.originals[name], list(utt2spk), list(utt2spk.values()), np.stack(rows))


def _make(
    archive: Archive, scored: Scored, one: _Drawn, system: str, embedder: _Embedder, how: Rescoring
) -> _Made | None:
    """Score drawn trials of one attack; what cannot be done is listed."""
    pairs = one.pairs
    try:
        conf, backend = _model(read_attacker(how.attackers / f"{scored.attacker}.yaml"), system, how)
        logging.info(f"{scored.directory}: scoring {len(pairs)} trials again")
        sets = embedder.audio.sets
        speakers = {spk for spk, _ in pairs}
        owners = read_table(sets.originals[scored.enrolls] / "utt2spk", "speaker")
        enrolled = {utt: spk for utt, spk in owners.items() if spk in speakers}
        enroll = embedder.embeddings(conf, scored.enrolls, scored.condition[0], enrolled)
        trial = embedder.embeddings(conf, scored.trials, scored.condition[1], {utt: "" for _, utt in pairs})
        ours = score_trials(enroll, trial, PairRows.from_pairs(pairs), backend)
    except InputError as error:
        archive.unverified.append(f"{scored.file}: not made again from the audio ({error})")
        return None
    return _Made(scored, pairs, np.asarray(ours), np.array([one.submitted[pair] for pair in pairs]))


def _compare(archive: Archive, made: Sequence[_Made], sets: Sets, drawn: Mapping[Scored, _Drawn]) -> list[str]:
    """Compare the scores of an attacker in a condition with those of the audio; return what was scored again."""
    ours, theirs = (np.concatenate([getattr(one, name) for one in made]) for name in ("ours", "theirs"))
    most = max(_APART * _spread(ours), _LEAST_APART * float(np.abs(ours).max()))
    raw = np.abs(theirs - ours) <= most
    how = ""
    if not raw.all() and (line := _line(ours, theirs)) is not None:
        slope, offset = line
        on_line = np.abs((theirs - offset) / slope - ours) <= most
        if on_line.all():
            if why := _not_calibrated(made, sets, archive, drawn):
                archive.complain(made[0].scored.file, why, "pack the scores as they were made", "scores")
                return []
            raw, how = on_line, ", calibrated on the development sets"
    if raw.all():
        return [f"{len(one.pairs)} scores of {one.scored.directory}, from the audio{how}" for one in made]
    start = 0
    for one in made:
        fits = raw[start : start + len(one.pairs)]
        start += len(one.pairs)
        if not fits.all():
            _complain(archive, one, fits)
    return []


def _complain(archive: Archive, one: _Made, fits: Bools) -> None:
    row = int(np.argmax(np.where(fits, -1, np.abs(one.theirs - one.ours))))
    some = first_few(" ".join(pair) for pair, fit in zip(one.pairs, fits, strict=True) if not fit)
    message = (
        f"{int((~fits).sum())} of {len(one.pairs)} scores are not those of the audio ({some}): "
        f"'{' '.join(one.pairs[row])}' has {one.theirs[row]:.4g}, its audio gives {one.ours[row]:.4g}"
    )
    archive.complain(one.scored.file, message, "pack scores and audio of the same run", "scores")


def _spread(ours: Floats) -> float:
    """The standard deviation of scores, whatever a few of them are."""
    return min(float(np.std(ours)), 1.4826 * float(np.median(np.abs(ours - np.median(ours)))) or np.inf)


def _line(ours: Floats, theirs: Floats) -> tuple[float, float] | None:
    """The rising line through scores, from the median slope between them; None where there is none."""
    left, right = np.triu_indices(len(ours), 1)
    apart = ours[right] - ours[left]
    known = np.abs(apart) > _APART * _spread(ours)
    if len(ours) < 2 * _FEW_WORDS or not known.any():
        return None
    slope = float(np.median((theirs[right] - theirs[left])[known] / apart[known]))
    return (slope, float(np.median(theirs - slope * ours))) if slope > 0 and np.isfinite(slope) else None


def _not_calibrated(made: Sequence[_Made], sets: Sets, archive: Archive, drawn: Mapping[Scored, _Drawn]) -> str:
    """Why scores on a line over those of the audio are not calibrated ones; empty if they are."""
    attack = made[0].scored
    own = [one for one in drawn if (one.attacker, one.condition) == (attack.attacker, attack.condition)]
    targets: list[float] = []
    nontargets: list[float] = []
    for scored in own:
        trials = read_labels(archive, scored, sets) if is_dev(scored.trials) else None
        for pair, is_target in zip(trials.rows, trials.is_target, strict=True) if trials else ():
            (targets if is_target else nontargets).append(drawn[scored].submitted[pair])
    if not targets or not nontargets:
        return "scores are those of the audio on another scale, and there are no development trials to calibrate on"
    line = fit_calibration(np.array(targets), np.array(nontargets))
    if abs(line.slope - 1) <= _SLOPE and abs(line.offset) <= _OFFSET:
        return ""
    return (
        "scores are those of the audio on another scale, which is not that of a calibration on the development sets: "
        f"that would multiply them by {line.slope:.3g} and add {line.offset:.3g}"
    )


def _recognise(
    archive: Archive, one: Recognised, utts: Sequence[tuple[Path, str]], audio: _Audio, how: Rescoring
) -> list[str]:
    """Recognise utterances again; words that differ in many places are a violation."""
    try:
        if how.recognisers is None or one.lm:
            raise InputError("with language models" if one.lm else "no recognisers are known")
        conf = how.recognisers / f"{one.recogniser}.yaml"
        if not conf.is_file():
            raise InputError(f"there is no {conf}")
        _require_model(conf)
        recogniser = load_recognizer(conf)
        logging.info(f"{one.file}: recognising {len(utts)} utterances again")
        ours = {}
        for path, utt in utts:
            wave = audio.read(path.name or path.resolve().name, one.side, utt)
            if isinstance(recogniser, ManyLmRecognizer):
                ours[utt] = list(recogniser.transcribe_all(wave).values())[-1]
            else:
                ours[utt] = recogniser.transcribe(wave)
    except InputError as error:
        archive.unverified.append(f"{one.file}: not recognised again from the audio ({error})")
        return []
    table = read_table(archive.texts[one.file], "text", empty=True)
    theirs = {utt: table.get(utt, "") for utt in ours}
    rules = NORMALIZERS[OF_ANY_SPELLING]
    score = score_texts(ours, theirs, rules)
    found = ErrorCounts.from_counts(score.words)
    if found.errors > max(_FEW_WORDS, _WORDS * found.words):
        worst = score.utts[int(score.words[:, :3].sum(axis=1).argmax())]
        message = (
            f"{found.errors} of {found.words} words of {len(ours)} utterances are not those that {one.recogniser} "
            f"recognises: {worst} is '{theirs[worst][:60]}', and its audio gives '{ours[worst][:60]}'"
        )
        archive.complain(one.file, message, "pack transcripts and audio of the same run", "transcripts")
        return []
    return [f"{len(ours)} utterances of {one.file}, from the audio"]


def _require_model(conf: Path) -> None:
    """Refuse a pretrained model that is not in the store: a check never fetches one."""
    if (name := stored_model(conf)) and (missing := missing_files(find_model(name))):
        raise InputError(f"model {name} lacks {first_few(missing)}; run utils/get_model.py {name}")


def _model(attacker: Attacker, system: str, how: Rescoring) -> tuple[Path, Backend | None]:
    """The encoder of an attacker and its back end, of the organiser's own."""
    if attacker.mode == FUSION:
        raise InputError("a fusion is made of the scores of others")
    start = find_config(how.attackers / f"{attacker.start}.yaml")
    if attacker.mode == PRETRAINED:
        return start, load(attacker.backend) if attacker.backend else None
    if how.models is None:
        raise InputError(f"attacker '{attacker.name}' was trained; say where your own models are (--models)")
    home = how.models / attacker.instance(system)
    attacker = with_choice(attacker, home)
    if attacker.keeps_encoder:
        return start, load(home / "backend.npz") if attacker.trains_backend else None
    return home / "encoder.yaml", None
