"""Whole records of the measures of privacy, from tiny inputs, by hand."""

import json
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest

from vpeval.asv.backend import Cosine
from vpeval.core.errors import InputError
from vpeval.data.attributes import Attribute
from vpeval.embeddings.speaker_vectors import group, read_embeddings, write_embeddings
from vpeval.measures import disclosure, linkability, singling_out
from vpeval.measures.base import (
    Resampling,
    Scores,
    SpeakerValue,
    gender_of,
    read_speaker_values,
    split_paths,
    write_speaker_values,
)
from vpeval.measures.disclosure import RankedInputs, score_srd, split_pool
from vpeval.measures.legal import (
    SideInformation,
    UseCase,
    candidates,
    parse_sizes,
    read_directories,
    side_information,
    utterance_groups,
    warn_about_shared_utts,
)
from vpeval.measures.linkability import score_linkability
from vpeval.measures.similarity import score_similarity
from vpeval.measures.singling_out import score_singling_out
from vpeval.measures.speaker_overlap import Context, find_lists, overlap_records
from vpeval.measures.strongest import (
    AttackedSet,
    AttackedSets,
    choice_in_words,
    score_strongest,
    sets_in_words,
    strongest_of,
)
from vpeval.measures.verification import verification_records
from vpeval.metrics.scores import eer_rocch, pool
from vpeval.records.record import Record, read_records

AXES = np.eye(8, dtype=np.float32)


def speech(name, rows):
    """Vectors of speakers (speaker → rows)."""
    vectors = {f"{spk}-{name}-{n}": row for spk, own in rows.items() for n, row in enumerate(own)}
    return group(Path(name), vectors, {utt: utt[0] for utt in vectors})


# Enrolled a, b, c, d point along axes. a and b are found, c sounds like d, x is not enrolled.
ENROLLED = speech("enroll", {spk: [AXES[n]] for n, spk in enumerate("abcd")})
TESTED = speech("test", {"a": [AXES[0]] * 2, "b": [AXES[1]] * 2, "c": [AXES[3]] * 2, "x": [AXES[0]]})
SEX = SideInformation("sex", {"a": "f", "b": "f", "c": "f", "d": "m"})


def sizes(text, **more):
    return parse_sizes("--sizes", text, "", **more)


def test_records_of_linkability():
    options = linkability.Options(0, 5, n_enroll=sizes("2,all"), n_utts=sizes("2,all"))
    scores = score_linkability(ENROLLED, TESTED, Cosine(), options, UseCase((SEX,)))
    counts = {"test_speakers": 3, "left_out": 1, "enroll_speakers": 4, "not_enrolled": 1}
    exact = {"estimator": "exact"}
    known = {**exact, "side": "sex", "groups": 2}
    # The only rival that beats c among the others is d: one of three for N = 2.
    for n_utts in (2, "all"):
        own = [record for record in scores.records if record.params["L"] == n_utts]
        assert [(r.metric, r.params["N"]) for r in own] == [
            (metric, n) for metric in ("linkability", "linkability_side", "one_minus_eer") for n in (2, 4)
        ]
        plain, side, eers = own[:2], own[2:4], own[4:]
        assert [r.params for r in plain] == [{"N": n, "L": n_utts, **exact} for n in (2, 4)]
        assert [r.notes["chance"] for r in plain] == [1 / 2, 1 / 4]
        assert all(r.counts == counts for r in own)
        assert plain[1].value == pytest.approx(2 / 3)
        assert [r.params for r in side] == [{"N": n, "L": n_utts, **known} for n in (2, 4)]
        # Of N speakers all but d share the sex of each: 1 + (N - 1) * 2 / 3 candidates.
        assert [r.notes["candidates"] for r in side] == pytest.approx([1 + 2 / 3, 3])
        assert [r.params["estimator"] for r in eers] == ["rocch"] * 2
        assert [(r.notes["chance"], r.notes["seed"]) for r in eers] == [(0.5, 5)] * 2
    values = {(v.speaker, v.N, v.L): v.value for v in scores.per_speaker}
    assert {key: value for key, value in values.items() if key[1:] == (4, "all")} == {
        ("a", 4, "all"): 1,
        ("b", 4, "all"): 1,
        ("c", 4, "all"): 0,
    }
    assert len(scores.per_speaker) == 3 * 2 * 2
    assert {v.metric for v in scores.per_speaker} == {"linkability"}


def test_test_utterances_are_drawn_anew_in_each_of_five_draws(monkeypatch):
    """Of the two utterances of c, one sounds like c and one more like d; which one a draw takes is written out here."""
    test = speech("test", {"a": [AXES[0]], "b": [AXES[1]], "c": [AXES[2], 0.5 * AXES[2] + AXES[3]]})
    taken = {"utterances": 0, **{f"utterances of draw {draw}": row for draw, row in enumerate((1, 1, 0, 1), start=1)}}

    means = type(test).means

    def chosen(self, who, n_utts=None, seed=0, label="utterances"):
        return self.vectors[[0, 1, 2 + taken[label]]] if n_utts else means(self, who)

    monkeypatch.setattr(type(test), "means", chosen)
    options = linkability.Options(0, 5, n_enroll=sizes("2,all"), n_utts=sizes("1"))
    scores = score_linkability(ENROLLED, test, Cosine(), options, UseCase((SEX,)))
    # Draws 0 and 3 of five link c among all; with one other of three, d is not drawn in two of three cases.
    c_all, c_two = 2 / 5, 2 / 5 + 3 / 5 * 2 / 3
    found = {(r.metric, r.params["N"]): r for r in scores.records}
    assert found["linkability", 4].value == pytest.approx((1 + 1 + c_all) / 3)
    assert found["linkability", 2].value == pytest.approx((1 + 1 + c_two) / 3)
    assert found["linkability", 4].notes["utt_draws"] == 5
    # Who knows the sex leaves out d, and always links.
    assert found["linkability_side", 4].value == 1
    assert [v.draws for v in scores.per_speaker if (v.speaker, v.N) == ("c", 4)] == [(1, 0, 0, 1, 0)]
    # 1 - EER is 1 in the draws 0 and 3. Else one target of three is below one nontarget of nine.
    wrong = 1 - eer_rocch(pool(np.array([1.0, 1, 0.4]), np.array([0.0] * 8 + [0.9]))).value
    assert found["one_minus_eer", 4].value == pytest.approx((2 * 1 + 3 * wrong) / 5)


def test_linkability_by_draws_says_so_and_extrapolation_is_tested_on_request():
    options = linkability.Options(0, 5, n_enroll=sizes("2,all"), n_utts=sizes("all"), draws=7)
    scores = score_linkability(ENROLLED, TESTED, Cosine(), options, UseCase((), 0))
    record = scores.records[0]
    assert record.params == {"N": 2, "L": "all", "estimator": "drawn", "draws": 7}
    assert record.notes["seed"] == 5
    errors = [r for r in scores.records if r.metric == "linkability_extrapolation_error"]
    assert [(r.params, r.counts) for r in errors] == [({"N": 4, "L": "all", "from": 2}, {"test_speakers": 3})]
    assert linkability.Options().draws == 0


def test_two_speakers_can_be_linked_and_one_or_strangers_cannot():
    options = linkability.Options(0, n_enroll=sizes("all"), n_utts=sizes("all"))
    two = speech("enroll", {"a": [AXES[0]], "b": [AXES[1]]})
    record = score_linkability(two, TESTED, Cosine(), options).records[0]
    assert (record.value, record.params["N"], record.counts["not_enrolled"]) == (1, 2, 2)
    with pytest.raises(InputError, match="at least two enrolment speakers"):
        score_linkability(speech("enroll", {"a": [AXES[0]]}), TESTED, Cosine(), options)
    with pytest.raises(InputError, match="none of the speakers is enrolled"):
        score_linkability(two, speech("test", {"x": [AXES[0]]}), Cosine(), options)
    everyone = speech("test", {"a": [AXES[0]], "b": [AXES[1]]})
    assert "not_enrolled" not in score_linkability(two, everyone, Cosine(), options).records[0].counts


def test_unknown_side_information_gives_no_records():
    options = linkability.Options(0, n_enroll=sizes("all"), n_utts=sizes("all"))
    case = UseCase((SideInformation("age", {"d": "1", "z": "2"}),))
    scores = score_linkability(ENROLLED, TESTED, Cosine(), options, case)
    assert [r.metric for r in scores.records] == ["linkability", "one_minus_eer"]
    some = UseCase((SideInformation("age", {"a": "1", "d": "2"}),))
    (side,) = [r for r in score_linkability(ENROLLED, TESTED, Cosine(), options, some).records if "_side" in r.metric]
    assert (side.value, side.counts["test_speakers"], side.notes["candidates"], side.notes["chance"]) == (1, 1, 1, 1)


def crowd(name, n, utts, noise, seed):
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(9).normal(size=(n, 8))
    return speech(name, {chr(97 + k): means[k] + noise * rng.normal(size=(utts, 8)) for k in range(n)})


def test_records_of_singling_out():
    enroll, test = crowd("enroll", 6, 3, 0.05, 1), crowd("test", 5, 4, 0.05, 2)
    options = singling_out.Options(0, 4, n_speakers=sizes("3,all"), n_utts=sizes("1,2"), enroll_utts=3, draws=2)
    side = SideInformation("sex", {"a": "f", "b": "f", "c": "m", "d": "m"})
    scores = score_singling_out(enroll, test, Cosine(), options, UseCase((side,), 0))
    assert [(r.metric, r.params["N"], r.params["L"]) for r in scores.records] == [
        (metric, n, n_utts)
        for n_utts in (1, 2)
        for metric, every in (("singling_out", (3, 5)), ("singling_out_side", (3, 5)))
        for n in every
    ]
    counts = {
        "enroll_speakers": 5,
        "test_speakers": 5,
        "left_out": 0,
        "short_enroll": 0,
        "short_test": 5,
        "enroll_left_out": 1,
    }
    for record in scores.records:
        plain = record.metric == "singling_out"
        folds = {1: 4, 2: 2}[record.params["L"]]
        about = {"N": record.params["N"], "L": record.params["L"], "draws": 2}
        assert record.params == (about if plain else {**about, "side": "sex", "groups": 2})
        assert record.counts == (counts if plain else {**counts, "enroll_speakers": 4})
        assert (record.notes["seed"], record.notes["folds"]) == (4, folds)
        assert record.notes.get("paper_chance") == (exp(-1) if plain else None)
        # e, of whom nothing is known, is a group of its own: 1 + (N - 1) / 4 candidates.
        assert record.notes.get("candidates") == (None if plain else 1 + (record.params["N"] - 1) / 4)
    assert {v.speaker for v in scores.per_speaker} == set("abcde")
    assert len(scores.per_speaker) == 5 * 2 * 2
    means = {(r.params["N"], str(r.params["L"])): r.value for r in scores.records if r.metric == "singling_out"}
    for (n, n_utts), value in means.items():
        assert value == pytest.approx(np.mean([v.value for v in scores.per_speaker if (n, n_utts) == (v.N, v.L)]))


def test_enrolment_speakers_of_singling_out_are_limited_and_short_ones_counted():
    enroll, test = crowd("enroll", 5, 3, 0.1, 1), crowd("test", 5, 22, 0.1, 2)
    options = singling_out.Options(0, n_speakers=sizes("all"), n_utts=sizes("1"), n_enroll=4, enroll_utts=4, draws=1)
    (record,) = score_singling_out(enroll, test, Cosine(), options).records
    assert (record.counts["enroll_speakers"], record.counts["short_enroll"], record.counts["short_test"]) == (4, 4, 0)
    assert record.notes["folds"] == 10
    for n_enroll in (5, None):
        assert score_singling_out(enroll, test, Cosine(), replace(options, n_enroll=n_enroll)).records
    with pytest.raises(InputError, match="--n-enroll 6: only 5 enrolment speakers have 2 test utterances"):
        score_singling_out(enroll, test, Cosine(), replace(options, n_enroll=6))
    with pytest.raises(InputError, match="none of the speakers"):
        score_singling_out(speech("enroll", {"z": [AXES[0]]}), test, Cosine(), options)
    few = speech("test", {"a": [AXES[0]], "f": [AXES[1]] * 2, "g": [AXES[2]] * 2})
    with pytest.raises(InputError, match="no enrolment speaker has 2 utterances"):
        score_singling_out(enroll, few, Cosine(), replace(options, n_enroll=None))
    assert singling_out.Options() == replace(singling_out.Options(), n_enroll=None, enroll_utts=30, draws=5)


def test_sizes_that_do_not_fit_are_refused_if_chosen_and_else_left_out():
    assert sizes("9,3,3").up_to(9, "x") == [3, 9]
    assert sizes("3,all").up_to(5, "x") == [3, 5]
    assert sizes("3").up_to(5, "x") == [3]
    assert parse_sizes("--n", None, "3,9").up_to(5, "x") == [3, 5]
    with pytest.raises(InputError, match="--sizes 6: there are only 5 x"):
        sizes("6").up_to(5, "x")
    for text, more in (("1", {"least": 2}), ("all", {"has_all": False}), ("x", {}), ("", {}), ("0", {}), ("²", {})):
        with pytest.raises(InputError):
            sizes(text, **more)
    assert sizes("2", least=2).numbers == (2,)


def test_speakers_with_enough_utterances():
    test = speech("test", {"a": [AXES[0]] * 4, "b": [AXES[0]] * 2, "c": [AXES[0]]})
    among = np.array([0, 1, 2])

    def groups(chosen, **more):
        return [(one.n_utts, one.who.tolist()) for one in utterance_groups(chosen, test, among, **more)]

    assert groups(sizes("1,2,all")) == [(1, [0, 1, 2]), (2, [0, 1]), (None, [0, 1, 2])]
    assert groups(sizes("1"), vectors=2, speakers=2) == [(1, [0, 1])]
    assert groups(parse_sizes("--n", None, "2,1"), vectors=2, speakers=2) == [(1, [0, 1])]
    with pytest.raises(InputError, match=r"L = 2 needs 2 speaker\(s\) with 4 utterances, but there are 1"):
        groups(sizes("2"), vectors=2, speakers=2)
    with pytest.raises(InputError, match="too few utterances for any L"):
        groups(parse_sizes("--n", None, "9"))


def test_side_information_is_every_attribute_and_all_together():
    assert (SEX.groups, SEX.groups_of("dxa").tolist()) == (2, [2, 0, 1])
    groups = np.array([1, 1, 1, 2])
    assert candidates(groups, np.array([0, 3]), 3).tolist() == pytest.approx([1 + 2 * 2 / 3, 1])
    assert candidates(np.array([1]), np.array([0]), 1).tolist() == [1]
    sex, tongue = (
        Attribute(name, {f"s{n}": v for n, v in enumerate(vs)}) for name, vs in (("sex", "fmfm"), ("tongue", "xxyy"))
    )
    assert [(side.name, side.groups) for side in side_information([sex, tongue])] == [
        ("sex", 2),
        ("tongue", 2),
        ("sex+tongue", 4),
    ]
    assert [side.name for side in side_information([sex])] == ["sex"]


def test_shared_utterances_are_reported(caplog):
    warn_about_shared_utts(ENROLLED, TESTED)
    assert not caplog.records
    warn_about_shared_utts(TESTED, TESTED)
    assert "7 utterances of test are also enrolled" in caplog.text


def test_several_directories_are_pooled(tmp_path):
    for name, spk in (("x", "a"), ("y", "b")):
        write_embeddings(tmp_path / name, {f"{spk}-1": AXES[0]}, {f"{spk}-1": spk})
    assert list(read_directories(f"{tmp_path}/x").speakers) == ["a"]
    assert list(read_directories(f"{tmp_path}/x,{tmp_path}/y").speakers) == ["a", "b"]
    assert list(read_embeddings(tmp_path / "y").speakers) == ["b"]


def test_records_of_disclosure(tmp_path):
    inputs = speech("in", {"a": [AXES[0]] * 2, "b": [AXES[0], AXES[1]]})
    references = speech("ref", {"a": [AXES[0]], "b": [AXES[1]], "c": [AXES[2]]})
    scores = score_srd(references, inputs, disclosure.Options(0, 3))
    names = ["srd_max", "srd_mean", "srd_idr", "srd_rank_spread"]
    assert [r.metric for r in scores.records] == names * 2
    about = {"N": 3, "L": 1, "similarity": "cosine", "ties": "mid"}
    kinds = ["empirical"] * 4 + ["beta-binomial"] * 4
    assert [r.params for r in scores.records] == [{**about, "estimator": kind} for kind in kinds]
    counts = {"inputs": 4, "input_speakers": 2, "reference_speakers": 3}
    assert all(r.counts == counts for r in scores.records)
    assert [r.notes["chance"] for r in scores.records[:4]] == [0, 0, 1 / 3, 0]
    assert all(0 <= r.notes["floor"] <= r.notes["floor_95"] for r in scores.records)
    # Three inputs rank first; the fourth is nearest to a, and ties with c behind: half rank 2, half rank 3.
    assert scores.records[2].value == 3 / 4
    assert scores.ranks == [3, 0.5, 0.5]
    values = [SpeakerValue("srd_idr", "a", 3, "1", 1), SpeakerValue("srd_idr", "b", 3, "1", 0.5)]
    assert scores.per_speaker[:2] == values
    assert [(v.metric, v.value) for v in scores.per_speaker[2:]] == [("srd_rank", 1), ("srd_rank", 1.75)]
    assert score_srd(references, inputs, disclosure.Options(0, ties="strict")).ranks == [3, 0, 1]
    scores.inputs.write(tmp_path / "x.npz")
    stored = RankedInputs.read(tmp_path / "x.npz")
    assert stored.speakers == ("a", "b")
    assert stored.ranks.n_references == 3 and stored.ranks.owner.tolist() == [0, 0, 1, 1]
    assert stored.ranks.first.tolist() == [0, 0, 1, 0]
    with pytest.raises(InputError, match="at least two reference speakers"):
        score_srd(speech("ref", {"a": [AXES[0]]}), speech("in", {"a": [AXES[0]]}), disclosure.Options(0))
    assert score_srd(speech("ref", {"a": [AXES[0]], "b": [AXES[1]]}), inputs, disclosure.Options(0)).records


def test_files_that_hold_no_ranks_are_refused(tmp_path):
    with pytest.raises(InputError, match="is missing"):
        RankedInputs.read(tmp_path / "x.npz")
    for content in (b"", b"PK", b"text"):
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(InputError, match="holds no ranks"):
            RankedInputs.read(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", first=np.zeros(1))
    with pytest.raises(InputError, match="holds no ranks"):
        RankedInputs.read(tmp_path / "x.npz")


def test_pools_are_split_where_two_speakers_have_enough():
    pooled = speech("pool", {"a": [AXES[0]] * 4, "b": [AXES[1]] * 3, "c": [AXES[2]]})
    references, inputs = split_pool(pooled, 2, 0)
    assert (references.counts.tolist(), inputs.counts.tolist()) == ([2, 1], [2, 2])
    with pytest.raises(InputError, match="more than 3 utterances, as many as inputs are asked for; try 2"):
        split_pool(pooled, 3, 0)


class Made:
    """Similarity matrices of two speakers: distinct, hardly alike across versions, less distinct."""

    names = ("a", "b")

    def matrices(self, condition, modes):
        return [np.eye(2) * {"oo": 4.0, "oa": 1.0, "aa": 2.0}[condition] * (1 + place) for place, _ in enumerate(modes)]


def test_records_of_similarity(tmp_path):
    records = score_similarity(Made(), ("full", "vpc"), tmp_path / "records.jsonl", Resampling(0, 0))
    assert [r.params["mode"] for r in records] == ["full"] * 5 + ["vpc"] * 5
    assert [r.value for r in records[:5]] == pytest.approx([4, 1, 2, 10 * np.log10(2 / 4), 1 - 1 / 4])
    assert [r.value for r in records[5:8]] == [8, 2, 4]
    assert {r.notes["calibration"] for r in records} == {"Laplace PAV"}
    assert [r.notes["files"]["matrices"] for r in records[4:6]] == [
        "records.matrices_full.json",
        "records.matrices_vpc.json",
    ]
    stored = json.loads((tmp_path / "records.matrices_vpc.json").read_text())
    assert stored["speakers"] == ["a", "b"] and stored["oo"] == [[8, 0], [0, 8]]
    score_similarity(Made(), ("vpc",), tmp_path / "records.jsonl", Resampling(0, 0))
    assert (tmp_path / "records.matrices.json").is_file()


def test_records_of_arrays_are_those_of_verification():
    scores, labels = [3.0, 2.0, 1.0, 0.0], [True, False, True, False]
    found = verification_records(scores, labels, "abba", ["a", "a", "b", "b"], 0)
    assert {r.metric: r.value for r in found}["eer_rocch"] == pytest.approx(1 / 4)
    assert all(r.counts == {"targets": 2, "nontargets": 2, "speakers": 2} for r in found)
    with pytest.raises(ValueError, match="one length"):
        verification_records(scores[:3], labels, "abba", "aabb")
    with pytest.raises(ValueError, match="if, and only if"):
        verification_records(scores, labels, "aaaa", "aabb")


def attacked(place, name, scores):
    """Speakers a and b against their four utterances, with the scores of the eight trials."""
    data = place / "data"
    data.mkdir(exist_ok=True)
    utts = ["a-1", "a-2", "b-1", "b-2"]
    (data / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in utts))
    pairs = [(spk, utt) for spk in "ab" for utt in utts]
    lines = (f"{spk} {utt} {'target' if spk == utt[0] else 'nontarget'}\n" for spk, utt in pairs)
    (data / "trials").write_text("".join(lines))
    (place / name).write_text("".join(f"{s} {u} {x}\n" for (s, u), x in zip(pairs, scores, strict=True)))
    return AttackedSet(data, place / name)


def test_records_of_the_strongest_attack(tmp_path):
    good, bad = (
        attacked(tmp_path, "good", [9, 8, 1, 2, 3, 0, 7, 6]),
        attacked(tmp_path, "bad", [0, 1, 9, 8, 7, 6, 2, 3]),
    )
    attacks = [
        AttackedSets("x", "oa", "ignorant", (bad, bad)),
        AttackedSets("x", "aa", "lazy-informed", (good, good)),
        AttackedSets("y", "aa", "semi-informed", (bad, good)),
    ]
    records = score_strongest(attacks, [0.5, 0.5], Resampling(0, 0))
    notes = {
        "chosen": "x",
        "chosen_condition": "aa",
        "attack_model": "lazy-informed",
        "attackers": 2,
        "attacks": 3,
        "sets": 2,
    }
    assert {r.params["eer"] for r in records} == {"eer_kaldi", "eer_threshold", "eer_rocch"}
    for record in records:
        assert (record.metric, record.value, record.counts) == ("strongest_attack", 0, {"targets": 8, "nontargets": 8})
        assert {name: record.notes[name] for name in notes} == notes
    test, dev = (records[0].tagged({"system": "toy", "set": f"libri_{part}"}) for part in ("test", "dev"))
    metric = records[0].params["eer"]
    assert strongest_of([test, dev], "toy", metric) == test
    assert strongest_of([dev], "toy", metric) == dev
    assert strongest_of([dev], "other", metric) is strongest_of([dev], "toy", "eer") is None
    assert sets_in_words(test) == "2 test sets"
    assert sets_in_words(dev.with_notes({"sets": 1})) == "1 dev set"
    assert choice_in_words({"attackers": 1, "attacks": 2}) == "the strongest of 2 attacks by 1 attacker"


def ranked(context, names, n=4, metric="m"):
    """Values of speakers in a context, the lowest first; a capital letter ties with the letter before."""
    steps = np.cumsum([name.islower() for name in names]).tolist()
    values = zip(names.lower(), steps, strict=True)
    return [(context, SpeakerValue(metric, spk, n, context.n_utts, step / 16)) for spk, step in values]


def test_easy_and_hard_speakers_of_contexts_that_differ_in_one_circumstance():
    one, three, far = Context("s", "e", "1"), Context("s", "e", "3"), Context("t", "f", "1")
    first = ranked(one, "abcd") + ranked(one, "dcba", n=9)
    every = first + ranked(one, "zz", metric="other") + ranked(three, "abdc") + ranked(far, "abcd")
    lists = find_lists(every, "m")
    assert lists.n == 4  # at N = 9 not all contexts have values
    assert lists.speakers == {one: 4, three: 4, far: 4}
    assert (lists.usable("easy")[one], lists.usable("hard")[one]) == ({"d"}, {"a"})
    assert find_lists(first, "m", 9).usable("easy") == {one: {"a"}}
    assert find_lists(first, "m", quantile=0.5).usable("easy") == {one: {"c", "d"}}
    with pytest.raises(InputError, match="no values at N = 5; it has N = 4, 9"):
        find_lists(first, "m", 5)
    with pytest.raises(InputError, match="no value of 'x'"):
        find_lists(every, "x")
    with pytest.raises(InputError, match="no number of speakers N that all contexts have"):
        find_lists(ranked(one, "abcd") + ranked(three, "abcd", n=9), "m")
    found = overlap_records(lists)
    assert [(r.metric, r.value) for r in found] == [
        ("jaccard_easy", 0),
        ("jaccard_hard", 1),
        ("jaccard_easy_mean", 0),
        ("jaccard_hard_mean", 1),
    ]
    first, mean = found[0], found[2]
    assert first.params == {"across": "n_utts", "a": "s/e L=1", "b": "s/e L=3", "N": 4}
    assert first.counts == {"a": 1, "b": 1, "both": 0, "speakers": 4}
    assert (mean.params, mean.counts, mean.notes) == ({"across": "n_utts", "N": 4}, {"pairs": 1}, first.notes)


def test_lists_that_are_mostly_ties_are_left_out_and_the_number_of_speakers_with_most_lists_is_taken():
    one, three = Context("s", "e", "1"), Context("s", "e", "3")
    every = [
        *ranked(one, "aBCDEfgh", n=5),
        *ranked(three, "abcdefGH", n=5),
        *ranked(one, "abcdefgh", n=7),
        *ranked(three, "abcdefGH", n=7),
        *ranked(one, "abcdefgh", n=8),
        *ranked(three, "abcdefgh", n=8),
    ]
    lists = find_lists(every, "m", 5)
    assert lists.usable("hard") == {three: {"a", "b"}}
    assert lists.usable("easy") == {one: {"g", "h"}, three: {"f", "g", "h"}}  # of three, one is there by a tie
    assert lists.refused() == ["hard speakers of s/e L=1: 5 of 8"]
    assert {r.metric for r in overlap_records(lists)} == {"jaccard_easy", "jaccard_easy_mean"}
    assert find_lists(every, "m").n == 7
    assert find_lists(every, "m").refused() == []


def test_speakers_are_ranked_by_the_mean_of_the_draws():
    context = Context("s", "e", "1")
    draws = {"a": (0.0, 1.0), "b": (0.5, 0.25), "c": (1.0, 0.5)}
    values = [(context, SpeakerValue("m", spk, 3, "1", found[0], found)) for spk, found in draws.items()]
    lists = find_lists(values, "m")
    assert (lists.usable("easy"), lists.usable("hard")) == ({context: {"c"}}, {context: {"b"}})


@pytest.mark.parametrize(
    ("other", "axes"),
    [
        (Context("mine", "x", "1", "lazy-informed"), []),
        (Context("mine", "x", "1", "semi-informed"), ["attacker"]),
        (Context("mine", "y", "1", "semi-informed"), ["attacker"]),
        (Context("yours", "x", "1", "semi-informed"), ["system", "attacker"]),
        (Context("yours", "x", "1", "lazy-informed"), ["system"]),
        (Context("original", "x", "1", "unprotected"), ["system"]),
        (Context("original", "x", "3", "unprotected"), ["system", "n_utts"]),
        (Context("original", "y", "1", "unprotected"), ["system", "attacker"]),
    ],
)
def test_an_attacker_on_original_speech_is_compared_with_itself_on_anonymised_speech(other, axes):
    assert Context("mine", "x", "1", "lazy-informed").differs_in(other) == axes
    assert other.differs_in(Context("mine", "x", "1", "lazy-informed")) == axes


def test_side_files_are_named_by_the_records(tmp_path):
    values = [SpeakerValue("m", "a", 2, "all", 0.25)]
    scores = Scores(
        [Record("m", 1.0, gender="f"), Record("m", 2.0)],
        values,
        [1.0, 2.0],
        tables={str(tmp_path / "t.jsonl"): [Record("k", 3.0)]},
    )
    scores.write(tmp_path / "x.jsonl", {"set": "s", "gender": "m"}, {"p": "1"}, {"n": "2"})
    first, second = read_records(tmp_path / "x.jsonl")
    assert (first.gender, second.gender, first.set, first.params, first.notes["n"]) == ("f", "m", "s", {"p": "1"}, "2")
    assert first.notes["files"] == {"per_speaker": "x.speakers.tsv", "ranks": "x.ranks.json"}
    assert read_speaker_values(tmp_path / "x.speakers.tsv") == values
    assert json.loads((tmp_path / "x.ranks.json").read_text()) == {"ranks": [1, 2]}
    (other,) = read_records(tmp_path / "t.jsonl")
    assert (other.value, other.params, other.set) == (3, {"p": "1"}, "s")
    Scores([Record("m", 1.0)]).write(tmp_path / "y.jsonl", {})
    assert read_records(tmp_path / "y.jsonl") == [Record("m", 1.0)]
    assert not list(tmp_path.glob("y.[!j]*"))


def test_values_of_draws_share_a_row_and_tables_without_them_are_read_as_before(tmp_path):
    values = [
        SpeakerValue("m", "a", 2, "1", 0.25, (0.25, 1 / 3, 1), "hard"),
        SpeakerValue("m", "b", 2, "1", 2 / 3),
    ]
    write_speaker_values(tmp_path / "x.tsv", values)
    lines = ["metric\tspeaker\tN\tL\tvalue\tdraws\tlist", "m\ta\t2\t1\t0.25\t0.25,0.333333,1\thard"]
    assert (tmp_path / "x.tsv").read_text().splitlines() == [*lines, f"m\tb\t2\t1\t{2 / 3}\t-\t-"]
    assert read_speaker_values(tmp_path / "x.tsv") == [values[0]._replace(draws=(0.25, 0.333333, 1)), values[1]]
    (tmp_path / "y.tsv").write_text(f"metric\tspeaker\tN\tL\tvalue\nm\tb\t2\t1\t{2 / 3}\n")
    assert read_speaker_values(tmp_path / "y.tsv") == values[1:]
    assert (values[0].score, values[1].score) == (pytest.approx(19 / 36), 2 / 3)
    with pytest.raises(InputError, match="no such file"):
        read_speaker_values(tmp_path / "z.tsv")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("metric\tspeaker\tN\tL\tworth\n", 1),
        ("metric\tspeaker\tN\tL\tvalue\nm\ta\tx\t1\t0\n", 2),
        ("metric\tspeaker\tN\tL\tvalue\tdraws\n", 1),
        ("metric\tspeaker\tN\tL\tvalue\tdraws\tlist\nm\ta\t2\t1\t0\t1,x\t-\n", 2),
        ("metric\tspeaker\tN\tL\tvalue\tdraws\tlist\nm\ta\t2\t1\t0\n", 2),
    ],
)
def test_tables_that_hold_no_speaker_values_are_refused(tmp_path, text, line):
    (tmp_path / "x.speakers.tsv").write_text(text)
    with pytest.raises(InputError, match=f"x.speakers.tsv:{line}: "):
        read_speaker_values(tmp_path / "x.speakers.tsv")


def test_paths_and_genders(tmp_path):
    (tmp_path / "x,y").mkdir()
    assert split_paths(str(tmp_path / "x,y")) == [tmp_path / "x,y"]
    assert split_paths("x,y") == [Path("x"), Path("y")]
    assert gender_of(tmp_path) == ""
    for table, gender in (("a f\nb f\n", "f"), ("a f\nb m\n", "")):
        (tmp_path / "spk2gender").write_text(table)
        assert gender_of(tmp_path) == gender
