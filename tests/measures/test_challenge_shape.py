"""The shape of the challenge's LibriSpeech sets: 29 enrolled speakers, 40 trial speakers, 11 of whom are impostors only."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.backend import Cosine, score_trials
from vpeval.data.trials import read_scores, read_trials, trial_speakers, write_scores
from vpeval.embeddings.speaker_vectors import group, pool, split, write_embeddings
from vpeval.measures import disclosure, linkability, singling_out
from vpeval.measures.disclosure import score_srd
from vpeval.measures.legal import parse_sizes
from vpeval.measures.linkability import score_linkability
from vpeval.measures.singling_out import score_singling_out
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.verification import verification

ROOT = Path(__file__).parents[2]
UTTS = {"enroll": 12, "trial": 15}


def voices(role, speakers, spread=1.0, seed=0, noise=0.8):
    """Random vectors around the means of speakers; `spread` is their share of what all have in common."""
    rng = np.random.default_rng(99)
    common = rng.standard_normal(24)
    means = {spk: rng.standard_normal(24) for spk in (f"{k:04d}" for k in range(1000, 1040))}
    rng = np.random.default_rng([seed, len(role)])
    vectors, speaker_of = {}, {}
    for spk in speakers:
        for u in range(UTTS[role]):
            utt = f"{spk}-{role}-{u:02d}"
            vectors[utt] = (common + spread * (means[spk] + noise * rng.standard_normal(24))).astype(np.float32)
            speaker_of[utt] = spk
    return group(Path(role), vectors, speaker_of)


ALL = [f"{k:04d}" for k in range(1000, 1040)]
ENROLLED = ALL[3:32]


@pytest.fixture(scope="module")
def sets():
    return voices("enroll", ENROLLED), voices("trial", ALL)


def test_linkability_leaves_out_who_is_not_enrolled_and_counts_them(sets):
    enroll, trial = sets
    sizes = parse_sizes("--n-enroll", "20,all", ""), parse_sizes("--n-utts", "1,3,all", "")
    scores = score_linkability(enroll, trial, Cosine(), linkability.Options(0, n_enroll=sizes[0], n_utts=sizes[1]))
    assert len(scores.records) == 12
    for record in scores.records:
        assert record.counts == {"test_speakers": 29, "left_out": 11, "enroll_speakers": 29, "not_enrolled": 11}
    assert {value.speaker for value in scores.per_speaker} == set(ENROLLED)
    # The impostors change nothing: without them the numbers are the same.
    part = voices("trial", ENROLLED)
    known = {spk: trial.vectors[trial.starts[s]] for s, spk in enumerate(trial.speakers)}
    for s, spk in enumerate(part.speakers):
        part.vectors[part.starts[s] : part.starts[s + 1]] = trial.vectors[
            trial.starts[ALL.index(spk)] : trial.starts[ALL.index(spk) + 1]
        ]
        assert np.array_equal(part.vectors[part.starts[s]], known[spk])
    alone = score_linkability(
        enroll,
        part,
        Cosine(),
        linkability.Options(0, n_enroll=sizes[0], n_utts=parse_sizes("--n-utts", "all", "")),
    )
    assert [r.value for r in scores.records if r.params["L"] == "all"] == [r.value for r in alone.records]


def test_an_enrolment_speaker_who_is_not_tested_is_left_out_of_singling_out_and_counted(sets):
    enroll, trial = sets
    sizes = parse_sizes("--n-speakers", "20,all", ""), parse_sizes("--n-utts", "1,3", "", has_all=False)
    options = singling_out.Options(0, n_speakers=sizes[0], n_utts=sizes[1], draws=2)
    scores = score_singling_out(enroll, trial, Cosine(), options)
    counts = scores.records[0].counts
    assert (counts["enroll_speakers"], counts["test_speakers"], counts["left_out"]) == (29, 40, 0)
    assert "enroll_left_out" not in counts
    turned = score_singling_out(voices("enroll", ALL), voices("trial", ENROLLED), Cosine(), options)
    counts = turned.records[0].counts
    assert (counts["enroll_speakers"], counts["test_speakers"], counts["enroll_left_out"]) == (29, 29, 11)


def test_enrolment_speakers_of_singling_out_are_nested_over_the_numbers_of_utterances():
    trial = voices("trial", ALL)
    lengths = np.where(np.arange(40) % 3 == 0, 2, 15)
    kept = np.concatenate([np.arange(trial.starts[s], trial.starts[s] + n) for s, n in enumerate(lengths)])
    short = group(Path("trial"), *trial.rows(kept))
    sizes = parse_sizes("--n-speakers", "all", ""), parse_sizes("--n-utts", "1,3", "", has_all=False)
    scores = score_singling_out(
        voices("enroll", ALL),
        short,
        Cosine(),
        singling_out.Options(0, n_speakers=sizes[0], n_utts=sizes[1], n_enroll=12, draws=1),
    )
    chosen = {L: {v.speaker for v in scores.per_speaker if v.L == L} for L in ("1", "3")}
    assert {len(names) for names in chosen.values()} == {12}
    able = {spk for spk, n in zip(ALL, lengths, strict=True) if n >= 6}
    assert chosen["1"] & able <= chosen["3"] <= able


def test_verification_counts_impostors_and_similarity_ranks_split_all_speakers(sets, tmp_path):
    enroll, trial = sets
    pairs = [(spk, utt) for spk in enroll.speakers for utt in trial.utts]
    lines = [f"{spk} {utt} {'target' if utt.startswith(spk) else 'nontarget'}\n" for spk, utt in pairs]
    (tmp_path / "trials").write_text("".join(lines))
    trials = read_trials(tmp_path / "trials")
    write_scores(tmp_path / "scores", trials, score_trials(enroll, trial, trials.rows))
    speakers = trial_speakers(trials, {utt: utt[:4] for utt in trial.utts})
    scored = ScoredTrials(read_scores(tmp_path / "scores", trials), trials.is_target, speakers.enroll, speakers.trial)
    for record in verification(scored, 0):
        assert record.counts == {"targets": 29 * 15, "nontargets": 29 * 15 * 39, "speakers": 40}
    pooled = pool([enroll, trial])
    halves = split(pooled, 13)
    assert set(halves.left_out) == set()
    references, inputs = (group(Path("x"), *pooled.rows(rows)) for rows in (halves.references, halves.inputs))
    records = score_srd(references, inputs, disclosure.Options(0)).records
    assert {(r.counts["inputs"], r.counts["input_speakers"]) for r in records} == {(40 * 13, 40)}


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_the_scorers_take_such_sets_and_crowded_voices_are_linked_as_often(sets, tmp_path, spread):
    for name, part in (("enroll", voices("enroll", ENROLLED, spread)), ("trial", voices("trial", ALL, spread))):
        write_embeddings(tmp_path / name, *part.rows(np.arange(len(part.utts))))
    for metric in ("linkability", "singling_out"):
        command = [sys.executable, str(ROOT / f"local/score_{metric}.py"), "--bootstrap", "0", "enroll", "trial"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([*command, f"{metric}.jsonl"], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "linkability.jsonl").read_text().splitlines()]
    assert rows[0]["counts"]["left_out"] == 11
    assert rows[0]["value"] > 0.8
