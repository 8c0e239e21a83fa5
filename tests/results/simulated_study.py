"""A study whose truth is known: systems whose attackers and recognisers err as often as they are told to.

Speakers differ in how easily they are recognised and understood, for all systems alike, as in real studies; scores and
words of a system have noise of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vpeval.records.record import Record, write_records

SETS = {"f": "toy_test_trials_f", "m": "toy_test_trials_m"}
WORDS = ["the", "old", "man", "took", "his", "dog", "for", "a", "long", "walk"]


def study(
    folder: Path, systems: Mapping[str, tuple[float, float]], seed: int, speakers: int = 10, utts: int = 6
) -> list[Path]:
    """Write data directories and the tables of systems, each a distance of target scores and a word error rate."""
    rng = np.random.default_rng(seed)
    names = {gender: [f"{gender}{i:02}" for i in range(speakers)] for gender in SETS}
    for gender, name in SETS.items():
        place = folder / "data" / name
        place.mkdir(parents=True)
        lines = [
            f"{spk} {other}-{k} {'target' if spk == other else 'nontarget'}\n"
            for spk in names[gender]
            for other in names[gender]
            for k in range(utts)
        ]
        (place / "trials").write_text("".join(lines))
        (place / "utt2spk").write_text("".join(f"{s}-{k} {s}\n" for s in names[gender] for k in range(utts)))
    easy = {gender: rng.normal(0, 0.3, speakers) for gender in SETS}
    clear = {gender: rng.normal(0, 0.3, speakers) for gender in SETS}
    return [
        _system(folder, name, *levels, names, easy, clear, utts, rng) for name, levels in systems.items()
    ]  # fmt: skip


def _system(folder, name, distance, wer, names, easy, clear, utts, rng):
    run = folder / "runs" / name
    records = []
    for gender, trials in SETS.items():
        spks = names[gender]
        own = np.repeat(np.eye(len(spks)), utts, axis=1).astype(bool)
        scores = rng.normal(size=own.shape) + own * (distance + easy[gender])[:, None]
        utt = [f"{spk}-{k}" for spk in spks for k in range(utts)]
        place = run / f"ASV-{trials}_{name}"
        place.mkdir(parents=True)
        rows = (
            f"{s} {u} {float(v)!r}\n"
            for s, row in zip(spks, scores, strict=True)
            for u, v in zip(utt, row, strict=True)
        )
        (place / "scores").write_text("".join(rows))
        tags = {"system": name, "set": trials, "gender": gender, "condition": "aa", "attacker": "ecapa_plda"}
        record = Record("eer_threshold", 0.2, notes={"attack_model": "semi-informed"}, **tags)
        records.append(record.with_files({"scores": f"{place.name}/scores"}))
    place = run / f"ASR-toy_test_asr_{name}"
    place.mkdir()
    refs, hyps, utt2spk = [], [], []
    for gender, spks in names.items():
        for spk, hard in zip(spks, clear[gender], strict=True):
            for k in range(utts):
                wrong = rng.random(len(WORDS)) < wer * np.exp(hard)
                refs.append(f"{spk}-{k} " + " ".join(WORDS) + "\n")
                hyps.append(
                    f"{spk}-{k} "
                    + " ".join("x" if bad else word for word, bad in zip(WORDS, wrong, strict=True))
                    + "\n"
                )
                utt2spk.append(f"{spk}-{k} {spk}\n")
    for file, lines in (("ref", refs), ("hyp", hyps), ("utt2spk", utt2spk)):
        (place / file).write_text("".join(lines))
    tags = {"system": name, "set": "toy_test_asr", "condition": "a", "recogniser": "whisper"}
    files = {file: f"{place.name}/{file}" for file in ("ref", "hyp", "utt2spk")}
    records.append(Record("wer", 100 * wer, params={"normalizer": "vpc2020"}, **tags).with_files(files))
    write_records(run / "results.jsonl", records)
    return run / "results.jsonl"
