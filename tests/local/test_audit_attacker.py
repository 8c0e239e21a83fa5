import contextlib
import json
import runpy
from dataclasses import replace
from unittest import mock

import embedding_dirs
import numpy as np
import pytest

from vpeval.embeddings.speaker_vectors import group, write_embeddings
from vpeval.measures import audit
from vpeval.records.limits import read_limits
from vpeval.records.record import Record, write_records

SPEAKERS, UTTS, DIMENSION = 8, 6, 32
SETS = ("toy_enrolls", "toy_trials_f")


def voices(seed):
    return np.random.default_rng(seed).standard_normal((SPEAKERS, DIMENSION))


def vectors(centres, noise=0.5, seed=0):
    """Utterances around the voice of their speaker, or around voices of their own."""
    rng = np.random.default_rng(seed)
    return {
        f"s{spk}-{utt}": (centres[spk] if centres.ndim == 2 else centres[spk, utt])
        + noise * rng.standard_normal(DIMENSION)
        for spk in range(SPEAKERS)
        for utt in range(UTTS)
    }


ORIGINAL = vectors(voices(0))
ANONYMISERS = {
    "pseudo": lambda seed: vectors(voices(seed + 1), seed=seed),
    "per_utt": lambda seed: vectors(
        np.random.default_rng(seed).standard_normal((SPEAKERS, UTTS, DIMENSION)), seed=seed
    ),
    "rotated": lambda seed: vectors(voices(0)[:, ::-1], seed=seed),
    "alike": lambda seed: vectors(voices(7)[0] + 0.6 * voices(seed + 1), seed=seed),
    "alike_per_utt": lambda seed: vectors(
        voices(7)[0] + 0.6 * np.random.default_rng(seed).standard_normal((SPEAKERS, UTTS, DIMENSION)), seed=seed
    ),
    "one_voice": lambda seed: vectors(np.tile(voices(7)[0], (SPEAKERS, 1)), seed=seed),
    "resynthesised": lambda seed: vectors(voices(0) + 0.2 * voices(5), seed=seed),
    "identity": lambda seed: ORIGINAL,
}


def record(system, condition, attacker, eer, half=0.03, attack="", name="toy_trials_f"):
    notes = {"attack_model": attack, "attack_model_legal": "none"} if attack else {}
    return Record(
        "eer_kaldi",
        eer,
        eer - half,
        eer + half,
        notes=notes,
        system=system,
        set=name,
        condition=condition,
        attacker=attacker,
    )


@pytest.fixture
def run(tmp_path, capsys):
    """Audit a toy system: which anonymiser made which set, and the records of verification."""

    def run(anonymisers, records=(), options=()):
        owners = {utt: utt.split("-")[0] for utt in ORIGINAL}
        for number, (name, anonymiser) in enumerate(zip(SETS, anonymisers, strict=True)):
            made = ANONYMISERS[anonymiser](number + 10)
            write_embeddings(tmp_path / "embeddings" / name, ORIGINAL, owners)
            write_embeddings(tmp_path / "embeddings" / f"{name}_toy", made, owners)
            checks = {"utts": len(made), "identical": sorted(made) if anonymiser == "identity" else []}
            folder = tmp_path / "data" / f"{name}_toy"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "checks.json").write_text(json.dumps(checks))
        write_records(tmp_path / "run/ASV/records.jsonl", [record("original", "oo", "ecapa", 0.02), *records])
        arguments = ["audit_attacker.py", *options, "--data", "data", "toy", "embeddings", "audit.json", "run"]
        with contextlib.chdir(tmp_path), mock.patch("sys.argv", arguments), pytest.raises(SystemExit) as left:
            runpy.run_path(str(embedding_dirs.ROOT / "local/audit_attacker.py"), run_name="__main__")
        assert left.value.code == 0
        findings = json.loads((tmp_path / "audit.json").read_text())
        flagged = {finding["check"] for finding in findings if finding["flagged"]}
        assert capsys.readouterr().err.count("WARNING") == sum(finding["flagged"] for finding in findings)
        assert all(finding["sentence"].count(". ") == 0 for finding in findings)
        return findings, flagged

    return run


def by_check(findings, check):
    return [finding for finding in findings if finding["check"] == check]


def test_a_sound_anonymiser_raises_no_flag(run):
    findings, flagged = run(("pseudo", "pseudo"))
    assert flagged == set()
    assert {finding["check"] for finding in findings} == {"a", "c", "d", "e"}


@pytest.mark.parametrize(("fused", "worse"), [(0.19, False), (0.22, False), (0.3, True)])
def test_a_fusion_is_held_against_its_best_member(run, fused, worse):
    members = [
        record("toy", "aa", "ecapa", 0.2, attack="lazy-informed"),
        record("toy", "aa", "f0", 0.4, attack="lazy-informed"),
    ]
    fusion = record("toy", "aa", "fusion", fused, attack="lazy-informed").with_notes({"members": "ecapa f0"})
    findings, _ = run(("pseudo", "pseudo"), [*members, fusion])
    (found,) = by_check(findings, "f")
    assert found["flagged"] is worse
    assert ("does worse than ecapa alone" if worse else "does not do worse than its best member ecapa") in found[
        "sentence"
    ]


def test_an_identity_anonymiser_is_flagged(run):
    findings, flagged = run(("identity", "identity"))
    assert flagged == {"c", "e"}
    assert "96 of 96 utterances passed through unchanged (96 identical files" in by_check(findings, "e")[0]["sentence"]
    assert by_check(findings, "d")[0]["numbers"]["level"] == "none"


def test_enrolment_that_was_left_untouched_is_flagged(run):
    findings, flagged = run(("identity", "pseudo"))
    assert flagged == {"c", "e"}
    assert by_check(findings, "c")[0]["numbers"]["retention"] == pytest.approx(1)
    assert "48 of 96" in by_check(findings, "e")[0]["sentence"]


def test_enrolment_that_was_merely_resynthesised_is_flagged(run):
    findings, flagged = run(("resynthesised", "pseudo"))
    assert flagged == {"c"}
    assert "was not really anonymised (limit 75.0 %)" in by_check(findings, "c")[0]["sentence"]


@pytest.mark.parametrize(
    ("anonymiser", "level"),
    [
        ("pseudo", "speaker"),
        ("alike", "speaker"),
        ("per_utt", "utterance"),
        ("alike_per_utt", "utterance"),
        ("rotated", "all sets"),
        ("one_voice", "one voice"),
    ],
)
def test_the_level_of_anonymisation_is_stated(run, anonymiser, level):
    findings, _ = run((anonymiser, anonymiser))
    (level_finding,) = by_check(findings, "d")
    assert level_finding["numbers"]["level"] == level
    assert "toy_enrolls, toy_trials_f" in level_finding["sentence"]


def test_sets_of_different_levels_are_told_apart(run):
    findings, _ = run(("pseudo", "per_utt"))
    assert [(f["numbers"]["level"], f["numbers"]["sets"]) for f in by_check(findings, "d")] == [
        ("speaker", "toy_enrolls"),
        ("utterance", "toy_trials_f"),
    ]


LADDER = [record("toy", "oa", "ecapa", 0.40), record("toy", "aa", "ecapa", 0.30, attack="lazy-informed")]


def test_a_ladder_that_climbs_is_fine(run):
    findings, flagged = run(("pseudo", "pseudo"), [*LADDER, record("toy", "aa", "plda", 0.28, attack="semi-informed")])
    assert flagged == set()
    assert (
        "semi-informed attacker plda does not do worse than the lazy-informed attacker ecapa"
        in by_check(findings, "b")[1]["sentence"]
    )
    assert "mean EER (Kaldi) 28.0 % against 30.0 % on 1 sets" in by_check(findings, "b")[1]["sentence"]


def test_the_audit_speaks_of_the_eer_of_the_edition(run):
    by_threshold = [replace(r, metric="eer_threshold", value=0.45) for r in (record("original", "oo", "ecapa", 0.02),)]
    findings, flagged = run(("pseudo", "pseudo"), by_threshold, ("--edition", "2024"))
    assert flagged == {"a"}
    assert (
        "Attacker ecapa has an EER (threshold) of 45.0 % on original speech" in by_check(findings, "a")[0]["sentence"]
    )
    assert run(("pseudo", "pseudo"), by_threshold, ("--edition", "2022"))[1] == set()


def test_a_trained_attacker_that_is_a_little_weaker_is_within_the_interval(run):
    assert run(("pseudo", "pseudo"), [*LADDER, record("toy", "aa", "plda", 0.32, attack="semi-informed")])[1] == set()


def test_a_trained_attacker_that_is_weaker_than_an_untrained_one_is_flagged(run):
    weak = record("toy", "aa", "plda", 0.39, attack="semi-informed")
    findings, flagged = run(("pseudo", "pseudo"), [*LADDER, weak])
    assert flagged == {"b"}
    assert "39.0 % against 30.0 % [27.0, 33.0]" in by_check(findings, "b")[1]["sentence"]


def test_an_attacker_that_fails_on_original_speech_is_flagged(run):
    findings, flagged = run(("pseudo", "pseudo"), [record("original", "oo", "broken", 0.45)])
    assert flagged == {"a"}
    assert "Attacker broken has an EER (Kaldi) of 45.0 % on original speech" in by_check(findings, "a")[0]["sentence"]


def test_an_encoder_that_fails_its_own_control_does_not_testify(run):
    findings, flagged = run(("resynthesised", "pseudo"), [record("original", "oo", "embeddings", 0.45)])
    assert flagged == {"a", "c", "d"}
    assert "cannot be told by embeddings, which is too weak" in by_check(findings, "c")[0]["sentence"]


def test_an_attacker_that_has_not_been_tried_on_original_speech_is_judged_by_anonymised_speech(run):
    findings, flagged = run(("pseudo", "pseudo"), [record("toy", "aa", "plda", 0.48, attack="semi-informed")])
    assert flagged == {"a"}
    assert "48.0 % on anonymised speech of speakers it was not trained on" in by_check(findings, "a")[1]["sentence"]


def test_retention_and_coherence_by_hand(tmp_path):
    # Two speakers along two axes, two utterances each; anonymised, both turn by 90 degrees into new dimensions.
    def embeddings(name, rows):
        return group(tmp_path / name, dict(zip(owners, rows, strict=True)), owners)

    owners = {"a-1": "a", "a-2": "a", "b-1": "b", "b-2": "b"}
    axes = np.eye(4, dtype=np.float32)
    found = audit.compare(audit.Versions(embeddings("o", axes[[0, 0, 1, 1]]), embeddings("x", axes[[2, 2, 3, 3]])))
    assert (found.oo, found.oa, found.aa) == (audit.Gap(1, 0), audit.Gap(0, 0), audit.Gap(1, 0))
    assert (found.retention, found.coherence) == (0, 1)
    assert (found.sharing, audit.level(found, read_limits().audit)) == (None, "unknown")


def test_an_attacker_trained_on_another_system_has_no_control_here(run):
    other = record("toy", "aa", "similar", 0.48, attack="none")
    findings, flagged = run(("pseudo", "pseudo"), [other])
    assert flagged == set()
    assert (
        "its EER (Kaldi) of 48.0 % here (mean of 1 sets) is no control of it" in by_check(findings, "a")[1]["sentence"]
    )


def test_embeddings_that_are_not_there_are_answered_with_the_stage_that_makes_them(tmp_path):
    (tmp_path / "embeddings").mkdir()
    message = embedding_dirs.failure("audit_attacker.py", "toy", "embeddings", "audit.json", "run", cwd=tmp_path)
    assert "has no sets <set> and <set>_toy; run stage 5 first" in message
    assert not (tmp_path / "audit.json").exists()
