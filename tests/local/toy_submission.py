"""A small submission: original and anonymised data, a run, and its package, honest or forged."""

import hashlib
import io
import json
import math
import tarfile
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from in_process import call

from vpeval.records.record import Record, write_records
from vpeval.submission.check import check

SPEAKERS = ("a", "b", "c")
SETS = ("toy_dev_enrolls", "toy_dev_trials_f")
SCORES = "ASV_ecapa-toy_dev_enrolls_mine-toy_dev_trials_f_mine"
ORIGINALS = tuple(Path("data", name) for name in SETS)
ORIGINAL_SCORES = "ASV_ecapa-toy_dev_enrolls-toy_dev_trials_f"
DESCRIPTION = """\
Team: the toy makers, toys@example.org. Our anonymisation method turns every voice into a sine wave, one frequency per
utterance (utterance level). There are no training data and no pretrained models: nothing is trained at all.
"""


def data_dir(path, rate=16000, pitch=50):
    (path / "wav").mkdir(parents=True)
    utts = [f"{spk}-{k}" for spk in SPEAKERS for k in (1, 2)]
    for number, utt in enumerate(utts):
        wave = np.sin(np.arange(800) * (number + 1) / pitch) / 2
        sf.write(path / f"wav/{utt}.wav", wave, rate, subtype="PCM_16")
    (path / "wav.scp").write_text("".join(f"{utt} {path}/wav/{utt}.wav\n" for utt in utts))
    (path / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in utts))
    (path / "spk2utt").write_text("".join(f"{spk} {spk}-1 {spk}-2\n" for spk in SPEAKERS))
    if "trials" in path.name:
        kinds = {True: "target", False: "nontarget"}
        rows = [f"{spk} {utt} {kinds[spk == utt[0]]}\n" for spk in SPEAKERS for utt in utts]
        (path / "trials").write_text("".join(rows))
        (path / "text").write_text("".join(f"{utt} one two three four\n" for utt in utts))


@pytest.fixture
def submission_dir(tmp_path, monkeypatch):
    """Original and anonymised data, and a run whose attacker is always right."""
    monkeypatch.chdir(tmp_path)
    fill()
    return tmp_path


def fill():
    """Make all of it in the current directory."""
    for name in SETS:
        data_dir(Path("data", name))
        data_dir(Path("data", f"{name}_mine"), pitch=60)
    rows = Path("data/toy_dev_trials_f/trials").read_text().splitlines()
    records = []
    for system, condition, folder in (("original", "oo", ORIGINAL_SCORES), ("mine", "aa", SCORES)):
        scores = Path("runs", system, folder, "scores")
        scores.parent.mkdir(parents=True)
        scores.write_text("".join(f"{r.rpartition(' ')[0]}   {float(r.endswith(' target'))}\n" for r in rows))
        tags = {"system": system, "set": "toy_dev_trials_f", "gender": "f", "condition": condition, "attacker": "ecapa"}
        values = {
            "eer_kaldi": 0.0,
            "min_cllr": 0.0,
            "cllr": (math.log2(1 + math.exp(-1)) + 1) / 2,
            "eer_rocch": 0.0,
            "eer_threshold": 0.0,
        }
        files = {"scores": f"../{system}/{folder}/scores"}
        records += [Record(m, v, notes={"seed": 3, "files": files}, recipe="toy", **tags) for m, v in values.items()]
    for system, side, wrong in (("original", "o", 0), ("mine", "a", 1)):
        folder = Path("runs", system, f"ASR_whisper_base-toy_dev_asr{'' if side == 'o' else '_mine'}")
        folder.mkdir()
        lines = Path("data/toy_dev_trials_f/text").read_text().splitlines(keepends=True)
        (folder / "hyp").write_text("".join([lines[0].replace("four", "for") if wrong else lines[0], *lines[1:]]))
        counts = {"ins": 0, "del": 0, "sub": wrong, "ref_words": 24}
        tags = {"system": system, "set": "toy_dev_asr", "condition": side, "attacker": "whisper_base"}
        files = {"hyp": f"../{system}/{folder.name}/hyp"}
        records.append(Record("wer", 100 * wrong / 24, counts=counts, notes={"files": files}, **tags))
    write_records("runs/mine/results.jsonl", records)
    Path("description.md").write_text(DESCRIPTION)


def make(out="s.tar.gz", *options):
    described = () if "--description" in options else ("--description", "description.md")
    return call("make_submission.py", *described, *options, "runs/mine", out, *(f"data/{name}" for name in SETS))


def members(path="s.tar.gz"):
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def rewrite(change, path="s.tar.gz"):
    """Pack the members again after `change` has altered them; the manifest stays as it was."""
    files = members(path)
    change(files)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def sign(files):
    """Let the manifest tell the truth about files that were changed, as a forger would."""
    manifest = json.loads(files["mine/manifest.json"])
    manifest["files"] = {
        name.removeprefix("mine/"): {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name != "mine/manifest.json"
    }
    files["mine/manifest.json"] = json.dumps(manifest).encode()


def forge(change):
    """Change the package and sign it again."""

    def change_and_sign(files):
        change(files)
        sign(files)

    rewrite(change_and_sign)


def violations(*originals):
    found = check("s.tar.gz", originals).problems
    return [(p.kind, f"{p.path.relative_to('s.tar.gz')}: {p.message}") for p in found]
