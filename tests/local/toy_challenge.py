"""A small challenge: real (synthetic) speech, an anonymiser, attackers who listen to the melody, and honest packages.

`Challenge.package` gives the files of the honest package of an edition; `Challenge.judge` packs files and checks them.
"""

import csv
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import soundfile as sf

from vpeval.anon import mcadams
from vpeval.asv.attackers import read_attacker
from vpeval.asv.backend import Backend, fit_calibration, load, save, score_trials
from vpeval.audio.io import RATE, read_audio, write_wave
from vpeval.core.files import read_table
from vpeval.data.text import NORMALIZERS
from vpeval.data.trials import read_trials, write_scores
from vpeval.editions.base import edition_of, render
from vpeval.embeddings.plda import Plda
from vpeval.embeddings.speaker_vectors import group_rows
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import POINT_ESTIMATES
from vpeval.metrics.wer import score_texts
from vpeval.networks.encoders import load_encoder
from vpeval.records.record import Record
from vpeval.submission.check import Verdict, check
from vpeval.submission.demands import Organiser, Rescoring
from vpeval.submission.pack import Contents, pack

CORPUS = Path(__file__).parents[2] / "egs/mini/corpus"
ENROLLS, TRIALS = "toy_dev_enrolls", "toy_dev_trials_f"
EDITIONS = ("2020", "2022", "2024", "2026")
EMOTIONS = ("ang", "hap", "neu", "sad")
DESCRIPTION = """\
Team: the toy makers, toys@example.org. Our anonymisation method moves the poles of linear prediction, at the speaker
level. There are no training data and no pretrained models: nothing is trained at all.
"""
_RECIPE = f"""\
recipe=toy
edition=2020
asv_pairs="{ENROLLS}:{TRIALS}"
asr_sets="toy_dev_asr:{TRIALS}"
emotion_sets="toy_dev:{TRIALS}"
ser=linear
text_rules=vpc2020
attackers="listener learner"
train_sets="toy_train"
asr=tiny
"""
_CONFIGURATIONS = {
    "asv/encoders/listener.yaml": "encoder: f0_histogram\nsimilarity: cosine\n",
    "asv/encoders/weak.yaml": "encoder: f0_histogram\nsimilarity: euclidean\n",
    "asv/attackers/learner.yaml": "mode: backend\nstart: listener\nprofile: plain\ntrained_on: same\n",
    "asv/attackers/learner2.yaml": "mode: backend\nstart: listener\nprofile: plain\ntrained_on: same\n",
    "asr/tiny.yaml": "recognizer: whisper\nmodel: whisper_base\nlanguage: en\nbeam: 1\ncompute: int8\nwindow: 10\n",
    "asr/other.yaml": "recognizer: whisper\nmodel: whisper_base\nlanguage: en\nbeam: 5\ncompute: int8\nwindow: 10\n",
    "asr/train/ctc.yaml": "epochs: 1\n",
    "ser/linear.yaml": "encoder: whisper\n",
    "ser/other.yaml": "encoder: whisper\n",
}
_FACTORS = {"mcadams": 0.8, "other": 0.7}


def _random(scores: np.ndarray, is_target: np.ndarray) -> np.ndarray:
    return scores.mean() + scores.std() * np.random.default_rng(5).normal(size=len(scores))


def _outlier(scores: np.ndarray, is_target: np.ndarray) -> np.ndarray:
    made_up = _random(scores, is_target)
    made_up[np.flatnonzero(~is_target)[3]] = 1e9
    return made_up


def _shuffled(scores: np.ndarray, is_target: np.ndarray) -> np.ndarray:
    made_up = scores.copy()
    for kind in (is_target, ~is_target):
        made_up[kind] = np.roll(scores[kind], 7)
    return made_up


CHANGES = {
    "calibrated": lambda scores, is_target: fit_calibration(scores[is_target], scores[~is_target])(scores),
    "random": _random,
    "outlier": _outlier,
    "shuffled": _shuffled,
    "scaled": lambda scores, is_target: 3 * scores,
    "moved": lambda scores, is_target: fit_calibration(scores[is_target], scores[~is_target])(scores) - 2,
}


@dataclass(frozen=True)
class Run:
    """What was done in a run: how scores in which conditions were changed, and by which names things go."""

    change: str = ""
    conditions: tuple[str, ...] = ("oo", "oa", "aa")
    names: tuple[tuple[str, str], ...] = ()
    recogniser: str = "tiny"
    emotions: str = "linear"
    perfect: bool = False

    def name(self, attacker: str) -> str:
        """The name that an attacker goes by; empty where it did not take part."""
        return dict(self.names).get(attacker, attacker)


@dataclass(frozen=True)
class Challenge:
    """A directory with the organiser's data, configurations and models, and those of a participant."""

    path: Path

    @property
    def originals(self) -> tuple[Path, Path]:
        """The original sets."""
        return self.path / "data" / ENROLLS, self.path / "data" / TRIALS

    def organiser(self, edition: str = "", trials: int = 0, named: bool = True) -> Organiser:
        """What the organiser says; `trials` are made again, and `named` is the recipe."""
        conf = self.path / "conf"
        rescoring = Rescoring(trials, 1, conf / "asv", self.path / "models", conf / "asr") if trials else None
        recipes = self.path / ("egs/toy/recipe.conf" if named else "egs")
        return Organiser(edition, recipes, conf / "asv", conf / "asr", rescoring)

    def package(self, edition: str, system: str = "mcadams", run: Run | None = None) -> dict[str, bytes]:
        """The files of the package of a run, by name in the archive; it is honest unless the run is not."""
        return dict(_packed(self, edition, system, run or Run()))

    def _pack(self, edition: str, system: str, how: Run) -> dict[str, bytes]:
        run = Path(tempfile.mkdtemp(dir=self.path)) / system
        records = _records(self.path, run, edition, system, how)
        listener, learner = how.name("listener"), how.name("learner")
        shown = {"attacker": listener} if edition == "2020" else {"attacker": learner, "asv_eval": listener}
        rules = {"text_rules": "vpc2020"}
        results = {name: render(records, edition, name, **shown, **rules) for name in edition_of(edition).file_names}
        contents = Contents(
            edition=edition,
            system=system,
            run=run,
            data=self.originals,
            results=results,
            records=records,
            description=DESCRIPTION,
            shown={**shown, **rules},
            attackers=self.path / "conf/asv",
            recognisers=self.path / "conf/asr",
        )
        pack(contents, run / "s.tar.gz")
        with tarfile.open(run / "s.tar.gz") as archive:
            return {member.name: archive.extractfile(member).read() for member in archive}

    def judge(self, files: dict[str, bytes], organiser: Organiser, originals: Sequence[Path] | None = None) -> Verdict:
        """Pack files, and check them."""
        out = self.path / "forged.tar"
        with tarfile.open(out, "w") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return check(out, self.originals if originals is None else originals, organiser)


@cache
def _packed(challenge: Challenge, edition: str, system: str, run: Run) -> dict[str, bytes]:
    return challenge._pack(edition, system, run)


def found(verdict: Verdict) -> list[str]:
    """Violations and what was not verified, as lines."""
    violations = [f"{problem.path.name}: {problem.message}" for problem in verdict.problems]
    return violations + [f"not verified: {line}" for line in verdict.unverified]


def make_challenge(path: Path) -> Challenge:
    """Write everything but the packages."""
    for name, text in {**{f"conf/{k}": v for k, v in _CONFIGURATIONS.items()}, "egs/toy/recipe.conf": _RECIPE}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    unit = np.eye(107)
    plda = Plda(np.zeros(107), unit, unit)
    for system in _FACTORS:
        for name in ("learner", "learner2"):
            (path / f"models/{name}-{system}").mkdir(parents=True)
            save(path / f"models/{name}-{system}/backend.npz", Backend(np.full(107, 1 / 107), unit, plda))
    rows = list(csv.DictReader((CORPUS / "utterances.tsv").open(), delimiter="\t"))
    speakers = [row["spk"] for row in csv.DictReader((CORPUS / "speakers.tsv").open(), delimiter="\t")]
    speakers = [spk for spk in speakers if spk.startswith("f")][:5]
    for name, chosen in ((ENROLLS, slice(0, 4)), (TRIALS, slice(4, 9))):
        utts = [row for spk in speakers for row in [row for row in rows if row["spk"] == spk][chosen]]
        for system, factor in {"": None, **_FACTORS}.items():
            data = path / "data" / (f"{name}_{system}" if system else name)
            transform = replace(mcadams.edition("2020"), alpha=factor) if factor else None
            _write_set(data, utts, transform)
    return Challenge(path)


def _write_set(data: Path, utts: Sequence[dict[str, str]], transform: mcadams.McAdams | None) -> None:
    (data / "wav").mkdir(parents=True)
    for row in utts:
        wave = read_audio(str(CORPUS / f"audio/{row['spk']}/{row['utt']}.opus"))[: RATE + RATE // 2]
        write_wave(data / f"wav/{row['utt']}.wav", transform(wave, RATE) if transform else wave)
    names = [row["utt"] for row in utts]
    speakers = sorted({row["spk"] for row in utts})
    tables = {
        "wav.scp": [f"{utt} {data}/wav/{utt}.wav" for utt in names],
        "utt2spk": [f"{row['utt']} {row['spk']}" for row in utts],
        "spk2utt": [" ".join([spk, *(row["utt"] for row in utts if row["spk"] == spk)]) for spk in speakers],
        "text": [f"{row['utt']} {row['text']}" for row in utts],
        "spk2gender": [f"{spk} f" for spk in speakers],
    }
    if "trials" in data.name:
        tables["utt2emo"] = [f"{utt} {EMOTIONS[number % 4]}" for number, utt in enumerate(names)]
        tables["trials"] = [
            f"{spk} {row['utt']} {'target' if spk == row['spk'] else 'nontarget'}" for spk in speakers for row in utts
        ]
    for name, lines in tables.items():
        (data / name).write_text("".join(f"{line}\n" for line in lines))


@cache
def _embedded(data: Path, conf: Path) -> object:
    encoder = load_encoder(conf)
    sources, owners = read_table(data / "wav.scp"), read_table(data / "utt2spk")
    vectors = np.stack([encoder.embed(read_audio(sources[utt])) for utt in owners])
    return group_rows(data, list(owners), list(owners.values()), vectors)


def _records(path: Path, run: Path, edition: str, system: str, how: Run) -> list[Record]:
    trials = read_trials(path / "data" / TRIALS / "trials")
    conf = path / "conf/asv/encoders/listener.yaml"
    records = []
    for attacker, condition in (("listener", "oo"), ("listener", "oa"), ("listener", "aa"), ("learner", "aa")):
        if not (called := how.name(attacker)):
            continue
        names = [
            f"{name}_{system}" * (side == "a") or name for name, side in zip((ENROLLS, TRIALS), condition, strict=True)
        ]
        backend = load(path / f"models/{attacker}-{system}/backend.npz") if attacker == "learner" else None
        sides = [_embedded(path / "data" / name, conf) for name in names]
        scores = np.asarray(score_trials(*sides, trials.rows, backend))
        if how.change and condition in how.conditions:
            scores = CHANGES[how.change](scores, trials.is_target)
        folder = f"ASV_{called}-{'-'.join(names)}"
        write_scores(run / folder / "scores", trials, scores)
        model, _ = read_attacker(path / f"conf/asv/{attacker}.yaml").attack(condition, system)
        notes = {"attack_model": model, "files": {"scores": f"../{system}/{folder}/scores"}}
        pooled = pool(scores[trials.is_target], scores[~trials.is_target])
        tags = {"system": "original" if condition == "oo" else system, "set": TRIALS, "gender": "f"}
        records += [
            Record(metric, function(pooled), notes=notes, condition=condition, attacker=called, recipe="toy", **tags)
            for metric, function in POINT_ESTIMATES.items()
        ]
    refs = read_table(path / "data" / TRIALS / "text")
    for side, name, wrong in (("o", "original", 1), ("a", system, 5)):
        suffix = "" if side == "o" else f"_{system}"
        wrong = 0 if how.perfect else wrong
        hyps = {
            utt: text.replace(" the ", " a ") if row < wrong else text for row, (utt, text) in enumerate(refs.items())
        }
        records += _recognised(run, f"ASR_{how.recogniser}-toy_dev_asr{suffix}/hyp", "hyp", hyps, system)
        words = score_texts(refs, hyps, NORMALIZERS["vpc2020"]).words.sum(axis=0).tolist()
        counts = dict(zip(("ins", "del", "sub", "ref_words"), words, strict=True))
        tags = {"system": name, "set": "toy_dev_asr", "condition": side, "recogniser": how.recogniser, "recipe": "toy"}
        notes = {"source": f"exp/toy/runs/{name}/ASR_{how.recogniser}-toy_dev_asr{suffix}/hyp", **records.pop()}
        rate = 100 * sum(words[:3]) / words[3]
        records.append(Record("wer", rate, counts=counts, params={"normalizer": "vpc2020"}, notes=notes, **tags))
        if edition in ("2024", "2026"):
            emotions = dict(enumerate(read_table(path / "data" / TRIALS / "utt2emo").items()))
            said = {utt: "sad" if row < 2 * wrong else emotion for row, (utt, emotion) in emotions.items()}
            records += _recognised(run, f"UAR_{how.emotions}-toy_dev{suffix}/predictions", "predictions", said, system)
            truth = dict(emotions.values())
            recalls = {e: np.mean([said[u] == e for u in truth if truth[u] == e]) for e in EMOTIONS}
            tags |= {"set": "toy_dev", "recogniser": how.emotions}
            notes = records.pop()
            records.append(Record("uar", 100 * float(np.mean(list(recalls.values()))), notes=notes, **tags))
    return records


def _recognised(run: Path, name: str, kind: str, table: dict[str, str], system: str) -> list[dict[str, object]]:
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).write_text("".join(f"{key} {value}\n" for key, value in table.items()))
    return [{"files": {kind: f"../{system}/{name}"}}]


def wave(samples) -> bytes:
    """A 16-bit WAV file."""
    content = io.BytesIO()
    sf.write(content, np.clip(np.rint(samples), -32768, 32767).astype(np.int16), RATE, subtype="PCM_16", format="WAV")
    return content.getvalue()


def samples(content: bytes) -> np.ndarray:
    """The samples of a WAV file, as whole numbers."""
    return sf.read(io.BytesIO(content), dtype="int16")[0].astype(np.float64)


def manifest(files: dict[str, bytes], change) -> None:
    """Change the manifest."""
    name = next(name for name in files if name.endswith("/manifest.json"))
    content = json.loads(files[name])
    change(content)
    files[name] = json.dumps(content).encode()


def sign(files: dict[str, bytes]) -> None:
    """Let the manifest tell the truth about files that were changed, as a forger would."""
    top = next(iter(files)).partition("/")[0]

    def tell(content) -> None:
        content["files"] = {
            name.removeprefix(f"{top}/"): {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
            if not name.endswith("/manifest.json")
        }

    manifest(files, tell)


def without_recognisers(organiser: Organiser) -> Organiser:
    """The same, but that transcripts are not recognised again."""
    how = organiser.rescoring
    return replace(organiser, rescoring=replace(how, recognisers=None) if how else None)
