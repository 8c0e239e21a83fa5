"""Runs of a toy recipe on disk, as the scoring stages leave them: original data and one system, everything measured."""

import contextlib
import io
import json
import runpy
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.core.files import write_text
from vpeval.measures.base import Scores, SpeakerValue
from vpeval.metrics.score_metrics import det_curve, ece_curves
from vpeval.metrics.scores import pool
from vpeval.records.record import Record, read_records, write_records

ROOT = Path(__file__).parents[2]
SPEAKERS = [f"s{k}" for k in range(6)]
TRIALS = {"f": "toy_test_trials_f", "m": "toy_test_trials_m"}
VALUES = {
    "oo": {"eer_kaldi": 0.04, "min_cllr": 0.1, "zebra_population": 0.6, "dsys": 0.8, "linkability": 0.9},
    "oa": {"eer_kaldi": 0.3, "min_cllr": 0.8, "zebra_population": 0.2, "dsys": 0.3, "linkability": 0.3},
    "aa": {"eer_kaldi": 0.15, "min_cllr": 0.5, "zebra_population": 0.4, "dsys": 0.5, "linkability": 0.6},
}


def make_runs(root, system="toy"):
    """Write ``root/runs/{original,<system>}`` and ``root/data``; return the two run directories."""
    rng = np.random.default_rng(0)
    runs = root / "runs/original", root / f"runs/{system}"
    for set_name in TRIALS.values():
        write_text(root / f"data/{set_name}/trials", "".join(f"{spk} {utt} {label}\n" for spk, utt, label in trials()))
    for condition in ("oo", "oa", "aa"):
        run = runs[condition != "oo"]
        name = "original" if condition == "oo" else system
        tags = {"recipe": "toy", "system": name, "condition": condition, "attacker": "cosine"}
        for gender, set_name in TRIALS.items():
            write_verification(run / f"ASV-{condition}-{gender}", {**tags, "set": set_name, "gender": gender}, rng)
        write_legal(run, {**tags, "set": "toy_all"})
        if condition != "oa":
            write_srd(run / f"srd-{condition}", {**tags, "set": "toy_all"})
    for gender, set_name in TRIALS.items():
        tags = {"recipe": "toy", "system": system, "set": set_name, "gender": gender, "attacker": "cosine"}
        write_similarity(runs[1] / f"VSM-{gender}", tags)
    for run, rate, name, condition in ((runs[0], 4.0, "original", "o"), (runs[1], 10.0, system, "a")):
        tags = {"recipe": "toy", "system": name, "set": "toy_test_asr", "condition": condition, "attacker": "asr"}
        wer = Record("wer", rate, rate - 1, rate + 1, counts={"ref_words": 200}, notes={"unit": "%"})
        write_records(run / "ASR-toy/records.jsonl", [wer.tagged(tags)])
        write_table(run)
    return runs


def copied(results, count, attackers=()):
    """The results of `count` systems toy0, toy1 … like the system toy, also by further attackers."""
    entries = []
    for entry in results.entries:
        record = entry.record
        names = (
            [record.system] if record.system != "toy" else [f"toy{k}" for k in range(count)] if count > 1 else ["toy"]
        )
        for name in names:
            copies = [record.attacker, *(f"{record.attacker}_{more}" for more in attackers if record.attacker)]
            entries += [replace(entry, record=replace(record, system=name, attacker=one)) for one in copies]
    return replace(results, entries=entries)


def write_table(run):
    """Join the records of a run in its results.jsonl, which names side files by their folders."""
    records = []
    for path in sorted(run.glob("*/records.jsonl")):
        for record in read_records(path):
            files = {what: f"{path.parent.name}/{name}" for what, name in record.files.items()}
            records.append(record.with_files(files) if files else record)
    write_records(run / "results.jsonl", records)


def trials():
    """Every speaker against four utterances of every speaker."""
    for spk in SPEAKERS:
        for other in SPEAKERS:
            for k in range(4):
                yield spk, f"{other}-{k}", "target" if spk == other else "nontarget"


def write_verification(directory, tags, rng):
    rows = list(trials())
    scores = np.array([rng.normal(1 if label == "target" else 0, 0.4) for *_, label in rows])
    write_text(directory / "scores", "".join(f"{s} {u} {x:.6f}\n" for (s, u, _), x in zip(rows, scores, strict=True)))
    same = np.array([label == "target" for *_, label in rows])
    pooled = pool(scores[same], scores[~same])
    curves = {"det": asdict(det_curve(pooled)), "ece": asdict(ece_curves(pooled, points=15))}
    lists = {name: {axis: values.tolist() for axis, values in curve.items()} for name, curve in curves.items()}
    write_text(directory / "records.curves.json", json.dumps(lists))
    values = VALUES[tags["condition"]]
    side_files = {"files": {"curves": "records.curves.json", "scores": "scores"}}
    drawn = {"resamples": 100, "seed": 7}
    counts = {"targets": 24, "nontargets": 120, "speakers": 6}
    records = [
        *(
            interval(Record(name, values["eer_kaldi"] + more, notes={**drawn, **side_files}), 0.02)
            for name, more in EERS
        ),
        interval(Record("min_cllr", values["min_cllr"], notes=drawn), 0.05),
        interval(Record("cllr", values["min_cllr"] + 0.1, notes=drawn), 0.05),
        interval(Record("zebra_population", values["zebra_population"], notes={**drawn, **side_files}), 0.01),
        interval(Record("zebra_individual", 1.5, notes={"tag": "B"}), 0.1),
        interval(Record("dsys", values["dsys"], notes={"files": {"scores": "scores"}}), 0.1),
        interval(Record("dsys_null", 0.05), 0.01),
    ]
    write_records(directory / "records.jsonl", [replace(r, counts=counts).tagged(tags) for r in records])


EERS = (("eer_kaldi", 0.0), ("eer_threshold", 0.1), ("eer_rocch", -0.01))
"""The three EERs, and by how much they differ from Kaldi's."""


def interval(record, width):
    return replace(record, lower=record.value - width, upper=record.value + width)


def write_legal(run, tags):
    value = VALUES[tags["condition"]]["linkability"]
    for metric, chance in (("linkability", lambda n: 1 / n), ("singling_out", lambda n: 0.35)):
        records, speakers = [], []
        for length in (1, 3):
            for n in (4, 6):
                params, notes = {"N": n, "L": length}, {"chance": chance(n)}
                record = Record(metric, value, params=params, counts={"test_speakers": 6}, notes=notes)
                records.append(interval(record, 0.1))
                for rank, spk in enumerate(SPEAKERS):
                    speakers.append(SpeakerValue(metric, spk, n, str(length), value * (rank % (length + 3)) / 5))
                if metric == "linkability":
                    records.append(Record("one_minus_eer", 0.9, params={"N": n, "L": length}, notes={"chance": 0.5}))
        Scores(records, speakers).write(run / f"{metric}-{tags['condition']}/records.jsonl", tags, {})


def write_attributes(run, tags):
    """Side information and inference, of one attribute."""
    records = []
    for length in (1, 3):
        for n in (4, 6):
            params = {"N": n, "L": length, "side": "gender", "groups": 2}
            notes = {"chance": 2 / n, "candidates": n / 2}
            records += [
                interval(Record(f"{m}_side", 0.7, params=params, notes=notes), 0.1)
                for m in ("linkability", "singling_out")
            ]
        params = {"attribute": "gender", "L": length, "classes": 2}
        records.append(interval(Record("inference_bits", 0.5, params=params, notes={"chance": 0, "entropy": 1.0}), 0.2))
    write_records(run / f"attributes-{tags['condition']}/records.jsonl", [record.tagged(tags) for record in records])


def write_srd(directory, tags):
    ranks = [12, 6, 3, 2, 1, 0]
    params = {"N": 6, "L": 1, "estimator": "empirical"}
    notes = {"chance": 0.0, "floor": 0.2, "files": {"ranks": "records.ranks.json"}}
    records = [
        Record("srd_max", 1.58, 1.2, 1.9, params, notes=notes),
        Record("srd_idr", 0.5, 0.4, 0.6, params, notes={**notes, "chance": 1 / 6, "floor": 1 / 6}),
    ]
    write_text(directory / "records.ranks.json", json.dumps({"ranks": ranks}))
    write_records(directory / "records.jsonl", [record.tagged(tags) for record in records])


def write_similarity(directory, tags):
    matrix = np.full((6, 6), 0.2) + 0.6 * np.eye(6)
    content = {"speakers": SPEAKERS, "oo": matrix.tolist(), "oa": matrix.tolist(), "aa": matrix.tolist()}
    content["aa"][2][2] = None
    write_text(directory / "records.matrices.json", json.dumps(content))
    notes = {"files": {"matrices": "records.matrices.json"}}
    records = [Record("g_vd", -1.5, -2.0, -1.0, notes=notes), Record("deid", 0.4, 0.3, 0.5, notes=notes)]
    write_records(directory / "records.jsonl", [record.tagged(tags) for record in records])


def write_audio(root, system="toy", seconds=0.3):
    """Two speakers of one utterance each in every trial set, original and anonymised."""
    for gender, name in TRIALS.items():
        for suffix, level in (("", 0.3), (f"_{system}", 0.1)):
            directory = root / f"data/{name}{suffix}"
            utts = [f"{gender}{k}-1" for k in range(2)]
            for utt in utts:
                wave = level * np.sin(np.arange(int(16000 * seconds)) / 10)
                write_wave(directory / f"wav/{utt}.wav", wave)
            write_text(directory / "wav.scp", "".join(f"{utt} {directory}/wav/{utt}.wav\n" for utt in utts))
            write_text(directory / "utt2spk", "".join(f"{utt} {utt[:2]}\n" for utt in utts))
            write_text(directory / "text", "".join(f"{utt} HELLO <WORLD>\n" for utt in utts))
            write_text(directory / "spk2gender", "".join(f"{utt[:2]} {gender}\n" for utt in utts))


def run_script(name, *arguments, cwd):
    """Run a script of local/ in this process: (exit code, what it printed, its messages)."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch("sys.argv", [name, *map(str, arguments)]),
        mock.patch("logging.basicConfig"),
        pytest.raises(SystemExit) as left,
    ):
        runpy.run_path(str(ROOT / "local" / name), run_name="__main__")
    return left.value.code, out.getvalue(), err.getvalue()
