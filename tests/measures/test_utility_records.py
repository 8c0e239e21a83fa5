"""Whole records of recognition, emotion, pitch and quality, from tiny inputs, by hand."""

import numpy as np
import pytest

from tests.stages.toy_recipe import make_toy
from vpeval.audio.f0 import Tracked
from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_table
from vpeval.data.directory import DataDir
from vpeval.measures import emotion, pitch, quality, recognition
from vpeval.measures.base import Resampling
from vpeval.measures.emotion import score_predictions
from vpeval.measures.recognition import Speech, compare_recognition, read_speech, score_recognition
from vpeval.metrics.intervals import utterance_mean
from vpeval.metrics.wer import paired_test
from vpeval.plan.plan import Settings, make_plan
from vpeval.records.record import Record, read_records

REFS = {"a-1": "one two", "a-2": "three", "b-1": "four"}
HYPS = {"a-1": "one too", "a-2": "three", "c-1": "x"}
UTT2SPK = {"a-1": "a", "a-2": "a", "b-1": "b"}
NO_INTERVALS = recognition.Options(0, 0, "vpc2020", True)


def rate(metric, value, words, counts, gender="", missing=None, **params):
    names = ("ref_words" if metric == "wer" else "ref_chars", "ins", "del", "sub", "utts")
    more = {} if missing is None else {"missing": missing}
    stated = dict(zip(names, (words, *counts), strict=True)) | more
    return Record(
        metric, value, params={"normalizer": "vpc2020", **params}, counts=stated, notes={"unit": "%"}, gender=gender
    )


def test_rates_of_a_set_its_genders_and_its_speakers():
    speech = Speech(REFS, UTT2SPK, {"a": "f", "b": "m"})
    found = score_recognition(speech, HYPS, NO_INTERVALS)
    words = [record for record in found.records if record.metric == "wer"]
    assert words == [
        rate("wer", 50, 4, (0, 1, 1, 3), missing=1),
        rate("wer", pytest.approx(100 / 3), 3, (0, 0, 1, 2), "f", 0),
        rate("wer", 100, 1, (0, 1, 0, 1), "m", 1),
    ]
    assert [record.metric for record in found.records] == ["wer"] * 3 + ["cer"] * 3
    assert [record.counts["ref_chars"] for record in found.records[3:]] == [16, 12, 4]
    assert found.per_speaker[:2] == [
        rate("wer", pytest.approx(100 / 3), 3, (0, 0, 1, 2), spk="a"),
        rate("wer", 100, 1, (0, 1, 0, 1), spk="b"),
    ]
    assert [record.metric for record in found.per_speaker] == ["wer", "wer", "cer", "cer"]
    assert found.speakers == ["a", "a", "b"]
    assert found.line == "%WER 50.00 [ 2 / 4, 0 ins, 1 del, 1 sub ]"


def test_speakers_and_genders_are_optional():
    found = score_recognition(Speech(REFS), HYPS, recognition.Options(100, 0, "vpc2020", True))
    assert (len(found.records), found.per_speaker, found.speakers) == (2, [], [])
    assert found.records[0].lower is None and "interval" not in found.records[0].notes
    assert len(score_recognition(Speech(REFS, None, {"a": "f"}), HYPS, NO_INTERVALS).records) == 2


def test_unknown_hypotheses_are_refused_unless_allowed():
    assert recognition.Options() == recognition.Options(1000, 0, "vpc2020", False)
    with pytest.raises(InputError, match="'c-1' has no reference"):
        score_recognition(Speech(REFS), HYPS, recognition.Options())


def test_transcripts_are_compared_by_speakers_or_else_by_utterances():
    refs = {f"{spk}-{n}": "one two" for spk in "abcde" for n in "12"}
    hyps = {**refs, "a-1": "one", "b-1": "", "c-2": "two one"}
    for utt2spk, unit in (({utt: utt[0] for utt in refs}, "speaker"), (None, "utterance")):
        ours, theirs = (score_recognition(Speech(refs, utt2spk), text, recognition.Options(0)) for text in (refs, hyps))
        record, words = compare_recognition(ours, theirs, "other", Resampling(50, 1))
        assert (record.metric, record.value) == ("wer_difference", -25)
        assert record.params == {"normalizer": "vpc2020", "versus": "other"}
        found = paired_test(ours.score.words, theirs.score.words, [u if utt2spk is None else u[0] for u in refs], 50, 1)
        about = {"p_value": found.p_value, "resamples": 50, "seed": 1, "unit": "%"}
        assert record.notes == {"interval": f"studentised {unit} bootstrap", **about}
        assert (record.lower, record.upper) == (found.lower, found.upper)
        assert words == f"-25.00 % [{found.lower:+.2f}, {found.upper:+.2f}], p = {found.p_value:.3g}"


def test_two_speakers_are_too_few_to_tell_how_sure_a_difference_is():
    ours, theirs = (
        score_recognition(Speech(REFS, UTT2SPK), hyps, recognition.Options(0)) for hyps in (REFS, {"a-1": "one two"})
    )
    record, words = compare_recognition(ours, theirs, "other", Resampling(50, 1))
    assert (record.value, record.lower, record.upper) == (-50, None, None)
    reason = "2 speakers; an interval over speakers needs 4 or more"
    assert record.notes == {"no_interval": reason, "unit": "%"}
    assert words == f"-50.00 %; {reason}"


def test_tables_of_several_directories_are_joined_where_all_have_them(tmp_path):
    for name, utt in (("one", "a-1"), ("two", "b-1")):
        (tmp_path / name).mkdir()
        write_table(tmp_path / name / "text", {utt: REFS[utt]})
        write_table(tmp_path / name / "utt2spk", {utt: utt[0]})
    write_table(tmp_path / "one/spk2gender", {"a": "f"})
    places = [tmp_path / "one", tmp_path / "two"]
    files = [str(tmp_path / "one" / name) for name in ("text", "utt2spk", "spk2gender")]
    assert read_speech(places) == Speech({"a-1": "one two", "b-1": "four"}, {"a-1": "a", "b-1": "b"}, None, *files)
    (tmp_path / "two/text").unlink()
    with pytest.raises(InputError, match="need the words"):
        read_speech(places)


@pytest.fixture
def root(tmp_path, monkeypatch):
    make_toy(tmp_path, ("dev",))
    monkeypatch.chdir(tmp_path)
    conf = tmp_path / "egs/toy/recipe.conf"
    joined = 'emotion_sets="toy_dev_emo:toy_dev_trials_f,toy_dev_trials_m"\nser="whisper_linear"\n'
    conf.write_text(conf.read_text() + joined)
    return tmp_path


def planned(**more):
    return make_plan(Settings(recipe="toy", bootstrap=0, **more))


SETS = ("toy_dev_trials_f", "toy_dev_trials_m")


def test_a_recognised_set_has_its_texts_next_to_its_records(root):
    result = recognition.MEASURE.results(planned())[1]
    for name in SETS:
        utts = read_table(root / "data" / name / "utt2spk", "speaker")
        text = "one two three" if name.endswith("f") else "one two three four five"
        write_table(root / "exp/toy/decode/whisper_base" / f"{name}_mcadams" / "text", dict.fromkeys(utts, text))
    line = "%WER 25.00 [ 40 / 160, 20 ins, 20 del, 0 sub ]"
    assert result.make(result.out) == line
    found = read_records(result.out / "records.jsonl")
    assert [(r.metric, r.gender) for r in found] == [(m, g) for m in ("wer", "cer") for g in ("", "f", "m")]
    assert [r.value for r in found[:3]] == [25, 25, 25]
    assert found[0].counts == {"ref_words": 160, "ins": 20, "del": 20, "sub": 0, "utts": 40, "missing": 0}
    files = {"hyp": "hyp", "ref": "ref", "utt2spk": "utt2spk"}
    assert found[0].notes == {"unit": "%", "source": str(result.out / "hyp"), "files": files}
    assert (found[1].set, found[1].condition, found[1].system) == ("toy_dev_asr", "a", "mcadams")
    assert len(read_table(result.out / "utt2spk", "speaker")) == len(read_table(result.out / "ref", "text")) == 40
    assert read_table(result.out / "hyp", "text")["devf0-toy_dev_trials_f-0"] == "one two three"


def write_emotions(place, labels, predictions):
    place.mkdir(parents=True, exist_ok=True)
    utts = [f"{'ab'[n % 2]}-{n}" for n in range(len(labels))]
    write_table(place / "utt2emo", dict(zip(utts, labels, strict=True)))
    write_table(place / "utt2spk", {utt: utt[0] for utt in utts})
    write_table(place / "predictions", {utt: name for utt, name in zip(utts, predictions, strict=True) if name})


def test_records_of_emotions(tmp_path, caplog):
    write_emotions(tmp_path, ["sad", "sad", "sad", "sad", "ang", "ang"], ["sad", "sad", "sad", "", "ang", "sad"])
    found = score_predictions([tmp_path], [tmp_path / "predictions"], Resampling(0, 0))
    about = {"unit": "%"}
    assert found == [
        Record("uar", 62.5, counts={"utts": 6, "missing": 1}, notes={**about, "chance": 50}),
        Record("emotion_accuracy", 75, params={"emotion": "sad"}, counts={"utts": 4}, notes=about),
        Record("emotion_accuracy", 50, params={"emotion": "ang"}, counts={"utts": 2}, notes=about),
    ]
    assert "no prediction, counted as wrong: b-3" in caplog.text
    drawn = score_predictions([tmp_path], [tmp_path / "predictions"], Resampling(50, 2))[0]
    assert (drawn.lower, drawn.upper, drawn.notes["chance"]) == (None, None, 50)
    assert "2 speakers" in drawn.notes["no_interval"]


def test_folds_count_only_where_all_sets_have_them(tmp_path):
    for name in "xy":
        write_emotions(tmp_path / name, ["sad", "ang", "ang", "sad"], ["sad", "sad", "ang", "sad"])
    sets = [tmp_path / "x", tmp_path / "y"]
    (tmp_path / "x/spk2fold").write_text("a 1\nb 2\n")
    predictions = [path / "predictions" for path in sets]
    assert "folds" not in score_predictions(sets, predictions, Resampling(0, 0))[0].notes
    (tmp_path / "y/spk2fold").write_text("a 1\nb 2\n")
    assert score_predictions(sets, predictions, Resampling(0, 0))[0].notes["folds"] == 2


def test_emotions_of_a_recipe_are_joined(root):
    plan = planned()
    for name in SETS:
        for version in (name, f"{name}_mcadams"):
            utts = list(read_table(root / "data" / version / "utt2spk", "speaker"))
            labels = {utt: ("sad", "ang")[n % 2] for n, utt in enumerate(utts)}
            write_table(root / "data" / version / "utt2emo", labels)
            found = labels if name.endswith("f") else dict.fromkeys(utts, "sad")
            write_table(root / "exp/toy/emotions/whisper_linear" / version / "predictions", found)
    result = emotion.MEASURE.results(plan)[1]
    assert result.make(result.out) == "UAR 75.00 %, chance 50.00 %"
    uar, *recalls = read_records(result.out / "records.jsonl")
    assert (uar.value, uar.counts, uar.set, uar.system) == (75, {"utts": 40, "missing": 0}, "toy_dev_emo", "mcadams")
    assert uar.notes["files"] == {"predictions": "predictions"}
    assert {r.params["emotion"]: r.value for r in recalls} == {"sad": 100, "ang": 50}
    assert len(read_table(result.out / "predictions", "emotion")) == 40


def data_dir(path, utts):
    path.mkdir()
    write_table(path / "utt2spk", {utt: utt[0] for utt in utts})
    write_table(path / "wav.scp", {utt: f"{path}/{utt}.wav" for utt in utts})
    return DataDir.load(path)


def tracked(*f0, seconds=1.0):
    """A track that goes through these values, 10 frames each."""
    return Tracked(np.repeat(np.array(f0, float), 10), seconds)


def test_records_of_pitch(tmp_path, caplog):
    utts = ["a-1", "b-1", "c-1"]
    original, anonymised = (data_dir(tmp_path / name, utts) for name in ("o", "a"))
    rising = tracked(100, 110, 120, 130)
    before = {"a-1": rising, "b-1": rising, "c-1": tracked(0, 0, 0, 0)}
    after = {"a-1": tracked(200, 220, 240, 260), "b-1": tracked(130, 120, 110, 100, seconds=1.026), "c-1": rising}
    found = pitch.score_pitch(original, anonymised, before, after, Resampling(0, 0))
    assert [record.params for record in found] == [{"mode": "vpc"}, {"mode": "voiced"}]
    vpc, voiced = found
    assert (voiced.value, voiced.counts) == (pytest.approx(0), {"utts": 2, "speakers": 2})
    assert voiced.notes["std"] == pytest.approx(
        utterance_mean({"a-1": 1, "b-1": -1}, original.utt2spk, 0, 0, "pitch").std
    )
    assert vpc.counts == {"utts": 3, "speakers": 3}
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "1 utterances differ in length by more than 25 ms (b-1)" in warning


def test_close_lengths_are_not_reported_and_missing_voices_are(tmp_path, caplog):
    original, anonymised = (data_dir(tmp_path / name, ["a-1"]) for name in ("o", "a"))
    silent = tracked(0, 0, 0, 0)
    found = pitch.score_pitch(
        original, anonymised, {"a-1": silent}, {"a-1": tracked(0, 0, 0, 0, seconds=0.98)}, Resampling(0, 0)
    )
    assert [record.params["mode"] for record in found] == ["vpc"]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "no utterance has voiced frames in both versions" in warning


def test_two_versions_of_a_set_have_the_same_utterances(tmp_path):
    original, anonymised = data_dir(tmp_path / "o", ["a-1", "a-2"]), data_dir(tmp_path / "a", ["a-1", "a-3"])
    with pytest.raises(InputError, match="a-2, a-3"):
        pitch.refuse_other_utterances(original, anonymised)
    pitch.refuse_other_utterances(original, original)


@pytest.mark.parametrize("missing", [0, 1])
def test_pitch_of_a_recipe_leaves_out_what_was_not_anonymised(root, monkeypatch, missing):
    result = pitch.MEASURE.results(planned(nj=2))[0]
    original, anonymised, tracks = result.inputs
    utts = list(read_table(original / "utt2spk", "speaker"))
    for place, own in ((original, utts), (anonymised, utts[missing:])):
        (place / "trials").unlink()
        write_table(place / "wav.scp", {utt: f"{place}/{utt}.wav" for utt in own})
        for name in ("utt2spk", "text"):
            table = read_table(place / name, "value")
            write_table(place / name, {utt: table[utt] for utt in own})
    (anonymised / "checks.json").write_text(
        f'{{"utts": 20, "identical": [], "missing": {utts[:missing]}}}'.replace("'", '"')
    )
    every = {utt: tracked(100, 110, 130, 120) for utt in utts}
    asked = []
    monkeypatch.setattr(pitch, "read_tracks", lambda path: asked.append(path) or every)
    monkeypatch.setattr(pitch, "track_all", lambda wav, nj: asked.append((len(wav), nj)) or every)
    result.out.mkdir(parents=True)
    assert result.make(result.out) == "Pitch_correlation: mean=1.0000 std=0.0000"
    assert set(asked) == {(20 - missing, 2), tracks}
    found = read_records(result.out / "records.jsonl")
    assert [record.counts["utts"] for record in found] == [20 - missing] * 2
    assert (found[0].set, found[0].gender, found[0].value) == ("toy_dev_trials_f", "f", pytest.approx(1))


@pytest.fixture
def heard(monkeypatch):
    """Waves are the numbers in the names of files; quality is a number, intelligibility a difference."""
    monkeypatch.setattr(quality, "read_audio", lambda path: float(str(path).rpartition("-")[2].removesuffix(".wav")))
    monkeypatch.setattr(quality.quality, "dnsmos", lambda: lambda wave: {"dnsmos_sig": wave})
    monkeypatch.setattr(quality.quality, "stoi", lambda: lambda o, a: {"stoi": o - a} if a != 3 else {})


def test_records_of_quality(tmp_path, heard, caplog):
    original = data_dir(tmp_path / "o", ["a-1", "a-2", "b-3", "b-4"])
    data = data_dir(tmp_path / "a", ["a-1", "a-2", "b-3"])
    found = quality.score_quality(data, original, quality.Options(0, 0))
    assert found == [
        Record("dnsmos_sig", 2, counts={"utts": 3, "speakers": 2}),
        Record("stoi", 0, counts={"utts": 2, "speakers": 2 - 1}),
    ]
    assert "STOI is not defined for 1 of 3 utterances" in caplog.text
    assert [record.metric for record in quality.score_quality(data, None, quality.Options(0, 0))] == ["dnsmos_sig"]
    with pytest.raises(InputError, match="'b-4' is missing"):
        quality.score_quality(original, data, quality.Options(0, 0))


def test_a_sample_is_drawn_once_and_in_order(tmp_path, heard):
    utts = [f"a-{n}" for n in range(10, 20)]
    assert quality.Options().limit == 0
    assert quality._choose(utts, 0, 0) is quality._choose(utts, 10, 0) is quality._choose(utts, 11, 0) is utts
    for seed in range(5):
        drawn = quality._choose(utts, 9, seed)
        assert len(set(drawn)) == 9 and drawn == sorted(drawn) == quality._choose(utts, 9, seed)
    data = data_dir(tmp_path / "a", utts)
    (record,) = quality.score_quality(data, None, quality.Options(0, 1, 4))
    assert record.counts == {"utts": 4, "speakers": 1}
    assert record.value == np.mean([float(utt[2:]) for utt in quality._choose(utts, 4, 1)])


def test_quality_of_a_recipe(root, heard):
    result = quality.MEASURE.results(planned(quality=True))[0]
    for place in result.inputs:
        utts = list(read_table(place / "utt2spk", "speaker"))
        write_table(place / "wav.scp", {utt: f"{place}/{utt}.wav" for utt in utts})
    result.out.mkdir(parents=True)
    assert result.make(result.out) == "dnsmos_sig 1.500 stoi 0.000"
    found = read_records(result.out / "records.jsonl")
    assert [(r.metric, r.value, r.counts["utts"]) for r in found] == [("dnsmos_sig", 1.5, 20), ("stoi", 0, 15)]
    assert {(r.set, r.condition, r.gender, r.system) for r in found} == {("toy_dev_trials_f", "a", "f", "mcadams")}
