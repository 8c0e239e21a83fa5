"""What the audit computes and says, against brute force and by hand; tests/local/test_audit_attacker.py runs it."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import group, write_embeddings
from vpeval.measures import audit
from vpeval.measures.audit import Finding, Gap, Similarity, Versions
from vpeval.records.limits import AuditLimits
from vpeval.records.record import Record

LIMITS = AuditLimits(0.25, 0.4, 0.75, 0.08, 0.45, 0.9, 0.85, 0.97)


def versions(name, counts, seed):
    """A set whose speakers have so many utterances, original and anonymised."""
    owners = {f"{spk}-{name}-{n}": spk for spk, count in counts.items() for n in range(count)}
    rng = np.random.default_rng(seed)
    return Versions(
        *(
            group(Path(f"{name}{k}"), dict(zip(owners, rng.normal(size=(len(owners), 3)), strict=True)), owners)
            for k in "oa"
        )
    )


def cosine(x, y):
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def brute_gap(left, right):
    same, other = [], []
    for i, j in product(range(len(left.utts)), repeat=2):
        if i != j:
            pairs = same if left.owners[i] == right.owners[j] else other
            pairs.append(cosine(left.vectors[i], right.vectors[j]))
    return np.mean(same), np.mean(other)


def test_similarities_are_means_over_pairs_of_different_utterances():
    one = versions("one", {"a": 3, "b": 1, "c": 2}, 0)
    others = [versions("two", {"b": 2, "x": 2, "c": 1}, 1), versions("six", {"a": 1}, 2), versions("no", {"y": 2}, 3)]
    found = audit.compare(one, others)
    o, a = one.original, one.anonymised
    for gap, sides in ((found.oo, (o, o)), (found.oa, (o, a)), (found.aa, (a, a))):
        assert (gap.same, gap.other) == pytest.approx(brute_gap(*sides))
    assert found.own == pytest.approx([cosine(x, y) for x, y in zip(o.vectors, a.vectors, strict=True)])
    assert found.utts == tuple(o.utts)
    across = [
        np.mean(
            [
                cosine(x, y)
                for other in others
                for x, s in zip(getattr(one, kind).vectors, o.owners, strict=True)
                for y, t in zip(getattr(other, kind).vectors, other.original.owners, strict=True)
                if o.speakers[s] == other.original.speakers[t]
            ]
        )
        for kind in ("original", "anonymised")
    ]
    assert found.across == pytest.approx(across)
    assert audit.compare(one, others[2:]).across is audit.compare(one).across is None


def test_shares_are_of_the_gap_in_original_speech():
    found = Similarity(Gap(0.75, 0.25), Gap(0.5, 0.375), Gap(0.625, 0.375), np.zeros(1), ("u",), (0.5, 0.125))
    assert (found.oo.width, found.retention, found.coherence) == (0.5, 0.25, 0.5)
    assert found.sharing == ((0.625 - 0.125) - (0.75 - 0.5)) / 0.75
    assert replace(found, across=None).sharing is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 2, "b": 1}, {"a": 2, "c": 1}),
        ({"a": 2, "b": 1}, {"a": 1, "b": 2}),
        ({"a": 3}, {"a": 3}),
        ({"a": 1, "b": 1},) * 2,
    ],
)
def test_sets_that_cannot_be_compared_are_refused(one, other):
    with pytest.raises(InputError):
        audit.compare(Versions(versions("x", one, 0).original, versions("x", other, 0).anonymised))
    two = {"a": 2, "b": 1}
    assert audit.compare(versions("x", two, 0)).oo.width


def test_other_speakers_of_the_same_utterances_are_refused():
    original = versions("x", {"a": 2, "b": 1}, 0).original
    anonymised = replace(original, speakers=("a", "c"))
    with pytest.raises(InputError, match="does not hold the utterances"):
        audit.compare(Versions(original, anonymised))


@pytest.mark.parametrize(
    ("oa", "aa", "across", "level"),
    [
        (0.76, (0.8, 0.2), (0.5, 0.5), "none"),
        (0.75, (0.8, 0.2), (0.5, 0.5), "none"),
        (0.1, (0.85, 0.75), (0.5, 0.5), "one voice"),
        (0.1, (0.84, 0.83), None, "unknown"),
        (0.1, (0.9, 0.76), None, "unknown"),
        (0.1, (0.8, 0.2), (0.5, 0.21), "speaker"),
        (0.1, (0.9, 0.2), (0.5, 0.33), "all sets"),
        (0.1, (0.9, 0.46), (0.5, 0.39), "utterance"),
        (0.1, (0.89, 0.2), (0.5, 0.38), "utterance"),
    ],
)
def test_levels_follow_from_the_limits(oa, aa, across, level):
    # Utterances of a speaker have similarity 1 in original speech, those of different speakers 0.
    found = Similarity(Gap(1, 0), Gap(oa, 0), Gap(*aa), np.zeros(1), ("u",), across)
    assert audit.level(found, LIMITS) == level


def test_a_level_is_described_by_the_means_of_its_sets():
    def similarity(same, other):
        return Similarity(Gap(1, 0), Gap(0.1, 0), Gap(same, other), np.zeros(1), ("u",), None)

    found = {"x": similarity(0.5, 0.25), "y": similarity(1.0, 0.0)}
    (finding,) = audit.levels(found, LIMITS)
    assert finding == Finding(
        "d",
        False,
        "No other set has the same speakers, so that no level can be told, in x, y: anonymised utterances have a mean "
        "similarity of 0.75 within speakers and of 0.12 between them (62.5 % of the original gap).",
        {"level": "unknown", "sets": "x y", "aa_same": 0.75, "aa_other": 0.125, "coherence": 0.625},
    )


@pytest.mark.parametrize(("oa", "flagged"), [(0.74, False), (0.75, True)])
def test_enrolment_that_keeps_its_voices_is_flagged(oa, flagged):
    found = Similarity(Gap(1, 0), Gap(oa, 0), Gap(0.5, 0.25), np.zeros(1), ("u",), None)
    finding = audit.enrolment("x", found, LIMITS)
    assert (finding.check, finding.flagged) == ("c", flagged)
    assert ("was not really anonymised (limit 75.0 %)" in finding.sentence) is flagged
    assert f"{100 * oa:.1f} % of the voices" in finding.sentence
    gaps = {"oo_same": 1, "oo_other": 0, "oa_same": oa, "oa_other": 0, "aa_same": 0.5, "aa_other": 0.25}
    assert finding.numbers == {"set": "x", **gaps, "retention": oa, "coherence": 0.25}


def test_what_passed_through_is_counted_once_whether_file_or_voice():
    found = Similarity(Gap(1, 0), Gap(0, 0), Gap(1, 0), np.array([0.96, 0.97, 1.0]), ("u", "v", "w"), None)
    finding = audit.pass_through({"x": ["w"], "y": ["z"]}, {"x": found}, 9, LIMITS)
    assert finding == Finding(
        "e",
        True,
        "3 of 9 utterances passed through unchanged (2 identical files, 2 with a similarity of at least 0.97 to their "
        "source): x/v, x/w, y/z.",
        {"utts": 9, "identical": 2, "similar": 2},
    )
    finding = audit.pass_through({"x": []}, {"x": replace(found, own=np.array([0.1, 0.5, 0.2]))}, 9, LIMITS)
    assert not finding.flagged and "greatest similarity to a source is 0.50" in finding.sentence
    assert "source is 0.00" in audit.pass_through({}, {}, 0, LIMITS).sentence


def eer(value, condition, attacker, name="x", attack="", half=0.05, **notes):
    system = "original" if condition == "oo" else "toy"
    notes |= {"attack_model": attack} if attack else {}
    tags = {"system": system, "set": name, "condition": condition, "attacker": attacker}
    return Record("eer_rocch", value, value - half, value + half, notes=notes).tagged(tags)


@pytest.mark.parametrize(("value", "flagged"), [(0.24, False), (0.25, True)])
def test_the_control_is_the_mean_over_sets_of_original_speech(value, flagged):
    records = [
        eer(value + 0.125, "oo", "b"),
        eer(value - 0.125, "oo", "b", "y"),
        eer(0.9, "aa", "b"),
        eer(0.5, "oa", "c"),
    ]
    (finding,) = audit.control(records, "eer_rocch", LIMITS)
    assert finding.flagged is flagged
    assert finding.numbers == {"attacker": "b", "metric": "eer_rocch", "eer": pytest.approx(value), "limit": 0.25}
    assert f"of {100 * value:.1f} % on original speech (mean of 2 sets)" in finding.sentence
    assert audit.control(records, "eer_kaldi", LIMITS) == []


@pytest.mark.parametrize(("value", "flagged"), [(0.39, False), (0.4, True)])
def test_an_attacker_of_anonymised_speech_must_not_be_near_chance(value, flagged):
    (finding,) = audit.control([eer(value, "aa", "b", attack="semi-informed")], "eer_rocch", LIMITS)
    assert (finding.flagged, finding.numbers["limit"]) == (flagged, 0.4)


def test_an_attacker_without_control_does_not_end_the_list():
    records = [eer(0.3, "oa", "a"), eer(0.6, "aa", "b", attack="none"), eer(0.3, "aa", "c", attack="semi-informed")]
    assert [f.numbers["attacker"] for f in audit.control(records, "eer_rocch", LIMITS)] == ["b", "c"]


def test_attacks_that_know_more_are_held_against_those_that_know_less():
    records = [
        eer(0.3, "oa", "a"),
        eer(0.4, "oa", "a", "y"),
        eer(0.2, "oa", "b"),
        eer(0.375, "aa", "a", attack="lazy-informed"),
        eer(0.5, "aa", "a", "y", attack="lazy-informed"),
        eer(0.1, "aa", "t", "y", attack="semi-informed"),
        eer(0.1, "aa", "u", "z", attack="semi-informed"),
    ]
    first, second = audit.ladder(records, "eer_rocch")
    assert first.flagged and first.numbers == {
        "stronger": "aa a lazy-informed",
        "weaker": "oa a ignorant",
        "metric": "eer_rocch",
        "eer": 0.4375,
        "weaker_eer": pytest.approx(0.35),
    }
    assert (
        "beyond the interval on x, y (y: 50.0 % against 40.0 % [35.0, 45.0]; mean EER (ROCCH) 43.8 % against 35.0 % on 2 sets)"
        in first.sentence
    )
    assert not second.flagged
    assert (second.numbers["stronger"], second.numbers["weaker"]) == ("aa t semi-informed", "oa a ignorant")


def test_a_trained_attacker_is_held_against_everybody_who_knows_less():
    records = [
        eer(0.15, "oa", "a"),
        eer(0.4, "aa", "a", attack="lazy-informed"),
        eer(0.3, "aa", "s", attack="similar-system"),
        eer(0.22, "aa", "t", attack="semi-informed"),
    ]
    found = {str(finding.numbers["stronger"]).split()[1]: finding for finding in audit.ladder(records, "eer_rocch")}
    assert found["t"].flagged and found["t"].numbers["weaker"] == "oa a ignorant"
    assert found["s"].flagged and found["s"].numbers["weaker"] == "oa a ignorant"
    assert found["a"].flagged


def test_without_an_interval_nothing_is_claimed():
    bare = [
        replace(record, lower=None, upper=None)
        for record in (eer(0.1, "oa", "a"), eer(0.4, "aa", "t", attack="semi-informed"))
    ]
    (finding,) = audit.ladder(bare, "eer_rocch")
    assert not finding.flagged and "cannot be told: the sets have too few speakers for an interval" in finding.sentence
    fused = replace(eer(0.4, "aa", "f"), notes={"members": "t u"})
    (finding,) = audit.fusions([*bare, replace(fused, lower=None, upper=None)], "eer_rocch")
    assert not finding.flagged and "cannot be told" in finding.sentence


def test_voices_are_compared_by_the_encoder_that_recognises_them_best():
    records = [eer(0.3, "oo", "f0"), eer(0.02, "oo", "ecapa"), eer(0.01, "aa", "other")]
    assert audit.best_encoder(records, ["f0", "ecapa", "other"], "eer_rocch") == "ecapa"
    assert audit.best_encoder([], ["f0", "ecapa"], "eer_rocch") == "f0"


def test_a_fusion_is_held_against_the_best_member_that_attacked_the_same_sets():
    records = [
        eer(0.2, "aa", "a"),
        eer(0.3, "aa", "a", "y"),
        eer(0.4, "aa", "b"),
        eer(0.5, "aa", "b", "y"),
        eer(0.0, "aa", "c"),
        eer(0.2, "aa", "f", members="a b c"),
        eer(0.36, "aa", "f", "y", members="a b c"),
    ]
    (finding,) = audit.fusions(records, "eer_rocch")
    numbers = {"attacker": "f", "best": "a", "metric": "eer_rocch", "eer": 0.28, "best_eer": 0.25}
    assert finding.flagged and finding.numbers == pytest.approx(numbers)
    assert (
        "(a-a, mean EER (ROCCH) 28.0 % against 25.0 %), beyond the interval on y: it is no worst case; look at a."
        in finding.sentence
    )
    records[-1] = eer(0.35, "aa", "f", "y", members="a b c")
    assert not audit.fusions(records, "eer_rocch")[0].flagged


def test_findings_are_read_as_they_were_written(tmp_path):
    findings = [Finding("a", True, "Größer.", {"eer": 0.5, "attacker": "x"}), Finding("b", False, "Fine.")]
    audit.write_findings(tmp_path / "audit.json", findings)
    assert audit.read_findings(tmp_path / "audit.json") == findings
    assert (tmp_path / "audit.json").read_text(encoding="utf-8").startswith('[\n {\n  "check": "a",\n')
    assert "Größer" in (tmp_path / "audit.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "is not JSON"),
        ("{}", "is not a list of findings"),
        ("[1]", "is not a list of findings"),
        (
            '[{"check": "a", "flagged": true, "sentence": "x"}, {"check": "a", "sentence": "x"}]',
            "finding 2 has no 'flagged'",
        ),
        ('[{"check": "a", "flagged": 1, "sentence": "x"}]', "finding 1 has no 'flagged'"),
        ('[{"check": "a", "flagged": true, "sentence": "x", "numbers": []}]', "the 'numbers' of finding 1"),
    ],
)
def test_files_that_are_no_findings_are_refused(tmp_path, content, message):
    (tmp_path / "audit.json").write_text(content)
    with pytest.raises(InputError, match=message):
        audit.read_findings(tmp_path / "audit.json")


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"identical": [], "utts": "many"}'])
def test_checks_that_are_missing_or_broken_are_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "checks.json").write_text(content)
    with pytest.raises(InputError, match="run stage 3"):
        audit.read_identical(tmp_path / "checks.json")


def test_everything_is_examined(tmp_path):
    sets = {"e": {"a": 2, "b": 3}, "t": {"a": 2, "b": 2}, "single": {"a": 1, "b": 1}, "lonely": {"a": 3}}
    for seed, (name, counts) in enumerate(sets.items()):
        made = versions(name, counts, seed)
        for suffix, part in (("", made.original), ("_toy", made.anonymised)):
            rows = slice(1, None) if name == "t" and suffix else slice(None)
            owners = {utt: part.speakers[s] for utt, s in zip(part.utts, part.owners, strict=True)}
            kept = dict(list(zip(part.utts, part.vectors, strict=True))[rows])
            write_embeddings(tmp_path / "enc" / f"{name}{suffix}", kept, {utt: owners[utt] for utt in kept})
        missing = {"missing": ["a-t-0"]} if name == "t" else {}
        (tmp_path / f"{name}_toy").mkdir()
        (tmp_path / f"{name}_toy/checks.json").write_text(json.dumps({"utts": 5, "identical": [], **missing}))
    checks = {name: tmp_path / f"{name}_toy/checks.json" for name in sets}
    pairs = [("e", "t"), ("single", "lonely")]

    def examine(records, encoders={"enc": tmp_path / "enc"}):  # noqa: B006
        return audit.examine("toy", encoders, pairs, records, checks, "2024")

    found = examine([eer(0.1, "oo", "enc")])
    assert [finding.check for finding in found if finding.check != "d"] == ["a", "c", "e"]
    assert {str(f.numbers.get("set", f.numbers.get("sets"))) for f in found if f.check in "cd"} <= {"e", "t", "e t"}
    assert found[-1].numbers["utts"] == 20
    weak = examine([eer(0.4, "oo", "enc")])
    assert [(finding.check, finding.flagged) for finding in weak[:3]] == [("a", True), ("c", True), ("d", True)]
    assert [finding.check for finding in examine([], {})] == ["e"]
    e, t = (Versions(*(audit.read_embeddings(tmp_path / "enc" / f"{n}{s}") for s in ("", "_toy"))) for n in "et")
    t = replace(t, original=t.original.with_utterances(t.anonymised.utts))
    (enrolment,) = [finding for finding in found if finding.check == "c"]
    assert enrolment == audit.enrolment("e", audit.compare(e, [t]), audit.read_limits().audit)
    levels = audit.levels({"e": audit.compare(e, [t]), "t": audit.compare(t, [e])}, audit.read_limits().audit)
    assert [finding for finding in found if finding.check == "d"] == levels
