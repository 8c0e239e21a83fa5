"""Rebuilt LibriSpeech sets have the numbers and durations of the official ones."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from vpeval.corpora.challenge import Sets, build_libri
from vpeval.corpora.counts import EXPECTED
from vpeval.corpora.utterances import Utterance, by_speaker

OFFICIAL = Path(__file__).resolve().parents[3] / "shared/reference/vpc_libri_lists"
MEDIAN = {"libri_dev": 77, "libri_test": 90}
LENGTHS = {"libri_dev": (1.4, 2.0), "libri_test": (1.5, 2.2)}
"""Logarithms of the middle lengths of sentences."""


def like_librispeech(base: str) -> list[Utterance]:
    """40 speakers of 8 min each, as many with two or three chapters as can be enrolled, and utterances as long."""
    rng = np.random.default_rng(5)
    utterances = []
    for gender in "fm":
        able = EXPECTED[f"{base}_enrolls", gender].speakers + 1
        for place in range(20):
            spk, chapters = f"{gender}{place:02d}", (1 if place >= able else 2 + place % 2)
            for chapter in range(chapters):
                # A chapter of conversations has shorter sentences than one of descriptions.
                mean, passed, number = rng.uniform(*LENGTHS[base]), 0.0, 0
                while passed < 480 / chapters:
                    seconds = float(np.clip(rng.lognormal(mean, 0.6), 1.3, 35))
                    utt = f"{spk}-{chapter}-{number:04d}"
                    utterances.append(Utterance(utt, Path("x"), spk, gender, str(chapter), seconds=seconds))
                    passed, number = passed + seconds, number + 1
    return utterances


def official_dev() -> list[Utterance]:
    """The utterances of the official development lists; those of enrolment chapters that no list names are guessed."""
    seconds: dict[str, float] = {}
    genders: dict[str, str] = {}
    for name in ("enrolls", "trials_f", "trials_m"):
        home = OFFICIAL / f"libri_dev_{name}"
        seconds |= {line.split()[0]: float(line.split()[1]) for line in (home / "utt2dur").open()}
        genders |= dict(line.split() for line in (home / "spk2gender").open())
    rng = np.random.default_rng(0)
    own = {spk: [value for utt, value in seconds.items() if utt.startswith(f"{spk}-")] for spk in genders}
    for chapter in {utt.rpartition("-")[0] for utt in seconds}:
        last = max(int(utt.rpartition("-")[2]) for utt in seconds if utt.startswith(f"{chapter}-"))
        for number in range(last):
            seconds.setdefault(f"{chapter}-{number:04d}", float(rng.choice(own[chapter.partition("-")[0]])))
    fields = ((utt, *utt.split("-")[:2]) for utt in sorted(seconds))
    return [Utterance(utt, Path("x"), spk, genders[spk], c, seconds=seconds[utt]) for utt, spk, c in fields]


def check(utterances: Sequence[Utterance], base: str, sets: Sets, tolerance: float) -> None:
    enrolled = by_speaker(each for each in utterances if each.utt in set(sets.enrolls.utts))
    for gender in "fm":
        plan, wanted = EXPECTED[f"{base}_enrolls", gender], EXPECTED[f"{base}_trials_{gender}", gender]
        own = [each for utts in enrolled.values() for each in utts if each.gender == gender]
        assert len({each.spk for each in own}) == plan.speakers
        assert len(own) == pytest.approx(plan.utts, rel=tolerance)
        trials = sets.trials[gender]
        assert len(trials.utts) == pytest.approx(wanted.utts, rel=tolerance)
        assert sum(label == "target" for *_, label in trials.trials or ()) == pytest.approx(
            wanted.targets, rel=tolerance
        )
    lengths = [sum(each.seconds for each in own) for own in enrolled.values()]
    assert statistics.median(lengths) == pytest.approx(MEDIAN[base], abs=2)
    assert all(len({each.session for each in own}) == 1 for own in enrolled.values())


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the official lists are not here")
@pytest.mark.parametrize("seed", [0, 1])
def test_rebuilt_development_sets_are_near_the_official_ones(seed: int) -> None:
    utterances = official_dev()
    check(utterances, "libri_dev", build_libri(utterances, "libri_dev", seed), 0.04)


@pytest.mark.parametrize("base", ["libri_dev", "libri_test"])
def test_rebuilt_sets_of_a_corpus_like_librispeech_are_near_the_plan(base: str) -> None:
    utterances = like_librispeech(base)
    sets = build_libri(utterances, base, 0)
    check(utterances, base, sets, 0.12)
    assert build_libri(utterances, base, 0) == sets
    assert build_libri(utterances, base, 1).enrolls != sets.enrolls
    used = {utt for listed in (sets.enrolls, *sets.trials.values()) for utt in listed.utts}
    shortest = min(each.seconds for each in utterances if each.utt in used)
    assert (shortest >= 3) == (base == "libri_test")
